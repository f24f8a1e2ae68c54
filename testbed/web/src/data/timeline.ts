// The panels of a timeline: their quantities, and the lines of the loaded series.

import type { PlotLine, Results, Series, TimelineMark } from "./api.gen";
import { csv } from "./format";
import { valueAt } from "./network_state";
import { significant } from "./numbers";

/** A quantity that a panel shows as lines. */
export interface Shown {
  quantity: string;
  /** Name of the quantity. Quantities with one name, such as windows of TCP and of QUIC, have the
   * same dashes. */
  label: string;
  /** True for a running total of bytes, which is shown as a rate in kbit/s. */
  rate?: boolean;
  /** True if lines are left out whose values never exceed one, such as links without a queue. */
  large?: boolean;
  /** True for a quantity that is left out if several runs are compared. */
  detail?: boolean;
}

export interface PanelKind {
  name: string;
  shown: Shown[];
}

/** The panels of a timeline that combine quantities. The others have one quantity each. */
const PANELS: PanelKind[] = [
  {
    name: "congestion window",
    shown: [
      { quantity: "tcp.cwnd", label: "cwnd" },
      { quantity: "quic.cwnd", label: "cwnd" },
      { quantity: "tcp.ssthresh", label: "ssthresh", detail: true },
      { quantity: "quic.ssthresh", label: "ssthresh", detail: true },
    ],
  },
  {
    name: "RTT",
    shown: [
      { quantity: "tcp.rtt", label: "RTT" },
      { quantity: "quic.rtt", label: "RTT" },
    ],
  },
  {
    name: "RTO",
    shown: [
      { quantity: "tcp.rto", label: "RTO" },
      { quantity: "quic.pto", label: "PTO" },
    ],
  },
  { name: "queue", shown: [{ quantity: "link.queue_packets", label: "", large: true }] },
  { name: "terminal queue", shown: [{ quantity: "dama.queue", label: "" }] },
  {
    name: "rate",
    shown: [
      { quantity: "delivery.delivered", label: "goodput", rate: true },
      { quantity: "tfrc.allowed", label: "allowed" },
    ],
  },
  { name: "packet delay", shown: [{ quantity: "datagram.delay", label: "" }] },
  { name: "path delay", shown: [{ quantity: "path.delay", label: "" }] },
];
/** Largest number of panels that are shown without a choice. */
const DEFAULT_PANELS = 6;
/** The panels that a summary or a comparison shows without a choice, in this order. */
const MAIN_PANELS = ["rate", "congestion window", "RTT", "queue", "packet delay", "path delay"];

/** The recorded quantities of a run, as "trace.column". */
export function quantitiesOf(results: Results | undefined): string[] {
  return Object.entries(results?.quantities ?? {}).flatMap(([trace, columns]) =>
    columns.map((one) => `${trace}.${one}`),
  );
}

/** The panels of runs with these quantities: first those that combine quantities. */
export function panelsOf(quantities: string[]): PanelKind[] {
  const combined = PANELS.map((one) => ({
    ...one,
    shown: one.shown.filter(({ quantity }) => quantities.includes(quantity)),
  })).filter((one) => one.shown.length > 0);
  return [...combined, ...quantities.map((one) => ({ name: one, shown: [{ quantity: one, label: "" }] }))];
}

/** The panels of a summary of runs, which shows no details. */
export function mainPanels(known: PanelKind[]): PanelKind[] {
  return MAIN_PANELS.flatMap((name) => known.find((one) => one.name === name) ?? []);
}

/** The names of the panels that are shown without a choice. */
export function defaultPanels(known: PanelKind[]): string[] {
  return known
    .slice(0, DEFAULT_PANELS)
    .flatMap(({ name }) => (PANELS.some((one) => one.name === name) ? [name] : []));
}

/** A line of a panel. `of` names the flow, link or terminal; `colour` and `dash` are numbers in the
 * lists of colours and of dashes. */
export interface TimelineLine {
  label: string;
  run: string;
  of: string;
  quantity: string;
  unit: string;
  colour: number;
  dash: number;
  time: number[];
  value: (number | null)[];
}

