// The instruments chosen for a launch.

import { useState } from "react";
import type { SessionUser } from "./api.gen";

/** The instruments chosen for a configuration. The tab keeps the choice across reloads. */
export function useInstruments(id: string, user: SessionUser): [string[], (next: string[]) => void] {
  const key = `instruments ${id}`;
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
