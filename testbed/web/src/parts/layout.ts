// The positions of the parts of a picture: in layers, from the senders to the receivers.

import { Graph, layout as layered } from "@dagrejs/dagre";
import type { PictureData, PictureNode, Positions } from "../data/draft";

/** Larger pictures are drawn in columns, because layers take seconds to compute. */
const MAX_LAYERED = 150;

/** The height of a node, and of a satellite with its label. */
const HEIGHT = 46;
const SATELLITE = 86;

/** The estimated size of a node, from its label. */
export function sizeOf({ kind, label, detail }: PictureNode): { width: number; height: number } {
  if (kind !== "satellite") return { width: Math.min(220, 58 + 8.2 * label.length), height: HEIGHT };
  return { width: Math.max(60, 7.8 * Math.max(label.length, detail?.length ?? 0)), height: SATELLITE };
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
    // Room for the labels of links.
    nodesep: upright ? 60 : 100,
    ranksep: upright ? 96 : 106,
  });
  // Rows keep the order of the graph, so the stations of satellites come first.
  const satellites = new Set(data.nodes.filter((one) => one.kind === "satellite").map((one) => one.id));
  const order = (...ids: string[]) => (ids.some((id) => satellites.has(id)) ? 0 : 1);
  for (const node of [...data.nodes].sort((a, b) => order(a.id) - order(b.id))) {
    graph.setNode(node.id, sizeOf(node));
  }
  const edges = [...data.edges].sort((a, b) => order(a.from, a.to) - order(b.from, b.to));
  for (const { id, from, to } of edges) {
    const [start, end] = directions.get(id) ?? [from, to];
    graph.setEdge(start, end, {}, id);
  }
  // Satellites have their own height, so the stations of a link are neighbours below it.
  const removed = upright ? [] : linkSatellites(data);
  for (const { id, from, to } of removed) {
    const [start, end] =
      directions.get(`${id.replace("satellite ", "")} up`)?.[1] === id ? [from, to] : [to, from];
    graph.setEdge(start, end, {}, id);
  }
  const sizes = new Map(
    data.nodes.map(({ id }) => [id, graph.node(id) as { width: number; height: number }]),
  );
  for (const { id } of removed) graph.removeNode(id);
  layered(graph);
  const found: Positions = {};
  for (const { id } of data.nodes) {
    if (!graph.hasNode(id)) continue;
    const { x, y, width, height } = graph.node(id) as { x: number; y: number; width: number; height: number };
    found[id] = [Math.round(x - width / 2), Math.round(y - height / 2)];
  }
  if (!upright) raise(data, found, sizes);
  return { ...found, ...positions };
}

/** The satellites of links, with the nodes that they connect. */
function linkSatellites(data: PictureData): { id: string; from: string; to: string }[] {
  return data.nodes.flatMap(({ id, path }) => {
    if (path[0] !== "link") return [];
    const from = data.edges.find((one) => one.to === id)?.from;
    const to = data.edges.find((one) => one.from === id)?.to;
    return from !== undefined && to !== undefined ? [{ id, from, to }] : [];
  });
}

/** Places satellites above the other nodes, in the middle of their stations and apart from each
 * other. */
function raise(data: PictureData, found: Positions, sizes: Map<string, { width: number }>): void {
  const ground = data.nodes.filter((one) => one.kind !== "satellite").map((one) => found[one.id]![1]);
  const sky = (ground.length > 0 ? Math.min(...ground) : 0) - SATELLITE - 40;
  const middle = (id: string) => found[id]![0] + sizes.get(id)!.width / 2;
  const taken: { left: number; right: number; top: number }[] = [];
  for (const { id, kind } of data.nodes) {
    if (kind !== "satellite") continue;
    const ends = data.edges.flatMap((one) => (one.from === id ? [one.to] : one.to === id ? [one.from] : []));
    const { width } = sizes.get(id)!;
    const centre = ends.reduce((sum, one) => sum + middle(one) / ends.length, 0);
    const left = Math.round(centre - width / 2);
    let top = sky;
    while (taken.some((one) => one.top === top && one.left < left + width && left < one.right))
      top -= SATELLITE;
    taken.push({ left, right: left + width, top });
    found[id] = [left, top];
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
