// The positions of the parts of a picture: in layers, from the senders to the receivers.

import { Graph, layout as layered } from "@dagrejs/dagre";
import type { PictureData, Positions } from "../data/draft";

/** Larger pictures are drawn in columns, because layers take seconds to compute. */
const MAX_LAYERED = 150;

const HEIGHT = 46;

/** The estimated width of a node, from its label. */
function widthOf(label: string): number {
  return Math.min(220, 62 + 8.5 * label.length);
}

/**
 * The positions of nodes: as moved by the user, otherwise in layers. `directions` are those of the
 * edges. A picture that is `upright` has its senders at the top, for narrow windows. Satellites are
 * above all other nodes or, in an upright picture, between those that they connect.
 */
export function layout(
  data: PictureData,
  positions: Positions,
  directions: Map<string, [string, string]>,
  upright: boolean,
): Positions {
  if (data.nodes.length > MAX_LAYERED) return { ...columns(data, directions), ...positions };
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: upright ? "TB" : "LR",
    nodesep: upright ? 28 : 70,
    ranksep: upright ? 74 : 104,
  });
  // Rows keep the order of the graph, so satellites and their stations come first.
  const satellites = new Set(data.nodes.filter((one) => one.kind === "satellite").map((one) => one.id));
  const first = (...ids: string[]) => (ids.some((id) => satellites.has(id)) ? 0 : 1);
  for (const { id, kind, label } of [...data.nodes].sort((a, b) => first(a.id) - first(b.id))) {
    const width = kind === "satellite" && !upright ? 60 : widthOf(label);
    graph.setNode(id, { width, height: kind === "satellite" && upright ? 84 : HEIGHT });
  }
  const edges = [...data.edges].sort((a, b) => first(a.from, a.to) - first(b.from, b.to));
  for (const { id, from, to } of edges) {
    const [start, end] = directions.get(id) ?? [from, to];
    graph.setEdge(start, end, {}, id);
  }
  layered(graph);
  const found: Positions = {};
  const placed = (id: string) => graph.node(id) as { x: number; y: number; width: number; height: number };
  for (const { id } of data.nodes) {
    const { x, y, width, height } = placed(id);
    found[id] = [Math.round(x - width / 2), Math.round(y - height / 2)];
  }
  if (!upright) raise(data, found);
  return { ...found, ...positions };
}

/** The height of a satellite with its label. */
const SATELLITE = 92;

/** Moves satellites above the other nodes, and apart from each other. */
function raise(data: PictureData, found: Positions): void {
  const ground = data.nodes.filter((one) => one.kind !== "satellite").map((one) => found[one.id]![1]);
  const sky = (ground.length > 0 ? Math.min(...ground) : 0) - SATELLITE - 24;
  const taken: [number, number][] = [];
  for (const { id, kind, label } of data.nodes) {
    if (kind !== "satellite") continue;
    const ends = data.edges.flatMap((one) => (one.from === id ? [one.to] : one.to === id ? [one.from] : []));
    const middle = ends.map((one) => found[one]![0]).reduce((sum, one) => sum + one / ends.length, 0);
    const x = Math.round(ends.length > 0 ? middle + 10 : found[id]![0]);
    let y = sky;
    while (taken.some(([left, top]) => top === y && Math.abs(left - x) < widthOf(label))) y -= SATELLITE;
    taken.push([x, y]);
    found[id] = [x, y];
  }
}

/** Columns by the distance from the first node. */
function columns(data: PictureData, directions: Map<string, [string, string]>): Positions {
  const next = new Map<string, string[]>();
  for (const [from, to] of directions.values()) {
    next.set(from, [...(next.get(from) ?? []), to]);
    next.set(to, [...(next.get(to) ?? []), from]);
  }
  const column = new Map<string, number>();
  const starts = [...data.nodes].sort((a, b) => Number(b.id === data.first) - Number(a.id === data.first));
  for (const { id } of starts) {
    if (column.has(id)) continue;
    column.set(id, 0);
    const waiting = [id];
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      for (const other of next.get(one) ?? []) {
        if (column.has(other)) continue;
        column.set(other, (column.get(one) ?? 0) + 1);
        waiting.push(other);
      }
    }
  }
  const rows = new Map<number, number>();
  const found: Positions = {};
  for (const { id } of data.nodes) {
    const at = column.get(id) ?? 0;
    const row = rows.get(at) ?? 0;
    rows.set(at, row + 1);
    // A column of more than 24 nodes is split.
    found[id] = [at * 280 + Math.floor(row / 24) * 180, (row % 24) * 80];
  }
  return found;
}
