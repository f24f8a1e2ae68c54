// One panel of a timeline. All panels of a timeline have the same horizontal axis and cursor.

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import type { TimelineMark } from "../data/api.gen";
import { valueRange } from "../data/figure";
import { rounded } from "../data/format";
import { FREQUENT, type TimelinePanel, titleOf } from "../data/timeline";
import { axisOf, LOGARITHMIC } from "./axes";
import "./legend.css";
import { dashOf, lineColour, markColour, useDark } from "./colours";

/** Width of the vertical axis and of the space at the right edge, in pixels. The rows of marks have
 * the same. */
export const AXIS_PX = 72;
export const RIGHT_PX = 16;
const HEIGHT = 150;
/** Height of a horizontal axis with labels, in pixels. */
const TIME_AXIS_PX = 46;

export function StackedPlot({
  panel,
  range,
  log,
  marks,
  choose,
  group,
  last,
  register,
}: {
  panel: TimelinePanel;
  range: [number, number];
  log: boolean;
  marks: TimelineMark[];
  /** Called when the user chooses another time range (undefined: all). */
  choose: (range: [number, number] | undefined) => void;
  /** Name of the plots that share the cursor. */
  group: string;
  /** True for the panel that labels the horizontal axis. */
  last: boolean;
  /** Called with the plot, and with null after its removal. */
  register: (name: string, plot: uPlot | null) => void;
}) {
  const place = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const dark = useDark();
  const drawn = useRef({ range, marks, choose, dark, panel });
  drawn.current = { range, marks, choose, dark, panel };
  const { name, about } = panel;
  const title = titleOf(panel);
  const height = HEIGHT + (last ? TIME_AXIS_PX : 0);
  const set = JSON.stringify([
    title,
    log,
    dark,
    last,
    panel.lines.map((one) => [one.label, one.colour, one.dash]),
  ]);
  // Only a change of the set of lines creates a new plot. New values update the existing plot.
  // biome-ignore lint/correctness/useExhaustiveDependencies: set identifies the lines and axes
  useEffect(() => {
    const element = place.current;
    const of = drawn.current.panel;
    if (!element || of.lines.length === 0) return;
    const ink = getComputedStyle(element).color;
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        padding: [6, RIGHT_PX, last ? 0 : 6, 0],
        scales: {
          x: { time: false, range: () => drawn.current.range },
          y: {
            distr: log ? 3 : 1,
            range: (_, min, max) => valueRange([min, max], log),
          },
        },
        cursor: {
          y: false,
          sync: { key: group, setSeries: false },
          drag: { setScale: false, x: true, y: false },
          // The value of a line at the cursor is that of the last sample before it.
          dataIdx: (self, series, index) => {
            const values = self.data[series]!;
            let at = index;
            while (at > 0 && (values[at] === null || values[at] === undefined)) at--;
            return at;
          },
          bind: {
            dblclick: () => () => {
              drawn.current.choose(undefined);
              return null;
            },
          },
        },
        axes: [
          axisOf(
            ink,
            last
              ? { label: "time (s)", size: TIME_AXIS_PX - 20, labelSize: 20 }
              : { show: true, size: 0, values: () => [] },
          ),
          axisOf(ink, { size: AXIS_PX, ...(log && LOGARITHMIC) }),
        ],
        legend: {
          mount: (_, table) => legend.current?.append(table),
          markers: {
            dash: (_, index) => ((of.lines[index - 1]?.dash ?? 0) > 0 ? "dashed" : "solid"),
            width: 2,
          },
        },
        series: [
          { label: "time", value: (_, at) => (at === null ? "" : `${rounded(at)} s`) },
          ...of.lines.map((line) => ({
            label: line.label || name,
            stroke: lineColour(line.colour, dark),
            dash: dashOf(line.dash),
            width: 1.5,
            spanGaps: true,
            points: { show: false },
            value: (_: uPlot, value: number | null) => (value === null ? "" : rounded(value)),
          })),
        ],
        hooks: {
          setSelect: [
            (self) => {
              const { left, width } = self.select;
              if (width < 4) return;
              self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              drawn.current.choose([self.posToVal(left, "x"), self.posToVal(left + width, "x")]);
            },
          ],
          drawClear: [(self) => drawMarks(self, drawn.current.marks, drawn.current.dark)],
        },
      },
      aligned(of, log),
      element,
    );
    plot.current = made;
    register(title, made);
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const [from, to] = drawn.current.range;
      const at = made.posToVal(event.clientX - made.over.getBoundingClientRect().left, "x");
      const factor = event.deltaY > 0 ? 1.25 : 0.8;
      drawn.current.choose([at - (at - from) * factor, at + (to - at) * factor]);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      element.removeEventListener("wheel", wheel);
      resize.disconnect();
      register(title, null);
      made.destroy();
      legend.current?.replaceChildren();
      plot.current = undefined;
    };
  }, [set, height, group]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the plot reads from references
  useEffect(() => {
    plot.current?.setData(aligned(drawn.current.panel, log));
  }, [panel, range.join(), marks]);
  return (
    <figure className="stacked">
      <figcaption>
        <strong>{title}</strong>
        <div className="stacked-legend" ref={legend} />
      </figcaption>
      <div ref={place} role="img" aria-label={`${name} over time${about ? `: ${about}` : ""}`} />
    </figure>
  );
}

function aligned({ lines }: TimelinePanel, log: boolean): uPlot.AlignedData {
  if (lines.length === 0) return [[]];
  const value = (one: number | null) => (log && one !== null && one <= 0 ? null : one);
  return uPlot.join(lines.map((line) => [line.time, line.value.map(value)] as uPlot.AlignedData));
}

/** Draws marks behind the lines: bands and vertical lines. */
function drawMarks(plot: uPlot, marks: TimelineMark[], dark: boolean): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const mark of marks) {
    const from = plot.valToPos(mark.start, "x", true);
    ctx.fillStyle = ctx.strokeStyle = markColour(mark.kind, dark);
    if (mark.end !== null) {
      ctx.globalAlpha = 0.15;
      ctx.fillRect(from, bbox.top, Math.max(ratio, plot.valToPos(mark.end, "x", true) - from), bbox.height);
    } else if (!FREQUENT.includes(mark.kind)) {
      ctx.globalAlpha = 0.8;
      ctx.lineWidth = ratio;
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(from, bbox.top);
      ctx.lineTo(from, bbox.top + bbox.height);
      ctx.stroke();
    }
  }
  ctx.restore();
}
