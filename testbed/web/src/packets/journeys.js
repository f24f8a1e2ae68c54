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
 * A request is made at the time of the trace `dama`, and a plan at that of the trace `ncc`. Both travel for the propagation
 * delay of the next packet. The time until a request leaves in a shared or piggybacked slot is not shown.
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

/** The recorded traces that complete the packets, if the scenario has them. */
export const TRACES = ["link", "waits", "dama", "ncc"];

/** The kinds of packets: with data, acknowledgments and other answers, and the set-up and end of a connection. */
export const DATA = 0;
export const ANSWER = 1;
export const CONTROL = 2;

const FIN = 1;
const SYN = 2;
const RST = 4;

/** Parts of a wait in the trace `waits`, and their causes in words. */
export const CAUSES = /** @type {const} */ ([
  ["wait_earlier", "earlier slots"],
  ["wait_request", "request slot"],
  ["wait_lost", "lost requests"],
  ["wait_propagation", "propagation of request and plan"],
  ["wait_controller", "control centre"],
  ["wait_competition", "other packets and terminals"],
  ["wait_slot", "slot and transmission"],
]);

/** @param {Trace} trace @param {string} name */
export function column(trace, name) {
  const found = trace.columns.find((one) => one.name === name);
  if (!found) throw new Error(`the trace ${trace.table} has no column ${name}`);
  return found.values;
}

/** @param {Answer} answer @param {string} table */
const traceOf = (answer, table) => answer.traces.find((one) => one.table === table && one.rows > 0) ?? null;

/**
 * Returns the number of sorted values that are at most `value`.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function countUntil(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {number} */ (sorted[middle]) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

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

/**
 * Adds the waits for slots, the requests and the plans of the terminals on the path.
 * @param {Journeys} journeys
 * @param {Trace} waits
 * @param {number} flow
 * @param {Trace | null} dama
 * @param {Trace | null} ncc
 */
function addDama(journeys, waits, flow, dama, ncc) {
  journeys.waits = waits;
  const parts = CAUSES.map(([name]) => column(waits, name));
  const [flows, numbers, arrivals, asked] = ["of_flow", "packet", "arrival", "asked"].map((name) =>
    column(waits, name),
  );
  const width = journeys.nodes.length;
  /** @type {Map<string, number>} */
  const packets = new Map();
  for (let packet = 0; packet < journeys.count; packet++) {
    for (let place = 0; place < width; place++) {
      const time = journeys.time[packet * width + place];
      if (!Number.isNaN(time)) packets.set(`${journeys.number[packet]} ${place} ${time}`, packet);
    }
  }
  waits.entities.forEach((terminal, entity) => {
    const place = journeys.nodes.indexOf(terminal);
    if (place < 0) return;
    /** Times at which packets leave, and the propagation delay of each. */
    const leaves = /** @type {number[]} */ ([]);
    const delays = /** @type {number[]} */ ([]);
    const requested = /** @type {Set<number>} */ (new Set());
    let isBack = false;
    for (let row = 0; row < waits.rows; row++) {
      if (waits.entity[row] !== entity) continue;
      const arrival = Number(arrivals?.[row]);
      const leave = parts.reduce((sum, part) => sum + Number(part[row]), arrival);
      leaves.push(leave);
      delays.push(Number(waits.time[row]) - leave);
      if (Number(asked?.[row]) >= 0) requested.add(Number(asked?.[row]));
      if (flows?.[row] !== flow) continue;
      const packet = packets.get(`${numbers?.[row]} ${place} ${arrival}`);
      if (packet === undefined) continue;
      journeys.leaves[packet * width + place] = leave;
      journeys.waitRow[packet] = row;
      isBack = journeys.back[packet] === 1;
    }
    const gateway = place + (isBack ? -1 : 1);
    if (gateway < 0 || gateway >= width) return;
    /** @param {number} time */
    const delayAt = (time) => Number(delays[Math.min(countUntil(leaves, time), delays.length - 1)]);
    addMessages(journeys, { terminal, place, gateway, requested, delayAt }, dama, ncc);
  });
}

/**
 * Adds the requests and the plans of a terminal. `requested` are the times of requests that packets waited for.
 * @param {Journeys} journeys
 * @param {{ terminal: string, place: number, gateway: number, requested: Set<number>, delayAt: (time: number) => number }} of
 * @param {Trace | null} dama
 * @param {Trace | null} ncc
 */
