// The parts around the editor and the results: examples, problems, status, links and downloads.

import { rounded, save } from "../data/format";
import { type Problem, problemText } from "../data/problem";
import { Notice, Progress } from "../parts/basics";
import type { Example } from "./data";
import { type Draft, FILE } from "./draft";
import { type Done, flowsCsv, traceCsv } from "./results";

/** The state of the latest run. */
export type Status =
  | { kind: "idle" }
  | { kind: "running"; fraction: number }
  | { kind: "error"; text: string }
  | { kind: "done" };

/** Copies a text. Returns the sentence to show: `about`, or the text if the browser refuses. */
export async function copied(text: string, about: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return about;
  } catch {
    return `Copy: ${text}`;
  }
}

export function Examples({ examples, open }: { examples: Example[]; open: (example: Example) => void }) {
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

export function ProblemList({ problems, warnings }: { problems: Problem[]; warnings: string[] }) {
  if (problems.length + warnings.length === 0) return null;
  return (
    <div className={`notice ${problems.length > 0 ? "error" : "plain"}`} role="status">
      <ul>
        {problems.map((one) => (
          <li key={`${one.line} ${one.path} ${one.message}`}>
            {one.line !== null && `Line ${one.line}: `}
            {one.path && <code>{one.path}</code>} {problemText(one)}
          </li>
        ))}
        {warnings.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  );
}

export function StatusLine({
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

export function Local({
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

export function Downloads({ done }: { done: Done }) {
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
