/** Draws a figure: curves with uPlot, bars as elements. */
import uPlot from "uplot";
import { element } from "../data/element";
import { axisOf, LOGARITHMIC } from "../parts/axes";
import { digits } from "./expression";
import type { Line } from "./lines";
import type { Figure } from "./spec";

/**
 * The hues of bentpipe's pictures (python/bentpipe/plots/style.py), darkened for light pages and
 * lightened for dark pages where thin lines would have too little contrast.
 */
const COLOURS = {
  light: ["#0072b2", "#c24e00", "#00795a", "#a8457f", "#8a6100", "#2d7fb0"],
  dark: ["#5bb4f0", "#ff9a56", "#3ccfa4", "#e9a3c9", "#f0b93a", "#9ad0f5"],
};
const DASHES = [[], [8, 3], [2, 3], [8, 3, 2, 3], [14, 4], [4, 4]];
const HEIGHT = 240;
const FONT = "12px system-ui, sans-serif";

function isDark(): boolean {
  const theme = document.body.dataset.theme;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}

const colour = (place: number) => COLOURS[isDark() ? "dark" : "light"][place % COLOURS.light.length]!;
const ink = () => getComputedStyle(document.body).color;

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
  readonly root = element("figure", { className: "try-figure" });
  private readonly place = element("div", { className: "try-plot", role: "img" });
  private readonly legend = element("ul", { className: "try-legend" });
  private plot: uPlot | undefined;
  /** The labels of the drawn lines. */
  private labels: string[] = [];
  /** End of the time axis in seconds. */
  private end = 0;

  constructor(
    private readonly figure: Figure,
    private readonly x: Axis,
  ) {
    const { label } = figure;
    this.place.ariaLabel = "bars" in figure ? label : `${label} over ${x.label}`;
    this.root.append(element("figcaption", { className: "try-label" }, label), this.place, this.legend);
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
    this.legend.replaceChildren(
      ...this.labels.flatMap((label, place) => {
        if (!label) return [];
        const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        swatch.setAttribute("aria-hidden", "true");
        swatch.setAttribute("viewBox", "0 0 28 8");
        const dash = DASHES[place % DASHES.length]!.join(" ");
        swatch.innerHTML = `<line x1="0" x2="28" y1="4" y2="4" stroke-width="2.5" stroke="${colour(place)}" stroke-dasharray="${dash}"/>`;
        return [element("li", {}, swatch, label)];
      }),
    );
    this.legend.hidden = this.legend.childElementCount === 0;
  }

  /**
   * Draws lines of runs that end at `end` seconds. Keeps the plot if only the values have changed.
   */
  draw(lines: Line[], end: number): void {
    const labels = lines.map((line) => line.label);
    const data: uPlot.AlignedData = lines.length
      ? uPlot.join(lines.map((line) => [line.x, line.y] as uPlot.AlignedData))
      : [[]];
    const isSame = labels.length === this.labels.length && labels.every((one, at) => one === this.labels[at]);
    this.end = end;
    if (this.plot && isSame) {
      this.plot.setData(data);
      return;
    }
    this.labels = labels;
    this.plot?.destroy();
    this.place.replaceChildren();
    this.plot = this.made(lines, data);
    this.drawLegend();
  }

  /** Draws a bar per named number. */
  drawBars(bars: { label: string; value: number | null }[]): void {
    const most = Math.max(this.figure.max ?? 0, ...bars.map((bar) => bar.value ?? 0)) || 1;
    this.place.replaceChildren(
      ...bars.map(({ label, value }) => {
        const bar = element("span", { className: "try-length" });
        bar.style.width = `${((value ?? 0) / most) * 100}%`;
        return element(
          "div",
          { className: "try-bar" },
          element("span", { className: "try-name" }, label),
          element("span", { className: "try-track" }, bar),
          element("span", { className: "try-value" }, value === null ? "none" : digits(value)),
        );
      }),
    );
  }

  private made(lines: Line[], data: uPlot.AlignedData): uPlot {
    const { figure, x } = this;
    const style = ("style" in figure && figure.style) || "line";
    const isSweep = "sweep" in figure;
    const fonts = { font: FONT, labelFont: FONT };
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
            range: (_, least, most) => (isSweep ? [least, most] : [0, this.end]),
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
          axisOf(ink, { ...fonts, label: x.label, labelSize: 18, size: 30, ...(x.log && LOGARITHMIC) }),
          axisOf(ink, { ...fonts, size: 52 }),
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
