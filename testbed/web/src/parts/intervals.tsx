// A figure of means with confidence intervals over one varied key. Each combination of the other
// keys is a line.

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import type { Means, Varied } from "../data/api.gen";
import { type Figure, savePng, svgOf } from "../data/figure";
import { save } from "../data/format";
import { decades, significant, spansDecades, tickTexts } from "../data/numbers";
import { axisOf, everyTick, LOGARITHMIC, roomFor } from "./axes";
import { lineColour, useDark } from "./colours";
import { FidelityMark, lowestFidelity } from "./marks";

/** Horizontal offset between the marks of two lines at the same value, in pixels, so that their
 * intervals do not overlap. */
const LINE_OFFSET_PX = 7;

/** Largest number of lines in a figure. */
const MAX_LINES = 12;

interface Line {
  label: string;
  at: number[];
  mean: number[];
  half: number[];
}

export function Intervals({
  means,
  metric,
  across,
  log,
}: {
  means: Means;
  metric: string;
  across: string;
  /** Logarithmic axes (undefined: where the values span two decades). */
  log: boolean | undefined;
}) {
  const dark = useDark();
  const element = useRef<HTMLDivElement>(null);
  const axis = means.keys.find((one) => one.key === across);
  const place = means.metrics.findIndex((one) => one.metric === metric);
  const unit = means.metrics[place]?.shown_unit ?? "1";
  const title = metric.replaceAll("_", " ");
  const lines = axis ? linesOf(means, place, axis) : [];
  const drawable = lines.length > 0 && lines.length <= MAX_LINES;
  const yTitle = unit === "1" ? title : `${title} (${unit})`;
  const key = JSON.stringify([yTitle, axis, lines, log, dark]);
  // The other values are new objects at each rendering.
  // biome-ignore lint/correctness/useExhaustiveDependencies: key contains the other values
  useEffect(() => {
    const inside = element.current;
    if (!inside || !axis || !drawable) return;
    const made = createPlot(inside, axis, lines, yTitle, axesOf(axis, lines, log), dark);
    const resize = new ResizeObserver(() => made.setSize({ width: inside.clientWidth, height: 300 }));
    resize.observe(inside);
    return () => {
      resize.disconnect();
      made.destroy();
    };
  }, [key]);
  if (!axis) return null;
  const file = `${metric}-by-${axis.name}`.replace(/[^\w-]+/g, "-");
  const svg = () => svgOf(figureOf(`${means.name}: ${title} by ${axis.name}`, axis, lines, yTitle, log));
  return (
    <section>
      <div className="heading">
        <h2>
          {title} by {axis.name} <FidelityMark of={lowestFidelity(means.points.map((one) => one.fidelity))} />
        </h2>
        {drawable && (
          <>
            <button
              type="button"
              aria-label={`PNG of ${title}`}
              onClick={() => void savePng(`${file}.png`, svg())}
            >
              PNG
            </button>
            <button type="button" aria-label={`SVG of ${title}`} onClick={() => save(`${file}.svg`, svg())}>
              SVG
            </button>
          </>
        )}
      </div>
      {lines.length === 0 && <p className="soft">No run has a value for {title}.</p>}
      {lines.length > MAX_LINES && (
        <p className="soft">
          Too many lines ({lines.length}; at most {MAX_LINES}). Choose a single flow, terminal, link or group
          above.
        </p>
      )}
      {drawable && (
        <figure className="plot">
          <div
            ref={element}
            role="img"
            aria-label={`${title} by ${axis.name}: means with confidence intervals; the table lists the numbers`}
          />
        </figure>
      )}
    </section>
  );
}

