// @ts-check
/**
 * Access to the rows of traces, and the kinds of packets.
 *
 * @typedef {import("../engine/answer").Trace} Trace
 */

/** The kinds of packets: with data, acknowledgments and other answers, and the set-up and end of a connection. */
export const DATA = 0;
export const ANSWER = 1;
export const CONTROL = 2;

/** TCP flags. */
export const FIN = 1;
export const SYN = 2;
export const RST = 4;

/** Parts of a wait in the trace `waits`, and their causes in words. */
export const CAUSES = /** @type {const} */ ([
  ["wait_superframe", "next superframe"],
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