export interface TimelinePanel {
  name: string;
  /** The flows, links or terminals of the panel, if others have panels of their own. */
  about: string;
  unit: string;
  lines: TimelineLine[];
  /** Number of lines that are left out, because they are the smallest. */
  omitted: number;
  /** True if the server has left out samples that are neither minimum nor maximum. */
  thinned: boolean;
}

/** Largest number of lines of a quantity of a run. */
const MAX_LINES = 6;

/** Returns a panel from the series of each run, by quantity. `names` lists the flows, links and
 * terminals in the order of their colours. `only` lists those that are shown; if it is empty, the
 * lines with the greatest values are shown. */
export function panelOf(
  kind: PanelKind,
  runs: { name: string; series: Record<string, Series | undefined> }[],
  names: string[],
  only: string[],
): TimelinePanel {
  const panel: TimelinePanel = {
    name: kind.name,
    about: "",
    unit: "",
    lines: [],
    omitted: 0,
    thinned: false,
  };
  const several = runs.length > 1;
  const quantities = kind.shown.filter((one) => !several || !one.detail);
  const labels = [...new Set(quantities.map((one) => one.label))];
  const combined = labels.length > 1;
  runs.forEach(({ name: run, series }, runNumber) => {
    const dashes = new Map<string, number>();
    quantities.forEach((shown) => {
      const place = labels.indexOf(shown.label);
      const found = series[shown.quantity];
      if (!found) return;
      const unit = shown.rate ? "kbit/s" : found.unit;
      panel.unit ||= unit === "bit/s" ? "kbit/s" : unit;
      panel.thinned ||= found.thinned;
      const wanted = found.lines.filter((one) =>
        only.length > 0 ? only.includes(one.name) : defaults(found, shown).includes(one),
      );
      panel.omitted += found.lines.length - wanted.length;
      for (const line of wanted) {
        const points = shown.rate ? rates(line.time, line.value) : { time: line.time, value: line.value };
        const value =
          unit === "bit/s" ? points.value.map((one) => (one === null ? null : one / 1e3)) : points.value;
        const key = `${line.name} ${place}`;
        if (!dashes.has(key)) dashes.set(key, dashes.size);
        panel.lines.push({
          label: [several ? `${run}:` : "", line.name, combined ? shown.label : ""].filter(Boolean).join(" "),
          run,
          of: line.name,
          quantity: shown.quantity,
          unit: panel.unit,
          colour: several ? runNumber : Math.max(0, names.indexOf(line.name)),
          dash: several ? dashes.get(key)! : place,
          time: points.time,
          value,
        });
      }
    });
  });
  return panel;
}

/** The lines that are shown without a choice: those with the greatest values. */
function defaults({ lines }: Series, { large }: Shown): PlotLine[] {
  const most = new Map(lines.map((line) => [line, greatest(line.value)]));
  const sorted = [...lines].sort((a, b) => most.get(b)! - most.get(a)!).slice(0, MAX_LINES);
  const queueing = sorted.filter((one) => most.get(one)! > 1);
  return large && queueing.length > 0 ? queueing : sorted;
}

/** Largest ratio of the greatest values of two flows in a panel. */
const MAX_RATIO = 5;
/** Largest number of panels into which a panel is divided. */
const MAX_PARTS = 3;

/** Divides a panel if its flows, links or terminals need different scales, so that each line uses
 * the height of its panel. In a comparison, each of them has a panel of its own, with a line per
 * run. */
export function divided(panel: TimelinePanel, compared: boolean): TimelinePanel[] {
  const names = [...new Set(panel.lines.map((one) => one.of))];
  const peak = new Map(
    names.map((name) => [
      name,
      Math.max(...panel.lines.filter((one) => one.of === name).map((one) => greatest(one.value))),
    ]),
  );
  const parts: string[][] = [];
  for (const name of [...names].sort((a, b) => peak.get(b)! - peak.get(a)!)) {
    const part = parts.at(-1);
    const fits = part && !compared && peak.get(name)! * MAX_RATIO >= peak.get(part[0]!)!;
    if (part && (fits || parts.length === MAX_PARTS)) part.push(name);
    else parts.push([name]);
  }
  if (parts.length < 2) return [panel];
  return parts.map((part) => ({
    ...panel,
    about: names.filter((one) => part.includes(one)).join(", "),
    lines: panel.lines
      .filter((one) => part.includes(one.of))
      // The colour of a line is that of its run.
      .map((one) => (compared && part.length === 1 ? { ...one, dash: 0 } : one)),
  }));
}

