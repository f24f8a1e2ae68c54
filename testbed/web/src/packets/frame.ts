/** The places of the parts of a space-time diagram: node lines, and bars of waiting packets. */
import { eachHop, type Journeys } from "./journeys.js";

/** The places of a diagram's parts in pixels. */
export interface Frame {
  left: number;
  right: number;
  top: number;
  height: number;
  width: number;
  /** Position of the line of each node. */
  x: number[];
  /** The bar of a packet that waits at a node. */
  bar: (packet: number, place: number) => { x: number; width: number };
}

/** Heights above and below the diagram. */
const HEADER = 30;
export const FOOTER = 8;
/** Font of the names of nodes. */
export const BOLD = "600 13px system-ui, sans-serif";
/**
 * Width for the bars of waiting packets next to a node, in wide and narrow diagrams; maximum width
 * of a bar; distance from the node to the first bar.
 */
const BARS = { wide: 72, narrow: 34 };
const MAX_BAR = 6;
const GAP = 4;

/** Lanes of bars at the nodes: a packet that waits takes the first free lane. */
interface Lanes {
  /** Lane by packet and place. */
  lane: Uint16Array;
  /** Number of lanes by place and direction. */
  counts: [number, number][];
}

const known = new WeakMap<Journeys, Lanes>();

function lanesOf(journeys: Journeys): Lanes {
  const found = known.get(journeys);
  if (found) return found;
  const { count, nodes, time, leaves, back } = journeys;
  const width = nodes.length;
  const lane = new Uint16Array(count * width);
  const least = journeys.roundTrip / 1000;
  const counts = nodes.map((_, place) => {
    return ([0, 1] as const).map((direction) => {
      const waiting: number[] = [];
      for (let packet = 0; packet < count; packet++) {
        const at = packet * width + place;
        if (back[packet] === direction && leaves[at]! - time[at]! > least) waiting.push(at);
      }
      waiting.sort((one, other) => time[one]! - time[other]!);
      const free: number[] = [];
      for (const at of waiting) {
        let own = free.findIndex((end) => end <= time[at]!);
        if (own < 0) own = Math.min(free.length, 999);
        lane[at] = own;
        free[own] = leaves[at]!;
      }
      return free.length;
    }) as [number, number];
  });
  const lanes = { lane, counts };
  known.set(journeys, lanes);
  return lanes;
}

/** Returns the shortest time of a packet between neighbouring nodes. */
function delaysOf(journeys: Journeys): number[] {
  const { nodes, count, time, leaves } = journeys;
  const delays = nodes.slice(1).map(() => Number.POSITIVE_INFINITY);
  for (let packet = 0; packet < count; packet++) {
    const at = packet * nodes.length;
    eachHop(journeys, packet, (from, to) => {
      const hop = Math.min(from, to);
      if (Math.abs(from - to) === 1)
        delays[hop] = Math.min(delays[hop]!, time[at + to]! - leaves[at + from]!);
    });
  }
  return delays.map((delay) => (Number.isFinite(delay) ? Math.max(0, delay) : 0));
}

export function layout(
  journeys: Journeys,
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
): Frame {
  const { nodes } = journeys;
  const { lane, counts } = lanesOf(journeys);
  const room = width < 520 ? BARS.narrow : BARS.wide;
  context.font = BOLD;
  const half = (place: number) => context.measureText(nodes[place] ?? "").width / 2;
  const isUsed = (place: number, back: 0 | 1) => (counts[place]?.[back] ?? 0) > 0;
  const labels = 64;
  const left = labels + Math.max(isUsed(0, 0) ? room : 0, half(0) - 24, 10);
  const right = width - Math.max(isUsed(nodes.length - 1, 1) ? room : 0, half(nodes.length - 1), 10) - 6;
  const delays = delaysOf(journeys);
  const total = delays.reduce((sum, delay) => sum + delay, 0) || 1;
  // Short hops keep some width, so that their packets remain visible.
  const weights = delays.map((delay) => 0.45 + delay / total);
  const whole = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  let reached = 0;
  const x = [0, ...weights].map((weight) => {
    reached += weight;
    return left + (reached / whole) * (right - left);
  });
  const bar = (packet: number, place: number) => {
    const back = journeys.back[packet] ? 1 : 0;
    const pitch = Math.min(MAX_BAR, room / Math.max(1, counts[place]![back]));
    const offset = GAP + (lane[packet * nodes.length + place]! + 0.5) * pitch;
    return { x: x[place]! + (back ? offset : -offset), width: Math.max(1.2, 0.8 * pitch, pitch - 1) };
  };
  return { left: labels, right: width, top: HEADER, height: height - HEADER - FOOTER, width, x, bar };
}
