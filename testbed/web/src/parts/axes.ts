// The axes of plots: style, tick labels and ticks.

import type uPlot from "uplot";
import { decades, tickTexts } from "../data/numbers";

/** Returns an axis whose texts have the colour `ink`. `more` replaces properties. */
export function axisOf(ink: uPlot.Axis.Stroke, more: uPlot.Axis = {}): uPlot.Axis {
  return {
    stroke: ink,
    grid: { stroke: "#8884", width: 1 },
    ticks: { stroke: "#8886" },
    values: (_, ticks) => tickTexts(ticks),
    ...more,
  };
}

/** Labels every tick. By default, uPlot omits labels of logarithmic axes. */
export const everyTick: uPlot.Axis.Filter = (_, ticks) => ticks;

/** The ticks of a logarithmic axis. */
export const LOGARITHMIC = {
  filter: everyTick,
  splits: (_plot: uPlot, _axis: number, from: number, to: number) => decades(from, to),
};

/** Returns the width of a vertical axis: that of its longest label, or of `characters`. */
export function roomFor(characters: number): uPlot.Axis.Size {
  return (_, values) => 20 + 7 * Math.max(characters, ...(values ?? []).map((one) => one.length));
}