/** Leaves out the panels of flows, links or terminals that only one of several runs has, unless all
 * panels are of this kind. */
export function comparable(panels: TimelinePanel[]): TimelinePanel[] {
  const found = panels.filter(({ lines }) => new Set(lines.map((one) => one.run)).size > 1);
  return found.length > 0 ? found : panels;
}

/** The title of a panel, with its flows and its unit. */
export function titleOf({ name, about, unit }: TimelinePanel): string {
  return `${name}${about ? `: ${about}` : ""}${unit && unit !== "1" ? ` (${unit})` : ""}`;
}

function greatest(values: (number | null)[]): number {
  return values.reduce<number>(
    (most, one) => (one !== null && one > most ? one : most),
    Number.NEGATIVE_INFINITY,
  );
}

/** The rate of a byte count in kbit/s, averaged over at least `span / 100` seconds. By default, the
 * span is that of the samples. */
export function rates(
  time: number[],
  bytes: (number | null)[],
  span = (time.at(-1) ?? 0) - (time[0] ?? 0),
): { time: number[]; value: (number | null)[] } {
  const window = Math.max(1e-3, span / 100);
  const found = { time: [] as number[], value: [] as (number | null)[] };
  let last = 0;
  for (let at = 1; at < time.length; at++) {
    const took = time[at]! - time[last]!;
    if (took < window) continue;
    found.time.push(time[at]!);
    found.value.push((((bytes[at] ?? 0) - (bytes[last] ?? 0)) * 8) / took / 1e3);
    last = at;
  }
  return found;
}

/** The values of all lines at a time, as a text for screen readers. */
export function valuesText(panels: TimelinePanel[], at: number): string {
  const parts = panels.map(({ name, unit, lines }) => {
    const values = lines.map((line) => {
      const value = valueAt(line, at);
      return `${line.label} ${value === null ? "no value" : significant(value, 4)}`;
    });
    return `${name}: ${values.join(", ")}${unit && unit !== "1" ? ` ${unit}` : ""}`;
  });
  return `${significant(at, 6)} s. ${parts.join("; ")}`;
}

/** The points of panels within a time range as CSV, one per line. */
export function csvText(panels: TimelinePanel[], [from, to]: [number, number]): string {
  const rows = panels.flatMap(({ lines }) =>
    lines.flatMap((line) =>
      line.time.flatMap((time, place) => {
        const value = line.value[place];
        if (time < from || time > to || value === null || value === undefined) return [];
        return [[line.run, line.of, line.quantity, line.unit, time, value]];
      }),
    ),
  );
  return csv([["run", "of", "quantity", "unit", "time (s)", "value"], ...rows]);
}

/** The kinds of marks that are too many for lines. Only their rows show them. */
export const FREQUENT: TimelineMark["kind"][] = ["loss", "retransmission"];

/** The kinds of marks, in the order of their rows, with their names. */
export const MARK_KINDS: { kind: TimelineMark["kind"]; label: string; short: string }[] = [
  { kind: "loss", label: "packets dropped by queues", short: "drops" },
  { kind: "retransmission", label: "retransmissions", short: "resent" },
  { kind: "timeout", label: "time-outs", short: "time-outs" },
  { kind: "handover", label: "handovers", short: "handovers" },
  { kind: "change", label: "scheduled changes", short: "changes" },
  { kind: "manual", label: "manual changes", short: "by hand" },
  { kind: "fade", label: "fades", short: "fades" },
  { kind: "outage", label: "outages", short: "outages" },
];
