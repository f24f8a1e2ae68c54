// A plot of lines over time, with shaded regions such as the time with one satellite.

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import type { Region, Series } from "../data/api.gen";
import { rounded } from "../data/format";
import { axisOf, roomFor } from "./axes";
import { lineColour, useDark } from "./colours";
import "./legend.css";

/** Largest number of regions in a plot; more would look like stripes. */
const MAX_REGIONS = 60;

type Line = { label: string; data: [number[], (number | null)[]] };

interface Given {
  series: { name: string; of: Series }[];
  title: string;
  regions?: Region[];
  /** End of the time axis of a run in progress. */
  end?: number;
  /** The visible time range (default: all). */
  part?: [number, number];
  /** Called when the user chooses another time range (undefined: all). */
  choose?: (part: [number, number] | undefined) => void;
  /** Plots with the same name share the cursor. */
  linked?: string;
  /** Height of the plot in pixels. */
  height?: number;
}

export function Plot({ series, title, regions = [], end, part, choose, linked, height = 300 }: Given) {
  const dark = useDark();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const drawn = useRef({ regions, end, part, choose });
  drawn.current = { regions, end, part, choose };
  const lines: Line[] = series.flatMap(({ name, of }) =>
    of.lines.map(
      (line): Line => ({
        label: [name, line.name].filter(Boolean).join(": "),
        data: [line.time, line.value],
      }),
    ),
  );
  const latest = useRef(lines);
  latest.current = lines;
  const unit = series[0]?.of.unit ?? "";
  // Only a change of the set of lines creates a new plot. New values update the existing plot.
  const labels = JSON.stringify([title, unit, dark, lines.map((one) => one.label)]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: labels identify the lines and colours
  useEffect(() => {
    const element = place.current;
    if (!element || latest.current.length === 0) return;
    const ink = getComputedStyle(element).color;
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        scales: {
          x: {
            time: false,
            range: (_, least, most) =>
              drawn.current.part ??
              (drawn.current.end === undefined ? [least, most] : [0, drawn.current.end]),
          },
        },
        // A selection is reported by `choose`, and returns as `part`.
        cursor: {
          sync: linked ? { key: linked, setSeries: false } : undefined,
          drag: { setScale: drawn.current.choose === undefined, x: true, y: false },
          bind: {
            dblclick: (_plot, _target, otherwise) => (event) => {
              if (!drawn.current.choose) return otherwise(event);
              drawn.current.choose(undefined);
              return null;
            },
          },
        },
        axes: [axisOf(ink, { label: "time (s)" }), axisOf(ink, { size: roomFor(7) })],
        series: [
          { label: "time", value: (_, at) => (at === null ? "" : `${rounded(at)} s`) },
          ...latest.current.map((line, at) => ({
            label: line.label,
            stroke: lineColour(at, dark),
            width: 1.5,
            spanGaps: true,
            points: { show: false },
            value: (_: uPlot, value: number | null) => (value === null ? "" : rounded(value)),
          })),
        ],
        hooks: {
          setSelect: [
            (of) => {
              const { left, width } = of.select;
              if (width < 4 || !drawn.current.choose) return;
              drawn.current.choose([of.posToVal(left, "x"), of.posToVal(left + width, "x")]);
              of.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
          drawClear: [(of) => drawRegions(of, drawn.current.regions, ink)],
        },
      },
      alignedData(latest.current),
      element,
    );
    plot.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [labels, linked, height]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the plot reads from references
  useEffect(() => {
    plot.current?.setData(alignedData(latest.current));
  }, [series, regions, end, part?.join()]);
  const thinned = series.some((one) => one.of.thinned);
  return (
    <figure className="plot">
      <figcaption>
        <strong>{unit ? `${title} (${unit})` : title}</strong>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title} over time`} />
      {thinned && (
        <p className="soft">
          Thinned: only the extremes of each interval are drawn. A shorter time range shows more detail; the
          run's Parquet files contain all values.
        </p>
      )}
    </figure>
  );
}

function alignedData(lines: Line[]): uPlot.AlignedData {
  return lines.length === 0 ? [[]] : uPlot.join(lines.map((line) => line.data as uPlot.AlignedData));
}

/** Draws regions as bands behind the lines. Each entity has a row of labels, which stand at the
 * starts of its regions. */
function drawRegions(plot: uPlot, all: Region[], ink: string): void {
  const { ctx, bbox } = plot;
  const [least, most] = [plot.scales.x!.min ?? 0, plot.scales.x!.max ?? 0];
  const regions = all.filter((one) => one.start <= most && (one.end ?? Infinity) > least).slice(-MAX_REGIONS);
  const rows = [...new Set(regions.map((one) => `${one.kind} ${one.of}`))];
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${10 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  const at = (time: number) => plot.valToPos(time, "x", true);
  // The colour of bands alternates at the start of each region of any entity; the labels name the
  // entity.
  const starts = [...new Set(regions.map((one) => one.start))].sort((a, b) => a - b);
  starts.forEach((start, number) => {
    const next = starts[number + 1];
    const from = at(start);
    ctx.fillStyle = number % 2 ? "#f59e0b1a" : "#2f6fde1a";
    ctx.fillRect(
      from,
      bbox.top,
      (next === undefined ? bbox.left + bbox.width : at(next)) - from,
      bbox.height,
    );
    ctx.fillStyle = "#88888880";
    ctx.fillRect(from, bbox.top, ratio, bbox.height);
  });
  // In reverse order: of labels that would overlap, only the latest is drawn.
  const taken: number[] = [];
  ctx.fillStyle = ink;
  for (const one of regions.toReversed()) {
    const from = Math.max(at(one.start), bbox.left);
    const text = one.kind === "change" ? one.label : `${one.of}: ${one.label}`;
    const row = rows.indexOf(`${one.kind} ${one.of}`);
    const end = from + ctx.measureText(text).width + 10 * ratio;
    if (end > (taken[row] ?? Infinity)) continue;
    ctx.fillText(text, from + 4 * ratio, bbox.top + (2 + 12 * row) * ratio);
    taken[row] = from;
  }
  ctx.restore();
}
