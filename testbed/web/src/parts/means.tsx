// Means over the runs of one launch, with their confidence intervals.

import { useEffect, useRef, useState } from "react";
import type { Means, Point } from "../data/api.gen";
import { csv, save } from "../data/format";
import { FINAL, link, useEvents, useLoaded, useValue } from "../data/state";
import { Field, Notice, Wide } from "./basics";
import { Choices } from "./choices";
import { Intervals } from "./intervals";
import { FidelityMark } from "./marks";

/** Metrics that are shown at a time: as many as the interface takes. */
const MOST_METRICS = 12;
/** Milliseconds between the end of a run and new means, in which other runs may end. */
const WAIT = 2000;

export function MeansOfLaunch({ batch }: { batch: string }) {
  const [metric, show] = useValue("metric");
  const [of, setOf] = useValue("of");
  const [x, setX] = useValue("x");
  const query = new URLSearchParams([
    ...metric
      .split(",")
      .filter(Boolean)
      .map((one) => ["metric", one]),
    ...(of ? [["of", of]] : []),
  ] as [string, string][]);
  const { value, error, again } = useLoaded<Means>(`/batches/${batch}/means?${query.toString()}`);
  const [last, setLast] = useState<Means>();
  useEffect(() => {
    if (value) setLast(value);
  }, [value]);
  const due = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEvents((event) => {
    if (due.current !== undefined || (event !== null && !FINAL.includes(event.state))) return;
    due.current = setTimeout(() => {
      due.current = undefined;
      again();
    }, WAIT);
  });
  useEffect(() => () => clearTimeout(due.current), []);
  // What is shown stays until the next is there.
  const found = value ?? last;
  if (!found) return error ? <Notice text={error} /> : <p aria-busy="true">Loading…</p>;
  const shown = found.metrics.map((one) => one.metric);
  const wanted = metric ? metric.split(",").filter((one) => found.available.includes(one)) : shown;
  const across = found.keys.some((one) => one.key === x) ? x : found.across;
  return (
    <>
      <Notice text={error} />
      <p role="status">{summary(found)}</p>
      <Missing of={found} />
      {found.available.length > 0 && (
        <>
          <Choices
            title="Quantities"
            legend="Quantities to show"
            names={found.available}
            chosen={wanted}
            choose={(next) => show(next.join(","))}
            least={1}
            most={MOST_METRICS}
          />
          <div className="row">
            <Only of={of} choose={setOf} />
            {found.keys.length > 1 && across !== null && (
              <Field label="Axis of the figures">
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
          </div>
          <Table of={found} />
          {across !== null &&
            shown.map((one) => <Intervals key={one} means={found} metric={one} across={across} />)}
        </>
      )}
    </>
  );
}

/** What the means are over, and why there may be no intervals, in words. */
function summary(found: Means): string {
  if (found.complete === 0)
    return `None of the ${found.runs === 1 ? "one run" : `${found.runs} runs`} has ended with results${found.missing.some((one) => !FINAL.includes(one.state)) ? " yet" : ""}, so there are no means.`;
  const over =
    found.complete === found.runs
      ? `${found.runs === 1 ? "one run" : `all ${found.runs} runs`}`
      : `${found.complete} of ${found.runs} runs`;
  const counts = found.points.flatMap((point) => point.means.flatMap((one) => (one ? [one.count] : [])));
  const confidence = `${Number((100 * found.confidence).toPrecision(6))}\u00a0%`;
  const alone = counts.filter((one) => one === 1).length;
  const intervals =
    alone === 0 || counts.length === 0
      ? `The intervals contain the true mean with a confidence of ${confidence}.`
      : alone === counts.length
        ? "A mean over one run has no interval; replications, which step 3 (Test) sets, give it one."
        : `The intervals contain the true mean with a confidence of ${confidence}; a mean over one run has none.`;
  return `Means of ${found.name} over ${over}. ${intervals}`;
}

/** The runs that the means leave out. */
function Missing({ of }: { of: Means }) {
  const count = of.runs - of.complete;
  if (count === 0) return null;
  const more = count - of.missing.length;
  return (
    <details open={count <= 10}>
      <summary>
        {count} {count === 1 ? "run is" : "runs are"} not in the means
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

/** One flow, terminal or link instead of all, or the mean over a group. */
function Only({ of, choose }: { of: string; choose: (of: string) => void }) {
  const [typed, setTyped] = useState(of);
  useEffect(() => setTyped(of), [of]);
  return (
    <form
      className="row"
      aria-label="What the means are of"
      onSubmit={(event) => {
        event.preventDefault();
        choose(typed.trim());
      }}
    >
      <Field
        label="Only of"
        help="A flow, terminal or link; or a group or a pattern such as st*, for the mean over it. Empty: each of them."
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

/** Whether means are of several flows, terminals or links, or of nothing else that a row could be named by. */
function named(of: Means): boolean {
  return of.keys.length === 0 || new Set(of.points.map((one) => one.of)).size > 1;
}

/** True if some of the runs were emulations, which have a fidelity. */
function judged(of: Means): boolean {
  return of.points.some((one) => one.fidelity);
}

function Table({ of }: { of: Means }) {
  const entities = named(of);
  const title = (metric: string, unit: string) =>
    metric.replaceAll("_", " ") + (unit === "1" ? "" : ` (${unit})`);
  // A link has no goodput, and a flow no utilisation: their cells are empty.
  const measured = new Set(
    of.points.flatMap((point) => point.means.flatMap((one, place) => (one ? [`${place} ${point.of}`] : []))),
  );
  if (of.points.length === 0)
    return (
      <p className="soft">
        No run has a value of {of.metrics.map((one) => one.metric.replaceAll("_", " ")).join(" or ")}.
      </p>
    );
  return (
    <>
      <Wide label="Means">
        <table className="means">
          <caption>Mean ± half width of its interval</caption>
          <thead>
            <tr>
              {of.keys.map((one) => (
                <th key={one.key} title={one.key}>
                  {one.name}
                </th>
              ))}
              {entities && <th>of</th>}
              {judged(of) && <th>fidelity</th>}
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
                {judged(of) && (
                  <td>
                    <FidelityMark of={point.fidelity} />
                  </td>
                )}
                {point.means.flatMap((one, place) => {
                  const key = of.metrics[place]!.metric;
                  const known = one !== null || measured.has(`${place} ${point.of}`);
                  return [
                    <td key={key}>{one?.text ?? (known ? "–" : "")}</td>,
                    <td key={`${key} runs`}>{known && runs(point, place)}</td>,
                  ];
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <p className="row">
        <button type="button" onClick={() => save("means.csv", data(of))}>
          CSV
        </button>
        <button type="button" onClick={() => save("means.tex", remarks(of) + of.latex)}>
          LaTeX
        </button>
      </p>
    </>
  );
}

/** Comments of LaTeX with the fidelity of each point that is not valid. */
function remarks(of: Means): string {
  const doubtful = of.points.filter((one) => one.fidelity && one.fidelity.verdict !== "valid");
  return doubtful
    .map((one) => `% ${[...one.labels, one.of].join(", ")}: ${one.fidelity!.verdict}\n`)
    .join("");
}

/** The number of runs that a mean is over, and of how many where some are missing. */
function runs(point: Point, place: number): string {
  const count = point.means[place]?.count ?? 0;
  return count < point.runs ? `${count} of ${point.runs}` : String(count);
}

/** The table with all digits, in the same units. */
function data(of: Means): string {
  const columns = of.metrics.flatMap(({ metric, shown_unit: unit }) => {
    const shown = unit === "1" ? "" : ` (${unit})`;
    return [`${metric}${shown}`, `${metric} half width${shown}`, `${metric} runs`];
  });
  const lines = of.points.map((point) => [
    ...point.labels,
    point.of,
    ...(judged(of) ? [point.fidelity?.verdict ?? ""] : []),
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
    [...of.keys.map((one) => one.name), "of", ...(judged(of) ? ["fidelity"] : []), ...columns],
    ...lines,
  ]);
}
