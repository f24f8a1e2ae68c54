// The server's analysis of a draft.

import type { Problem } from "./problem";
import type { Change, Table } from "./schema";

export interface Prediction {
  flow: string;
  note: string;
  prediction: { goodput_bit_s: number; limited_by: string; round_trip: { mean_s: number } } | null;
}
export interface PictureNode {
  id: string;
  label: string;
  kind: "host" | "router" | "proxy" | "network" | "group" | "gateway" | "satellite" | "wifi";
  path: string[];
  /** A second line of the label. */
  detail?: string;
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
  /** Number of runs per instrument of a launch. */
  runs: number;
  picture: PictureData;
  predictions: Prediction[];
  cost: { events: number; seconds: number; refused: string | null };
  /** The instruments that cannot run the draft on this test bed, each with the reason. Also filled
   * for invalid drafts. */
  impossible: Record<string, string>;
}

/** Applies changes to the text of the draft, in order. Resolves to true if all were applied. */
export type Edit = (edits: Change[]) => Promise<boolean>;

/** The first unused name that consists of the stem and a number. */
export function unused(stem: string, names: string[]): string {
  for (let count = 1; ; count++) if (!names.includes(`${stem}${count}`)) return `${stem}${count}`;
}
