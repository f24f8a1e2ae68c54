// The results of a run as tables, with those of a pinned run.

import { csv, rounded } from "../data/format";
import type { Answer, Row } from "../engine/answer";
import { ScrollRegion } from "../parts/basics";
import { FlowTable, MAX_ROWS, Omitted } from "../parts/flow_table";

/** A run that the page keeps. */
export interface Done {
  /** The text of the scenario that was run. */
  text: string;
  answer: Answer;
  milliseconds: number;
}

export function Results({ done, pinned }: { done: Done; pinned: Done | undefined }) {
  const { answer } = done;
  return (
    <section aria-labelledby="results">
      <h2 id="results">Results</h2>
      <FlowTable answer={answer} before={pinned?.answer} />
      {pinned && <p className="soft">Small numbers: the pinned run.</p>}
      {Object.entries(answer.summary.tables).map(([name, rows]) => (
        <Report key={name} name={name} rows={rows} units={answer.summary.units[name] ?? {}} />
      ))}
      {answer.summary.drops.length > 0 && <Report name="drops" rows={answer.summary.drops} units={{}} />}
    </section>
  );
}

function Report({ name, rows, units }: { name: string; rows: Row[]; units: Record<string, string> }) {
  const columns = columnsOf(rows);
  const unit = (column: string) => (units[column] && units[column] !== "1" ? ` (${units[column]})` : "");
  return (
    <details>
      <summary>{name.replaceAll("_", " ")}</summary>
      <ScrollRegion label={`Table ${name}`}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th scope="col" key={column}>
                  {column}
                  {unit(column)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MAX_ROWS).map((row) => (
              <tr key={JSON.stringify(row)}>
                {columns.map((column) => (
                  <td key={column} className={typeof row[column] === "string" ? "text" : undefined}>
                    {rounded(row[column])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <Omitted rows={rows} />
    </details>
  );
}

/** The columns of rows: names before numbers. */
function columnsOf(rows: Row[]): string[] {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const named = all.filter((column) => rows.some((row) => typeof row[column] === "string"));
  return [...named, ...all.filter((column) => !named.includes(column))];
}

/** The flows as CSV, with all columns. */
export function flowsCsv(answer: Answer): string {
  const columns = [...new Set(["flow", ...answer.flows.flatMap((row) => Object.keys(row))])];
  return csv([columns, ...answer.flows.map((row) => columns.map((column) => row[column] ?? ""))]);
}

/** The kept rows of a trace as CSV. */
export function traceCsv(answer: Answer, table: string): string {
  const trace = answer.traces.find((one) => one.table === table);
  if (!trace) return "";
  const value = (given: number) => (Number.isNaN(given) ? "" : given);
  const head = ["time (s)", trace.noun, ...trace.columns.map((one) => `${one.name} (${one.unit})`)];
  const rows = Array.from({ length: trace.rows }, (_, row) => [
    trace.time[row]! / 1e9,
    trace.entities[trace.entity[row]!] ?? "",
    ...trace.columns.map((one) => value(one.values[row]!)),
  ]);
  return csv([head, ...rows]);
}
