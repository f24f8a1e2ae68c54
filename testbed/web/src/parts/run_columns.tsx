// The columns of the table of runs.

import {
  columnVisibilityFeature,
  createColumnHelper,
  rowSelectionFeature,
  rowSortingFeature,
  tableFeatures,
} from "@tanstack/react-table";
import type { Entry } from "../data/api.gen";
import { duration, rounded, scaled, when } from "../data/format";
import { FINAL, link } from "../data/state";
import { FidelityMark, Marks } from "./marks";
import { State } from "./run_state";

export const features = tableFeatures({ columnVisibilityFeature, rowSelectionFeature, rowSortingFeature });
const helper = createColumnHelper<typeof features, Entry>();

/** Columns with numbers, which are aligned to the right. */
export const NUMBERS = new Set(["goodput", "rtt", "delay", "timeouts", "mos", "seconds", "events", "bytes"]);

/** The columns that are shown unless the user chooses others. */
export const DEFAULT_COLUMNS = [
  "owner",
  "instrument",
  "state",
  "goodput",
  "rtt",
  "timeouts",
  "seconds",
  "queued",
];

/** The columns that can be hidden, with their labels, in the order of the table. */
export const CHOICES: [string, string][] = [
  ["owner", "Owner"],
  ["instrument", "Instrument"],
  ["state", "State"],
  ["goodput", "Goodput (kbit/s)"],
  ["rtt", "RTT, mean (ms)"],
  ["delay", "Delay, mean (ms)"],
  ["timeouts", "Time-outs"],
  ["mos", "MOS"],
  ["seconds", "Took"],
  ["queued", "Launched"],
  ["events", "Cost (events)"],
  ["bytes", "Files (MB)"],
  ["notes", "Notes"],
];

/** The columns in the order of the table. The server sorts by the id of a column. */
export const columns = helper.columns([
  helper.accessor((run) => run.number, {
    id: "number",
    header: "Run",
    cell: ({ row }) => <Name run={row.original} />,
  }),
  helper.accessor("owner", { header: "Owner" }),
  helper.accessor("instrument", {
    header: "Instrument",
    cell: ({ row }) => (
      <>
        {row.original.instrument}
        <FidelityMark of={row.original.fidelity} />
      </>
    ),
  }),
  helper.accessor("state", { header: "State", cell: ({ row }) => <State run={row.original} /> }),
  helper.accessor("goodput", {
    header: "Goodput (kbit/s)",
    cell: ({ getValue }) => scaled(getValue(), 1e-3),
  }),
  helper.accessor("rtt", { header: "RTT, mean (ms)", cell: ({ getValue }) => scaled(getValue(), 1e3) }),
  helper.accessor("delay", { header: "Delay, mean (ms)", cell: ({ getValue }) => scaled(getValue(), 1e3) }),
  helper.accessor("timeouts", { header: "Time-outs", cell: ({ getValue }) => rounded(getValue()) }),
  helper.accessor("mos", { header: "MOS", cell: ({ getValue }) => scaled(getValue(), 1) }),
  helper.accessor((run) => (run.started !== null && run.ended !== null ? run.ended - run.started : null), {
    id: "seconds",
    header: "Took",
    cell: ({ getValue }) => {
      const seconds = getValue();
      return seconds === null ? "–" : seconds < 1 ? "< 1 s" : duration(seconds);
    },
  }),
  helper.accessor("queued", { header: "Launched", cell: ({ getValue }) => <Moment of={getValue()} /> }),
  helper.accessor("events", { header: "Cost (events)", cell: ({ getValue }) => rounded(getValue()) }),
  helper.accessor("bytes", {
    header: "Files (MB)",
    cell: ({ row, getValue }) => (FINAL.includes(row.original.state) ? scaled(getValue(), 1e-6) : "–"),
  }),
  helper.accessor("notes", {
    header: "Notes",
    enableSorting: false,
    cell: ({ getValue }) => <span className="notes">{getValue()}</span>,
  }),
]);

/** A time without its seconds, which the tooltip shows. */
export function Moment({ of }: { of: number }) {
  const text = new Date(of * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
  return <span title={when(of)}>{text}</span>;
}

/** The name of a run with its label, tags and badges. */
function Name({ run }: { run: Entry }) {
  return (
    <>
      <a href={link(["runs", run.id])}>
        {run.number} {run.name}
      </a>
      {run.label && <span className="soft"> {run.label}</span>}
      {run.baseline && <span className="badge">baseline</span>}
      {run.shared && <span className="badge">shared</span>}
      {run.course && <span className="badge">shared with {run.course}</span>}
      <Marks run={{ fidelity: null, changed: run.changed }} />
      {run.tags.map((tag) => (
        <span key={tag} className="tag">
          {tag}
        </span>
      ))}
    </>
  );
}
