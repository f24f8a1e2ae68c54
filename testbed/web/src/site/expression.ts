/** Numbers from results: products and quotients, as described in scripts/manual/tries.py. */
import type { Answer, Row, Trace } from "../engine/answer";

/** Values of the controls by name: their numbers and the texts shown to the reader. */
export type Named = Record<string, { number: number; text: string }>;

/** Units in the unit of the results, and the rest as it is. */
const UNITS: Record<string, number> = {
  "bit/s": 1,
  "kbit/s": 1e3,
  "Mbit/s": 1e6,
  s: 1,
  ms: 1e-3,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  "%": 0.01,
};

/** Splits TABLE.NAME.COLUMN, in which only NAME may contain dots. */
function parts(place: string): [string, string, string] {
  const [first, last] = [place.indexOf("."), place.lastIndexOf(".")];
  return [place.slice(0, first), place.slice(first + 1, last), place.slice(last + 1)];
}

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

function aggregate(name: string, place: string, answer: Answer): number | null {
  const [table, entity, column] = parts(place);
  const trace = answer.traces.find((one) => one.table === table);
  const { time, values } = trace ? rowsOf(trace, entity, column) : { time: [], values: [] };
  if (values.length === 0) return null;
  if (name === "last") return values.at(-1)!;
  if (name === "mean") {
    // Each value holds until the next row.
    const end = answer.summary.duration_seconds;
    const sum = values.reduce((sum, one, row) => sum + one * ((time[row + 1] ?? end) - time[row]!), 0);
    return sum / (end - time[0]!);
  }
  return values.reduce((best, one) => (name === "max" ? Math.max(best, one) : Math.min(best, one)));
}

/** The tables with columns of `flows`: those of the event loop, and the reports of both ends. */
function tables(name: string, answer: Answer): Row[][] {
  const { tables } = answer.summary;
  if (name !== "flows") return [tables[name] ?? []];
  return [
    answer.flows,
    ...Object.keys(tables).flatMap((one) => (one.startsWith("flow_") ? [tables[one]!] : [])),
  ];
}

function lookUp(place: string, answer: Answer): number | null {
  const [table, name, column] = parts(place);
  for (const rows of tables(table, answer)) {
    const value = rows.find((row) => Object.values(row).includes(name))?.[column];
    if (typeof value === "number") return value;
  }
  return null;
}

/** Returns the value of an expression; null if a value is missing. */
export function evaluated(expression: string, answer: Answer, named: Named): number | null {
  const [first, ...rest] = expression.split(/ ([*/]) /);
  const term = (text: string): number | null => {
    if (/^\d/.test(text)) return Number(text);
    const call = /^(max|min|mean|last)\((.+)\)$/.exec(text);
    if (call) return aggregate(call[1]!, call[2]!, answer);
    return text.includes(".") ? lookUp(text, answer) : (named[text]?.number ?? null);
  };
  let value = term(first!);
  for (let place = 0; place + 1 < rest.length; place += 2) {
    const other = term(rest[place + 1]!);
    if (value === null || other === null) return null;
    value = rest[place] === "*" ? value * other : value / other;
  }
  return value !== null && Number.isFinite(value) ? value : null;
}

/** Returns a number with three digits, as read by people. */
export function digits(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 6, useGrouping: false });
}

/** Returns the sentence with its values; null if a value is missing. */
export function filled(sentence: string, answer: Answer, named: Named): string | null {
  let isComplete = true;
  const text = sentence.replace(/\{([^{}]+?)(?: in ([^{}]+))?\}/g, (_, expression: string, unit?: string) => {
    const own = named[expression];
    if (own && !unit) return own.text;
    const value = evaluated(expression, answer, named);
    if (value === null) isComplete = false;
    else if (unit) return `${digits(value / (UNITS[unit] ?? 1))} ${unit}`;
    else return digits(value);
    return "";
  });
  return isComplete ? text : null;
}
