// The picture of the network as a graph of nodes and links.

import {
  Background,
  BaseEdge,
  type Connection,
  Controls,
  type Edge,
  EdgeLabelRenderer,
  type EdgeProps,
  getBezierPath,
  getStraightPath,
  Handle,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
  useEdgesState,
  useNodesState,
} from "@xyflow/react";
import { memo, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import type { PictureData, Positions } from "../data/draft";
import { drawing } from "../data/drawing";
import type { Table } from "../data/schema";
import { directions } from "../data/things";
import { Icon } from "./icons";
import { layout } from "./layout";
import "./picture.css";

type PartNode = Node<{ label: string; detail: string; kind: string; upright: boolean }, "part">;
type LinkEdge = Edge<{ label: string; beam: boolean; choose: () => void }, "link">;

const Part = memo(function Part({ data, selected }: NodeProps<PartNode>) {
  const [entrance, exit] = sides(data.kind, data.upright);
  return (
    <div className={`part ${data.kind}${selected ? " chosen" : ""}`}>
      <Handle type="target" position={entrance} />
      <Icon kind={data.kind} size={data.kind === "satellite" ? 40 : 22} />
      <span className="label">
        {data.label}
        {data.detail && <small>{data.detail}</small>}
      </span>
      <Handle type="source" position={exit} />
    </div>
  );
});

/** The sides of a node at which edges end and start. */
function sides(kind: string, upright: boolean): [Position, Position] {
  if (upright) return [Position.Top, Position.Bottom];
  // Beams meet the lower edge of a satellite.
  return kind === "satellite" ? [Position.Bottom, Position.Bottom] : [Position.Left, Position.Right];
}

const Link = memo(function Link(given: EdgeProps<LinkEdge>) {
  const { id, data, selected } = given;
  const [path, x, y] = data?.beam ? getStraightPath(given) : getBezierPath(given);
  const [name = "", detail = ""] = (data?.label ?? "").split(": ");
  return (
    <>
      <BaseEdge id={id} path={path} interactionWidth={24} className={data?.beam ? "beam" : undefined} />
      {data?.label && (
        <EdgeLabelRenderer>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list of parts serves the keyboard */}
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the list of parts serves the keyboard */}
          <div
            className={`link-label nodrag nopan${selected ? " chosen" : ""}`}
            style={{ transform: `translate(-50%, 3px) translate(${x}px, ${y}px)` }}
            onClick={data.choose}
          >
            {name}
            <small>
              {detail.split(", ").map((one) => (
                <span key={one}>{one}</span>
              ))}
            </small>
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

const NODE_TYPES = { part: Part };
const EDGE_TYPES = { link: Link };
const FIT = { maxZoom: 1.2, padding: 0.08 };

interface Handlers {
  choose: (path: string[]) => void;
  move?: (positions: Positions) => void;
  connect?: (from: string, to: string) => void;
}

interface Given {
  picture: PictureData | undefined;
  /** The resolved scenario, which determines symbols and directions. */
  resolved: Table | undefined;
  /** Nodes that are not in the scenario yet. */
  pending?: string[];
  positions: Positions;
  chosen: string;
}

/** The picture of the network. It is redrawn only when the network changes, not on each keystroke
 * in the panel next to it. */
export function Picture({
  picture,
  resolved,
  pending = NONE,
  positions,
  chosen,
  ...handlers
}: Given & Handlers) {
  const latest = useRef<Handlers>(handlers);
  latest.current = handlers;
  const data = useMemo(() => drawing(picture, resolved, pending), [picture, resolved, pending]);
  return (
    <Drawing
      data={data}
      resolved={resolved}
      positions={positions}
      chosen={chosen}
      handlers={latest}
      editable={handlers.move !== undefined}
    />
  );
}

const NONE: string[] = [];

/** The width in pixels below which senders are drawn at the top instead of at the left. */
const NARROW = 560;

const Drawing = memo(function Drawing({
  data,
  resolved,
  positions,
  chosen,
  handlers,
  editable,
}: Pick<Given, "resolved" | "positions" | "chosen"> & {
  data: PictureData;
  handlers: RefObject<Handlers>;
  editable: boolean;
}) {
  const [upright, setUpright] = useState(() => window.innerWidth < NARROW);
  const places = useMemo(
    () => layout(data, positions, directions(data, resolved), upright),
    [data, resolved, positions, upright],
  );
  const paths = useMemo(
    () => new Map([...data.nodes, ...data.edges].map((one) => [one.id, one.path])),
    [data],
  );
  const [nodes, setNodes, nodesChanged] = useNodesState<PartNode>([]);
  const [edges, setEdges, edgesChanged] = useEdgesState<LinkEdge>([]);
  const flow = useRef<ReactFlowInstance<PartNode, LinkEdge>>(null);
  const frame = useRef<HTMLDivElement>(null);
  const parts = `${data.nodes.length} ${data.edges.length} ${upright}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies(parts): fits after a change of parts
  useEffect(() => {
    // New parts or a narrower page may move nodes out of the view. The delay lets the nodes be
    // measured first.
    const element = frame.current!;
    let timer: ReturnType<typeof setTimeout>;
    const fit = () => {
      clearTimeout(timer);
      setUpright(element.clientWidth < NARROW);
      timer = setTimeout(() => void flow.current?.fitView(FIT), 100);
    };
    const observer = new ResizeObserver(fit);
    observer.observe(element);
    fit();
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [parts]);
  useEffect(() => {
    const kinds = new Map(data.nodes.map((one) => [one.id, one.kind]));
    setNodes(
      data.nodes.map((one) => ({
        id: one.id,
        type: "part" as const,
        position: { x: places[one.id]![0], y: places[one.id]![1] },
        data: { label: one.label, detail: one.detail ?? "", kind: one.kind, upright },
        selected: one.path.join(".") === chosen,
        ariaLabel: `${one.kind} ${one.label}`,
      })),
    );
    setEdges(
      data.edges.map((one) => {
        // Edges are drawn in the direction of reading, regardless of their own.
        const along = upright ? 1 : 0;
        const forward = places[one.from]![along] <= places[one.to]![along];
        return {
          id: one.id,
          type: "link" as const,
          source: forward ? one.from : one.to,
          target: forward ? one.to : one.from,
          data: {
            label: data.edges.length > MAX_LABELS ? "" : one.label,
            beam: kinds.get(one.from) === "satellite" || kinds.get(one.to) === "satellite",
            choose: () => handlers.current.choose(one.path),
          },
          selected: one.path.join(".") === chosen,
          focusable: false,
        };
      }),
    );
  }, [data, places, chosen, upright, handlers, setNodes, setEdges]);
  return (
    <div className="picture" ref={frame}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
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
        <Controls showInteractive={false} position="top-right" orientation="horizontal" />
      </ReactFlow>
    </div>
  );
});

/** Largest number of edges with labels; more labels would overlap. */
const MAX_LABELS = 60;