function addMessages(journeys, { terminal, place, gateway, requested, delayAt }, dama, ncc) {
  /** @param {number} sent @param {number} slots @param {number} superframe */
  const message = (sent, slots, superframe) => {
    return { terminal: place, gateway, sent, received: sent + delayAt(sent), slots, superframe };
  };
  const entity = dama?.entities.indexOf(terminal) ?? -1;
  if (!dama || entity < 0) {
    for (const time of requested) journeys.requests.push(message(time, Number.NaN, Number.NaN));
    return;
  }
  const [superframes, requests, assigned] = ["superframe", "request", "assigned"].map((name) =>
    column(dama, name),
  );
  const rows = [...dama.entity.keys()].filter((row) => dama.entity[row] === entity);
  const starts = rows.map((row) => Number(dama.time[row]));
  const [first, last] = [rows[0] ?? 0, rows.at(-1) ?? 0];
  const number = Number(superframes?.[last]) - Number(superframes?.[first]);
  if (number > 0) {
    const length = (Number(dama.time[last]) - Number(dama.time[first])) / number;
    const start = Number(dama.time[first]) - Number(superframes?.[first]) * length;
    journeys.superframes = { place, start, length };
  }
  // Requests are made at a constant time after the start of a superframe.
  const known = [...requested];
  const offset = known.reduce((least, time) => {
    const start = starts[countUntil(starts, time) - 1];
    return start === undefined ? least : Math.min(least, time - start);
  }, Number.POSITIVE_INFINITY);
  const after = Number.isFinite(offset) ? offset : 0;
  for (const row of rows) {
    if (!(Number(requests?.[row]) > 0)) continue;
    journeys.requests.push(
      message(Number(dama.time[row]) + after, Number(requests?.[row]), Number(superframes?.[row])),
    );
  }
  // The plans of several networks cannot be attributed.
  if (!ncc || new Set(ncc.entity).size !== 1) return;
  const planned = new Map(Array.from(column(ncc, "superframe"), (one, row) => [one, Number(ncc.time[row])]));
  for (const row of rows) {
    const superframe = Number(superframes?.[row]);
    const sent = planned.get(superframe);
    if (sent !== undefined && Number(assigned?.[row]) > 0)
      journeys.plans.push(message(sent, Number(assigned?.[row]), superframe));
  }
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

/** @param {number} number @param {string} noun */
const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/**
 * Returns a time as a text, with a resolution that suits spans of `span` nanoseconds.
 * @param {number} time
 * @param {number} span
 */
export function timeText(time, span) {
  const digits = Math.min(6, Math.max(0, Math.round(2 - Math.log10(span / 1e9))));
  return `${(time / 1e9).toFixed(digits)} s`;
}

/**
 * Describes the packets at a time in a sentence.
 * @param {Journeys} journeys
 * @param {number} now
 */
export function sentenceAt(journeys, now) {
  const counts = countsAt(journeys, now);
  const [data, answer] = journeys.isTcp ? ["segment", "acknowledgment"] : ["packet", "answer"];
  const travelling = [
    counts.data > 0 || counts.answers === 0 ? counted(counts.data, data) : "",
    counts.answers > 0 ? counted(counts.answers, answer) : "",
  ].filter(Boolean);
  const verb = counts.data + counts.answers === 1 ? "travels" : "travel";
  const waiting = [...counts.waiting].map(
    ([place, number]) =>
      `${counted(number, "packet")} ${number === 1 ? "waits" : "wait"} at ${journeys.nodes[place]}`,
  );
  const lost = [
    counts.lostData > 0 || counts.lostOthers === 0 ? counted(counts.lostData, data) : "",
    counts.lostOthers > 0 ? counted(counts.lostOthers, answer) : "",
  ].filter(Boolean);
  const has = counts.lostData + counts.lostOthers === 1 ? "has" : "have";
  const losses =
    counts.lostData + counts.lostOthers > 0
      ? `; ${lost.join(" and ")} ${has} been lost`
      : "; no losses so far";
  return `At ${timeText(now, journeys.roundTrip)}: ${[`${travelling.join(" and ")} ${verb}`, ...waiting].join(", ")}${losses}.`;
}

/**
 * Describes all packets in a sentence.
 * @param {Journeys} journeys
 */
export function summaryOf(journeys) {
  const { kind, retransmitted, isTcp, roundTrip } = journeys;
  const data = kind.reduce((sum, one) => sum + Number(one === DATA), 0);
  const repeated = retransmitted.reduce((sum, one) => sum + one, 0);
  const answers = kind.reduce((sum, one) => sum + Number(one === ANSWER), 0);
  const lost = journeys.losses.data.length + journeys.losses.others.length;
  const parts = [
    `${counted(data, isTcp ? "segment" : "packet")}${repeated > 0 ? ` (${counted(repeated, "retransmission")})` : ""}`,
    answers > 0 ? counted(answers, isTcp ? "acknowledgment" : "answer") : "",
  ].filter(Boolean);
  const losses = lost === 0 ? "no losses" : counted(lost, "loss").replace(/losss$/, "losses");
  const times = `From ${timeText(journeys.start, roundTrip)} to ${timeText(journeys.finish, roundTrip)}`;
  return `${times}: ${parts.join(" and ")}, ${losses}.`;
}

/** The TCP flags, from the lowest bit. */
const FLAGS = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];

