// The space-time diagram of a flow's packets.

import { useEffect, useMemo, useRef } from "react";
import type { Answer } from "../engine/answer";
import { PacketDiagram } from "../packets/diagram";
import { journeysOf } from "../packets/journeys.js";

interface Given {
  /** The answer of a run with the trace "packet". */
  answer: Answer;
  flow: string;
  /** Nodes along the path, from the flow's source. Default: the captured nodes. */
  path?: string[];
  label: string;
}

export function PacketView({ answer, flow, path, label }: Given) {
  const place = useRef<HTMLDivElement>(null);
  const diagram = useRef<PacketDiagram>(undefined);
  const names = path?.join("\n");
  const journeys = useMemo(() => journeysOf(answer, flow, names?.split("\n")), [answer, flow, names]);
  useEffect(() => {
    const made = new PacketDiagram(label);
    diagram.current = made;
    place.current?.append(made.root);
    return () => {
      made.destroy();
      made.root.remove();
    };
  }, [label]);
  // biome-ignore lint/correctness/useExhaustiveDependencies(label): each label has a diagram
  useEffect(() => diagram.current?.show(journeys), [journeys, label]);
  return <div ref={place} />;
}
