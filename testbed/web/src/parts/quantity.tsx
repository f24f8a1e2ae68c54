// A plot of one quantity of one or several runs over time, with its data as CSV.

import { type ReactNode, useEffect, useState } from "react";
import { api } from "../data/api";
import type { Region, Results, Series } from "../data/api.gen";
import { useReconnections } from "../data/connection";
import { csv, save } from "../data/format";
import { message } from "../data/state";
import { Notice } from "./basics";
import { Plot } from "./plot";
import { useTimeRange } from "./time";

/** The default quantities: those of figure 17 in the paper of studies/satnex, and the round-trip
 * time. */
const DEFAULT_QUANTITIES = ["tcp.sent", "tcp.cwnd", "tcp.ssthresh", "tcp.rtt"];

/** The recorded quantities of a run, as "trace.column". */
export function quantitiesOf(results: Results | null | undefined): string[] {
  return Object.entries(results?.quantities ?? {}).flatMap(([trace, columns]) =>
    columns.map((one) => `${trace}.${one}`),
  );
}

/** The quantities that are plotted by default: those of TCP, or for runs without TCP the first
 * recorded quantities. */
export function defaultQuantities(known: string[]): string[] {
  const first = DEFAULT_QUANTITIES.filter((one) => known.includes(one));
  return first.length > 0 ? first : known.slice(0, DEFAULT_QUANTITIES.length);
}

/** Delay after a change of the time range before data is loaded, in milliseconds. */
const DEBOUNCE_MS = 150;

/** A plot of one quantity of several runs. Each time range is loaded with its own detail. */
export function Quantity({
  runs,
  quantity,
  regions,
  marks,
}: {
  runs: { id: string; name: string }[];
  quantity: string;
  regions?: Region[];
  marks?: ReactNode;
}) {
  const [part, choose] = useTimeRange();
  const [series, setSeries] = useState<{ name: string; of: Series }[]>([]);
  const [failure, setFailure] = useState("");
  const key = runs.map((one) => `${one.id} ${one.name}`).join(",");
  const within = part ? `?from=${part[0]}&to=${part[1]}` : "";
  const reconnections = useReconnections();
  // `runs` is a new list at each rendering.
  // biome-ignore lint/correctness/useExhaustiveDependencies: key contains runs
  useEffect(() => {
    let current = true;
    setFailure("");
    // The previous lines stay visible until the new data arrives.
    const timer = setTimeout(
      () =>
        Promise.all(
          runs.map(async ({ id, name }) => ({
            name,
            of: await api.get<Series>(`/runs/${id}/series/${quantity}${within}`),
          })),
        ).then(
          (found) => current && setSeries(found),
          (error: unknown) => current && setFailure(message(error)),
        ),
      within ? DEBOUNCE_MS : 0,
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [key, quantity, within, reconnections]);
  return (
    <section>
      <div className="heading">
        <h2>{quantity}</h2>
        {marks}
        {part && (
          <button type="button" onClick={() => choose(undefined)} aria-label={`All times of ${quantity}`}>
            All times
          </button>
        )}
        {series.length > 0 && (
          <button
            type="button"
            onClick={() => save(`${quantity}.csv`, csvText(series))}
            aria-label={`Data of ${quantity} as CSV`}
          >
            CSV
          </button>
        )}
      </div>
      <Notice text={failure} kind="plain" />
      {series.length > 0 && (
        <Plot series={series} title={quantity} regions={regions} part={part} choose={choose} />
      )}
    </section>
  );
}

/** The points of a plot as CSV, one per line. */
function csvText(series: { name: string; of: Series }[]): string {
  const rows = series.flatMap(({ name, of }) =>
    of.lines.flatMap((line) =>
      line.time.map((time, place) => [name, line.name, time, line.value[place] ?? ""]),
    ),
  );
  return csv([["run", "line", "time (s)", series[0]?.of.unit ?? "value"], ...rows]);
}
