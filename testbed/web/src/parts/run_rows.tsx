// The rows of the table of runs. Consecutive runs of one launch are a group with a heading, which
// folds them.

import type { Row as TableRow, useTable } from "@tanstack/react-table";
import { type ReactNode, useState } from "react";
import { api } from "../data/api";
import type { Entry } from "../data/api.gen";
import { scaled } from "../data/format";
import { significant } from "../data/numbers";
import { FINAL, link } from "../data/state";
import { confirmed } from "./dialog";
import { More } from "./more";
import { CHOICES, type features, Moment, NUMBERS } from "./run_columns";

type Row = TableRow<typeof features, Entry>;
type RunTable = Pick<ReturnType<typeof useTable<typeof features, Entry>>, "FlexRender">;

/** Smallest number of runs of a launch that are folded at first. */
const MIN_FOLDED = 3;

const LABELS = new Map(CHOICES);

/** The rows in groups: the consecutive rows of each launch. */
function groupsOf(rows: Row[]): Row[][] {
  const groups: Row[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last && row.original.batch && last[0]!.original.batch === row.original.batch) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

export function RunRows({
  table,
  rows,
  grouped,
  all,
  choose,
  perform,
  annotate,
}: {
  table: RunTable;
  rows: Row[];
  /** True for a list in the order of launches. */
  grouped: boolean;
  /** True if all matching runs are chosen. */
  all: boolean;
  choose: (ids: string[], wanted: boolean) => void;
  perform: (work: Promise<unknown>) => void;
  annotate: (run: Entry) => void;
}) {
  const [toggled, setToggled] = useState<string[]>([]);
  const single = (row: Row) => (
    <RunRow
      key={row.id}
      table={table}
      row={row}
      all={all}
      choose={choose}
      perform={perform}
      annotate={annotate}
    />
  );
  if (!grouped) return <tbody>{rows.map(single)}</tbody>;
  return (
    <tbody>
      {groupsOf(rows).flatMap((group) => {
        const batch = group[0]!.original.batch ?? "";
        if (group.length < 2) return group.map(single);
        // A group with a chosen run is open, so that every choice is visible.
        const chosen = group.some((row) => row.getIsSelected());
        const folded = group.length >= MIN_FOLDED && !chosen;
        const open = toggled.includes(batch) ? folded : !folded;
        const toggle = () =>
          setToggled((before) =>
            before.includes(batch) ? before.filter((one) => one !== batch) : [...before, batch],
          );
        return [
          <LaunchRow key={batch} rows={group} open={open} toggle={toggle} all={all} choose={choose} />,
          ...(open ? group.map(single) : []),
        ];
      })}
    </tbody>
  );
}

/** The heading of a launch: its name, its number of runs, their states, and the ranges of their
 * results. */
function LaunchRow({
  rows,
  open,
  toggle,
  all,
  choose,
}: {
  rows: Row[];
  open: boolean;
  toggle: () => void;
  all: boolean;
  choose: (ids: string[], wanted: boolean) => void;
}) {
  const runs = rows.map((row) => row.original);
  const first = runs.at(-1)!;
  const batch = first.batch!;
  const counts = new Map<string, number>();
  for (const { state } of runs) {
    const shown = state === "leased" ? "running" : state;
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  const ends = [first.number, runs[0]!.number].sort((a, b) => a - b);
  const numbers = ends.join(" – ");
  const content: Record<string, ReactNode> = {
    owner: first.owner,
    instrument: [...new Set(runs.map((one) => one.instrument))].join(", "),
    state: [...counts].map(([state, count], place) => (
      <span key={state} className={`state ${state}`}>
        {place > 0 && ", "}
        {count} {state}
      </span>
    )),
    queued: <Moment of={first.queued} />,
    goodput: range(runs, "goodput", 1e-3),
    rtt: range(runs, "rtt", 1e3),
    delay: range(runs, "delay", 1e3),
    timeouts: range(runs, "timeouts", 1),
    mos: range(runs, "mos", 1),
    bytes: scaled(
      runs.reduce((total, one) => total + one.bytes, 0),
      1e-6,
    ),
  };
  return (
    <tr className="launch">
      <td className="choose">
        <input
          type="checkbox"
          aria-label={`Choose all runs of the launch ${first.name}`}
          checked={all || rows.every((row) => row.getIsSelected())}
          onChange={(event) =>
            choose(
              rows.map((row) => row.id),
              event.target.checked,
            )
          }
        />
      </td>
      {rows[0]!.getVisibleCells().map(({ id, column }) =>
        column.id === "number" ? (
          <th key={id} scope="rowgroup" className="fixed">
            <button
              type="button"
              className="fold-launch"
              aria-expanded={open}
              aria-label={`${open ? "Hide" : "Show"} the runs of the launch ${first.name}`}
              onClick={toggle}
            >
              {open ? "▾" : "▸"}
            </button>
            <a href={link(["runs"], { batch })}>{first.name}</a>{" "}
            <span className="soft">
              {runs.length} runs, {numbers}
            </span>
          </th>
        ) : (
          <td
            key={id}
            data-label={LABELS.get(column.id)}
            className={`${NUMBERS.has(column.id) ? "number" : ""}${content[column.id] ? "" : " none"}`}
          >
            {content[column.id]}
          </td>
        ),
      )}
      <td className="actions">
        <a href={link(["runs"], { batch, part: "means" })}>Means</a>
      </td>
    </tr>
  );
}

/** The range of a result over runs as a text; empty without values. */
function range(runs: Entry[], key: "goodput" | "rtt" | "delay" | "timeouts" | "mos", factor: number): string {
  const known = runs.map((one) => one[key]).filter((one) => one !== null);
  if (known.length === 0) return "";
  const [least, most] = [Math.min(...known), Math.max(...known)].map((one) => significant(one * factor, 4));
  return least === most ? String(least) : `${least} – ${most}`;
}

function RunRow({
  table,
  row,
  all,
  choose,
  perform,
  annotate,
}: {
  table: RunTable;
  row: Row;
  all: boolean;
  choose: (ids: string[], wanted: boolean) => void;
  perform: (work: Promise<unknown>) => void;
  annotate: (run: Entry) => void;
}) {
  const run = row.original;
  return (
    <tr className={row.getIsSelected() ? "chosen" : undefined}>
      <td className="choose">
        <input
          type="checkbox"
          aria-label={`Choose run ${run.number}`}
          checked={all || row.getIsSelected()}
          onChange={(event) => choose([row.id], event.target.checked)}
        />
      </td>
      {row.getVisibleCells().map((cell) =>
        cell.column.id === "number" ? (
          <th key={cell.id} scope="row" className="fixed">
            <table.FlexRender cell={cell} />
          </th>
        ) : (
          <td
            key={cell.id}
            data-label={LABELS.get(cell.column.id)}
            className={`${NUMBERS.has(cell.column.id) ? "number" : ""}${isMissing(run, cell.column.id) ? " none" : ""}`}
          >
            <table.FlexRender cell={cell} />
          </td>
        ),
      )}
      <td className="actions">
        {run.mine && (
          <More label={`Actions of run ${run.number}`}>
            <button type="button" onClick={() => annotate(run)}>
              Notes and tags…
            </button>
            {FINAL.includes(run.state) ? (
              <button
                type="button"
                onClick={() =>
                  void confirmed({
                    title: `Remove run ${run.number}?`,
                    about: "Its results are removed as well.",
                    action: "Remove",
                    destructive: true,
                  }).then((yes) => yes && perform(api.remove(`/runs/${run.id}`)))
                }
              >
                Remove…
              </button>
            ) : (
              <button type="button" onClick={() => perform(api.post(`/runs/${run.id}/cancel`))}>
                Cancel
              </button>
            )}
          </More>
        )}
      </td>
    </tr>
  );
}

/** True for a column without a value, which a card on a phone leaves out. */
function isMissing(run: Entry, column: string): boolean {
  if (column === "seconds") return run.started === null || run.ended === null;
  const value = (run as unknown as Record<string, unknown>)[column];
  return value === null || value === "";
}
