/**
 * The data that cross the border of the WebAssembly module: those of `crates/preview`. A test
 * compares their keys (tests/python/web/test_module.py).
 */

import type { PictureData } from "../data/draft";

export interface Request {
  toml: string;
  /** Name of the scenario in messages. */
  name: string;
  /** Contents of the files that the scenario includes, by their paths in the scenario. */
  files?: Record<string, string>;
  /** Overrides `KEY.PATH=VALUE`. */
  overrides?: string[];
  /** Names of the recorded traces. Default: the scenario's. */
  traces?: string[];
  /** Minimum time in seconds between two kept rows of an entity. Default: 0, which keeps all. */
  spacing_s?: number;
  /** True to keep the trace `packet` at the nodes of the scenario's `record.capture`. */
  packets?: boolean;
}

/** A hop of a path, from node to node. */
export interface Hop {
  from: string;
  to: string;
  /** Propagation delay during the run, in seconds. */
  delay_s: { mean: number };
}

/** A valid scenario, without a run. */
export interface Checked {
  resolved: Record<string, unknown>;
  warnings: string[];
  picture: PictureData;
  /**
   * Flows with their paths; null without a path. For the other facts, see crates/engine/src/facts.
   */
  facts: { flows: { name: string; start_s: number; there: Hop[] | null; back: Hop[] | null }[] };
  duration_s: number;
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
