// @ts-check
/**
 * Descriptions of packets in words.
 *
 * @typedef {import("./journeys.js").Journeys} Journeys
 */
import { countsAt } from "./journeys.js";
import { ANSWER, CAUSES, column, DATA, FIN, RST, SYN } from "./rows.js";

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
