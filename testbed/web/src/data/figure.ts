// Figures as SVG and PNG files, with panels that share the horizontal axis.

import { element } from "./element";
import { decades, significant, tickTexts } from "./numbers";

export interface FigureLine {
  label: string;
  colour: string;
  dash: number[];
  x: number[];
  y: (number | null)[];
  /** Half-widths of the intervals around the values, which are drawn as points. */
  half?: number[];
  /** False for points that no line connects. */
  joined?: boolean;
}

export interface FigurePanel {
  title: string;
  log: boolean;
  lines: FigureLine[];
}

/** A vertical line, or a band if it has an end. */
export interface FigureMark {
  label: string;
  colour: string;
  start: number;
  end: number | null;
}

export interface Figure {
  title: string;
  xTitle: string;
  x: [number, number];
  logX?: boolean;
  /** Positions and labels of the ticks (default: round numbers). */
  xTicks?: { at: number; label: string }[];
  panels: FigurePanel[];
  marks: FigureMark[];
}

const WIDTH = 900;
const LEFT = 80;
const RIGHT = 20;
const PLOT = { height: 150, gap: 34 };
const TITLE = 34;
const LEGEND_ROW = 16;
const INK = "#1b1f24";

/** Round numbers within a range, about `count` of them. */
function roundNumbers(min: number, max: number, count: number): number[] {
  if (!(max > min)) return [min];
  const raw = (max - min) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw)!;
  const first = Math.ceil(min / step - 1e-9);
  const found: number[] = [];
  for (let place = first; place * step <= max + step * 1e-9; place++)
    found.push(significant(place * step, 12));
  return found;
}

/** The range of a vertical axis: from zero, or of the positive values if it is logarithmic. */
export function valueRange(values: (number | null)[], log: boolean): [number, number] {
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const one of values) {
    if (one === null || !Number.isFinite(one) || (log && one <= 0)) continue;
    min = Math.min(min, one);
    max = Math.max(max, one);
  }
  if (min > max) return log ? [0.1, 10] : [0, 1];
  if (log) return [min / 1.3, max * 1.3];
  const [low, high] = [Math.min(0, min), Math.max(0, max)];
  return low === high ? [low, low + 1] : [low < 0 ? low * 1.06 : 0, high > 0 ? high * 1.06 : 0];
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
}

const place = (value: number) => value.toFixed(1);

/** Returns a figure as an SVG document on a white background. */
export function svgOf(figure: Figure): string {
  const width = WIDTH - LEFT - RIGHT;
  const [from, to] = figure.x;
  const scaleX = figure.logX ? Math.log : Number;
  const x = (at: number) => LEFT + ((scaleX(at) - scaleX(from)) / (scaleX(to) - scaleX(from) || 1)) * width;
  const out: string[] = [];
  let top = TITLE;
  figure.panels.forEach((panel, number) => {
    const legend = legendRows(panel.lines.filter((one) => one.label));
    top += legend.length * LEGEND_ROW;
    out.push(
      ...legend.flatMap((row, place) => legendTexts(row, top - (legend.length - place - 1) * LEGEND_ROW - 6)),
    );
    const values = panel.lines.flatMap((line) => visibleValues(line, figure.x));
    const range = valueRange(values, panel.log);
    const scaleY = panel.log ? Math.log : Number;
    const bottom = top + PLOT.height;
    const y = (value: number) =>
      bottom - ((scaleY(value) - scaleY(range[0])) / (scaleY(range[1]) - scaleY(range[0]))) * PLOT.height;
    out.push(
      `<clipPath id="panel${number}"><rect x="${LEFT}" y="${top}" width="${width}" height="${PLOT.height}"/></clipPath>`,
    );
    const ticks = panel.log ? decades(...range) : roundNumbers(...range, 5);
    const texts = tickTexts(ticks);
    ticks.forEach((one, index) => {
      out.push(
        `<line x1="${LEFT}" x2="${LEFT + width}" y1="${place(y(one))}" y2="${place(y(one))}" stroke="#ddd"/>`,
      );
      out.push(
        `<text x="${LEFT - 6}" y="${place(y(one) + 4)}" text-anchor="end">${escaped(texts[index]!)}</text>`,
      );
    });
    const last = number === figure.panels.length - 1;
    const across = figure.xTicks ?? xTicks(figure);
    for (const { at, label } of across) {
      out.push(`<line x1="${place(x(at))}" x2="${place(x(at))}" y1="${top}" y2="${bottom}" stroke="#eee"/>`);
      if (last)
        out.push(
          `<text x="${place(x(at))}" y="${bottom + 16}" text-anchor="middle">${escaped(label)}</text>`,
        );
    }
    out.push(`<g clip-path="url(#panel${number})">`);
    for (const mark of figure.marks) {
      const title = `<title>${escaped(mark.label)}</title>`;
      out.push(
        mark.end === null
          ? `<line x1="${place(x(mark.start))}" x2="${place(x(mark.start))}" y1="${top}" y2="${bottom}" stroke="${mark.colour}" stroke-dasharray="3 3">${title}</line>`
          : `<rect x="${place(x(mark.start))}" y="${top}" width="${place(Math.max(1, x(mark.end) - x(mark.start)))}" height="${PLOT.height}" fill="${mark.colour}" opacity="0.15">${title}</rect>`,
      );
    }
    for (const line of panel.lines) out.push(lineOf(line, x, y, range, panel.log));
    out.push("</g>");
    out.push(
      `<rect x="${LEFT}" y="${top}" width="${width}" height="${PLOT.height}" fill="none" stroke="#888"/>`,
    );
    out.push(
      `<text transform="translate(16 ${top + PLOT.height / 2}) rotate(-90)" text-anchor="middle">${escaped(panel.title)}</text>`,
    );
    top = bottom + (last ? 0 : PLOT.gap - LEGEND_ROW);
  });
  const height = top + 46;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`,
    ` font-family="system-ui, sans-serif" font-size="12" fill="${INK}">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${LEFT}" y="20" font-size="14" font-weight="600">${escaped(figure.title)}</text>`,
    ...out,
    `<text x="${LEFT + width / 2}" y="${height - 10}" text-anchor="middle">${escaped(figure.xTitle)}</text>`,
    "</svg>\n",
  ].join("\n");
}

