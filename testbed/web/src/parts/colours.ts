// The colours of lines and marks in plots. Files always have the colours of light pages.

import { useSyncExternalStore } from "react";
import type { TimelineMark } from "../data/api.gen";

const LINES = {
  light: [
    "#2f6fde",
    "#c2410c",
    "#15803d",
    "#a21caf",
    "#0e7490",
    "#854d0e",
    "#be123c",
    "#4d7c0f",
    "#6d28d9",
    "#475569",
    "#0369a1",
    "#9f1239",
  ],
  dark: [
    "#6ea1ff",
    "#ff9a56",
    "#4ade80",
    "#e879f9",
    "#22d3ee",
    "#facc15",
    "#fb7185",
    "#a3e635",
    "#a78bfa",
    "#94a3b8",
    "#38bdf8",
    "#f9a8d4",
  ],
};

/** The colours of marks, by kind. */
const MARKS: Record<"light" | "dark", Record<TimelineMark["kind"], string>> = {
  light: {
    loss: "#b3261e",
    retransmission: "#c2410c",
    timeout: "#7a0019",
    handover: "#1f5fc4",
    change: "#565d66",
    manual: "#8a2bb0",
    fade: "#b07800",
    outage: "#8a4b00",
  },
  dark: {
    loss: "#ff9d94",
    retransmission: "#ffb37a",
    timeout: "#ff6f91",
    handover: "#8ab4f8",
    change: "#a7aeb8",
    manual: "#dba0f5",
    fade: "#ffd166",
    outage: "#ffc47a",
  },
};

/** The patterns of dashes of lines that share a colour. */
export const DASHES = [[], [6, 4], [2, 3], [10, 4, 2, 4], [14, 4], [4, 2]];

export const lineColour = (place: number, dark = false) =>
  LINES[dark ? "dark" : "light"][place % LINES.light.length]!;
export const markColour = (kind: TimelineMark["kind"], dark = false) => MARKS[dark ? "dark" : "light"][kind];
export const dashOf = (place: number) => DASHES[place % DASHES.length]!;

const scheme = matchMedia("(prefers-color-scheme: dark)");

/** True while the page is dark. */
export function useDark(): boolean {
  return useSyncExternalStore(
    (call) => {
      scheme.addEventListener("change", call);
      return () => scheme.removeEventListener("change", call);
    },
    () => scheme.matches,
  );
}
