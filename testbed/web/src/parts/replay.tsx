// The picture of a run that has ended, at a time that a slider sets.

import { useQueries } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { RunNetwork, Scenario, Series } from "../data/api.gen";
import { type NetworkSamples, type Samples, stateAt } from "../data/network_state";
import { significant } from "../data/numbers";
import type { Table } from "../data/schema";
import { useLoaded } from "../data/state";
import { Notice } from "./basics";
import { LivePicture } from "./live_picture";

const QUANTITIES: Record<keyof NetworkSamples, string[]> = {
  queuePackets: ["link.queue_packets"],
  queueBytes: ["link.queue_bytes"],
  dropped: ["link.dropped"],
  delivered: ["delivery.delivered", "datagram.received"],
};
/** Number of steps of the slider, which also is that of a whole replay. */
const STEPS = 400;
const STEP_MS = 50;

export function Replay({ run, quantities }: { run: Scenario; quantities: string[] }) {
  const network = useLoaded<RunNetwork>(`/runs/${run.id}/network`);
  const known = Object.values(QUANTITIES)
    .flat()
    .filter((one) => quantities.includes(one));
  const loaded = useQueries({
    queries: known.map((one) => ({
      queryKey: [`/runs/${run.id}/series/${one}`],
      staleTime: Number.POSITIVE_INFINITY,
    })),
  });
  // The start of a run shows an idle network.
  const [step, setStep] = useState(STEPS / 2);
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => setStep((before) => Math.min(STEPS, before + 1)), STEP_MS);
    return () => clearInterval(timer);
  }, [playing]);
  useEffect(() => {
    if (step >= STEPS) setPlaying(false);
  }, [step]);
  if (network.error) return <Notice text={network.error} kind="plain" />;
  if (!network.value || loaded.some((one) => one.isPending)) return <p aria-busy="true">Loading…</p>;
  const series = new Map(known.map((one, place) => [one, loaded[place]?.data as Series | undefined]));
  const samples = Object.fromEntries(
    Object.entries(QUANTITIES).map(([key, names]) => [
      key,
      Object.fromEntries(
        names.flatMap(
          (one): [string, Samples][] => series.get(one)?.lines.map((line) => [line.name, line]) ?? [],
        ),
      ),
    ]),
  ) as unknown as NetworkSamples;
  const end = Math.max(
    0,
    ...[...series.values()].flatMap((one) => one?.lines.map((line) => line.time.at(-1) ?? 0) ?? []),
  );
  const at = (end * step) / STEPS;
  if (network.value.nodes.length === 0)
    return <p className="soft">The network of this run is too large for a picture.</p>;
  return (
    <>
      <div className="replay">
        <button
          type="button"
          onClick={() => {
            if (step >= STEPS) setStep(0);
            setPlaying(!playing);
          }}
        >
          {playing ? "Pause" : "Play"}
        </button>
        <input
          type="range"
          aria-label="Time of the picture"
          min={0}
          max={STEPS}
          value={step}
          aria-valuetext={`${significant(at, 4)} s`}
          onChange={(event) => setStep(Number(event.target.value))}
        />
        <output>
          {significant(at, 4)} s of {significant(end, 4)} s
        </output>
      </div>
      <LivePicture
        network={network.value}
        data={run.resolved as Table}
        state={stateAt(network.value, samples, at)}
        at={at}
      />
    </>
  );
}
