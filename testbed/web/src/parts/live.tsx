// A run in progress: live plots, a map of satellites, and manual changes.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Region, Scenario, Series } from "../data/api.gen";
import { quantity, unitsOf } from "../data/quantities";
import type { Schema, Table } from "../data/schema";
import { type Part, useLoaded, useRows } from "../data/state";
import { Progress } from "./basics";
import { Controls } from "./controls";
import { Plot } from "./plot";
import { Satellites } from "./satellites";

/** The tables of traces with their columns after the time. */
type Tables = Record<string, { entity: string; columns: { name: string; unit: string }[] }>;

interface LivePlot {
  title: string;
  trace: string;
  column: string;
  unit: string;
  /** True for a column that counts bytes; the plot shows its rate. */
  rate?: boolean;
}

const LIVE_PLOTS: LivePlot[] = [
  { title: "goodput", trace: "delivery", column: "delivered", unit: "kbit/s", rate: true },
  { title: "received", trace: "datagram", column: "received", unit: "kbit/s", rate: true },
  { title: "RTT", trace: "tcp", column: "rtt", unit: "s" },
  { title: "congestion window", trace: "tcp", column: "cwnd", unit: "segments" },
  { title: "queue", trace: "link", column: "queue_packets", unit: "packets" },
  { title: "terminal queue", trace: "dama", column: "queue", unit: "bytes" },
  { title: "capacity requests", trace: "dama", column: "request", unit: "slots" },
  { title: "assigned capacity", trace: "dama", column: "assigned", unit: "slots" },
  { title: "capacity granted by the control centre", trace: "ncc", column: "granted", unit: "slots" },
  { title: "allowed rate", trace: "tfrc", column: "allowed", unit: "bit/s" },
  { title: "path delay", trace: "path", column: "delay", unit: "s" },
];
/** Largest number of lines in a live plot. */
const MAX_LINES = 8;
/** Interval between redraws of the plots, in milliseconds. */
const DRAW_INTERVAL_MS = 400;

type Rows = Record<string, Record<string, (number | null)[][]>>;

export function Live({ run }: { run: Scenario }) {
  const tables = useLoaded<Tables>("/traces").value;
  const rows = useRef<Rows>({});
  const [count, setCount] = useState(0);
  const [dropped, setDropped] = useState(0);
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  const resolved = run.resolved as Table;
  const [asked, setAsked] = useState(0);
  const regions = useLoaded<Region[]>(`/runs/${run.id}/regions?at=${asked}`);
  const kept = useRef<Region[]>([]);
  if (regions.value) kept.current = regions.value;
  const recorded = useCallback(() => setAsked((before) => before + 1), []);
  const schema = useLoaded<Schema>("/schema").value;
  const end = schema && seconds(resolved.duration, schema);
  useRows(run.id, (parts: Part[], begins) => {
    if (begins) rows.current = {};
    let events = false;
    for (const part of parts) {
      setDropped((before) => (begins ? 0 : before) + part.dropped);
      events ||= part.changes.length > 0 || "handover" in part.rows || "selection" in part.rows;
      for (const [table, entities] of Object.entries(part.rows)) {
        rows.current[table] ??= {};
        const of = rows.current[table];
        for (const [entity, some] of Object.entries(entities)) {
          of[entity] ??= [];
          of[entity].push(...some);
        }
      }
    }
    if (events) setAsked((before) => before + 1);
    waiting.current ??= setTimeout(() => {
      waiting.current = undefined;
      setCount((before) => before + 1);
    }, DRAW_INTERVAL_MS);
  });
  useEffect(() => () => clearTimeout(waiting.current), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies(count): count changes with the rows
  const plots = useMemo(
    () => (tables ? LIVE_PLOTS.flatMap((shown) => plotData(shown, rows.current, tables) ?? []) : []),
    [count, tables],
  );
  const started = run.state === "running" || run.state === "leased";
  return (
    <>
      <div className="big">
        <Progress value={run.progress} label="Progress of this run" />
        <span>{Math.round(100 * run.progress)} %</span>
      </div>
      {!started && <p className="soft">Plots appear after the start of the run.</p>}
      {started && run.instrument === "kernel" && (
        <p className="soft">Plots of kernel runs appear after the end of the run.</p>
      )}
      <div className="columns">
        <section aria-label="Live plots" className="left">
          {started && end !== undefined && (
            <Satellites
              data={resolved}
              text={run.scenario}
              time={Math.min(end, (Math.round(run.progress * 100) * end) / 100)}
            />
          )}
          {plots.map(({ title, series }) => (
            <section key={title}>
              <h2>{title}</h2>
              <Plot title={title} series={series} regions={kept.current} end={end} />
            </section>
          ))}
          {dropped > 0 && (
            <p className="soft">
              The plots omit {dropped} rows in order not to slow the run. The files of the run contain them.
            </p>
          )}
        </section>
        <section aria-label="Manual changes" className="right">
          {run.mine && run.instrument !== "kernel" && started && (
            <Controls run={run} data={resolved} events={asked} recorded={recorded} />
          )}
        </section>
      </div>
    </>
  );
}

function seconds(duration: unknown, schema: Schema): number | undefined {
  return quantity(duration, unitsOf(schema.properties?.duration ?? {}, schema))?.value;
}

function plotData(
  shown: LivePlot,
  rows: Rows,
  tables: Tables,
): { title: string; series: { name: string; of: Series }[] } | null {
  const entities = Object.entries(rows[shown.trace] ?? {});
  const column = 1 + (tables[shown.trace]?.columns.findIndex((one) => one.name === shown.column) ?? -1);
  if (entities.length === 0 || column < 1) return null;
  const lines = entities.slice(0, MAX_LINES).map(([name, some]) => {
    const time = some.map((row) => row[0] as number);
    const value = some.map((row) => row[column] ?? null);
    return shown.rate ? { name, ...rates(time, value) } : { name, time, value };
  });
  if (lines.every((line) => line.value.every((one) => one === null))) return null;
  return {
    title: shown.title,
    series: [{ name: "", of: { quantity: shown.title, unit: shown.unit, thinned: false, lines } }],
  };
}

/** The rate of a byte count in kbit/s, averaged over at least a hundredth of the time so far. */
function rates(time: number[], bytes: (number | null)[]): { time: number[]; value: (number | null)[] } {
  const window = Math.max(1e-3, ((time.at(-1) ?? 0) - (time[0] ?? 0)) / 100);
  const found = { time: [] as number[], value: [] as (number | null)[] };
  let last = 0;
  for (let at = 1; at < time.length; at++) {
    const took = time[at]! - time[last]!;
    if (took < window) continue;
    found.time.push(time[at]!);
    found.value.push((((bytes[at] ?? 0) - (bytes[last] ?? 0)) * 8) / took / 1e3);
    last = at;
  }
  return found;
}
