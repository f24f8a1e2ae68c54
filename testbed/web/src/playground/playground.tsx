// The playground: a scenario in an editor, its network, and the results of runs in this page.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Positions } from "../data/draft";
import { rounded, save } from "../data/format";
import type { Problem } from "../data/problem";
import type { Checked, Request } from "../engine/answer";
import type { Client } from "../engine/client";
import { reasonOf } from "../engine/reason";
import { Notice, Progress } from "../parts/basics";
import { Picture } from "../parts/picture";
import { Plot } from "../parts/plot";
import { curvesOf, firstCurves, seriesOf } from "./curves";
import type { Example, PlaygroundData, Shared } from "./data";
import { Editor, type EditorHandle } from "./editor";
import { Packets } from "./packets";
import { type Done, flowsCsv, Results, traceCsv } from "./results";
import { fromFragment, toFragment } from "./share";

/** Pause in typing after which the text is checked and run. */
const PAUSE_MS = 300;
/** Number of rows that a trace keeps per entity. */
const ROWS = 1500;
/** The name of the scenario in messages, downloads and commands. */
const FILE = "scenario.toml";
/** The key of the draft in the browser's storage. */
const DRAFT = "bentpipe-playground";

type Status =
  | { kind: "idle" }
  | { kind: "running"; fraction: number }
  | { kind: "error"; text: string }
  | { kind: "done" };

/** A scenario's text with the contents of its files. */
type Draft = Required<Shared>;

/** The engines of the page: one for checks and one for runs, so that neither cancels the other. */
export interface Clients {
  check: Client;
  run: Client;
}

