// @ts-check
/**
 * The packets of one flow on their way along a path: from the rows of the trace "packet"
 * (`crates/preview/src/packets.rs`) to the times of each packet at each node. This file is plain JavaScript, so that Node
 * runs it in tests as it is.
 *
 * A packet is identified by connection, direction, proxy and number. Times are in nanoseconds since the start of the run.
 * NaN stands for a missing value.
 *
 * **Waits.** The time from node to node includes waits in queues. If several packets of one size need exactly the same
 * shortest time for a hop, the delay of the hop is constant, and a longer time is a wait at the first node. Without a
 * constant delay, as with moving satellites, no wait is known. The trace `waits` gives the exact waits at terminals with
 * demand assignment (DAMA): a packet leaves at the end of the slot with its last byte.
 *
 * **Losses.** A packet is lost if it never reaches the next node, although the run lasts for at least the longest time that
 * a packet needs for the hop, and a later packet in the same direction does reach the next node. Without a later packet,
 * the run must last for twice the longest time. With the trace `link`, losses at the arrival at a full queue are known as
 * such.
 *
 * @typedef {import("../engine/answer").Answer} Answer
 * @typedef {import("../engine/answer").Trace} Trace
 *
 * @typedef {{
 *   back: boolean,
 *   proxy: number,
 *   first: number,
 *   last: number,
 *   hops: Map<number, Hop>,
 * }} Leg the packets in one direction between two ends; `first` and `last` are the places of the ends in the path
 *
 * @typedef {{
 *   fastest: Map<number, number>,
 *   repeated: Set<number>,
 *   isConstant: boolean,
 *   min: number,
 *   max: number,
 *   lastSeen: number,
 * }} Hop the times that packets need between two places, with the shortest by packet size. `repeated` are the
 *   sizes of which several packets need the shortest time. `lastSeen` is the latest time
 *   at the first place of a packet that reaches the second
 *
 * @typedef {{
 *   terminal: number,
 *   gateway: number,
 *   sent: number,
 *   received: number,
 *   slots: number,
 *   superframe: number,
 * }} Message a capacity request from a terminal to the gateway, or a burst time plan from the gateway to a terminal.
 *   `terminal` and `gateway` are places in the path, `slots` is the number of requested or assigned slots, and
 *   `superframe` is the superframe of the request or the planned superframe
 *
 * @typedef {{
 *   flow: string,
 *   nodes: string[],
 *   count: number,
 *   back: Uint8Array,
 *   kind: Uint8Array,
 *   retransmitted: Uint8Array,
 *   marked: Uint8Array,
 *   connection: Float64Array,
 *   proxy: Float64Array,
 *   number: Float64Array,
 *   size: Float64Array,
 *   sequence: Float64Array,
 *   payload: Float64Array,
 *   acknowledgment: Float64Array,
 *   flags: Float64Array,
 *   time: Float64Array,
 *   leaves: Float64Array,
 *   lost: Float64Array,
 *   lostAt: Int16Array,
 *   inQueue: Uint8Array,
 *   missing: Float64Array,
 *   waitRow: Int32Array,
 *   begin: Float64Array,
 *   end: Float64Array,
 *   latest: Float64Array,
 *   losses: { data: Float64Array, others: Float64Array },
 *   requests: Message[],
 *   plans: Message[],
 *   superframes: { place: number, start: number, length: number } | null,
 *   waits: Trace | null,
 *   roundTrip: number,
 *   start: number,
 *   finish: number,
 *   dropped: number,
 *   isTcp: boolean,
 * }} Journeys
 *
 * The packets are in the order of `begin`. `time` and `leaves` have a value per packet and node: the time of the packet at
 * the node, and the end of its wait there. `lost` is the time of a loss, `lostAt` the place of the node before it, and
 * `inQueue` is 1 if a full queue of that node has dropped the packet. `missing` is the shortest time for the hop that the
 * packet has not completed: it was lost, or the run ended. It is NaN if no packet has completed the hop. `latest` is the maximum of `end` over this packet and
 * all earlier ones. `roundTrip` is the sum of the median times of
 * all hops, there and back, with waits. Sequence and acknowledgment numbers are relative to the first one, as in Wireshark.
 */
import { addDama } from "./dama.js";
import { ANSWER, CONTROL, column, countUntil, DATA, FIN, RST, SYN } from "./rows.js";

/** The recorded traces that complete the packets, if the scenario has them. */
export const TRACES = ["link", "waits", "dama", "ncc"];

