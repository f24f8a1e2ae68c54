// The picture of the network as a graph of nodes and links.

import {
  Background,
  type Connection,
  Controls,
  type Edge,
  Handle,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
  useEdgesState,
  useNodesState,
} from "@xyflow/react";
import { memo, type RefObject, useEffect, useMemo, useRef } from "react";
import type { PictureData, Positions } from "../data/draft";

type PartNode = Node<{ label: string; kind: string }, "part">;

const Part = memo(function Part({ data, selected }: NodeProps<PartNode>) {
  return (
    <div className={`part ${data.kind}${selected ? " chosen" : ""}`}>
      <Handle type="target" position={Position.Left} />
      <span className="symbol" aria-hidden="true">
        {SYMBOLS[data.kind] ?? ""}
      </span>
      {data.label}
      <Handle type="source" position={Position.Right} />
    </div>
  );
});

const SYMBOLS: Record<string, string> = { host: "●", router: "◆", proxy: "◈", network: "☄", group: "⋮" };
const TYPES = { part: Part };
const FIT = { maxZoom: 1.2 };

interface Handlers {
  choose: (path: string[]) => void;
  move?: (positions: Positions) => void;
  connect?: (from: string, to: string) => void;
}

/** The picture of the network. It is redrawn only when the network changes, not on each keystroke
 * in the panel next to it. */
export function Picture({
  data,
  positions,
  chosen,
  ...handlers
}: { data: PictureData; positions: Positions; chosen: string } & Handlers) {
  const latest = useRef<Handlers>(handlers);
  latest.current = handlers;
  return (
    <Graph
      data={data}
      positions={positions}
      chosen={chosen}
      handlers={latest}
      editable={handlers.move !== undefined}
    />
  );
}

const Graph = memo(function Graph({
  data,
  positions,
  chosen,
  handlers,
  editable,
}: {
  data: PictureData;
  positions: Positions;
  chosen: string;
  handlers: RefObject<Handlers>;
  editable: boolean;
}) {
  const places = useMemo(() => layout(data, positions), [data, positions]);
  const paths = useMemo(
    () => new Map([...data.nodes, ...data.edges].map((one) => [one.id, one.path])),
    [data],
  );
  const [nodes, setNodes, nodesChanged] = useNodesState<PartNode>([]);
  const [edges, setEdges, edgesChanged] = useEdgesState<Edge>([]);
  const flow = useRef<ReactFlowInstance<PartNode>>(null);
  const frame = useRef<HTMLDivElement>(null);
  const parts = `${data.nodes.length} ${data.edges.length}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies(parts): fits after a change of parts
  useEffect(() => {
    // New parts or a narrower page may move nodes out of the view. The delay lets the nodes be
    // measured first.
    let timer: ReturnType<typeof setTimeout>;
    const fit = () => {
      clearTimeout(timer);
      timer = setTimeout(() => void flow.current?.fitView(FIT), 100);
    };
    const observer = new ResizeObserver(fit);
    observer.observe(frame.current!);
    fit();
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [parts]);
  useEffect(() => {
    setNodes(
      data.nodes.map((one) => ({
        id: one.id,
        type: "part" as const,
        position: { x: places[one.id]![0], y: places[one.id]![1] },
        data: { label: one.label, kind: one.kind },
        selected: one.path.join(".") === chosen,
        ariaLabel: `${one.kind} ${one.label}`,
      })),
    );
    setEdges(
      data.edges.map((one) => ({
        id: one.id,
        // Edges are drawn from left to right, regardless of their direction.
        source: places[one.from]![0] <= places[one.to]![0] ? one.from : one.to,
        target: places[one.from]![0] <= places[one.to]![0] ? one.to : one.from,
        label: data.edges.length > MAX_LABELS ? undefined : one.label,
        selected: one.path.join(".") === chosen,
        focusable: false,
      })),
    );
  }, [data, places, chosen, setNodes, setEdges]);
  return (
    <div className="picture" ref={frame}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        onNodesChange={nodesChanged}
        onEdgesChange={edgesChanged}
        onNodeClick={(_, node) => handlers.current.choose(paths.get(node.id) ?? [])}
        onEdgeClick={(_, edge) => handlers.current.choose(paths.get(edge.id) ?? [])}
        onNodeDragStop={(_, __, dragged) =>
          handlers.current.move?.({
            ...positions,
            ...Object.fromEntries(
              dragged.map((one) => [one.id, [Math.round(one.position.x), Math.round(one.position.y)]]),
            ),
          })
        }
        onConnect={(made: Connection) => handlers.current.connect?.(made.source, made.target)}
        nodesDraggable={editable}
        nodesConnectable={editable}
        edgesFocusable={false}
        nodesFocusable={false}
        deleteKeyCode={null}
        onlyRenderVisibleElements={data.nodes.length > 100}
        minZoom={0.05}
        onInit={(made) => (flow.current = made)}
        fitView
        fitViewOptions={FIT}
        proOptions={{ hideAttribution: false }}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  );
});

/** Largest number of edges with labels; more labels would overlap. */
const MAX_LABELS = 60;

/** The positions of nodes: as moved by the user, otherwise in columns by the distance from the
 * first node. */
function layout(data: PictureData, positions: Positions): Positions {
  const next = new Map<string, string[]>();
  for (const { from, to } of data.edges) {
    next.set(from, [...(next.get(from) ?? []), to]);
    next.set(to, [...(next.get(to) ?? []), from]);
  }
  const column = new Map<string, number>();
  // Columns start at the source of the first flow, so that data travels to the right.
  const starts = [...data.nodes].sort(
    (a, b) =>
      Number(b.id === data.first) - Number(a.id === data.first) ||
      (next.get(a.id)?.length ?? 0) - (next.get(b.id)?.length ?? 0),
  );
  for (const { id } of starts) {
    if (column.has(id)) continue;
    column.set(id, 0);
    const waiting = [id];
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      for (const other of next.get(one) ?? []) {
        if (!column.has(other)) {
          column.set(other, (column.get(one) ?? 0) + 1);
          waiting.push(other);
        }
      }
    }
  }
  const rows = new Map<number, number>();
  const found: Positions = {};
  for (const { id } of data.nodes) {
    const at = column.get(id) ?? 0;
    const row = rows.get(at) ?? 0;
    rows.set(at, row + 1);
    // A column of more than 24 nodes is split.
    found[id] = positions[id] ?? [at * 260 + Math.floor(row / 24) * 180, (row % 24) * 80];
  }
  for (const { id } of data.nodes) {
    if (!positions[id]) {
      const count = Math.min(24, rows.get(column.get(id) ?? 0) ?? 1);
      found[id] = [found[id]![0], found[id]![1] - ((count - 1) * 80) / 2];
    }
  }
  return found;
}
