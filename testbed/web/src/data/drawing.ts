// The picture of a network as it is drawn: links over satellites have a satellite, and nodes have
// the symbol of their purpose.

import type { PictureData, PictureEdge, PictureNode } from "./draft";
import type { Table } from "./schema";
import { isSatelliteLink, isSatelliteNetwork, networksOf, tablesOf } from "./things";

/** Returns the picture with satellites, and with the nodes in `pending`, which have no link yet. */
export function drawing(
  picture: PictureData | undefined,
  data: Table | undefined,
  pending: string[],
): PictureData {
  const known = picture ?? { nodes: [], edges: [] };
  const over = new Set(
    tablesOf(data, "link")
      .filter(isSatelliteLink)
      .map((one) => String(one.name)),
  );
  const networks = new Map(networksOf(data));
  const gateways = new Set([...networks.values()].map((one) => String(one.gateway ?? "")));
  const links = (node: string) => known.edges.filter((one) => one.from === node || one.to === node).length;
  const nodes = known.nodes.map((one): PictureNode => {
    if (one.kind === "network") {
      const network = networks.get(one.path[1] ?? "");
      const kind =
        network && isSatelliteNetwork(network) ? "satellite" : network?.kind === "wifi" ? "wifi" : "network";
      return { ...one, kind, label: one.path[1] ?? one.label, detail: String(network?.kind ?? "") };
    }
    if (gateways.has(one.id) && one.kind !== "proxy") return { ...one, kind: "gateway" };
    // A node without flows forwards packets only if it has several links.
    return one.kind === "router" && links(one.id) < 2 ? { ...one, kind: "host" } : one;
  });
  const edges: PictureEdge[] = [];
  for (const edge of known.edges) {
    if (edge.path[0] !== "link" || !over.has(edge.path[1] ?? "")) {
      edges.push(edge);
      continue;
    }
    const id = `satellite ${edge.id}`;
    const [name = "", detail = ""] = edge.label.split(": ");
    nodes.push({ id, label: name, detail, kind: "satellite", path: edge.path });
    edges.push(
      { ...edge, id: `${edge.id} up`, to: id, label: "" },
      { ...edge, id: `${edge.id} down`, from: id, label: "" },
    );
  }
  const names = new Set(nodes.map((one) => one.id));
  for (const one of pending)
    if (!names.has(one)) nodes.push({ id: one, label: one, kind: "host", path: ["node", one] });
  return { ...known, nodes, edges };
}
