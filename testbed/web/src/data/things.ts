// The things of a scenario that have a panel: nodes, links, networks, flows, proxies and others.

import type { PictureData } from "./draft";
import { quantity } from "./quantities";
import { isTable, type Table } from "./schema";

/** A thing with a panel: its key path, its label in lists, and the nodes at which it is. */
export interface Thing {
  path: string[];
  label: string;
  ends: string[];
}

/** The tables of a list of the scenario, such as its links. */
export function tablesOf(data: Table | undefined, kind: string): Table[] {
  return (data?.[kind] ?? []) as Table[];
}

/** The networks of a scenario by name. */
export function networksOf(data: Table | undefined): [string, Table][] {
  return Object.entries((data?.network ?? {}) as Record<string, Table>);
}

/** All things of a scenario, except its nodes. */
export function things(data: Table | undefined): Thing[] {
  if (!data) return [];
  const found: Thing[] = [];
  for (const kind of ["link", "multilink", "proxy", "service", "flow"]) {
    for (const one of tablesOf(data, kind)) {
      const ends = [one.from, one.to, one.node].filter((end): end is string => typeof end === "string");
      found.push({
        path: [kind, String(one.name)],
        label: `${kind} ${String(one.name)}${one.to ? `: ${ends.join(" → ")}` : ""}`,
        ends,
      });
    }
  }
  for (const [name, network] of networksOf(data)) {
    const ends = [
      network.gateway,
      network.access_point,
      ...((network.terminals ?? []) as unknown[]),
      ...(Array.isArray(network.stations) ? network.stations : []),
      ...((network.ends ?? []) as unknown[]),
      ...Object.keys((network.sites ?? {}) as Table),
    ];
    found.push({
      path: ["network", name],
      label: `network ${name} (${String(network.kind)})`,
      ends: ends.map((one) => (isTable(one) ? String(one.name ?? "") : String(one))),
    });
  }
  for (const node of Object.keys((data.edge ?? {}) as Table))
    found.push({ path: ["edge", node], label: `DiffServ edge ${node}`, ends: [node] });
  // Handovers and changes have no names, so their paths contain positions in the list.
  for (const kind of ["handover", "change"]) {
    for (const [place, one] of tablesOf(data, kind).entries()) {
      const label = `${kind} at ${String(one.at ?? place + 1)}`;
      found.push({ path: [kind, String(place)], label, ends: [] });
    }
  }
  found.push({ path: ["record"], label: "recording", ends: [] });
  return found;
}

/** Splits the path of a chosen thing, whose name may contain dots. */
export function splitPath(chosen: string, known: Thing[]): string[] {
  const found = known.find((one) => one.path.join(".") === chosen);
  if (found) return found.path;
  const dot = chosen.indexOf(".");
  return dot < 0 ? [chosen] : [chosen.slice(0, dot), chosen.slice(dot + 1)];
}

const TIMES = { s: { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86_400 } };

/** A span of time in seconds. */
export function seconds(span: unknown): number {
  return quantity(span, TIMES)?.value ?? 0;
}

/** Delays of links from this on are those of satellites: 100 ms is a third of the delay over a
 * geostationary satellite. */
const SATELLITE_DELAY_S = 0.1;

/** Returns true for a link over a satellite: it has a long delay, contacts, or adaptive coding. */
export function isSatelliteLink(link: Table): boolean {
  return seconds(link.delay) >= SATELLITE_DELAY_S || isTable(link.contacts) || isTable(link.acm);
}

const SATELLITE_NETWORKS = ["dvb-rcs", "skyplex", "constellation", "atm", "bundles"];

/** Returns true for a network whose nodes communicate over satellites. */
export function isSatelliteNetwork(network: Table): boolean {
  return SATELLITE_NETWORKS.includes(String(network.kind));
}

/** Returns true if a pattern of nodes, such as `st*`, contains a node. */
export function includes(pattern: unknown, node: string): boolean {
  const [start = "", ...rest] = String(pattern).split("*");
  if (rest.length === 0) return start === node;
  return node.startsWith(start) && node.endsWith(rest.at(-1) ?? "");
}

/** The heading of a thing's panel. */
export function heading(path: string[], data: Table | undefined): string {
  const [kind = "", name = ""] = path;
  const found = tablesOf(data, kind);
  const of = Array.isArray(found) ? found.find((one, place) => (one.name ?? String(place)) === name) : null;
  switch (kind) {
    case "":
      return "TOML";
    case "link": {
      const what = of && isSatelliteLink(of) ? "Satellite link" : "Link";
      return `${what} ${name}: ${String(of?.from ?? "?")} → ${String(of?.to ?? "?")}`;
    }
    case "network": {
      const network = networksOf(data).find(([one]) => one === name)?.[1];
      const what = network && isSatelliteNetwork(network) ? "Satellite network" : "Network";
      return `${what} ${name} (${String(network?.kind ?? "?")})`;
    }
    case "flow":
      return `Flow ${name}: ${String(of?.from ?? "?")} → ${String(of?.to ?? "?")}`;
    case "proxy":
    case "service":
      return `${kind === "proxy" ? "Proxy" : "Service"} ${name} at ${String(of?.node ?? "?")}`;
    case "change":
    case "handover":
      return `${kind === "change" ? "Change" : "Handover"} at ${String(of?.at ?? "?")}`;
    case "edge":
      return `DiffServ edge of ${name}`;
    case "multilink":
      return `Multilink ${name}`;
    case "record":
      return "Recording";
  }
  return name;
}

/** The direction in which data crosses each edge of a picture, from the paths of the flows. Edges
 * without flows have the direction of the scenario. */
export function directions(picture: PictureData, data: Table | undefined): Map<string, [string, string]> {
  const near = new Map<string, { to: string; edge: string }[]>();
  for (const { id, from, to } of picture.edges) {
    near.set(from, [...(near.get(from) ?? []), { to, edge: id }]);
    near.set(to, [...(near.get(to) ?? []), { to: from, edge: id }]);
  }
  const found = new Map<string, [string, string]>();
  for (const flow of tablesOf(data, "flow").slice(0, MAX_FLOWS)) {
    const start = picture.nodes.find((one) => includes(flow.from, one.id))?.id;
    const end = picture.nodes.find((one) => includes(flow.to, one.id))?.id;
    if (!start || !end) continue;
    const before = search(start, near);
    for (let node = end; node !== start; ) {
      const step = before.get(node);
      if (!step?.edge) break;
      if (!found.has(step.edge)) found.set(step.edge, [step.from, node]);
      node = step.from;
    }
  }
  for (const { id, from, to } of picture.edges) if (!found.has(id)) found.set(id, [from, to]);
  return found;
}

/** The number of flows that determine directions. Others rarely change the picture. */
const MAX_FLOWS = 50;

/** The shortest paths from a node: the last step to each node. */
function search(start: string, near: Map<string, { to: string; edge: string }[]>) {
  const found = new Map([[start, { from: "", edge: "" }]]);
  const waiting = [start];
  for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
    for (const { to, edge } of near.get(one) ?? []) {
      if (found.has(to)) continue;
      found.set(to, { from: one, edge });
      waiting.push(to);
    }
  }
  return found;
}
