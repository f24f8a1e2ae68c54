// A plot of lines over time.

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "./api.gen";

const COLOURS = ["#2f6fde", "#c2410c", "#15803d", "#a21caf", "#0e7490", "#854d0e", "#be123c", "#4d7c0f", "#6d28d9", "#475569", "#0369a1", "#9f1239"];

export function Plot({ series, title }: { series: { name: string; of: Series }[]; title: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const lines = series.flatMap(({ name, of }) =>
      of.lines.map((line) => ({ label: [name, line.name].filter(Boolean).join(": "), data: [line.time, line.value] as [number[], (number | null)[]] })),
    );
    if (lines.length === 0) return;
    const ink = getComputedStyle(element).color;
    const axis = { stroke: ink, grid: { stroke: "#8884", width: 1 }, ticks: { stroke: "#8886" } };
    const unit = series[0]?.of.unit ?? "";
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: 300,
        scales: { x: { time: false } },
        axes: [
          { ...axis, label: "time (s)" },
          { ...axis, label: unit ? `${title} (${unit})` : title, size: 70 },
        ],
        series: [
          { label: "time (s)" },
          ...lines.map((line, place) => ({ label: line.label, stroke: COLOURS[place % COLOURS.length], width: 1.5, spanGaps: true, points: { show: false } })),
        ],
      },
      uPlot.join(lines.map((line) => line.data as uPlot.AlignedData)),
      element,
    );
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 300 }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [series, title]);
  const thinned = series.some((one) => one.of.thinned);
  return (
    <figure className="plot">
      <div ref={place} role="img" aria-label={`${title} over time`} />
      {thinned && <figcaption className="soft">Thinned to the extremes of each part; the complete data is in the run's Parquet files.</figcaption>}
    </figure>
  );
}