function xTicks({ x, logX }: Figure): { at: number; label: string }[] {
  const ticks = logX ? decades(...x) : roundNumbers(...x, 8);
  const texts = tickTexts(ticks);
  return ticks.map((at, index) => ({ at, label: texts[index]! }));
}

/** The values of a line within a range, with the ends of their intervals. */
function visibleValues(line: FigureLine, [from, to]: [number, number]): (number | null)[] {
  return line.y.flatMap((value, index) => {
    if (value === null || line.x[index]! < from || line.x[index]! > to) return [];
    const half = line.half?.[index];
    return half === undefined || Number.isNaN(half) ? [value] : [value - half, value, value + half];
  });
}

function lineOf(
  line: FigureLine,
  x: (at: number) => number,
  y: (value: number) => number,
  range: [number, number],
  log: boolean,
): string {
  const points = line.x.flatMap((at, index) => {
    const value = line.y[index];
    return value === null || value === undefined || (log && value <= 0)
      ? []
      : [{ at, value, half: line.half?.[index] }];
  });
  const style = `stroke="${line.colour}" stroke-width="1.5"${line.dash.length > 0 ? ` stroke-dasharray="${line.dash.join(" ")}"` : ""}`;
  const path = points
    .map(({ at, value }, index) => `${index ? "L" : "M"}${place(x(at))} ${place(y(value))}`)
    .join("");
  const found = line.joined === false ? [] : [`<path d="${path}" fill="none" ${style}/>`];
  if (line.half) {
    for (const { at, value, half } of points) {
      if (half !== undefined && half > 0) {
        const [low, high] = [y(Math.max(value - half, log ? range[0] : value - half)), y(value + half)];
        const across = [x(at) - 4, x(at) + 4].map(place);
        found.push(
          `<path d="M${place(x(at))} ${place(low)}V${place(high)}M${across[0]} ${place(low)}H${across[1]}M${across[0]} ${place(high)}H${across[1]}" fill="none" stroke="${line.colour}" stroke-width="1.5"/>`,
        );
      }
      found.push(`<circle cx="${place(x(at))}" cy="${place(y(value))}" r="3.5" fill="${line.colour}"/>`);
    }
  }
  return found.join("");
}

/** The entries of a legend in rows that fit the width. */
function legendRows(lines: FigureLine[]): FigureLine[][] {
  const rows: FigureLine[][] = [];
  let used = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const needed = legendWidth(line);
    if (used + needed > WIDTH - LEFT - RIGHT) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1)!.push(line);
    used += needed;
  }
  return rows;
}

const legendWidth = (line: FigureLine) => 44 + 6.6 * line.label.length;

function legendTexts(row: FigureLine[], y: number): string[] {
  let x = LEFT;
  return row.map((line) => {
    const dash = line.dash.length > 0 ? ` stroke-dasharray="${line.dash.join(" ")}"` : "";
    const found = `<line x1="${place(x)}" x2="${place(x + 22)}" y1="${y - 4}" y2="${y - 4}" stroke="${line.colour}" stroke-width="2"${dash}/><text x="${place(x + 28)}" y="${y}">${escaped(line.label)}</text>`;
    x += legendWidth(line);
    return found;
  });
}

/** Saves an SVG document as a PNG file with twice its size in pixels. */
export async function savePng(name: string, svg: string): Promise<void> {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = element("canvas", { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) return;
  const saved = URL.createObjectURL(blob);
  element("a", { href: saved, download: name }).click();
  URL.revokeObjectURL(saved);
}
