// What the server says of a draft.

import type { Change, Table } from "./schema";

export interface Problem {
  line: number | null;
  path: string;
  value: string | null;
  message: string;
  allowed: string[];
  nearest: string | null;
}
export interface Prediction {
  flow: string;
  note: string;
  prediction: { goodput_bit_s: number; limited_by: string; round_trip: { mean_s: number } } | null;
}
export interface PictureNode {
  id: string;
  label: string;
  kind: "host" | "router" | "proxy" | "network" | "group";
  path: string[];
}
export interface PictureEdge {
  id: string;
  from: string;
  to: string;
  label: string;
  path: string[];
}
export interface PictureData {
  nodes: PictureNode[];
  edges: PictureEdge[];
  first?: string | null;
}
export type Positions = Record<string, [number, number]>;
export interface View {
  valid: boolean;
  problems: Problem[];
  summary: string[];
  warnings: string[];
  cautions: string[];
  resolved: Table;
  campaign: Table | null;
  /** The number of runs of a launch with one instrument. */
  runs: number;
  picture: PictureData;
  predictions: Prediction[];
  cost: { events: number; seconds: number; refused: string | null };
  /** The instruments that cannot run the draft here, with the reason. Also of a draft that is not valid. */
  impossible: Record<string, string>;
}

/** Makes changes in the text of the draft, one after the other. Returns whether they were made. */
export type Edit = (edits: Change[]) => Promise<boolean>;

/** The first free name: the stem with a number. */
export function unused(stem: string, names: string[]): string {
  for (let count = 1; ; count++) if (!names.includes(`${stem}${count}`)) return `${stem}${count}`;
}
