// A log-in that has ended while the page is open. Requests wait until there is one again, so that nothing typed is lost.

import { useSyncExternalStore } from "react";

let waiting: { done: Promise<void>; release: () => void } | null = null;
const listening = new Set<() => void>();

function tell(): void {
  for (const call of listening) call();
}

/** Returns when the user has logged in again. */
export function ended(): Promise<void> {
  if (waiting === null) {
    let release: () => void = () => undefined;
    const done = new Promise<void>((resolve) => (release = resolve));
    waiting = { done, release };
    tell();
  }
  return waiting.done;
}

/** The user has logged in: what waits for it continues. */
export function renewed(): void {
  waiting?.release();
  waiting = null;
  tell();
}

/** Whether something waits for the user to log in. */
export function useEnded(): boolean {
  return useSyncExternalStore(
    (call) => {
      listening.add(call);
      return () => listening.delete(call);
    },
    () => waiting !== null,
  );
}