/** @param {Answer} answer @param {string} table */
const traceOf = (answer, table) => answer.traces.find((one) => one.table === table && one.rows > 0) ?? null;

/**
 * Returns the range of packets outside of which no packet travels between two times.
 * @param {Journeys} journeys
 * @param {number} from
 * @param {number} to
 * @returns {[number, number]}
 */
export function between(journeys, from, to) {
  let [low, high] = [0, journeys.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (journeys.latest[middle]) < from) low = middle + 1;
    else high = middle;
  }
  return [low, countUntil(journeys.begin, to)];
}

/**
 * Returns the journeys of the packets of a flow.
 * @param {Answer} answer of a run with the traces "packet" and, if they exist, "waits", "dama", "ncc" and "link"
 * @param {string} flow name of the flow
 * @param {string[]} [path] nodes along the path, from the flow's source. Default: the captured nodes in the given order
 * @returns {Journeys}
 */
export function journeysOf(answer, flow, path) {
  const trace = answer.traces.find((one) => one.table === "packet");
  if (!trace) throw new Error("the run has no trace of packets");
  const index = answer.flows.findIndex((row) => row.flow === flow);
  if (index < 0) throw new Error(`there is no flow ${flow}`);
  const journeys = collected(trace, index, flow, nodesOf(trace, index, path ?? trace.entities));
  journeys.finish = answer.summary.duration_seconds * 1e9;
  relate(journeys);
  const legs = legsOf(journeys);
  for (let packet = 0; packet < journeys.count; packet++)
    measure(journeys, packet, legOf(legs, journeys, packet));
  for (const leg of legs.values()) {
    for (const hop of leg.hops.values()) hop.isConstant = hop.repeated.size > 0;
  }
  const drops = dropTimes(traceOf(answer, "link"));
  for (let packet = 0; packet < journeys.count; packet++) {
    finish(journeys, packet, legOf(legs, journeys, packet), drops);
  }
  const waits = traceOf(answer, "waits");
  if (waits) addDama(journeys, waits, index, traceOf(answer, "dama"), traceOf(answer, "ncc"));
  summarize(journeys);
  return journeys;
}

/**
 * Returns the captured nodes of a path, without nodes between others that no packet of the flow passes visibly, such as
 * those inside a network of bundles.
 * @param {Trace} trace
 * @param {number} flow
 * @param {string[]} path
 */
function nodesOf(trace, flow, path) {
  const flows = column(trace, "flow");
  const seen = new Set(trace.entity.filter((_, row) => flows[row] === flow));
  const captured = path.filter((name) => trace.entities.includes(name));
  const isSeen = captured.map((name) => seen.has(trace.entities.indexOf(name)));
  return captured.filter((_, place) => {
    const isInner = isSeen.indexOf(true) < place && place < isSeen.lastIndexOf(true);
    return isSeen[place] || !isInner;
  });
}

/**
 * Collects the rows of each packet.
 * @param {Trace} trace
 * @param {number} flow
 * @param {string} name
 * @param {string[]} nodes
 * @returns {Journeys}
 */
