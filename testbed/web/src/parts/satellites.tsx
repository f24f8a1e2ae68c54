// The map of a scenario's satellites, for scenarios with a constellation.

import { lazy, Suspense } from "react";
import type { Table } from "../data/schema";

// Loaded on demand, because the map includes the outlines of the continents.
const ConstellationMap = lazy(async () => ({ default: (await import("./map")).ConstellationMap }));

/** The map for the resolved scenario `data` with the source `text`. `time` is the time of a run in
 * progress; without it, a slider sets the time. */
export function Satellites({ data, text, time }: { data: Table; text: string; time?: number }) {
  const networks = Object.values((data.network ?? {}) as Record<string, Table>);
  if (!networks.some((one) => one.kind === "constellation")) return null;
  return (
    <Suspense fallback={null}>
      <ConstellationMap text={text} time={time} />
    </Suspense>
  );
}
