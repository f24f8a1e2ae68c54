// A run in progress: live plots, a map of satellites, and manual changes.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Region, RunNetwork, Scenario, Series } from "../data/api.gen";
import { type NetworkSamples, type Samples, stateAt } from "../data/network_state";
import { quantity, unitsOf } from "../data/quantities";
import type { Schema, Table } from "../data/schema";
import { type Part, useLoaded, useRows } from "../data/state";
import { rates } from "../data/timeline";
import { Progress } from "./basics";
import { Controls } from "./controls";
import { LivePicture } from "./live_picture";
import { Plot } from "./plot";
import { Satellites } from "./satellites";

/** The tables of traces with their columns after the time. */
type Tables = Record<string, { entity: string; columns: { name: string; unit: string }[] }>;

interface LivePlot {
  title: string;
  /** The traces with this column. */
  traces: string[];
  column: string;
  unit: string;
  /** True for a column that counts bytes; the plot shows its rate. */
  rate?: boolean;
}

const LIVE_PLOTS: LivePlot[] = [
  { title: "goodput", traces: ["delivery"], column: "delivered", unit: "kbit/s", rate: true },
  { title: "received", traces: ["datagram"], column: "received", unit: "kbit/s", rate: true },
  { title: "RTT", traces: ["tcp", "quic"], column: "rtt", unit: "s" },
  { title: "congestion window", traces: ["tcp", "quic"], column: "cwnd", unit: "segments" },
  { title: "queue", traces: ["link"], column: "queue_packets", unit: "packets" },
  { title: "terminal queue", traces: ["dama"], column: "queue", unit: "bytes" },
  { title: "capacity requests", traces: ["dama"], column: "request", unit: "slots" },
  { title: "assigned capacity", traces: ["dama"], column: "assigned", unit: "slots" },
  { title: "capacity granted by the control centre", traces: ["ncc"], column: "granted", unit: "slots" },
  { title: "allowed rate", traces: ["tfrc"], column: "allowed", unit: "bit/s" },
  { title: "path delay", traces: ["path"], column: "delay", unit: "s" },
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
    () => (tables ? LIVE_PLOTS.flatMap((shown) => plotData(shown, rows.current, tables, end) ?? []) : []),
    [count, tables, end],
  );
  const network = useLoaded<RunNetwork>(run.instrument === "study" ? "" : `/runs/${run.id}/network`).value;
  // biome-ignore lint/correctness/useExhaustiveDependencies(count): count changes with the rows
  const picture = useMemo(() => {
    if (!tables || !network) return null;
    const { samples, at } = networkSamples(rows.current, tables);
    return at > 0 ? { at, state: stateAt(network, samples, at, changedRates(kept.current, schema)) } : null;
  }, [count, tables, network, schema]);
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
        <section aria-label="Live network" className="left">
          {started && end !== undefined && (
            <Satellites
              data={resolved}
              text={run.scenario}
              time={Math.min(end, (Math.round(run.progress * 100) * end) / 100)}
            />
          )}
          {started && network && picture && (
            <LivePicture network={network} data={resolved} state={picture.state} at={picture.at} />
          )}
        </section>
        <section aria-label="Manual changes" className="right">
          {run.mine && run.instrument !== "kernel" && started && (
            <Controls run={run} data={resolved} events={asked} recorded={recorded} />
          )}
        </section>
      </div>
      <section aria-label="Live plots" className="panel-grid">
        {plots.map(({ title, series }) => (
          <Plot key={title} title={title} series={series} regions={kept.current} end={end} height={220} />
        ))}
      </section>
      {dropped > 0 && (
        <p className="soft">
          The plots omit {dropped} rows in order not to slow the run. The files of the run contain them.
        </p>
      )}
    </>
  );
}

function seconds(duration: unknown, schema: Schema): number | undefined {
  return quantity(duration, unitsOf(schema.properties?.duration ?? {}, schema))?.value;
}

/** The samples of links and flows in the live rows, and the time of the last one. */
function networkSamples(rows: Rows, tables: Tables): { samples: NetworkSamples; at: number } {
  let at = 0;
  const column = (trace: string, name: string): Record<string, Samples> => {
    const place = 1 + (tables[trace]?.columns.findIndex((one) => one.name === name) ?? -1);
    return Object.fromEntries(
      Object.entries(rows[trace] ?? {}).map(([entity, some]) => {
        at = Math.max(at, some.at(-1)?.[0] ?? 0);
        return [
          entity,
          { time: some.map((row) => row[0] as number), value: some.map((row) => row[place] ?? null) },
        ];
      }),
    );
  };
  const samples = {
    queuePackets: column("link", "queue_packets"),
    queueBytes: column("link", "queue_bytes"),
    dropped: column("link", "dropped"),
    delivered: { ...column("datagram", "received"), ...column("delivery", "delivered") },
  };
  return { samples, at };
}

/** The rates of links in bit/s after their last change, by link. */
function changedRates(regions: Region[], schema: Schema | undefined): Record<string, number> {
  const units = schema ? unitsOf(schema.$defs?.Link?.properties?.rate ?? {}, schema) : {};
  return Object.fromEntries(
    regions.flatMap(({ kind, of, label }) => {
      const link = /^link\.(.+)\.rate$/.exec(of)?.[1];
      const rate = quantity(label.slice(label.indexOf("=") + 1), units);
      return kind === "change" && link && rate ? [[link, rate.value]] : [];
    }),
  );
}

function plotData(
  shown: LivePlot,
  rows: Rows,
  tables: Tables,
  /** Duration of the run, in seconds. */
  end: number | undefined,
): { title: string; series: { name: string; of: Series }[] } | null {
  const found = shown.traces.flatMap((trace) => {
    const column = 1 + (tables[trace]?.columns.findIndex((one) => one.name === shown.column) ?? -1);
    return column < 1
      ? []
      : Object.entries(rows[trace] ?? {}).map(([name, some]) => ({ name, some, column }));
  });
  if (found.length === 0) return null;
  const lines = found.slice(0, MAX_LINES).map(({ name, some, column }) => {
    const time = some.map((row) => row[0] as number);
    const value = some.map((row) => row[column] ?? null);
    return shown.rate ? { name, ...rates(time, value, end) } : { name, time, value };
  });
  if (lines.every((line) => line.value.every((one) => one === null))) return null;
  return {
    title: shown.title,
    series: [{ name: "", of: { quantity: shown.title, unit: shown.unit, thinned: false, lines } }],
  };
}