function collected(trace, flow, name, nodes) {
  const [flows, connections, backs, proxies, numbers] = ["flow", "connection", "back", "proxy", "number"].map(
    (one) => column(trace, one),
  );
  const places = trace.entities.map((entity) => nodes.indexOf(entity));
  /** @type {Map<number, Map<number, number>>} */
  const known = new Map();
  /** First row of each packet. */
  const rows = /** @type {number[]} */ ([]);
  /** @type {[row: number, packet: number][]} */
  const later = [];
  for (let row = 0; row < trace.rows; row++) {
    if (flows?.[row] !== flow || /** @type {number} */ (places[trace.entity[row] ?? 0]) < 0) continue;
    const leg = (Number(connections?.[row]) * 2 + Number(backs?.[row])) * 256 + Number(proxies?.[row]);
    const number = Number(numbers?.[row]);
    let packets = known.get(leg);
    if (!packets) {
      packets = new Map();
      known.set(leg, packets);
    }
    let packet = packets.get(number);
    if (packet === undefined) {
      packet = rows.length;
      packets.set(number, packet);
      rows.push(row);
    }
    later.push([row, packet]);
  }
  const count = rows.length;
  /** @param {string} column_ */
  const values = (column_) => {
    const all = column(trace, column_);
    return Float64Array.from(rows, (row) => Number(all[row]));
  };
  const time = new Float64Array(count * nodes.length).fill(Number.NaN);
  for (const [row, packet] of later) {
    const at = packet * nodes.length + /** @type {number} */ (places[trace.entity[row] ?? 0]);
    if (Number.isNaN(time[at])) time[at] = /** @type {number} */ (trace.time[row]);
  }
  const missing = () => new Float64Array(count).fill(Number.NaN);
  const flags = values("flags");
  const payload = values("payload");
  const data = values("data");
  return {
    flow: name,
    nodes,
    count,
    back: Uint8Array.from(values("back")),
    kind: Uint8Array.from(data, (one, packet) => {
      if (one || Number(payload[packet]) > 0) return DATA;
      return Number(flags[packet]) & (SYN | FIN | RST) ? CONTROL : ANSWER;
    }),
    retransmitted: new Uint8Array(count),
    marked: Uint8Array.from(values("marked")),
    connection: values("connection"),
    proxy: values("proxy"),
    number: values("number"),
    size: values("size"),
    sequence: values("sequence"),
    payload,
    acknowledgment: values("acknowledgment"),
    flags,
    time,
    leaves: time.slice(),
    lost: missing(),
    lostAt: new Int16Array(count).fill(-1),
    inQueue: new Uint8Array(count),
    missing: missing(),
    waitRow: new Int32Array(count).fill(-1),
    begin: missing(),
    end: missing(),
    latest: missing(),
    losses: { data: new Float64Array(), others: new Float64Array() },
    requests: [],
    plans: [],
    superframes: null,
    waits: null,
    roundTrip: Number.NaN,
    start: 0,
    finish: 0,
    dropped: trace.dropped,
    isTcp: flags.some((one) => !Number.isNaN(one)),
  };
}

/**
 * Makes sequence and acknowledgment numbers relative to the first ones, without wrap-around, and marks retransmissions:
 * segments that start below the end of an earlier segment.
 * @param {Journeys} journeys
 */
function relate(journeys) {
  /**
   * @typedef {{ last: number, relative: number }} Numbers
   * @type {Map<string, { sequence?: Numbers, acknowledgment?: Numbers, sent: number }>}
   */
  const legs = new Map();
  /** @param {Numbers} numbers @param {number} value */
  const next = (numbers, value) => {
    numbers.relative += (value - numbers.last) | 0;
    numbers.last = value;
    return numbers.relative;
  };
  const { sequence, acknowledgment, flags, payload } = journeys;
  for (let packet = 0; packet < journeys.count; packet++) {
    const own = Number(sequence[packet]);
    if (Number.isNaN(own)) continue;
    const key = `${journeys.connection[packet]} ${journeys.back[packet]} ${journeys.proxy[packet]}`;
    let leg = legs.get(key);
    if (!leg) {
      leg = { sent: 0 };
      legs.set(key, leg);
    }
    leg.sequence ??= { last: own, relative: 0 };
    sequence[packet] = next(leg.sequence, own);
    const answered = Number(acknowledgment[packet]);
    if (!Number.isNaN(answered)) {
      // The first acknowledgment is that of the peer's SYN.
      leg.acknowledgment ??= { last: answered, relative: 1 };
      acknowledgment[packet] = next(leg.acknowledgment, answered);
    }
    const isLong = Number(flags[packet]) & (SYN | FIN) ? 1 : 0;
    const length = Number(payload[packet]) + isLong;
    if (length === 0) continue;
    if (Number(sequence[packet]) < leg.sent) journeys.retransmitted[packet] = 1;
    leg.sent = Math.max(leg.sent, Number(sequence[packet]) + length);
  }
}

/**
 * Returns the legs by direction and proxy. Without proxies, the ends of a leg are those of the path.
 * @param {Journeys} journeys
 * @returns {Map<number, Leg>}
 */
function legsOf(journeys) {
  const width = journeys.nodes.length;
  const isSplit = journeys.proxy.some((proxy) => proxy > 0);
  /** @type {Map<number, Leg>} */
  const legs = new Map();
  for (let packet = 0; packet < journeys.count; packet++) {
    const back = journeys.back[packet] === 1;
    const proxy = Number(journeys.proxy[packet]);
    let leg = legs.get(proxy * 2 + Number(back));
    if (!leg) {
      const [first, last] = isSplit ? [Number.NaN, Number.NaN] : back ? [width - 1, 0] : [0, width - 1];
      leg = { back, proxy, first, last, hops: new Map() };
      legs.set(proxy * 2 + Number(back), leg);
    }
    if (!isSplit) continue;
    for (let place = 0; place < width; place++) {
      if (Number.isNaN(journeys.time[packet * width + place])) continue;
      // The places furthest upstream and downstream. A comparison with NaN is false.
      if (!((place - leg.first) * (back ? -1 : 1) >= 0)) leg.first = place;
      if (!((place - leg.last) * (back ? -1 : 1) <= 0)) leg.last = place;
    }
  }
  return legs;
}

