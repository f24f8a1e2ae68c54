// The packets of one flow from node to node, in the first seconds of the flow.

import { useEffect, useRef, useState } from "react";
import { rounded } from "../data/format";
import type { Answer, Checked } from "../engine/answer";
import type { Client, Outcome } from "../engine/client";
import { reasonOf } from "../engine/reason";
import { TRACES } from "../packets/journeys.js";
import { Notice } from "../parts/basics";
import { PacketView } from "../parts/packet_view";
import { client } from "../site/engine";

/** Number of round trips that are recorded unless the user chooses a time. */
const ROUND_TRIPS = 20;

interface Given {
  toml: string;
  name: string;
  files: Record<string, string>;
  checked: Checked;
}

/** A flow with its path, and the times in seconds at which it starts and its record ends. */
interface Path {
  flow: string;
  nodes: string[];
  start: number;
  span: number;
}

/** The answer of a run with the packets of a flow. */
interface Shown {
  answer: Answer;
  path: Path;
}

function pathsOf({ facts, duration_s }: Checked): Path[] {
  return facts.flows.flatMap(({ name, there, back, start_s }) => {
    const first = there?.[0];
    if (!there || !first || start_s >= duration_s) return [];
    const nodes = [first.from, ...there.map((hop) => hop.to)];
    const roundTrip = [...there, ...(back ?? [])].reduce((sum, hop) => sum + hop.delay_s.mean, 0);
    const span = Number((ROUND_TRIPS * Math.max(roundTrip, 0.001)).toPrecision(2));
    return [{ flow: name, nodes, start: start_s, span: Math.min(span, duration_s - start_s) }];
  });
}

export function Packets({ toml, name, files, checked }: Given) {
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState("");
  const [span, setSpan] = useState<number>();
  const [shown, setShown] = useState<Shown>();
  const [reason, setReason] = useState("");
  const engine = useRef<Promise<Client>>(undefined);
  const paths = pathsOf(checked);
  const path = paths.find((one) => one.flow === chosen) ?? paths[0];
  const seconds = span ?? path?.span ?? 0;
  const latest = useRef(path);
  latest.current = path;
  const key = JSON.stringify(path);
  // biome-ignore lint/correctness/useExhaustiveDependencies(key): key is the content of the path
  useEffect(() => {
    const wanted = latest.current;
    if (!isOpen || !wanted) return;
    let isCurrent = true;
    engine.current ??= client();
    const run = async (engine: Client): Promise<Outcome> => {
      const capture = `record.capture=${JSON.stringify(wanted.nodes)}`;
      const request = { toml, name, files, traces: TRACES, packets: true };
      const end = `duration=${Number((wanted.start + seconds).toFixed(6))} s`;
      const outcome = await engine.run({ ...request, overrides: [end, capture] });
      if (outcome.kind !== "refused") return outcome;
      // Parts of the scenario need the whole duration.
      return engine.run({ ...request, overrides: [capture] });
    };
    engine.current.then(run).then(
      (outcome) => {
        if (!isCurrent || outcome.kind === "cancelled") return;
        setReason(reasonOf(outcome));
        if (outcome.kind === "answer") setShown({ answer: outcome.answer, path: wanted });
      },
      (error: unknown) => setReason(String(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [isOpen, toml, name, files, key, seconds]);
  if (!path) return null;
  return (
    <section aria-labelledby="packets">
      <h2 id="packets">Packets</h2>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Follow each packet of a flow from node to node</summary>
        {isOpen && (
          <>
            <div className="row">
              <label>
                Flow{" "}
                <select value={path.flow} onChange={({ target }) => setChosen(target.value)}>
                  {paths.map(({ flow }) => (
                    <option key={flow}>{flow}</option>
                  ))}
                </select>
              </label>
              <label>
                First seconds{" "}
                <input
                  type="number"
                  className="seconds"
                  min={0.01}
                  max={checked.duration_s - path.start}
                  step="any"
                  value={seconds}
                  onChange={({ target }) => target.valueAsNumber > 0 && setSpan(target.valueAsNumber)}
                />
              </label>
              {span !== undefined && (
                <button type="button" className="button plain" onClick={() => setSpan(undefined)}>
                  {rounded(path.span)} s
                </button>
              )}
            </div>
            <Notice text={reason} />
            {shown && !reason && (
              <PacketView
                answer={shown.answer}
                flow={shown.path.flow}
                path={shown.path.nodes}
                label={`The packets of the flow ${shown.path.flow}`}
              />
            )}
            {!shown && !reason && <p className="soft">The run is in progress …</p>}
          </>
        )}
      </details>
    </section>
  );
}
