/** An interactive figure of a page, as written by scripts/manual/tries.py. */

/** A position of a slider, or a choice of a selection. */
export interface Position {
  label: string;
  /** The number that expressions use, in the unit of the key; null for a choice. */
  number: number | null;
  overrides: string[];
}

export interface Control {
  name: string;
  label: string;
  kind: "slider" | "selection";
  positions: Position[];
  /** Index of the first position. */
  start: number;
}

export interface Sweep {
  /** Label of the axis, with its unit. */
  label: string;
  positions: Position[];
  /** The positions along the axis. */
  axis: number[];
  log: boolean;
}

export interface Place {
  table: string;
  name: string;
  column: string;
}

/** A term of an expression. `op` precedes the term; the first term is multiplied by 1. */
export type Term = { op: "*" | "/" } & (
  | { kind: "number"; number: number }
  /** The number of a slider or of the sweep. */
  | { kind: "control"; name: string }
  /** A value of the row whose column `entity` contains `name`. */
  | ({ kind: "row"; entity: string } & Place)
  /** The mean over time of a column of a trace. */
  | ({ kind: "mean" } & Place)
);

/** A part of a sentence: a text, the label of a control's position, or a number with its unit. */
export type Part = string | { shown: string } | { expression: Term[]; unit: string; factor: number };

export type Style = "line" | "steps" | "dots";

export interface TraceFigure {
  trace: { table: string; column: string }[];
  entities?: string[];
  names?: string[];
  /** Seconds over which the increase of the column is drawn as a rate. */
  bin?: number;
  /** Seconds over which the values are averaged. */
  mean?: number;
  style?: Style;
}

export interface TableFigure {
  table: { table: string; column: string; entity: string };
  /** The column along the horizontal axis. */
  over: string;
  /** Regular expression for the beginning of the names of the rows. */
  rows?: string;
  style?: Style;
}

/** The space-time diagram of the packets of a flow. */
export interface PacketFigure {
  /** Name of the flow, as in the scenario. */
  packets: string;
  /** Nodes along the path, from the flow's source. */
  nodes: string[];
  /** Introduction above the diagram. */
  about?: string;
}

export type Figure = {
  /** Label of the vertical axis, with its unit. */
  label: string;
  /** Factor from the unit of the results to the unit of the axis. */
  factor: number;
  min?: number;
  max?: number;
} & (TraceFigure | TableFigure | PacketFigure | { sweep: Term[] } | { bars: Term[] });

export interface Spec {
  name: string;
  toml: string;
  controls: Control[];
  /** The runs that are drawn together; empty for a single run. */
  each: Position[];
  sweep: Sweep | null;
  figures: Figure[];
  say: Part[];
  /** Replaces `say` if a value is missing. */
  otherwise: Part[];
  traces: string[];
  spacing_s: number;
  /** The captured nodes of all packet figures. */
  capture: string[];
}
