// A session that expires while the page is open. Requests wait until the user has logged in again,
// so that no input is lost.

import { useSyncExternalStore } from "react";

let waiting: { done: Promise<void>; release: () => void } | null = null;
const listening = new Set<() => void>();

function tell(): void {
  for (const call of listening) call();
}

/** Resolves when the user has logged in again. */
export function ended(): Promise<void> {
  if (waiting === null) {
    let release: () => void = () => undefined;
    const done = new Promise<void>((resolve) => (release = resolve));
    waiting = { done, release };
    tell();
  }
  return waiting.done;
}

/** Resumes the waiting requests after the user has logged in. */
export function renewed(): void {
  waiting?.release();
  waiting = null;
  tell();
}

/** Returns true while requests wait for the user to log in. */
export function useEnded(): boolean {
  return useSyncExternalStore(
    (call) => {
      listening.add(call);
      return () => listening.delete(call);
    },
    () => waiting !== null,
  );
}
