// A session that expires while the page is open. Requests wait until the user has logged in again,
// so that no input is lost.

import { useSyncExternalStore } from "react";

let pendingLogin: { done: Promise<void>; release: () => void } | null = null;
const listeners = new Set<() => void>();

function notify(): void {
  for (const call of listeners) call();
}

/** Resolves when the user has logged in again. */
export function loggedIn(): Promise<void> {
  if (pendingLogin === null) {
    let release: () => void = () => undefined;
    const done = new Promise<void>((resolve) => (release = resolve));
    pendingLogin = { done, release };
    notify();
  }
  return pendingLogin.done;
}

/** Resumes the waiting requests after the user has logged in. */
export function resumeRequests(): void {
  pendingLogin?.release();
  pendingLogin = null;
  notify();
}

/** Returns true while requests wait for the user to log in. */
export function useSessionExpired(): boolean {
  return useSyncExternalStore(
    (call) => {
      listeners.add(call);
      return () => listeners.delete(call);
    },
    () => pendingLogin !== null,
  );
}