/** @param {Map<number, Leg>} legs @param {Journeys} journeys @param {number} packet */
const legOf = (legs, journeys, packet) =>
  /** @type {Leg} */ (legs.get(Number(journeys.proxy[packet]) * 2 + Number(journeys.back[packet])));

/**
 * Calls `visit` for each hop of a packet: pairs of places where the packet has been seen, in the order of its way. Returns
 * the last place.
 * @param {Journeys} journeys
 * @param {number} packet
 * @param {(from: number, to: number) => void} visit
 */
export function eachHop(journeys, packet, visit) {
  const width = journeys.nodes.length;
  const at = packet * width;
  const step = journeys.back[packet] ? -1 : 1;
  let before = -1;
  for (let place = step > 0 ? 0 : width - 1; place >= 0 && place < width; place += step) {
    if (Number.isNaN(journeys.time[at + place])) continue;
    if (before >= 0) visit(before, place);
    before = place;
  }
  return before;
}

/** @param {number} from @param {number} to */
const hopKey = (from, to) => from * 4096 + to;

/** @param {Leg} leg @param {number} from @param {number} to @returns {Hop} */
function hopOf(leg, from, to) {
  const key = hopKey(from, to);
  let hop = leg.hops.get(key);
  if (!hop) {
    const min = Number.POSITIVE_INFINITY;
    hop = { fastest: new Map(), repeated: new Set(), isConstant: false, min, max: 0, lastSeen: -1 };
    leg.hops.set(key, hop);
  }
  return hop;
}

/** @param {Journeys} journeys @param {number} packet @param {Leg} leg */
function measure(journeys, packet, leg) {
  const at = packet * journeys.nodes.length;
  const size = Number(journeys.size[packet]);
  eachHop(journeys, packet, (from, to) => {
    const hop = hopOf(leg, from, to);
    const start = Number(journeys.time[at + from]);
    const took = Number(journeys.time[at + to]) - start;
    const fastest = hop.fastest.get(size) ?? Number.POSITIVE_INFINITY;
    if (took < fastest) {
      hop.fastest.set(size, took);
      hop.repeated.delete(size);
    } else if (took === fastest) {
      hop.repeated.add(size);
    }
    hop.min = Math.min(hop.min, took);
    hop.max = Math.max(hop.max, took);
    hop.lastSeen = Math.max(hop.lastSeen, start);
  });
}

/**
 * Sets the waits, the loss, and the begin and the end of a packet.
 * @param {Journeys} journeys
 * @param {number} packet
 * @param {Leg} leg
 * @param {Set<number>} drops
 */
function finish(journeys, packet, leg, drops) {
  const at = packet * journeys.nodes.length;
  const size = Number(journeys.size[packet]);
  let begin = Number.NaN;
  const last = eachHop(journeys, packet, (from, to) => {
    if (Number.isNaN(begin)) begin = Number(journeys.time[at + from]);
    const hop = hopOf(leg, from, to);
    if (!hop.isConstant) return;
    const fastest = hop.fastest.get(size) ?? hop.min;
    journeys.leaves[at + from] = Math.max(
      Number(journeys.time[at + from]),
      Number(journeys.time[at + to]) - fastest,
    );
  });
  const seen = Number(journeys.time[at + last]);
  journeys.begin[packet] = Number.isNaN(begin) ? seen : begin;
  journeys.end[packet] = seen;
  if (last === leg.last) return;
  const step = leg.back ? -1 : 1;
  let to = last + step;
  while (to !== leg.last && !leg.hops.has(hopKey(last, to))) to += step;
  const hop = leg.hops.get(hopKey(last, to));
  const fastest = hop?.fastest.get(size) ?? hop?.min ?? Number.NaN;
  const inQueue = drops.has(seen);
  // Without a packet that has completed the hop, a packet may still wait.
  const isOver = hop !== undefined && journeys.finish - seen >= hop.max * (hop.lastSeen > seen ? 1 : 2);
  journeys.missing[packet] = fastest;
  if (isOver || inQueue) {
    journeys.lostAt[packet] = last;
    journeys.inQueue[packet] = Number(inQueue);
    journeys.lost[packet] = inQueue ? seen : seen + fastest / 2;
    journeys.end[packet] = Number(journeys.lost[packet]);
  } else {
    // Still on its way at the end of the run.
    journeys.end[packet] = journeys.finish;
  }
}

