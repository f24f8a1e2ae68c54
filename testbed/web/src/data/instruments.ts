// The instruments that a launch uses.

import { useState } from "react";
import type { Who } from "./api.gen";

/** What is to be run is kept for the tab, so that it outlives a reload. */
export function useInstruments(id: string, who: Who): [string[], (next: string[]) => void] {
  const key = `instruments ${id}`;
  const [found, setFound] = useState<string[]>(
    () => JSON.parse(sessionStorage.getItem(key) ?? '["simulate"]') as string[],
  );
  const allowed = (who.limits.instruments as string[]) ?? [];
  return [
    found.filter((one) => allowed.includes(one)),
    (next) => {
      sessionStorage.setItem(key, JSON.stringify(next));
      setFound(next);
    },
  ];
}
