// The instruments chosen for a launch.

import { useState } from "react";
import type { SessionUser } from "./api.gen";

/** The key of the browser's storage for the instruments of a configuration. */
const keyOf = (id: string) => `instruments ${id}`;

/** Chooses the instruments of a configuration for its copy. */
export function copyInstruments(from: string, to: string): void {
  const chosen = sessionStorage.getItem(keyOf(from));
  if (chosen !== null) sessionStorage.setItem(keyOf(to), chosen);
}

/** The instruments chosen for a configuration. The tab keeps the choice across reloads. */
export function useInstruments(id: string, user: SessionUser): [string[], (next: string[]) => void] {
  const key = keyOf(id);
  const [found, setFound] = useState<string[]>(
    () => JSON.parse(sessionStorage.getItem(key) ?? '["simulate"]') as string[],
  );
  const allowed = (user.limits.instruments as string[]) ?? [];
  return [
    found.filter((one) => allowed.includes(one)),
    (next) => {
      sessionStorage.setItem(key, JSON.stringify(next));
      setFound(next);
    },
  ];
}
