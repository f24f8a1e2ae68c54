/** Evaluates the expressions of interactive figures, as parsed by scripts/manual/expressions.py. */
import { significant } from "../data/numbers";
import type { Answer, Row, Trace } from "../engine/answer";
import type { Part, Place, Position, Term } from "./spec";

/** The positions of the controls by name. */
export type Named = Record<string, Position>;

/** The rows of one entity in a trace: times in seconds, and the values of a column. */
export interface Rows {
  time: number[];
  values: number[];
  unit: string;
}

export function rowsOf(trace: Trace, entity: string, column: string): Rows {
  const index = trace.entities.indexOf(entity);
  const { values, unit } = trace.columns.find((one) => one.name === column) ?? {
    values: undefined,
    unit: "",
  };
  const found: Rows = { time: [], values: [], unit };
  if (index < 0 || !values) return found;
  for (let row = 0; row < trace.rows; row++) {
    if (trace.entity[row] !== index) continue;
    found.time.push(trace.time[row]! / 1e9);
    found.values.push(values[row]!);
  }
  return found;
}

/** Returns the mean over time. Each value holds until the next row. */
function mean({ table, name, column }: Place, answer: Answer): number | null {
  const trace = answer.traces.find((one) => one.table === table);
  if (!trace) return null;
  const { time, values } = rowsOf(trace, name, column);
  if (values.length === 0) return null;
  const end = answer.summary.duration_seconds;
  const sum = values.reduce((sum, one, row) => sum + one * ((time[row + 1] ?? end) - time[row]!), 0);
  return sum / (end - time[0]!);
}

/** Returns the rows of a table: of the flows, or of a report of the summary. */
export function tableOf(name: string, answer: Answer): Row[] {
  return name === "flows" ? answer.flows : (answer.summary.tables[name] ?? []);
}

function termValue(term: Term, answer: Answer, named: Named): number | null {
  switch (term.kind) {
    case "number":
      return term.number;
    case "control":
      return named[term.name]?.number ?? null;
    case "mean":
      return mean(term, answer);
    case "row": {
      const row = tableOf(term.table, answer).find((one) => one[term.entity] === term.name);
      const value = row?.[term.column];
      return typeof value === "number" ? value : null;
    }
  }
}

/** Returns the value of an expression; null if a value is missing. */
export function evaluated(expression: Term[], answer: Answer, named: Named): number | null {
  let product = 1;
  for (const term of expression) {
    const value = termValue(term, answer, named);
    if (value === null) return null;
    product = term.op === "*" ? product * value : product / value;
  }
  return Number.isFinite(product) ? product : null;
}

/** Formats a number with three significant digits, without an exponent. */
export function digits(value: number): string {
  return significant(value, 3).toLocaleString("en", { maximumFractionDigits: 6, useGrouping: false });
}

/** Returns the sentence with its values; null if a value is missing. */
export function filled(sentence: Part[], answer: Answer, named: Named): string | null {
  const texts = sentence.map((part) => {
    if (typeof part === "string") return part;
    if ("shown" in part) return named[part.shown]?.label ?? null;
    const value = evaluated(part.expression, answer, named);
    return value === null ? null : `${digits(value * part.factor)} ${part.unit}`.trim();
  });
  return texts.includes(null) ? null : texts.join("");
}
