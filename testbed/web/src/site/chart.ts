/** Draws a figure: curves with uPlot, bars as elements. */
import uPlot from "uplot";
import { decades, tickTexts } from "../data/numbers";
import { digits } from "./expression";
import type { Line } from "./lines";
import type { Figure } from "./spec";

/** The colours of bentpipe's figures, on light and on dark pages. */
const COLOURS = {
  light: ["#0072b2", "#c24e00", "#00795a", "#a8457f", "#8a6100", "#2d7fb0"],
  dark: ["#5bb4f0", "#ff9a56", "#3ccfa4", "#e9a3c9", "#f0b93a", "#9ad0f5"],
};
const DASHES = [[], [8, 3], [2, 3], [8, 3, 2, 3], [14, 4], [4, 4]];
const HEIGHT = 240;

function isDark(): boolean {
  const theme = document.body.dataset.theme;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

const colour = (place: number) => COLOURS[isDark() ? "dark" : "light"][place % COLOURS.light.length]!;
const ink = () => getComputedStyle(document.body).color;

function element<K extends keyof HTMLElementTagNameMap>(name: K, className: string, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

const drawnAll = new Set<() => void>();

/** Draws all figures again after a change of the page's colours. */
function watchColours() {
  const redraw = () => {
    for (const draw of drawnAll) draw();
  };
  new MutationObserver(redraw).observe(document.body, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

interface Axis {
  label: string;
  log: boolean;
}

export class Chart {
  readonly root = element("figure", "try-figure");
  private readonly place = element("div", "try-plot");
  private readonly legend = element("ul", "try-legend");
  private plot: uPlot | undefined;
  private labels = "";

  constructor(
    private readonly figure: Figure,
    private readonly x: Axis,
  ) {
    const label = figure.unit ? `${figure.label} (${figure.unit})` : figure.label;
    this.place.setAttribute("role", "img");
    this.place.setAttribute("aria-label", "bars" in figure ? label : `${label} over ${x.label}`);
    this.root.append(element("figcaption", "try-label", label), this.place, this.legend);
    if ("bars" in figure) this.place.className = "try-bars";
    if (drawnAll.size === 0) watchColours();
    drawnAll.add(() => this.recolour());
    new ResizeObserver(() => {
      this.plot?.setSize({ width: this.place.clientWidth, height: HEIGHT });
    }).observe(this.place);
  }

  private recolour() {
    this.plot?.redraw(false);
    this.drawLegend();
  }

  private drawLegend() {
    const labels = JSON.parse(this.labels || "[]") as string[];
    this.legend.replaceChildren(
      ...labels.flatMap((label, place) => {
        if (!label) return [];
        const item = element("li", "");
        const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        swatch.setAttribute("aria-hidden", "true");
        swatch.setAttribute("viewBox", "0 0 28 8");
        const dash = DASHES[place % DASHES.length]!.join(" ");
        swatch.innerHTML = `<line x1="0" x2="28" y1="4" y2="4" stroke-width="2.5" stroke="${colour(place)}" stroke-dasharray="${dash}"/>`;
        item.append(swatch, label);
        return [item];
      }),
    );
    this.legend.hidden = this.legend.childElementCount === 0;
  }

  /** Draws lines, and keeps the plot if only the values have changed. */
  draw(lines: Line[], end: number | undefined): void {
    const labels = JSON.stringify(lines.map((line) => line.label));
    const data = lines.length ? uPlot.join(lines.map((line) => [line.x, line.y] as uPlot.AlignedData)) : [[]];
    if (labels !== this.labels || !this.plot) {
      this.labels = labels;
      this.plot?.destroy();
      this.place.replaceChildren();
      this.plot = this.made(lines, data as uPlot.AlignedData, end);
      this.drawLegend();
    } else this.plot.setData(data as uPlot.AlignedData);
  }

  /** Draws a bar per named number. */
  drawBars(bars: { label: string; value: number | null }[]): void {
    const most = Math.max(this.figure.max ?? 0, ...bars.map((bar) => bar.value ?? 0)) || 1;
    this.place.replaceChildren(
      ...bars.map(({ label, value }) => {
        const row = element("div", "try-bar");
        const bar = element("span", "try-length");
        bar.style.width = `${((value ?? 0) / most) * 100}%`;
        const track = element("span", "try-track");
        track.append(bar);
        row.append(
          element("span", "try-name", label),
          track,
          element("span", "try-value", value === null ? "none" : digits(value)),
        );
        return row;
      }),
    );
  }

  private made(lines: Line[], data: uPlot.AlignedData, end: number | undefined): uPlot {
    const { figure, x } = this;
    const style = ("style" in figure && figure.style) || "line";
    const isSweep = "sweep" in figure;
    const axis = {
      stroke: ink,
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      grid: { stroke: "#8883", width: 1 },
      ticks: { stroke: "#8886", width: 1 },
    };
    const stepped = uPlot.paths.stepped!({ align: 1 });
    return new uPlot(
      {
        width: this.place.clientWidth || 600,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        scales: {
          x: {
            time: false,
            distr: x.log ? 3 : 1,
            range: (_, least, most) => (isSweep || end === undefined ? [least, most] : [0, end]),
          },
          y: {
            range: (_, least, most) => {
              const low = figure.min ?? Math.min(0, least ?? 0);
              return [
                low,
                figure.max ?? uPlot.rangeNum(low, Math.max(most ?? 1, low + 1e-9), 0.06, true)[1]!,
              ];
            },
          },
        },
        axes: [
          {
            ...axis,
            label: x.label,
            labelSize: 18,
            size: 30,
            values: (_, ticks) => tickTexts(ticks),
            ...(x.log && {
              splits: (_: uPlot, __: number, least: number, most: number) => decades(least, most),
            }),
          },
          { ...axis, size: 52, values: (_, ticks) => tickTexts(ticks) },
        ],
        series: [
          {},
          ...lines.map(
            (_, place): uPlot.Series => ({
              stroke: () => colour(place),
              width: 1.8,
              dash: DASHES[place % DASHES.length]!,
              spanGaps: true,
              points: {
                show: isSweep || style === "dots",
                size: style === "dots" ? 3 : 6,
                fill: () => colour(place),
              },
              ...(style === "steps" && { paths: stepped }),
              ...(style === "dots" && { paths: () => null }),
            }),
          ),
        ],
      },
      data,
      this.place,
    );
  }
}