/**
 * Describes a packet in lines of text. The first line is its title.
 * @param {Journeys} journeys
 * @param {number} packet
 */
export function detailsOf(journeys, packet) {
  const width = journeys.nodes.length;
  const value = (/** @type {Float64Array} */ values) => Number(values[packet]);
  const resolution = Math.max(1e6, journeys.roundTrip / 100);
  const text = (/** @type {number} */ time) => timeText(time, resolution);
  const payload = value(journeys.payload);
  const lines = [titleOf(journeys, packet)];
  if (journeys.retransmitted[packet]) lines.push("Retransmission");
  const acknowledged = value(journeys.acknowledgment);
  if (payload > 0 && acknowledged > 1) lines.push(`acknowledges bytes up to ${acknowledged - 1}`);
  const length = payload > 0 ? `${payload} bytes of payload, ` : "";
  lines.push(`${length}${value(journeys.size)} bytes at the network layer, number ${value(journeys.number)}`);
  if (journeys.isTcp) {
    lines.push(`flags ${FLAGS.filter((_, bit) => value(journeys.flags) & (1 << bit)).join(", ") || "none"}`);
  }
  if (journeys.marked[packet]) lines.push("marked: congestion experienced");
  const order = journeys.nodes.map((_, place) => (journeys.back[packet] ? width - 1 - place : place));
  for (const place of order) {
    const came = Number(journeys.time[packet * width + place]);
    if (Number.isNaN(came)) continue;
    const wait = Number(journeys.leaves[packet * width + place]) - came;
    const waited = wait > resolution / 100 ? `, leaves after ${text(wait)}` : "";
    lines.push(`${journeys.nodes[place]}: ${text(came)}${waited}`);
  }
  const { waits } = journeys;
  const row = Number(journeys.waitRow[packet]);
  if (waits && row >= 0) {
    for (const [name, cause] of CAUSES) {
      const wait = Number(column(waits, name)[row]);
      if (wait > 0) lines.push(`waits for ${cause}: ${text(wait)}`);
    }
    const [superframe, frame, slot] = ["sent_superframe", "sent_frame", "sent_slot"].map(
      (name) => column(waits, name)[row],
    );
    lines.push(`superframe ${superframe}, frame ${frame}, slot ${slot}`);
  }
  const lostAt = Number(journeys.lostAt[packet]);
  if (lostAt >= 0) {
    const next = journeys.nodes[lostAt + (journeys.back[packet] ? -1 : 1)];
    const where = journeys.inQueue[packet]
      ? `dropped by a full queue at ${journeys.nodes[lostAt]}`
      : `lost between ${journeys.nodes[lostAt]} and ${next}`;
    lines.push(where);
  }
  return lines;
}

/** @param {Journeys} journeys @param {number} packet */
function titleOf(journeys, packet) {
  const sequence = Number(journeys.sequence[packet]);
  const payload = Number(journeys.payload[packet]);
  if (payload > 0) return `Segment, bytes ${sequence} to ${sequence + payload - 1}`;
  if (!journeys.isTcp) return journeys.kind[packet] === DATA ? "Packet with data" : "Answer";
  const flags = Number(journeys.flags[packet]);
  if (flags & SYN) return "Connection set-up";
  if (flags & RST) return "Reset of the connection";
  if (flags & FIN) return "End of the connection";
  const acknowledged = Number(journeys.acknowledgment[packet]) - 1;
  return acknowledged > 0 ? `Acknowledgment of bytes up to ${acknowledged}` : "Acknowledgment of the set-up";
}
