// The small picture of a scenario on a card. Senders are at the left.

import { useMemo } from "react";
import type { Thumbnail as Data } from "../data/api.gen";

/** Distances between columns and rows, and half the size of a node, in units of the drawing. */
const COLUMN = 64;
const ROW = 26;
const HALF = 8;
/** Height of a satellite above its link. */
const SKY = 26;

export function Thumbnail({ of }: { of: Data | null }) {
  const places = useMemo(() => (of ? layout(of) : []), [of]);
  if (!of || places.length === 0) return <div className="thumbnail empty" aria-hidden="true" />;
  const columns = places.map(([x]) => x);
  const rows = places.map(([, y]) => y);
  const [left, right] = [Math.min(...columns), Math.max(...columns)];
  const [top, bottom] = [Math.min(...rows), Math.max(...rows)];
  const width = Math.max(right - left, 2 * COLUMN) + 3 * HALF;
  const above = of.edges.some(([, , distant]) => distant) ? SKY : 0;
  const height = Math.max(bottom - top + above, 2 * ROW) + 3 * HALF;
  const box = [(left + right - width) / 2, (top - above + bottom - height) / 2, width, height];
  return (
    <svg className="thumbnail" viewBox={box.join(" ")} aria-hidden="true">
      {of.edges.map(([from, to, distant]) => (
        <Edge key={`${from} ${to}`} from={places[from]!} to={places[to]!} distant={distant} />
      ))}
      {of.nodes.map((node, place) => (
        <g key={node.id} transform={`translate(${places[place]!.join(" ")})`} className={node.kind}>
          <Shape kind={node.kind} />
        </g>
      ))}
    </svg>
  );
}

type Point = [number, number];

/** An edge. A link over a satellite leads up to the satellite and down again. */
function Edge({ from, to, distant }: { from: Point; to: Point; distant: boolean }) {
  if (!distant) return <line x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]} />;
  const top: Point = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2 - SKY];
  return (
    <>
      <polyline points={`${from.join(",")} ${top.join(",")} ${to.join(",")}`} />
      <g className="network" transform={`translate(${top.join(" ")})`}>
        <Shape kind="network" />
      </g>
    </>
  );
}

function Shape({ kind }: { kind: string }) {
  if (kind === "network") {
    // A satellite: a body with two panels.
    return (
      <>
        <circle r={13} className="back" />
        <rect x={-3} y={-4} width={6} height={8} />
        <rect x={-12} y={-3} width={7} height={6} className="panel" />
        <rect x={5} y={-3} width={7} height={6} className="panel" />
      </>
    );
  }
  if (kind === "router")
    return <rect x={-HALF + 1} y={-HALF + 1} width={2 * HALF - 2} height={2 * HALF - 2} rx={2} />;
  if (kind === "proxy") return <path d={`M0 ${-HALF}L${HALF} 0L0 ${HALF}L${-HALF} 0Z`} />;
  return <circle r={HALF - 2} />;
}

/** The positions of the nodes: columns by the distance from the first node, centred rows. */
function layout({ nodes, edges, first }: Data): Point[] {
  const column = new Map<number, number>();
  for (const start of [first, ...nodes.keys()]) {
    if (column.has(start) || !nodes[start]) continue;
    column.set(start, 0);
    const waiting = [start];
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      for (const [from, to] of edges) {
        const other = from === one ? to : to === one ? from : undefined;
        if (other === undefined || column.has(other)) continue;
        column.set(other, column.get(one)! + 1);
        waiting.push(other);
      }
    }
  }
  // A further sender next to the second column belongs to the first column.
  for (const place of nodes.keys()) {
    const near = edges
      .filter((edge) => edge.includes(place))
      .map(([from, to]) => (from === place ? to : from));
    const isSource = edges.some(([from]) => from === place) && !edges.some(([, to]) => to === place);
    if (near.length === 1 && isSource && column.get(near[0]!) === 1) column.set(place, 0);
  }
  const counts = new Map<number, number>();
  const rows = nodes.map((_, place) => {
    const at = column.get(place)!;
    const row = counts.get(at) ?? 0;
    counts.set(at, row + 1);
    return row;
  });
  return nodes.map((_, place) => {
    const at = column.get(place)!;
    return [at * COLUMN, (rows[place]! - (counts.get(at)! - 1) / 2) * ROW];
  });
}
