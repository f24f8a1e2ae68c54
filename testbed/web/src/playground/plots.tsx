// Plots of a run over time, with one cursor and one zoom, and with the lines of a pinned run.

import { useEffect, useMemo, useState } from "react";
import { Plot } from "../parts/plot";
import { curvesOf, firstCurves, seriesOf } from "./curves";
import type { Done } from "./results";

interface Given {
  done: Done;
  pinned: Done | undefined;
}

export function Plots({ done, pinned }: Given) {
  /** The plots that the user has chosen; undefined for the first ones. */
  const [chosen, setChosen] = useState<string[]>();
  const [part, setPart] = useState<[number, number]>();
  // biome-ignore lint/correctness/useExhaustiveDependencies(done): a new run shows all of its time
  useEffect(() => setPart(undefined), [done]);
  const initial = useMemo(() => firstCurves(done.answer), [done]);
  const shown = chosen ?? initial;
  return (
    <section aria-labelledby="plots">
      <h2 id="plots">Plots</h2>
      <AddPlot done={done} shown={shown} add={(id) => setChosen([...shown, id])} />
      {shown.map((id) => (
        <OnePlot
          key={id}
          id={id}
          done={done}
          pinned={pinned}
          part={part}
          choose={setPart}
          remove={() => setChosen(shown.filter((one) => one !== id))}
        />
      ))}
    </section>
  );
}

function AddPlot({ done, shown, add }: { done: Done; shown: string[]; add: (id: string) => void }) {
  const others = curvesOf(done.answer).filter(({ id }) => !shown.includes(id));
  return (
    <select aria-label="Add a plot" value="" onChange={({ target }) => target.value && add(target.value)}>
      <option value="">Add a plot …</option>
      {others.map(({ id, title }) => (
        <option key={id} value={id}>
          {title}
        </option>
      ))}
    </select>
  );
}

function OnePlot({
  id,
  done,
  pinned,
  part,
  choose,
  remove,
}: {
  id: string;
  done: Done;
  pinned: Done | undefined;
  part: [number, number] | undefined;
  choose: (part: [number, number] | undefined) => void;
  remove: () => void;
}) {
  const curve = curvesOf(done.answer).find((one) => one.id === id);
  const series = useMemo(() => {
    if (!curve) return [];
    const now = seriesOf(curve, done.answer);
    const before = pinned && pinned !== done ? seriesOf(curve, pinned.answer) : undefined;
    return [...(now ? [{ name: "", of: now }] : []), ...(before ? [{ name: "pinned", of: before }] : [])];
  }, [curve, done, pinned]);
  if (!curve || series.length === 0) return null;
  return (
    <div className="one-plot">
      <button
        type="button"
        className="button plain remove"
        aria-label={`Remove the plot ${curve.title}`}
        onClick={remove}
      >
        ×
      </button>
      <Plot
        series={series}
        title={curve.title}
        part={part}
        choose={choose}
        end={done.answer.summary.duration_seconds}
        linked="playground"
        height={230}
      />
    </div>
  );
}
