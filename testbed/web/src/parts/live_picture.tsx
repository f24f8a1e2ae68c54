// The picture of a run's network with its state: load as width and colour, queues as bars, drops,
// and flows as coloured paths.

import { useMemo, useState } from "react";
import type { RunNetwork } from "../data/api.gen";
import { rounded } from "../data/format";
import { columns, type FlowState, nodesAlong, type PartState } from "../data/network_state";
import { significant } from "../data/numbers";
import { ScrollRegion } from "./basics";
import { lineColour, useDark } from "./colours";
import "./live_picture.css";

const COLUMN_PX = 250;
const ROW_PX = 120;
const NODE = { width: 120, height: 34 };
const MARGIN = { x: 70, y: 62 };
const QUEUE = { width: 9, height: 30 };
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
  state,
  at,
}: {
  network: RunNetwork;
  state: { parts: PartState[]; flows: FlowState[] };
  at: number;
}) {
  const dark = useDark();
  const [told, setTold] = useState("");
  const places = useMemo(() => columns(network), [network]);
  const nodes = useMemo(() => new Set(network.nodes.map((one) => one.id)), [network]);
  if (network.nodes.length === 0) return null;
  const pixels = (id: string): [number, number] => {
    const [column, row] = places.get(id) ?? [0, 0];
    return [MARGIN.x + column * COLUMN_PX, MARGIN.y + row * ROW_PX];
  };
  const all = [...places.values()];
  const width = 2 * MARGIN.x + COLUMN_PX * Math.max(0, ...all.map(([column]) => column));
  const height = 2 * MARGIN.y + ROW_PX * Math.max(0, ...all.map(([, row]) => row));
  const showing = state.parts.find((one) => one.part === told);
  return (
    <section className="live-picture" aria-label="Live picture">
      <ScrollRegion label="Picture of the network with its load">
        <svg
          viewBox={`0 0 ${width} ${height}`}
          style={{ minWidth: Math.min(width, 720), maxWidth: 1.3 * width }}
        >
          <title>{`The network at ${significant(at, 4)} s`}</title>
          {network.edges.map((edge) => {
            const [from, to] = [pixels(edge.from), pixels(edge.to)];
            return <line key={edge.id} className="wire" x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]} />;
          })}
          {state.parts
            .filter((one) => one.flows.length > 0)
            .map((part) => (
              <Load key={part.part} part={part} along={along(part, nodes).map(pixels)} />
            ))}
          {network.flows.map((flow, number) => {
            const points = nodesAlong(flow.there, nodes).filter((one) => nodes.has(one));
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
          {network.nodes.map((node) => {
            const [x, y] = pixels(node.id);
            return (
              <g key={node.id} className={`live-node ${node.kind}`} transform={`translate(${x} ${y})`}>
                <rect
                  x={-NODE.width / 2}
                  y={-NODE.height / 2}
                  width={NODE.width}
                  height={NODE.height}
                  rx={node.kind === "host" ? 6 : 16}
                />
                <text y={4}>{node.label.length > 18 ? `${node.label.slice(0, 17)}…` : node.label}</text>
              </g>
            );
          })}
          {state.parts
            .filter((one) => one.flows.length > 0 || (one.fill ?? 0) > MIN_FILL || one.dropped > 0)
            .map((part) => (
              <Queue
                key={part.part}
                part={part}
                along={along(part, nodes).map(pixels)}
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

/** The nodes at both ends of a part in the picture. */
function along(part: PartState, nodes: Set<string>): [string, string] {
  const network = `network ${part.network}`;
  return [part.from, nodes.has(network) ? network : part.to];
}

const shifted = ([x, y]: [number, number], offset: number) => `${x},${y + offset}`;

/** The load of one direction of a link as a line, wider with a higher load. */
function Load({ part, along: [from, to] }: { part: PartState; along: [number, number][] }) {
  if (!from || !to) return null;
  const load = part.rate > 0 ? Math.min(1, part.used / part.rate) : 0;
  const middle: [number, number] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  return (
    <g className={`load ${loadClass(part)}`}>
      <line x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]} strokeWidth={3 + 13 * load} />
      <text x={middle[0]} y={middle[1] - 12}>
        {part.part} <tspan>{Math.round(100 * load)} %</tspan>
      </text>
    </g>
  );
}

/** The queue of one direction of a link as a bar next to the node that sends. */
function Queue({
  part,
  along: [from, to],
  tell,
}: {
  part: PartState;
  along: [number, number][];
  tell: (on: boolean) => void;
}) {
  if (!from || !to) return null;
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const step = NODE.width / 2 + 22;
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
