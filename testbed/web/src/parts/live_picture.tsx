// The picture of a run's network with its state: load as width and colour, queues as bars, drops,
// and flows as coloured paths.

import { useMemo, useState } from "react";
import type { RunNetwork } from "../data/api.gen";
import type { PictureNode } from "../data/draft";
import { drawing } from "../data/drawing";
import { rounded } from "../data/format";
import { type FlowState, nodesAlong, type PartState, stops } from "../data/network_state";
import { significant } from "../data/numbers";
import type { Table } from "../data/schema";
import { directions } from "../data/things";
import { ScrollRegion } from "./basics";
import { lineColour, useDark } from "./colours";
import { Icon } from "./icons";
import { layout, sizeOf } from "./layout";
import "./live_picture.css";

const MARGIN_PX = 30;
const QUEUE = { width: 9, height: 30 };
/** Size of the symbol of a satellite, in pixels. */
const SYMBOL_PX = 34;
/** Filled part of a queue above which it is drawn although no flow sends data through it. */
const MIN_FILL = 0.02;
/** Distance between the paths of two flows, in pixels. */
const FLOW_GAP_PX = 4;

/** A rate in bit/s with a fitting unit. */
export function rateText(bits: number): string {
  const [size, unit] = bits >= 1e9 ? [1e9, "Gbit/s"] : bits >= 1e6 ? [1e6, "Mbit/s"] : [1e3, "kbit/s"];
  return `${significant(bits / size, 3)} ${unit}`;
}

function loadClass(part: PartState): string {
  const load = part.used / part.rate;
  return load >= 0.9 ? "full" : load >= 0.6 ? "busy" : load > 0.01 ? "some" : "idle";
}

/** The state of a part in words. */
function partText(part: PartState): string {
  const load =
    part.rate > 0 ? `${Math.round((100 * part.used) / part.rate)} % of ${rateText(part.rate)}` : "no rate";
  return [
    `${part.part}: ${load}`,
    part.queued !== null ? `queue ${rounded(part.queued)} ${part.unit}` : "",
    part.dropped > 0 ? `${part.dropped} dropped` : "",
    part.flows.length > 0 ? part.flows.map((one) => `${one.name} ${rateText(one.rate)}`).join(", ") : "",
  ]
    .filter(Boolean)
    .join("; ");
}

export function LivePicture({
  network,
  data,
  state,
  at,
}: {
  network: RunNetwork;
  /** The scenario with all defaults. */
  data: Table;
  state: { parts: PartState[]; flows: FlowState[] };
  at: number;
}) {
  const dark = useDark();
  const [told, setTold] = useState("");
  const { drawn, places, satellites } = useMemo(() => arranged(network, data), [network, data]);
  if (drawn.nodes.length === 0) return null;
  const nodes = new Set(drawn.nodes.map((one) => one.id));
  const pixels = (id: string): Point => places.get(id)!;
  const along = (part: PartState) => {
    const all = stops(part, nodes, satellites).map(pixels);
    // A network is the medium of all its stations.
    return nodes.has(`network ${part.network}`) ? all.slice(0, 2) : all;
  };
  const box = boxOf(drawn.nodes, places);
  const showing = state.parts.find((one) => one.part === told);
  return (
    <section className="live-picture" aria-label="Live picture">
      <ScrollRegion label="Picture of the network with its load">
        <svg
          viewBox={`${box.left} ${box.top} ${box.width} ${box.height}`}
          style={{ minWidth: Math.min(box.width, 620), maxWidth: 1.3 * box.width }}
        >
          <title>{`The network at ${significant(at, 4)} s`}</title>
          {drawn.edges.map((edge) => {
            const [from, to] = [pixels(edge.from), pixels(edge.to)];
            return <line key={edge.id} className="wire" x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]} />;
          })}
          {state.parts
            .filter((one) => one.flows.length > 0)
            .map((part) => (
              <Load key={part.part} part={part} along={along(part)} />
            ))}
          {network.flows.map((flow, number) => {
            const points = nodesAlong(flow.there, nodes, satellites);
            const offset = (number - (network.flows.length - 1) / 2) * FLOW_GAP_PX;
            const rate = state.flows[number]?.rate ?? 0;
            return (
              <polyline
                key={flow.name}
                className={rate > 0 ? "flow moving" : "flow"}
                stroke={lineColour(number, dark)}
                points={points.map((one) => shifted(pixels(one), offset)).join(" ")}
              />
            );
          })}
          {drawn.nodes.map((node) => (
            <DrawnNode key={node.id} node={node} at={pixels(node.id)} />
          ))}
          {state.parts
            .filter((one) => one.flows.length > 0)
            .map((part) => (
              <LoadLabel key={part.part} part={part} along={along(part)} />
            ))}
          {state.parts
            .filter((one) => one.flows.length > 0 || (one.fill ?? 0) > MIN_FILL || one.dropped > 0)
            .map((part) => (
              <Queue
                key={part.part}
                part={part}
                along={along(part)}
                tell={(on) => setTold(on ? part.part : "")}
              />
            ))}
        </svg>
      </ScrollRegion>
      <p className="live-told">
        {showing ? partText(showing) : "Point at a queue, or move to it with the Tab key, for its values."}
      </p>
      <ul className="live-flows" aria-label="Goodput of the flows">
        {state.flows.map((one, number) => (
          <li key={one.name}>
            <span style={{ background: lineColour(number, dark) }} />
            {one.name} <strong>{rateText(one.rate)}</strong>
          </li>
        ))}
      </ul>
    </section>
  );
}

