// Means over the runs of one launch, with their confidence intervals.

import { useEffect, useRef, useState } from "react";
import type { Means, Point } from "../data/api.gen";
import { csv, save } from "../data/format";
import { significant } from "../data/numbers";
import { FINAL, link, useEvents, useLoaded, useValue } from "../data/state";
import { Field, Notice, ScrollRegion } from "./basics";
import { Choices } from "./choices";
import { Intervals } from "./intervals";
import { FidelityMark } from "./marks";

/** Largest number of metrics shown at a time, the limit of the REST interface. */
const MAX_METRICS = 12;
/** Delay between the end of a run and the next request for means, in milliseconds. Other runs may
 * end within it. */
const RELOAD_DELAY_MS = 2000;

export function MeansOfLaunch({ batch }: { batch: string }) {
  const [metric, show] = useValue("metric");
  const [of, setOf] = useValue("of");
  const [x, setX] = useValue("x");
  const [scale, setScale] = useValue("scale");
  const query = new URLSearchParams([
    ...metric
      .split(",")
      .filter(Boolean)
      .map((one) => ["metric", one]),
    ...(of ? [["of", of]] : []),
  ] as [string, string][]);
  const { value, error, reload } = useLoaded<Means>(`/batches/${batch}/means?${query.toString()}`);
  const [last, setLast] = useState<Means>();
  useEffect(() => {
    if (value) setLast(value);
  }, [value]);
  const due = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEvents((event) => {
    if (due.current !== undefined || (event !== null && !FINAL.includes(event.state))) return;
    due.current = setTimeout(() => {
      due.current = undefined;
      reload();
    }, RELOAD_DELAY_MS);
  });
  useEffect(() => () => clearTimeout(due.current), []);
  // The previous means stay visible until the next ones arrive.
  const found = value ?? last;
  if (!found) return error ? <Notice text={error} /> : <p aria-busy="true">Loading…</p>;
  const shown = found.metrics.map((one) => one.metric);
  const wanted = metric ? metric.split(",").filter((one) => found.available.includes(one)) : shown;
  const across = found.keys.some((one) => one.key === x) ? x : found.across;
  return (
    <>
      <Notice text={error} />
      <p role="status">{summary(found)}</p>
      <MissingRuns of={found} />
      {found.available.length > 0 && (
        <>
          <Choices
            title="Quantities"
            legend="Quantities to show"
            names={found.available}
            chosen={wanted}
            choose={(next) => show(next.join(","))}
            min={1}
            max={MAX_METRICS}
          />
          <div className="row">
            <EntityFilter of={of} choose={setOf} />
            {found.keys.length > 1 && across !== null && (
              <Field label="Horizontal axis">
                {(id) => (
                  <select id={id} value={across} onChange={(event) => setX(event.target.value)}>
                    {found.keys.map((one) => (
                      <option key={one.key} value={one.key}>
                        {one.name}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
            )}
            {across !== null && (
              <Field label="Axes">
                {(id) => (
                  <select id={id} value={scale} onChange={(event) => setScale(event.target.value)}>
                    <option value="">automatic</option>
                    <option value="linear">linear</option>
                    <option value="log">logarithmic</option>
                  </select>
                )}
              </Field>
            )}
          </div>
          {across !== null &&
            shown.map((one) => (
              <Intervals
                key={one}
                means={found}
                metric={one}
                across={across}
                log={scale ? scale === "log" : undefined}
              />
            ))}
          <MeansTable of={found} />
        </>
      )}
    </>
  );
}

/** A sentence about the runs in the means, and one about the confidence intervals. */
function summary(found: Means): string {
  if (found.complete === 0)
    return `${found.runs === 1 ? "The run has no" : `None of the ${found.runs} runs has`} results${found.missing.some((one) => !FINAL.includes(one.state)) ? " yet" : ""}, so there are no means.`;
  const over =
    found.complete === found.runs
      ? `${found.runs === 1 ? "one run" : `all ${found.runs} runs`}`
      : `${found.complete} of ${found.runs} runs`;
  const counts = found.points.flatMap((point) => point.means.flatMap((one) => (one ? [one.count] : [])));
  const confidence = `${significant(100 * found.confidence, 6)}\u00a0%`;
  const alone = counts.filter((one) => one === 1).length;
  const intervals =
    alone === 0 || counts.length === 0
      ? `The confidence level of the intervals is ${confidence}.`
      : alone === counts.length
        ? "A mean over one run has no interval. To get intervals, set replications in step 3, Test."
        : `The confidence level of the intervals is ${confidence}. A mean over one run has no interval.`;
  return `Means of ${found.name} over ${over}. ${intervals}`;
}

/** The list of runs that are not included in the means. */
function MissingRuns({ of }: { of: Means }) {
  const count = of.runs - of.complete;
  if (count === 0) return null;
  const more = count - of.missing.length;
  return (
    <details open={count <= 10}>
      <summary>
        {count} {count === 1 ? "run is" : "runs are"} not included in the means
      </summary>
      <ul>
        {of.missing.map((one) => (
          <li key={one.id}>
            <a href={link(["runs", one.id])}>
              {one.number} {one.label || of.name}
            </a>
            : {one.state}
            {one.reason && one.reason !== one.state && ` – ${one.reason}`}
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </details>
  );
}

/** The choice of the flow, terminal, link or group whose means are shown. */
function EntityFilter({ of, choose }: { of: string; choose: (of: string) => void }) {
  const [typed, setTyped] = useState(of);
  useEffect(() => setTyped(of), [of]);
  return (
    <form
      className="row"
      aria-label="Filter of the means"
      onSubmit={(event) => {
        event.preventDefault();
        choose(typed.trim());
      }}
    >
      <Field
        label="Flow, terminal or link"
        help="A name; for a mean over several, a group or a pattern such as st*. Leave empty to list all."
      >
        {(id, described) => (
          <input
            id={id}
            aria-describedby={described}
            maxLength={100}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
      </Field>
      <button type="submit">Show</button>
    </form>
  );
}

/** Returns true if rows need the name of their flow, terminal or link: there are several, or no key
 * is varied. */
function hasEntities(of: Means): boolean {
  return of.keys.length === 0 || new Set(of.points.map((one) => one.of)).size > 1;
}

/** Returns true if some runs were emulations, which have a fidelity. */
function hasFidelity(of: Means): boolean {
  return of.points.some((one) => one.fidelity);
}

function MeansTable({ of }: { of: Means }) {
  const entities = hasEntities(of);
  const title = (metric: string, unit: string) =>
    metric.replaceAll("_", " ") + (unit === "1" ? "" : ` (${unit})`);
  // Cells are empty where a metric does not apply: a link has no goodput, a flow no utilisation.
  const measured = new Set(
    of.points.flatMap((point) => point.means.flatMap((one, place) => (one ? [`${place} ${point.of}`] : []))),
  );
  if (of.points.length === 0)
    return (
      <p className="soft">
        No run has a value for {of.metrics.map((one) => one.metric.replaceAll("_", " ")).join(" or ")}.
      </p>
    );
  return (
    <>
      <ScrollRegion label="Means">
        <table className="means">
          <caption>Mean ± half-width of the confidence interval</caption>
          <thead>
            <tr>
              {of.keys.map((one) => (
                <th key={one.key} title={one.key}>
                  {one.name}
                </th>
              ))}
              {entities && <th>of</th>}
              {hasFidelity(of) && <th>fidelity</th>}
              {of.metrics.flatMap((one) => [
                <th key={one.metric}>{title(one.metric, one.shown_unit)}</th>,
                <th key={`${one.metric} runs`}>runs</th>,
              ])}
            </tr>
          </thead>
          <tbody>
            {of.points.map((point) => (
              <tr key={[...point.labels, point.of].join("\n")}>
                {point.labels.map((one, place) => (
                  <th scope="row" key={of.keys[place]?.key}>
                    {one}
                  </th>
                ))}
                {entities && <th scope="row">{point.of}</th>}
                {hasFidelity(of) && (
                  <td>
                    <FidelityMark of={point.fidelity} />
                  </td>
                )}
                {point.means.flatMap((one, place) => {
                  const key = of.metrics[place]!.metric;
                  const known = one !== null || measured.has(`${place} ${point.of}`);
                  return [
                    <td key={key}>{one?.text ?? (known ? "–" : "")}</td>,
                    <td key={`${key} runs`}>{known && runCount(point, place)}</td>,
                  ];
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <p className="row">
        <button type="button" onClick={() => save("means.csv", csvText(of))}>
          CSV
        </button>
        <button type="button" onClick={() => save("means.tex", fidelityComments(of) + of.latex)}>
          LaTeX
        </button>
      </p>
    </>
  );
}

/** LaTeX comments with the fidelity of each point whose verdict is not "valid". */
function fidelityComments(of: Means): string {
  const doubtful = of.points.filter((one) => one.fidelity && one.fidelity.verdict !== "valid");
  return doubtful
    .map((one) => `% ${[...one.labels, one.of].join(", ")}: ${one.fidelity!.verdict}\n`)
    .join("");
}

/** The number of runs in a mean, with the total if some runs are missing. */
function runCount(point: Point, place: number): string {
  const count = point.means[place]?.count ?? 0;
  return count < point.runs ? `${count} of ${point.runs}` : String(count);
}

/** The table as CSV, with all digits, in the same units. */
function csvText(of: Means): string {
  const columns = of.metrics.flatMap(({ metric, shown_unit: unit }) => {
    const shown = unit === "1" ? "" : ` (${unit})`;
    return [`${metric}${shown}`, `${metric} half width${shown}`, `${metric} runs`];
  });
  const lines = of.points.map((point) => [
    ...point.labels,
    point.of,
    ...(hasFidelity(of) ? [point.fidelity?.verdict ?? ""] : []),
    ...point.means.flatMap((one, place) => {
      const { size } = of.metrics[place]!;
      return [
        one ? one.mean / size : "",
        one?.half_width != null ? one.half_width / size : "",
        one?.count ?? 0,
      ];
    }),
  ]);
  return csv([
    [...of.keys.map((one) => one.name), "of", ...(hasFidelity(of) ? ["fidelity"] : []), ...columns],
    ...lines,
  ]);
}