export function Playground({
  data,
  first,
  clients,
}: {
  data: PlaygroundData;
  first: Draft;
  clients: Clients;
}) {
  const [draft, setDraft] = useState(first);
  const [problems, setProblems] = useState<Problem[]>([]);
  const [checked, setChecked] = useState<Checked>();
  const [positions, setPositions] = useState<Positions>({});
  const [chosen, setChosen] = useState("");
  const [status, setStatus] = useState<Status>({ kind: "idle" });
  const [done, setDone] = useState<Done>();
  const [pinned, setPinned] = useState<Done>();
  const [live, setLive] = useState(true);
  const [plots, setPlots] = useState<string[]>();
  const [part, setPart] = useState<[number, number]>();
  const [note, setNote] = useState("");
  const editor = useRef<EditorHandle>(null);

  const run = useCallback(
    async (given: Draft, known: Checked) => {
      setStatus({ kind: "running", fraction: 0 });
      const request: Request = {
        toml: given.toml,
        name: FILE,
        files: given.files,
        spacing_s: known.duration_s / ROWS,
      };
      const outcome = await clients.run.run(request, (fraction) => setStatus({ kind: "running", fraction }));
      if (outcome.kind === "cancelled") return;
      if (outcome.kind === "refused") setProblems(outcome.problems);
      if (outcome.kind === "answer") {
        setDone({ text: given.toml, answer: outcome.answer, milliseconds: outcome.milliseconds });
        setPart(undefined);
        setStatus({ kind: "done" });
      } else setStatus({ kind: "error", text: reasonOf(outcome) });
    },
    [clients],
  );

  // Checks each draft after a pause, and runs the valid ones.
  const isLive = useRef(live);
  isLive.current = live;
  useEffect(() => {
    const timer = setTimeout(
      async () => {
        localStorage.setItem(DRAFT, JSON.stringify(draft));
        const outcome = await clients.check.check({ toml: draft.toml, name: FILE, files: draft.files });
        if (outcome.kind === "refused") {
          clients.run.cancel();
          setProblems(outcome.problems);
          setStatus({ kind: "idle" });
        } else if (outcome.kind === "checked") {
          setProblems([]);
          setChecked(outcome.checked);
          if (isLive.current) await run(draft, outcome.checked);
        } else if (outcome.kind === "failed") setStatus({ kind: "error", text: outcome.text });
      },
      draft === first ? 0 : PAUSE_MS,
    );
    return () => clearTimeout(timer);
  }, [draft, first, clients, run]);

  const open = (example: Example) => {
    setDraft({ toml: example.toml, files: example.files });
    editor.current?.replace(example.toml);
    history.replaceState(null, "", `#${example.name}`);
    setPlots(undefined);
    setPositions({});
  };
  const share = async () => {
    const fragment = await toFragment(JSON.stringify(draft));
    history.replaceState(null, "", fragment);
    setNote(await copied(location.href, "The link is in the clipboard. It contains the scenario."));
  };
  const isValid = problems.length === 0 && checked !== undefined;
  const initial = useMemo(() => (done ? firstCurves(done.answer) : []), [done]);
  const shownPlots = plots ?? initial;
  return (
    <>
      <header className="top">
        <a className="brand" href="docs/index.html">
          bentpipe
        </a>
        <h1>Playground</h1>
        <span className="grow" />
        <a href="docs/tutorial.html">Tutorial</a>
        <a href="docs/reference.html">Reference</a>
      </header>
      <main className="playground">
        <section className="text" aria-label="Scenario">
          <div className="row">
            <Examples examples={data.examples} open={open} />
            <button
              type="button"
              className="button primary"
              disabled={!isValid}
              onClick={() => checked && run(draft, checked)}
            >
              Run
            </button>
            <label className="check">
              <input type="checkbox" checked={live} onChange={(event) => setLive(event.target.checked)} />
              Run while typing
            </label>
          </div>
          <Editor
            text={draft.toml}
            schema={data.schema}
            problems={problems}
            change={(toml) => setDraft((before) => (before.toml === toml ? before : { ...before, toml }))}
            run={() => isValid && run(draft, checked)}
            handle={editor}
          />
          <ProblemList problems={problems} warnings={isValid ? checked.warnings : []} />
          <Local
            note={note}
            draft={draft}
            share={share}
            copy={async (text, about) => setNote(await copied(text, about))}
          />
        </section>
        <section className="outcome" aria-label="Network and results">
          {checked && (
            <Picture
              data={checked.picture}
              positions={positions}
              chosen={chosen}
              choose={(path) => {
                setChosen(path.join("."));
                editor.current?.reveal(path);
              }}
              move={setPositions}
            />
          )}
          <StatusLine status={status} done={done} cancel={() => clients.run.cancel()} />
          {done && (
            <>
              <div className="row">
                <button type="button" className="button" onClick={() => setPinned(done)}>
                  Pin this run
                </button>
                {pinned && (
                  <>
                    <button type="button" className="button plain" onClick={() => setPinned(undefined)}>
                      Unpin
                    </button>
                    <button
                      type="button"
                      className="button plain"
                      onClick={() => editor.current?.replace(pinned.text)}
                    >
                      Restore the pinned scenario
                    </button>
                  </>
                )}
                <Downloads done={done} />
              </div>
              <Results done={done} pinned={pinned} />
              {checked && <Packets toml={done.text} name={FILE} files={draft.files} checked={checked} />}
              <section aria-labelledby="plots">
                <h2 id="plots">Plots</h2>
                <AddPlot done={done} shown={shownPlots} add={(id) => setPlots([...shownPlots, id])} />
                {shownPlots.map((id) => (
                  <OnePlot
                    key={id}
                    id={id}
                    done={done}
                    pinned={pinned}
                    part={part}
                    choose={setPart}
                    remove={() => setPlots(shownPlots.filter((one) => one !== id))}
                  />
                ))}
              </section>
            </>
          )}
        </section>
      </main>
    </>
  );
}

async function copied(text: string, about: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return about;
  } catch {
    return `Copy: ${text}`;
  }
}