/** The lines of a metric, in its display unit. A half-width of NaN marks a missing interval. */
function linesOf(means: Means, metric: number, axis: Varied): Line[] {
  const size = means.metrics[metric]?.size ?? 1;
  const several = new Set(means.points.map((one) => one.of)).size > 1;
  const found = new Map<string, Line>();
  for (const point of means.points) {
    const mean = point.means[metric];
    if (!mean) continue;
    const parts = means.keys.flatMap((one, place) =>
      one.key === axis.key || one.labels.length === 1
        ? []
        : [one.numbers ? `${one.name} ${point.labels[place] ?? ""}` : (point.labels[place] ?? "")],
    );
    const label = [...parts, ...(several ? [point.of] : [])].join(", ") || "mean";
    const line = found.get(label) ?? { label, at: [], mean: [], half: [] };
    found.set(label, line);
    line.at.push(point.at[means.keys.indexOf(axis)] ?? 0);
    line.mean.push(mean.mean / size);
    line.half.push(mean.half_width === null ? Number.NaN : mean.half_width / size);
  }
  return [...found.values()].map(sorted);
}

function sorted(line: Line): Line {
  const order = line.at.map((_, place) => place).sort((a, b) => line.at[a]! - line.at[b]!);
  const by = (values: number[]) => order.map((place) => values[place]!);
  return { label: line.label, at: by(line.at), mean: by(line.mean), half: by(line.half) };
}

interface Axes {
  logarithmic: { x: boolean; y: boolean };
  x: [number, number];
  y: [number, number];
}

/** The ranges of both axes, and their scales. With `log` undefined, an axis is logarithmic if its
 * values span two decades. */
function axesOf(axis: Varied, lines: Line[], log: boolean | undefined): Axes {
  const ends = lines.flatMap((line) =>
    line.mean.flatMap((mean, place) => [mean - (line.half[place] || 0), mean + (line.half[place] || 0)]),
  );
  const means = lines.flatMap((line) => line.mean);
  const positive = (values: number[]) => values.every((one) => one > 0);
  const logarithmic = {
    x: axis.numbers && positive(axis.ticks) && (log ?? spansDecades(axis.ticks)),
    y: positive(means) && (log ?? spansDecades(means)),
  };
  // The axis includes zero, as in figures of the command line, so that small differences look
  // small.
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const room = 0.05 * (high - low || 1);
  const least = Math.min(...ends.filter((one) => one > 0), ...means);
  const first = axis.ticks[0] ?? 0;
  const final = axis.ticks.at(-1) ?? 0;
  const offset = axis.numbers ? 0.06 * (final - first || Math.abs(first) || 1) : 0.5;
  const reach = final > first ? (final / first) ** 0.06 : 1.1;
  return {
    logarithmic,
    x: logarithmic.x ? [first / reach, final * reach] : [first - offset, final + offset],
    y: logarithmic.y ? [least / 1.5, high * 1.5] : [low < 0 ? low - room : 0, high + room],
  };
}

/** Describes the figure for a file. */
function figureOf(
  title: string,
  axis: Varied,
  lines: Line[],
  yTitle: string,
  log: boolean | undefined,
): Figure {
  const { logarithmic, x } = axesOf(axis, lines, log);
  return {
    title,
    xTitle: axis.title,
    x,
    logX: logarithmic.x,
    xTicks: axis.ticks.map((at, place) => ({ at, label: axis.labels[place] ?? "" })),
    panels: [
      {
        title: yTitle,
        log: logarithmic.y,
        lines: lines.map((line, number) => ({
          label: line.label,
          colour: lineColour(number),
          dash: [],
          x: line.at,
          y: line.mean,
          half: line.half,
          joined: axis.numbers,
        })),
      },
    ],
    marks: [],
  };
}

