// @ts-check
/**
 * The waits for slots, the requests and the plans of terminals with demand assignment (DAMA), from the traces `waits`,
 * `dama` and `ncc` (`crates/networks/src/dama`).
 *
 * A packet leaves its terminal at the end of the slot with its last byte. A request is made at the time of the trace
 * `dama`, and a plan at that of the trace `ncc`. Both travel for the propagation delay of the next packet. The time until
 * a request leaves in a shared or piggybacked slot is not shown.
 *
 * @typedef {import("../engine/answer").Trace} Trace
 * @typedef {import("./journeys.js").Journeys} Journeys
 */
import { CAUSES, column, countUntil } from "./rows.js";

/**
 * Adds the waits for slots, the requests and the plans of the terminals on the path.
 * @param {Journeys} journeys
 * @param {Trace} waits
 * @param {number} flow
 * @param {Trace | null} dama
 * @param {Trace | null} ncc
 */
export function addDama(journeys, waits, flow, dama, ncc) {
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
