/** The content of figures: lines and bars from the answers of runs. */
import type { Answer } from "../engine/answer";
import type { Journeys } from "../packets/journeys.js";
import { evaluated, type Named, type Rows, rowsOf, tableOf } from "./expression";
import type { Figure, TableFigure, TraceFigure } from "./spec";

export interface Line {
  label: string;
  x: number[];
  y: (number | null)[];
}

type Points = Omit<Line, "label">;

/** The reduced result of a run: the lines or the number of each figure, and the sentence. */
export interface Reduced {
  lines: Line[][];
  numbers: (number | null)[];
  /** The packets of packet figures; null for other figures. */
  journeys: (Journeys | null)[];
  sentence: string;
  /** True if a value of the sentence is missing. */
  isMissing: boolean;
  /** Duration of the run in seconds. */
  end: number;
}

const joined = (...words: string[]) => words.filter(Boolean).join(", ");

/** Returns the increase per bin as a rate. `values` are cumulative; bytes become bits. */
export function rates(rows: Rows, bin: number, end: number): Points {
  const points: Points = { x: [], y: [] };
  const perByte = rows.unit === "bytes" ? 8 : 1;
  let [row, before] = [0, 0];
  for (let begin = 0; begin + bin <= end * (1 + 1e-9); begin += bin) {
    let value = before;
    for (; row < rows.time.length && rows.time[row]! < begin + bin; row++) value = rows.values[row]!;
    points.x.push(begin + bin / 2);
    points.y.push(((value - before) * perByte) / bin);
    before = value;
  }
  return points;
}

/** Returns the mean of the values in each bin. Bins without values are left out. */
function means(rows: Rows, bin: number): Points {
  const points: Points = { x: [], y: [] };
  for (let row = 0; row < rows.time.length; ) {
    const number = Math.floor(rows.time[row]! / bin);
    let [sum, count] = [0, 0];
    for (; row < rows.time.length && Math.floor(rows.time[row]! / bin) === number; row++) {
      sum += rows.values[row]!;
      count += 1;
    }
    points.x.push((number + 0.5) * bin);
    points.y.push(sum / count);
  }
  return points;
}

function ofTrace(figure: Figure & TraceFigure, answer: Answer, label: string): Line[] {
  const curves = figure.trace.flatMap(({ table, column }) => {
    const trace = answer.traces.find((one) => one.table === table);
    return trace ? (figure.entities ?? trace.entities).map((entity) => ({ trace, entity, column })) : [];
  });
  return curves.map(({ trace, entity, column }, place) => {
    const own = figure.names?.[place] ?? (figure.trace.length > 1 ? column : entity);
    const rows = rowsOf(trace, entity, column);
    const factor = rows.unit === "ns" ? figure.factor / 1e9 : figure.factor;
    const { x, y } = figure.bin
      ? rates(rows, figure.bin, answer.summary.duration_seconds)
      : figure.mean
        ? means(rows, figure.mean)
        : { x: rows.time, y: rows.values };
    return {
      label: joined(label, curves.length > 1 ? own : ""),
      x,
      y: y.map((one) => (one === null || Number.isNaN(one) ? null : one * factor)),
    };
  });
}

function ofTable(figure: Figure & TableFigure, answer: Answer, label: string): Line[] {
  const { table, column, entity } = figure.table;
  const names = new RegExp(`^${figure.rows ?? ""}`);
  const points = tableOf(table, answer)
    .filter((row) => names.test(String(row[entity])))
    .map((row) => [Number(row[figure.over]), row[column]] as const)
    .sort(([a], [b]) => a - b);
  const y = points.map(([, value]) => (typeof value === "number" ? value * figure.factor : null));
  const x = points.map(([time]) => time);
  // The last window ends with the run.
  if (figure.style === "steps" && x.length > 0) {
    x.push(answer.summary.duration_seconds);
    y.push(y.at(-1)!);
  }
  return [{ label, x, y }];
}

export function linesOf(figure: Figure, answer: Answer, label: string): Line[] {
  if ("trace" in figure) return ofTrace(figure, answer, label);
  if ("table" in figure) return ofTable(figure, answer, label);
  return [];
}

export function numberOf(figure: Figure, answer: Answer, named: Named): number | null {
  const expression = "sweep" in figure ? figure.sweep : "bars" in figure ? figure.bars : undefined;
  const value = expression && evaluated(expression, answer, named);
  return typeof value === "number" ? value * figure.factor : null;
}
