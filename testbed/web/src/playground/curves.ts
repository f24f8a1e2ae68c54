// The curves of a run: columns of its traces over time.

import type { Series } from "../data/api.gen";
import type { Answer } from "../engine/answer";
import { rowsOf } from "../site/expression";
import { rates } from "../site/lines";

/** A plot: a column of a trace, or the rate at which the column grows. */
export interface Curve {
  id: string;
  title: string;
  table: string;
  column: string;
  rate?: boolean;
}

const PREFERRED: Curve[] = [
  { id: "goodput", title: "goodput", table: "delivery", column: "delivered", rate: true },
  { id: "tcp.cwnd", title: "cwnd", table: "tcp", column: "cwnd" },
  { id: "tcp.rtt", title: "round-trip time", table: "tcp", column: "rtt" },
  { id: "link.queue_packets", title: "queue", table: "link", column: "queue_packets" },
  { id: "dama.queue", title: "queue of the terminal", table: "dama", column: "queue" },
  { id: "dama.assigned", title: "assigned slots", table: "dama", column: "assigned" },
  { id: "datagram.delay", title: "delay of datagrams", table: "datagram", column: "delay" },
  { id: "transaction.took", title: "time of transactions", table: "transaction", column: "took" },
  { id: "path.delay", title: "propagation delay", table: "path", column: "delay" },
];

/** Number of plots that are open at first. */
const FIRST = 4;
/** Number of intervals in which the rate of a column is computed. */
const BINS = 200;
/** Maximum number of lines of a plot; further entities are omitted. */
const MAX_LINES = 12;

/** All curves of a run, the preferred ones first. */
export function curvesOf(answer: Answer): Curve[] {
  const all = answer.traces
    .filter((trace) => trace.rows > 0)
    .flatMap((trace) =>
      trace.columns.map(({ name }) => ({
        id: `${trace.table}.${name}`,
        title: `${trace.table} ${name}`.replaceAll("_", " "),
        table: trace.table,
        column: name,
      })),
    );
  const preferred = PREFERRED.filter((one) =>
    all.some(({ table, column }) => table === one.table && column === one.column),
  );
  return [...preferred, ...all.filter((one) => preferred.every(({ id }) => id !== one.id))];
}

/** The plots to open for a run if the user has chosen none: the first ones with a varying line. */
export function firstCurves(answer: Answer): string[] {
  const varies = (curve: Curve) =>
    seriesOf(curve, answer)?.lines.some(({ value }) => value.some((one) => one !== value[0]));
  const found: string[] = [];
  for (const curve of curvesOf(answer)) {
    if (found.length < FIRST && varies(curve)) found.push(curve.id);
  }
  return found;
}

/** The lines of a curve, one per entity; undefined if the run has no such trace. */
export function seriesOf(curve: Curve, answer: Answer): Series | undefined {
  const trace = answer.traces.find((one) => one.table === curve.table);
  const about = trace?.columns.find((one) => one.name === curve.column);
  if (!trace || !about) return undefined;
  const end = answer.summary.duration_seconds;
  const scale = about.unit === "ns" ? 1e-9 : 1;
  const all = trace.entities.map((name) => {
    const rows = rowsOf(trace, name, curve.column);
    if (rows.time.length === 0) return { name, time: [], value: [] };
    if (curve.rate) {
      const { x, y } = rates(rows, end / BINS, end);
      return { name, time: x, value: y.map((one) => (one === null ? null : one / 1e6)) };
    }
    const value = Array.from(rows.values, (one) => (Number.isNaN(one) ? null : one * scale));
    return { name, time: Array.from(rows.time), value };
  });
  const unit = curve.rate ? "Mbit/s" : about.unit === "ns" ? "s" : about.unit === "1" ? "" : about.unit;
  // A rate of 0 throughout is that of a direction without data.
  const lines = all.filter(({ value }) => value.some((one) => (curve.rate ? one : one !== null)));
  return { quantity: curve.id, unit, thinned: false, lines: lines.slice(0, MAX_LINES) };
}
