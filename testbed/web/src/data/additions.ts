// Additions to a scenario. Each leaves the scenario valid, and names the thing that it adds.

import { type PictureData, unused } from "./draft";
import { type Change, isTable, type Table } from "./schema";
import { includes, isSatelliteLink, networksOf, seconds, tablesOf } from "./things";

/** The changes of an addition, and the path of the thing that it adds; or the reason why the
 * scenario has no place for it. */
export type Addition = { edits: Change[]; path: string[] } | { refused: string };

export interface Draft {
  data: Table | undefined;
  /** The names of all nodes, also of those without a link. */
  nodes: string[];
  picture: PictureData | undefined;
  /** The chosen node, link or network, near which things are added; empty if there is none. */
  chosen: string[];
}

function names({ data }: Draft, kind: string): string[] {
  return tablesOf(data, kind).map((one) => String(one.name));
}

/** Half of the duration, when most transfers are in progress. */
function halfTime({ data }: Draft): string {
  return `${Number((seconds(data?.duration) / 2).toPrecision(3))} s`;
}

/** Half of a rate such as "10 Mbit/s". */
function half(rate: unknown): string {
  return String(rate).replace(/^[\d.e+]+/, (number) => String(Number(number) / 2));
}

export function newLink(draft: Draft, from: string, to: string): Addition {
  const name = unused("link", names(draft, "link"));
  return {
    edits: [{ path: ["link", name], value: { from, to, rate: "10 Mbit/s", delay: "10 ms" } }],
    path: ["link", name],
  };
}

/** A bulk transfer between two nodes. */
export function newFlow(draft: Draft, from: string, to: string, more: Table = {}): Addition {
  const name = unused("flow", names(draft, "flow"));
  const value = { from, to, app: "bulk", transport: { kind: "tcp", congestion: "cubic" }, ...more };
  return { edits: [{ path: ["flow", name], value }], path: ["flow", name] };
}

/** A new sender at a router, with a link of 100 Mbit/s. Its flow ends where the other flows that
 * pass the router end, other than over a satellite if possible. */
export function newCompetitor(draft: Draft, router: string, receivers: string[]): Addition {
  const overSatellite = new Set(
    tablesOf(draft.data, "link")
      .filter(isSatelliteLink)
      .map((one) => String(one.to)),
  );
  const to = receivers.find((one) => !overSatellite.has(one)) ?? receivers[0];
  if (!to) return { refused: "No flow passes this node: add a flow first." };
  const from = unused("sender", draft.nodes);
  const name = unused("link", names(draft, "link"));
  const flow = newFlow(draft, from, to, { transport: { kind: "tcp", congestion: "reno" } });
  if ("refused" in flow) return flow;
  return {
    edits: [
      { path: ["link", name], value: { from, to: router, rate: "100 Mbit/s", delay: "1 ms" } },
      ...flow.edits,
    ],
    path: flow.path,
  };
}

/** The kinds of networks, each with its description and its smallest useful table. */
export const NETWORKS: { kind: string; about: string; table: (a: string, b: string) => Table }[] = [
  {
    kind: "dvb-rcs",
    about: "Satellite access on demand",
    table: (terminal, gateway) => ({
      gateway,
      terminals: [terminal],
      propagation: "250 ms",
      forward: { rate: "10 Mbit/s" },
      return: { rate: "2048 kbit/s", dama: { scheme: "rbdc" } },
    }),
  },
  {
    kind: "skyplex",
    about: "On-board multiplexing of uplinks",
    table: (terminal, gateway) => ({ gateway, terminals: [terminal], forward: { rate: "38 Mbit/s" } }),
  },
  {
    kind: "constellation",
    about: "Satellites in low orbits",
    table: (a, b) => ({
      shell: [
        {
          kind: "walker-star",
          altitude: "780 km",
          inclination: "86.4 deg",
          planes: 6,
          satellites: 11,
          phasing: 3,
          raan_spread: "189.6 deg",
        },
      ],
      gsl: { up: "2 Mbit/s", down: "2 Mbit/s", mask: "8.2 deg" },
      isl: { kind: "grid", rate: "25 Mbit/s" },
      sites: {
        [a]: { latitude: "51.5 deg", longitude: "0 deg" },
        [b]: { latitude: "42.4 deg", longitude: "-71 deg" },
      },
    }),
  },
  {
    kind: "atm",
    about: "Cells over a satellite",
    table: (a, b) => ({ ends: [a, b], legs: [{ rate: "2 Mbit/s", delay: "250 ms" }] }),
  },
  { kind: "wifi", about: "A wireless LAN", table: (a, b) => ({ standard: "802.11g", stations: [a, b] }) },
  {
    kind: "bundles",
    about: "Contacts in deep space",
    table: (a, b) => ({
      plan: `id,src,dst,start,end,rate_bps,owlt_s\n1,${a},${b},0,3600,256000,0.003\n2,${b},${a},0,3600,256000,0.003\n`,
    }),
  },
];

/** A network of a kind, which connects two nodes. The first is the chosen node if there is one, so
 * that the network extends the scenario. */
export function newNetwork(draft: Draft, kind: string): Addition {
  const of = NETWORKS.find((one) => one.kind === kind)!;
  const name = unused(
    kind.replace(/\W/g, ""),
    networksOf(draft.data).map(([one]) => one),
  );
  const near = draft.chosen[0] === "node" ? draft.chosen[1]! : unused("terminal", draft.nodes);
  const far = unused("gateway", draft.nodes);
  return {
    edits: [{ path: ["network", name], value: { kind, ...of.table(near, far) } }],
    path: ["network", name],
  };
}

