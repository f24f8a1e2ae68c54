// The map of a scenario's satellites, if it has any.

import { lazy, Suspense } from "react";
import type { Table } from "../data/schema";

// Loaded when it is needed: the map has the outlines of the continents with it.
const ConstellationMap = lazy(async () => ({ default: (await import("./map")).ConstellationMap }));

/** `data` is the resolved scenario, `text` its text. `time` follows a run in progress; without it a slider chooses the moment. */
export function Satellites({ data, text, time }: { data: Table; text: string; time?: number }) {
  const networks = Object.values((data.network ?? {}) as Record<string, Table>);
  if (!networks.some((one) => one.kind === "constellation")) return null;
  return (
    <Suspense fallback={null}>
      <ConstellationMap text={text} time={time} />
    </Suspense>
  );
}
