/**
 * The data that cross the border of the WebAssembly module: those of `crates/preview`. A test
 * compares their keys (tests/python/web/test_module.py).
 */

export interface Request {
  toml: string;
  /** Name of the scenario in messages. */
  name: string;
  /** Overrides `KEY.PATH=VALUE`. */
  overrides: string[];
  /** Names of the recorded traces. */
  traces: string[];
  /** Minimum time in seconds between two kept rows of an entity; 0 keeps every row. */
  spacing_s: number;
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

/** The content of `summary.json`. */
export interface Summary {
  duration_seconds: number;
  packets: Record<string, unknown>;
  drops: Row[];
  losses: Row[];
  units: Record<string, Record<string, string>>;
  /** The report tables by name. */
  tables: Record<string, Row[]>;
}

export interface Answer {
  summary: Summary;
  /** The rows of `flows.parquet`. */
  flows: Row[];
  complete: boolean;
  events: number;
  traces: Trace[];
}
