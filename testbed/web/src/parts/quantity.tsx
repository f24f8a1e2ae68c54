// One quantity of one or several runs over time, as a plot with its data.

import { type ReactNode, useEffect, useState } from "react";
import { api } from "../data/api";
import type { Region, Results, Series } from "../data/api.gen";
import { useReturns } from "../data/connection";
import { csv, save } from "../data/format";
import { message } from "../data/state";
import { Notice } from "./basics";
import { Plot } from "./plot";
import { useTime } from "./time";

/** The quantities of the study's figure 17, and the round-trip time. */
const FIRST = ["tcp.sent", "tcp.cwnd", "tcp.ssthresh", "tcp.rtt"];

/** What was recorded of a run, as traces and their quantities. */
export function quantitiesOf(results: Results | null | undefined): string[] {
  return Object.entries(results?.quantities ?? {}).flatMap(([trace, columns]) =>
    columns.map((one) => `${trace}.${one}`),
  );
}

/** The quantities of which plots show first: those of TCP, or of a run without TCP the first that were recorded. */
export function firstOf(known: string[]): string[] {
  const first = FIRST.filter((one) => known.includes(one));
  return first.length > 0 ? first : known.slice(0, FIRST.length);
}

/** Milliseconds in which further changes of the part of the time are waited for. */
const SETTLE = 150;

/** One quantity of several runs in one plot. A part of the time is loaded with its own detail. */
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
  const [part, choose] = useTime();
  const [series, setSeries] = useState<{ name: string; of: Series }[]>([]);
  const [trouble, setTrouble] = useState("");
  const key = runs.map((one) => `${one.id} ${one.name}`).join(",");
  const within = part ? `?from=${part[0]}&to=${part[1]}` : "";
  const returns = useReturns();
  // biome-ignore lint/correctness/useExhaustiveDependencies: key has the content of runs, which is a new list at each rendering; returns only asks again
  useEffect(() => {
    let current = true;
    setTrouble("");
    // The present lines stay until the detail has arrived.
    const timer = setTimeout(
      () =>
        Promise.all(
          runs.map(async ({ id, name }) => ({
            name,
            of: await api.get<Series>(`/runs/${id}/series/${quantity}${within}`),
          })),
        ).then(
          (found) => current && setSeries(found),
          (error: unknown) => current && setTrouble(message(error)),
        ),
      within ? SETTLE : 0,
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [key, quantity, within, returns]);
  return (
    <section>
      <div className="heading">
        <h2>{quantity}</h2>
        {marks}
        {part && (
          <button type="button" onClick={() => choose(undefined)} aria-label={`All of ${quantity}`}>
            Whole time
          </button>
        )}
        {series.length > 0 && (
          <button
            type="button"
            onClick={() => save(`${quantity}.csv`, data(series))}
            aria-label={`Data of ${quantity} as CSV`}
          >
            CSV
          </button>
        )}
      </div>
      <Notice text={trouble} kind="plain" />
      {series.length > 0 && (
        <Plot series={series} title={quantity} regions={regions} part={part} choose={choose} />
      )}
    </section>
  );
}

/** The points of a figure, a line each. */
function data(series: { name: string; of: Series }[]): string {
  const rows = series.flatMap(({ name, of }) =>
    of.lines.flatMap((line) =>
      line.time.map((time, place) => [name, line.name, time, line.value[place] ?? ""]),
    ),
  );
  return csv([["run", "line", "time (s)", series[0]?.of.unit ?? "value"], ...rows]);
}