/** The nodes that flows pass on their paths, other than their ends. */
function between(draft: Draft): string[] {
  const ends = tablesOf(draft.data, "flow").flatMap((one) => [one.from, one.to]);
  const inner = (draft.picture?.nodes ?? []).filter(
    (one) => ["router", "proxy"].includes(one.kind) && !ends.some((end) => includes(end, one.id)),
  );
  // The node next to the satellite comes first, because a proxy helps there most.
  const beside = tablesOf(draft.data, "link")
    .filter(isSatelliteLink)
    .flatMap((one) => [one.from, one.to]);
  return inner.map((one) => one.id).sort((a, b) => Number(beside.includes(b)) - Number(beside.includes(a)));
}

export function newProxy(draft: Draft, mechanism: unknown = "split", at?: string): Addition {
  const possible = between(draft);
  const near = draft.chosen[0] === "node" ? draft.chosen[1] : undefined;
  const node = at ?? (near && possible.includes(near) ? near : possible[0]);
  if (!node) {
    return { refused: "A proxy works at a node between the ends of a flow: add a router on the path first." };
  }
  const name = unused("proxy", names(draft, "proxy"));
  return { edits: [{ path: ["proxy", name], value: { node, mechanism } }], path: ["proxy", name] };
}

/** The link over which a mechanism at a node acts: that to a satellite, or else the last. */
export function linkAt(data: Table | undefined, node: string): string | undefined {
  const near = tablesOf(data, "link").filter((one) => one.from === node || one.to === node);
  return (near.find(isSatelliteLink) ?? near.at(-1))?.name as string | undefined;
}

/** A mechanism of a proxy with its required keys. */
export function mechanismOf(kind: string, data: Table | undefined, node: string): unknown {
  if (kind === "split") return "split";
  const link = tablesOf(data, "link").find((one) => one.name === linkAt(data, node));
  const made: Table = { kind, over: link?.name ?? "" };
  if (kind === "ack-filter" || kind === "ack-decimation") {
    const back = isTable(link?.return) ? link.return : link;
    made.rate = back?.rate ?? "10 Mbit/s";
  }
  if (kind === "dtn") {
    const space = networksOf(data).find(([, one]) => one.kind === "bundles");
    made.over = space?.[0] ?? made.over;
  }
  return made;
}

/** A service at the end of a flow that it can serve; otherwise one that serves no flow yet. */
export function newService(draft: Draft): Addition {
  const flows = tablesOf(draft.data, "flow");
  const over = (kinds: string[]) =>
    flows.find(
      (one) =>
        isTable(one.transport) && kinds.includes(String(one.transport.kind)) && !String(one.to).includes("*"),
    );
  const [relayed, bridged] = [over(["udp"]), over(["sip", "iax2"])];
  const name = unused("service", names(draft, "service"));
  const near = draft.chosen[0] === "node" ? draft.chosen[1] : undefined;
  const node = String(relayed?.to ?? bridged?.to ?? near ?? draft.nodes[0] ?? "");
  if (!node) return { refused: "A service works at a node: add a host first." };
  const value: Table = { node, role: bridged && !relayed ? "bridge" : "relay" };
  if (!relayed && !bridged) value.flows = [];
  return { edits: [{ path: ["service", name], value }], path: ["service", name] };
}

/** A change of a link's rate to half, at half of the duration. */
export function newChange(draft: Draft): Addition {
  const links = tablesOf(draft.data, "link");
  const of = links.find((one) => one.name === draft.chosen[1]) ?? links.find(isSatelliteLink) ?? links[0];
  const [network] = networksOf(draft.data).filter(([, one]) => one.kind === "dvb-rcs");
  const place = String(tablesOf(draft.data, "change").length);
  const value = of
    ? { link: { [String(of.name)]: { rate: half(of.rate) } } }
    : network && {
        network: { [network[0]]: { forward: { rate: half((network[1].forward as Table).rate) } } },
      };
  if (!value) return { refused: "Only values of links and networks can change: add a link first." };
  return {
    edits: [{ path: ["change", place], value: { at: halfTime(draft), set: value } }],
    path: ["change", place],
  };
}

/** A handover to the second link of a multilink. Without a multilink, it adds one of an existing
 * link and a copy. */
export function newHandover(draft: Draft): Addition {
  const place = String(tablesOf(draft.data, "handover").length);
  const path = ["handover", place];
  const [known] = tablesOf(draft.data, "multilink");
  if (known) {
    const links = known.links as string[];
    const value = { at: halfTime(draft), to: links[1] ?? links[0], multilink: known.name };
    return { edits: [{ path, value }], path };
  }
  const links = tablesOf(draft.data, "link");
  const of = links.find((one) => one.name === draft.chosen[1]) ?? links.find(isSatelliteLink) ?? links[0];
  if (!of) return { refused: "A handover moves traffic between two links: add a link first." };
  const second = unused(`${String(of.name)}-`, names(draft, "link"));
  const { from, to, rate, delay } = of;
  return {
    edits: [
      { path: ["link", second], value: { from, to, rate, delay } },
      { path: ["multilink", unused("multilink", [])], value: { links: [of.name, second] } },
      { path, value: { at: halfTime(draft), to: second } },
    ],
    path,
  };
}

/** Replaces a satellite link by a network with access on demand, of the same rate and delay. */
export function onDemand(link: Table): Addition {
  const name = String(link.name);
  const back = isTable(link.return) ? link.return : link;
  const value = {
    kind: "dvb-rcs",
    gateway: link.from,
    terminals: [link.to],
    propagation: link.delay,
    forward: { rate: link.rate },
    return: { rate: back.rate, dama: { scheme: "rbdc" } },
  };
  return {
    edits: [
      { path: ["link", name], value: null },
      { path: ["network", name], value },
    ],
    path: ["network", name],
  };
}