function createPlot(
  element: HTMLElement,
  axis: Varied,
  lines: Line[],
  title: string,
  { logarithmic, x: domain, y: range }: Axes,
  dark: boolean,
): uPlot {
  const ink = getComputedStyle(element).color;
  const longest = Math.max(...axis.labels.map((one) => one.length));
  /** True if the names of values do not fit next to each other, so that they are rotated. */
  const crowded = (plot: uPlot) => !axis.numbers && 7 * longest > (plot.width - 80) / axis.labels.length;
  /** True if there is room for the label of every value. */
  const spaced = (plot: uPlot, from: number, to: number) => {
    const at = logarithmic.x ? Math.log : Number;
    const gaps = axis.ticks.slice(1).map((one, place) => at(one) - at(axis.ticks[place]!));
    return (Math.min(...gaps) / (at(to) - at(from))) * (plot.width - 80) > 8 * longest + 12;
  };
  const across: uPlot.Axis = axis.numbers
    ? axisOf(ink, {
        label: axis.title,
        filter: everyTick,
        splits: (plot, _, from, to, step) =>
          spaced(plot, from, to) ? axis.ticks : logarithmic.x ? decades(from, to) : multiples(from, to, step),
        values: (_, ticks) => {
          const texts = tickTexts(ticks);
          return ticks.map((one, place) => axis.labels[axis.ticks.indexOf(one)] ?? texts[place]!);
        },
      })
    : axisOf(ink, {
        label: axis.title,
        splits: () => axis.ticks,
        values: () => axis.labels,
        rotate: (plot) => (crowded(plot) ? -35 : 0),
        size: (plot) => (crowded(plot) ? Math.min(110, 30 + 4 * longest) : 50),
      });
  return new uPlot(
    {
      width: element.clientWidth,
      height: 300,
      scales: {
        x: { time: false, distr: logarithmic.x ? 3 : 1, range: domain },
        y: { distr: logarithmic.y ? 3 : 1, range },
      },
      cursor: { drag: { setScale: false, x: false, y: false } },
      axes: [
        across,
        axisOf(ink, {
          label: logarithmic.y ? `${title}, logarithmic` : title,
          ...(logarithmic.y && LOGARITHMIC),
          size: roomFor(5),
        }),
      ],
      series: [
        {
          label: axis.title,
          value: (_, at) => (at === null ? "–" : (axis.labels[axis.ticks.indexOf(at)] ?? String(at))),
        },
        ...lines.map((line, number) => ({
          label: line.label,
          stroke: lineColour(number, dark),
          paths: () => null,
          points: { show: false },
          value: (_: uPlot, value: number | null) => (value === null ? "–" : String(significant(value, 4))),
        })),
      ],
      hooks: {
        draw: [
          (plot) => {
            for (const [number, line] of lines.entries()) {
              drawLine(
                plot,
                line,
                lineColour(number, dark),
                (number - (lines.length - 1) / 2) * LINE_OFFSET_PX,
                axis.numbers,
              );
            }
          },
        ],
      },
    },
    uPlot.join(lines.map((line) => [line.at, line.mean] as uPlot.AlignedData)),
    element,
  );
}

function multiples(least: number, most: number, step: number): number[] {
  const first = Math.ceil(least / step);
  return Array.from({ length: Math.max(0, Math.floor(most / step) - first + 1) }, (_, place) =>
    significant((first + place) * step, 12),
  );
}

/** Draws the means of a line with their intervals, offset horizontally by `offset` pixels. `joined`
 * connects the means, for axes of numbers. */
function drawLine(plot: uPlot, line: Line, colour: string, offset: number, joined: boolean): void {
  const { ctx } = plot;
  const ratio = devicePixelRatio;
  const x = (at: number) => plot.valToPos(at, "x", true) + offset * ratio;
  // On a logarithmic axis, intervals that reach below zero end at the edge.
  const y = (value: number) => plot.valToPos(Math.max(value, plot.scales.y!.min ?? value), "y", true);
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 1.5 * ratio;
  ctx.beginPath();
  line.at.forEach((at, place) => {
    const mean = line.mean[place]!;
    if (joined && place > 0) ctx.lineTo(x(at), y(mean));
    else ctx.moveTo(x(at), y(mean));
  });
  ctx.stroke();
  line.at.forEach((at, place) => {
    const [mean, half] = [line.mean[place]!, line.half[place]!];
    if (half > 0) {
      ctx.beginPath();
      ctx.moveTo(x(at), y(mean - half));
      ctx.lineTo(x(at), y(mean + half));
      for (const end of [mean - half, mean + half]) {
        ctx.moveTo(x(at) - 4 * ratio, y(end));
        ctx.lineTo(x(at) + 4 * ratio, y(end));
      }
      ctx.stroke();
    }
    ctx.beginPath();
    ctx.arc(x(at), y(mean), 3.5 * ratio, 0, 2 * Math.PI);
    ctx.fill();
  });
  ctx.restore();
}