function Examples({ examples, open }: { examples: Example[]; open: (example: Example) => void }) {
  const groups = [...new Set(examples.map((one) => one.group))];
  return (
    <select
      aria-label="Open an example"
      value=""
      onChange={(event) => {
        const found = examples.find((one) => one.name === event.target.value);
        if (found) open(found);
      }}
    >
      <option value="">Open an example …</option>
      {groups.map((group) => (
        <optgroup key={group} label={group}>
          {examples
            .filter((one) => one.group === group)
            .map((one) => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
        </optgroup>
      ))}
    </select>
  );
}

function ProblemList({ problems, warnings }: { problems: Problem[]; warnings: string[] }) {
  if (problems.length + warnings.length === 0) return null;
  return (
    <div className={`notice ${problems.length > 0 ? "error" : "plain"}`} role="status">
      <ul>
        {problems.map((one) => (
          <li key={`${one.line} ${one.path} ${one.message}`}>
            {one.line !== null && `Line ${one.line}: `}
            {one.path && <code>{one.path}</code>} {one.value} {one.message}
            {one.nearest && ` – did you mean ${one.nearest}?`}
            {one.allowed.length > 0 && ` Allowed: ${one.allowed.slice(0, 12).join(", ")}`}
          </li>
        ))}
        {warnings.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  );
}

function StatusLine({
  status,
  done,
  cancel,
}: {
  status: Status;
  done: Done | undefined;
  cancel: () => void;
}) {
  if (status.kind === "running")
    return (
      <div className="row" role="status">
        <Progress value={status.fraction} label="Progress of the run" />
        <button type="button" className="button plain" onClick={cancel}>
          Cancel
        </button>
      </div>
    );
  if (status.kind === "error") return <Notice text={status.text} />;
  if (!done) return <p className="soft">The engine is starting …</p>;
  const { answer, milliseconds } = done;
  return (
    <p className="soft" role="status">
      {rounded(answer.summary.duration_seconds)} s of network time with {answer.events.toLocaleString("en")}{" "}
      events in {Math.round(milliseconds)} ms, in this page.
    </p>
  );
}

function Local({
  note,
  draft,
  share,
  copy,
}: {
  note: string;
  draft: Draft;
  share: () => void;
  copy: (text: string, about: string) => void;
}) {
  const command = `bentpipe simulate ${FILE}`;
  return (
    <section aria-label="Share and keep">
      <div className="row">
        <button type="button" className="button" onClick={share}>
          Copy link
        </button>
        <button type="button" className="button" onClick={() => save(FILE, draft.toml)}>
          Download TOML
        </button>
        <button
          type="button"
          className="button"
          onClick={() => copy(command, "The command is in the clipboard.")}
        >
          Copy command
        </button>
      </div>
      <p className="soft">
        The same run on your machine: <code>{command}</code>
        {Object.keys(draft.files).length > 0 &&
          ` (with ${Object.keys(draft.files).join(", ")} beside the file)`}
      </p>
      <p role="status">{note}</p>
    </section>
  );
}

function Downloads({ done }: { done: Done }) {
  const tables = done.answer.traces.filter((one) => one.rows > 0).map((one) => one.table);
  return (
    <select
      aria-label="Download CSV"
      value=""
      onChange={({ target }) => {
        if (target.value === "flows") save("flows.csv", flowsCsv(done.answer));
        else if (target.value) save(`${target.value}.csv`, traceCsv(done.answer, target.value));
      }}
    >
      <option value="">Download CSV …</option>
      <option value="flows">Results of the flows</option>
      {tables.map((table) => (
        <option key={table} value={table}>
          Trace {table}
        </option>
      ))}
    </select>
  );
}

function AddPlot({ done, shown, add }: { done: Done; shown: string[]; add: (id: string) => void }) {
  const others = curvesOf(done.answer).filter(({ id }) => !shown.includes(id));
  return (
    <select aria-label="Add a plot" value="" onChange={({ target }) => target.value && add(target.value)}>
      <option value="">Add a plot …</option>
      {others.map(({ id, title }) => (
        <option key={id} value={id}>
          {title}
        </option>
      ))}
    </select>
  );
}

function OnePlot({
  id,
  done,
  pinned,
  part,
  choose,
  remove,
}: {
  id: string;
  done: Done;
  pinned: Done | undefined;
  part: [number, number] | undefined;
  choose: (part: [number, number] | undefined) => void;
  remove: () => void;
}) {
  const curve = curvesOf(done.answer).find((one) => one.id === id);
  const series = useMemo(() => {
    if (!curve) return [];
    const now = seriesOf(curve, done.answer);
    const before = pinned && pinned !== done ? seriesOf(curve, pinned.answer) : undefined;
    return [...(now ? [{ name: "", of: now }] : []), ...(before ? [{ name: "pinned", of: before }] : [])];
  }, [curve, done, pinned]);
  if (!curve || series.length === 0) return null;
  return (
    <div className="one-plot">
      <button
        type="button"
        className="button plain remove"
        aria-label={`Remove the plot ${curve.title}`}
        onClick={remove}
      >
        ×
      </button>
      <Plot
        series={series}
        title={curve.title}
        part={part}
        choose={choose}
        end={done.answer.summary.duration_seconds}
        linked="playground"
        height={230}
      />
    </div>
  );
}

/** Returns the draft to begin with: of the link, of the last visit, or the first example. */
export async function firstDraft(data: PlaygroundData): Promise<Draft> {
  const complete = (one: Shared): Draft => ({ toml: one.toml, files: one.files ?? {} });
  const named = data.examples.find((one) => location.hash === `#${one.name}`);
  if (named) return complete(named);
  try {
    const shared = await fromFragment(location.hash);
    if (shared !== undefined) return complete(JSON.parse(shared));
    const kept = localStorage.getItem(DRAFT);
    if (kept !== null) return complete(JSON.parse(kept));
  } catch {
    // A damaged link or draft is replaced by the first example.
  }
  return complete(data.examples[0]!);
}
