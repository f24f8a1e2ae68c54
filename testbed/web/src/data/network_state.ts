// The state of a run's network at a time: load, queues and drops of its links, and the rates of its
// flows.

import type { FlowPath, PathHop, RunNetwork } from "./api.gen";

/** Samples of one quantity of one link or flow. */
export interface Samples {
  time: number[];
  value: (number | null)[];
}

/** The samples that determine the state, by link or flow. `delivered` counts bytes. */
export interface NetworkSamples {
  queuePackets: Record<string, Samples>;
  queueBytes: Record<string, Samples>;
  dropped: Record<string, Samples>;
  delivered: Record<string, Samples>;
}

export interface FlowState {
  name: string;
  /** Goodput of the flow in bit/s. */
  rate: number;
}

/** The state of one direction of a link or of the access of a terminal. */
export interface PartState {
  part: string;
  from: string;
  to: string;
  network: string;
  /** Capacity, and goodput of the flows, in bit/s. */
  rate: number;
  used: number;
  /** The filled part of the queue from 0 to 1 (null for a queue without limit), and its content:
   * the greatest of the last second. */
  fill: number | null;
  queued: number | null;
  unit: string;
  dropped: number;
  flows: FlowState[];
}

/** Time over which rates are averaged, in seconds. */
const WINDOW_S = 1;

/** The value of samples at a time: that of the last sample before it. */
export function valueAt({ time, value }: Samples, at: number): number | null {
  let [low, high] = [0, time.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return value[low - 1] ?? null;
}

/** The state of the network at a time. `rates` has the capacities that were changed, by link. */
export function stateAt(
  network: RunNetwork,
  samples: NetworkSamples,
  at: number,
  rates: Record<string, number> = {},
): { parts: PartState[]; flows: FlowState[] } {
  const flows = network.flows.map(({ name }) => ({ name, rate: rateAt(samples.delivered[name], at) }));
  const rateOf = new Map(flows.map((one) => [one.name, one.rate]));
  const parts = new Map<string, PartState>();
  const visit = (hop: PathHop, flow: FlowPath, forward: boolean) => {
    let part = parts.get(hop.part);
    if (!part) {
      part = { ...queueAt(hop, samples, at), flows: [] };
      part.rate = rates[hop.part.replace(/\.return$/, "")] ?? part.rate;
      parts.set(hop.part, part);
    }
    if (!forward) return;
    const rate = rateOf.get(flow.name) ?? 0;
    part.used += rate;
    part.flows.push({ name: flow.name, rate });
  };
  for (const flow of network.flows) {
    for (const hop of flow.there) visit(hop, flow, true);
    for (const hop of flow.back) visit(hop, flow, false);
  }
  return { parts: [...parts.values()], flows };
}

function rateAt(samples: Samples | undefined, at: number): number {
  if (!samples) return 0;
  const from = Math.max(0, at - WINDOW_S);
  const bytes = (valueAt(samples, at) ?? 0) - (valueAt(samples, from) ?? 0);
  return at > from ? Math.max(0, (8 * bytes) / (at - from)) : 0;
}

function queueAt(hop: PathHop, samples: NetworkSamples, at: number): Omit<PartState, "flows"> {
  const find = (of: Record<string, Samples>) => (of[hop.part] ? greatestUntil(of[hop.part]!, at) : null);
  const inBytes = hop.queue_packets === null && hop.queue_bytes !== null;
  const queued = find(inBytes ? samples.queueBytes : samples.queuePackets);
  const limit = inBytes ? hop.queue_bytes : hop.queue_packets;
  return {
    part: hop.part,
    from: hop.from,
    to: hop.to,
    network: hop.network,
    rate: hop.rate,
    used: 0,
    queued,
    fill: queued === null || !limit ? null : Math.min(1, queued / limit),
    unit: `${limit ? `of ${limit} ` : ""}${inBytes ? "bytes" : "packets"}`,
    dropped: find(samples.dropped) ?? 0,
  };
}

/** The greatest value within the last second. Short queues would be invisible at a moment. */
function greatestUntil(samples: Samples, at: number): number | null {
  let most = valueAt(samples, at - WINDOW_S);
  for (let place = samples.time.length - 1; place >= 0 && samples.time[place]! > at - WINDOW_S; place--) {
    const value = samples.value[place];
    if (samples.time[place]! <= at && value !== null && value !== undefined)
      most = Math.max(most ?? 0, value);
  }
  return most;
}

/** The parts of the picture that a hop crosses: its ends, and the network or satellite between
 * them. `satellites` are those of links, by the name of the link. */
export function stops(
  { part, from, to, network }: Pick<PathHop, "part" | "from" | "to" | "network">,
  nodes: Set<string>,
  satellites: Map<string, string>,
): string[] {
  const middle = nodes.has(`network ${network}`)
    ? `network ${network}`
    : satellites.get(part.replace(/\.return$/, ""));
  return [from, middle, to].filter((one): one is string => one !== undefined && nodes.has(one));
}

/** The parts of the picture along the hops of a flow. */
export function nodesAlong(hops: PathHop[], nodes: Set<string>, satellites: Map<string, string>): string[] {
  const all = hops.flatMap((hop) => stops(hop, nodes, satellites));
  return all.filter((one, place) => one !== all[place - 1]);
}
