/** The data that cross the border of the WebAssembly module: those of `crates/preview`. */

export interface Request {
  toml: string;
  name?: string;
  files?: Record<string, string>;
  overrides?: string[];
  seed?: number;
  run?: number;
  /** Names of the recorded traces. Default: the scenario's. */
  traces?: string[];
  /**
   * Minimum time in seconds between two kept rows of an entity. Default: 0, which keeps every row.
   */
  spacing_s?: number;
}

export interface Problem {
  file: string;
  line: number | null;
  column: number | null;
  path: string;
  value: string | null;
  message: string;
  allowed: string[];
  nearest: string | null;
}

export interface Column {
  name: string;
  unit: string;
  about: string;
  values: Float64Array;
}

export interface Trace {
  table: string;
  /** Noun for the entities, such as `flow`. */
  noun: string;
  rows: number;
  dropped: number;
  entities: string[];
  /** Nanoseconds since the start of the run. */
  time: Float64Array;
  /** Indices of the names in `entities`. */
  entity: Uint32Array;
  columns: Column[];
}

export type Row = Record<string, string | number | null>;

export interface Answer {
  summary: {
    duration_seconds: number;
    packets: Record<string, unknown>;
    drops: Row[];
    losses: Row[];
    units: Record<string, Record<string, string>>;
    tables: Record<string, Row[]>;
  };
  flows: Row[];
  complete: boolean;
  events: number;
  traces: Trace[];
}
