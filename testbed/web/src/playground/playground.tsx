// The playground: a scenario in an editor, its network, and the results of runs in this page.

import { useCallback, useEffect, useRef, useState } from "react";
import type { Positions } from "../data/draft";
import type { Problem } from "../data/problem";
import type { Checked, Request } from "../engine/answer";
import type { Client } from "../engine/client";
import { reasonOf } from "../engine/reason";
import { Picture } from "../parts/picture";
import { type EditorHandle, TomlEditor } from "../parts/toml_editor";
import { copied, Downloads, Examples, Local, ProblemList, type Status, StatusLine } from "./around";
import type { Example, PlaygroundData } from "./data";
import { type Draft, FILE, keep } from "./draft";
import { Packets } from "./packets";
import { Plots } from "./plots";
import { type Done, Results } from "./results";
import { toFragment } from "./share";

/** Pause in typing after which the text is checked and run. */
const PAUSE_MS = 300;
/** Number of rows that a trace keeps per entity. */
const ROWS = 1500;
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
  const [note, setNote] = useState("");
  /** The example that was opened last. */
  const [opened, setOpened] = useState("");
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
        keep(draft);
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
    setOpened(example.name);
    setPositions({});
  };
  const share = async () => {
    const fragment = await toFragment(JSON.stringify(draft));
    history.replaceState(null, "", fragment);
    setNote(await copied(location.href, "The link is in the clipboard. It contains the scenario."));
  };
  const isValid = problems.length === 0 && checked !== undefined;
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
          <TomlEditor
            label="Scenario as TOML"
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
              picture={checked.picture}
              resolved={checked.resolved}
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
              <Plots key={opened} done={done} pinned={pinned} />
            </>
          )}
        </section>
      </main>
    </>
  );
}