type Point = [number, number];

/** The picture with its satellites, the centre of each node, and the satellites of links. */
function arranged(network: RunNetwork, data: Table) {
  const drawn = drawing(network, data, []);
  const corners = layout(drawn, {}, directions(drawn, data), false);
  const places = new Map(
    drawn.nodes.map((node): [string, Point] => {
      const [[left, top], { width, height }] = [corners[node.id]!, sizeOf(node)];
      return [node.id, [left + width / 2, top + height / 2]];
    }),
  );
  const satellites = new Map(
    drawn.nodes.flatMap(({ id, kind, path }): [string, string][] =>
      kind === "satellite" && path[0] === "link" ? [[path[1] ?? "", id]] : [],
    ),
  );
  return { drawn, places, satellites };
}

/** The part of the plane that contains all nodes. */
function boxOf(nodes: PictureNode[], places: Map<string, Point>) {
  const sides = nodes.map((node) => {
    const [[x, y], { width, height }] = [places.get(node.id)!, sizeOf(node)];
    return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
  });
  const left = Math.min(...sides.map((one) => one.left)) - MARGIN_PX;
  const top = Math.min(...sides.map((one) => one.top)) - MARGIN_PX;
  const width = Math.max(...sides.map((one) => one.right)) + MARGIN_PX - left;
  const height = Math.max(...sides.map((one) => one.bottom)) + MARGIN_PX - top;
  return { left, top, width, height };
}

function DrawnNode({ node, at: [x, y] }: { node: PictureNode; at: Point }) {
  const { width, height } = sizeOf(node);
  if (node.kind === "satellite") {
    return (
      <g className="live-node satellite">
        <circle cx={x} cy={y} r={SYMBOL_PX / 2 + 3} />
        <g transform={`translate(${x - SYMBOL_PX / 2} ${y - SYMBOL_PX / 2})`}>
          <Icon kind="satellite" size={SYMBOL_PX} />
        </g>
        {node.path[0] !== "link" && (
          <text x={x} y={y + SYMBOL_PX}>
            {node.label}
          </text>
        )}
      </g>
    );
  }
  return (
    <g className={`live-node ${node.kind}`} transform={`translate(${x} ${y})`}>
      <rect x={-width / 2} y={-height / 2} width={width} height={height} rx={node.kind === "host" ? 6 : 16} />
      <text y={5}>{node.label.length > 20 ? `${node.label.slice(0, 19)}…` : node.label}</text>
    </g>
  );
}

const shifted = ([x, y]: Point, offset: number) => `${x},${y + offset}`;

function loadOf(part: PartState): number {
  return part.rate > 0 ? Math.min(1, part.used / part.rate) : 0;
}

/** The load of one direction of a link as a line, wider with a higher load. */
function Load({ part, along }: { part: PartState; along: Point[] }) {
  if (along.length < 2) return null;
  const points = along.map((one) => one.join(",")).join(" ");
  return (
    <polyline className={`load ${loadClass(part)}`} points={points} strokeWidth={3 + 13 * loadOf(part)} />
  );
}

/** The name and the load of a link: above the middle of its line, or above its satellite. */
function LoadLabel({ part, along: [from, to, end] }: { part: PartState; along: Point[] }) {
  if (!from || !to) return null;
  const [x, y] = end
    ? [to[0], to[1] - SYMBOL_PX / 2 - 8]
    : [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2 - 14];
  return (
    <text className="load-label" x={x} y={y}>
      {part.part} <tspan>{Math.round(100 * loadOf(part))} %</tspan>
    </text>
  );
}

/** The queue of one direction of a link as a bar next to the node that sends. */
function Queue({
  part,
  along: [from, to],
  tell,
}: {
  part: PartState;
  along: Point[];
  tell: (on: boolean) => void;
}) {
  if (!from || !to) return null;
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const step = length / 2;
  // Queues of the two directions stand on opposite sides of the line.
  const side = to[0] >= from[0] ? 1 : -1;
  const x = from[0] + ((to[0] - from[0]) / length) * step;
  const y = from[1] + ((to[1] - from[1]) / length) * step + side * 26;
  const fill = part.fill ?? 0;
  return (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the focus shows the values
    <g
      className="queue"
      role="img"
      tabIndex={0}
      aria-label={partText(part)}
      transform={`translate(${x} ${y})`}
      onMouseEnter={() => tell(true)}
      onMouseLeave={() => tell(false)}
      onFocus={() => tell(true)}
      onBlur={() => tell(false)}
    >
      <rect
        className="frame"
        x={-QUEUE.width / 2}
        y={-QUEUE.height / 2}
        width={QUEUE.width}
        height={QUEUE.height}
        rx={2}
      />
      <rect
        className={fill > 0.9 ? "content full" : "content"}
        x={-QUEUE.width / 2 + 1}
        y={QUEUE.height / 2 - 1 - (QUEUE.height - 2) * fill}
        width={QUEUE.width - 2}
        height={(QUEUE.height - 2) * fill}
      />
      {part.dropped > 0 && (
        // A new number starts the flash again.
        <text key={part.dropped} className="drops" x={QUEUE.width} y={4}>
          −{part.dropped}
        </text>
      )}
    </g>
  );
}