/**
 * Returns the times at which queues have dropped arriving packets.
 * @param {Trace | null} link
 */
function dropTimes(link) {
  /** @type {Set<number>} */
  const times = new Set();
  if (!link) return times;
  const dropped = column(link, "dropped");
  /** @type {number[]} */
  const before = [];
  for (let row = 0; row < link.rows; row++) {
    const entity = Number(link.entity[row]);
    if (Number(dropped[row]) > (before[entity] ?? 0)) times.add(Number(link.time[row]));
    before[entity] = Number(dropped[row]);
  }
  return times;
}

/** @param {number[]} values */
function median(values) {
  return values.sort((one, other) => one - other)[values.length >> 1] ?? 0;
}

/** @param {Journeys} journeys */
function summarize(journeys) {
  const { count, nodes, time, begin, end } = journeys;
  const width = nodes.length;
  let latest = Number.NEGATIVE_INFINITY;
  /** @type {Map<string, number[]>} */
  const hops = new Map();
  for (let packet = 0; packet < count; packet++) {
    latest = Math.max(latest, Number(end[packet]));
    journeys.latest[packet] = latest;
    eachHop(journeys, packet, (from, to) => {
      if (Math.abs(from - to) !== 1) return;
      const key = `${from} ${to}`;
      const took = Number(time[packet * width + to]) - Number(time[packet * width + from]);
      const known = hops.get(key);
      if (known) known.push(took);
      else hops.set(key, [took]);
    });
  }
  const roundTrip = [...hops.values()].reduce((sum, times) => sum + median(times), 0);
  journeys.roundTrip = roundTrip || Math.max(1, (latest - Number(begin[0])) / 4);
  journeys.start = count > 0 ? Number(begin[0]) : 0;
  journeys.finish = Math.min(journeys.finish, Math.max(latest, journeys.start + 1));
  /** @param {boolean} ofData */
  const losses = (ofData) =>
    journeys.lost
      .filter((one, packet) => !Number.isNaN(one) && (journeys.kind[packet] === DATA) === ofData)
      .sort();
  journeys.losses = { data: losses(true), others: losses(false) };
}

/**
 * Returns the position of a packet at a time: the place of the node behind it, the place of the next node, and the
 * fraction of the way between them. A waiting packet has the fraction 0 and `isWaiting`. Returns null before and after its
 * journey.
 * @param {Journeys} journeys
 * @param {number} packet
 * @param {number} now
 */
export function positionAt(journeys, packet, now) {
  if (!(now >= Number(journeys.begin[packet]) && now < Number(journeys.end[packet]))) return null;
  const at = packet * journeys.nodes.length;
  /** @type {{ from: number, to: number, share: number, isWaiting: boolean } | null} */
  let found = null;
  const last = eachHop(journeys, packet, (from, to) => {
    const [came, left, arrived] = [
      journeys.time[at + from],
      journeys.leaves[at + from],
      journeys.time[at + to],
    ];
    if (found || now < Number(came) || now >= Number(arrived)) return;
    const share = Math.max(0, (now - Number(left)) / Math.max(1, Number(arrived) - Number(left)));
    found = { from, to, share, isWaiting: now < Number(left) };
  });
  if (found) return found;
  // On the way to a loss, or still on its way at the end of the run.
  const needs = Number(journeys.missing[packet]);
  const share = (now - Number(journeys.time[at + last])) / Math.max(1, needs);
  const to = last + (journeys.back[packet] ? -1 : 1);
  if (Number.isNaN(needs)) return { from: last, to, share: 0, isWaiting: true };
  return { from: last, to, share: Math.min(1, share), isWaiting: false };
}

/**
 * Returns the numbers of packets that travel and wait, and of losses so far.
 * @param {Journeys} journeys
 * @param {number} now
 */
export function countsAt(journeys, now) {
  const counts = {
    data: 0,
    answers: 0,
    waiting: /** @type {Map<number, number>} */ (new Map()),
    lostData: countUntil(journeys.losses.data, now),
    lostOthers: countUntil(journeys.losses.others, now),
  };
  const [from, to] = between(journeys, now, now);
  for (let packet = from; packet < to; packet++) {
    const position = positionAt(journeys, packet, now);
    if (!position) continue;
    if (position.isWaiting) counts.waiting.set(position.from, (counts.waiting.get(position.from) ?? 0) + 1);
    else if (journeys.kind[packet] === DATA) counts.data += 1;
    else counts.answers += 1;
  }
  return counts;
}
