// The state of the connection to the test bed. While the test bed does not respond, this module
// probes it at intervals. The views reload their data after the reconnection.

import { useSyncExternalStore } from "react";

const EVERY_MS = 2000;

let lost = false;
let times = 0;
const listening = new Set<() => void>();

function tell(): void {
  for (const call of listening) call();
}

function subscribe(call: () => void): () => void {
  listening.add(call);
  return () => listening.delete(call);
}

/** Returns true for the status by which a proxy reports that the test bed is down. */
export function isAway(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}

async function probe(): Promise<boolean> {
  try {
    return !isAway((await fetch("/api/session")).status);
  } catch {
    return false;
  }
}

/** Marks the connection as lost, and probes the test bed until it responds. */
export function missed(): void {
  if (lost) return;
  lost = true;
  tell();
  const ask = async () => {
    if (!(await probe())) {
      setTimeout(() => void ask(), EVERY_MS);
      return;
    }
    lost = false;
    times += 1;
    tell();
  };
  setTimeout(() => void ask(), EVERY_MS);
}

/** Probes the test bed once, after a sign of a lost connection. */
export async function doubted(): Promise<void> {
  if (!lost && !(await probe())) missed();
}

/** Resolves when the test bed responds; immediately if the connection is not lost. */
export function returned(): Promise<void> {
  return new Promise((resolve) => {
    if (!lost) return resolve();
    const stop = subscribe(() => {
      if (lost) return;
      stop();
      resolve();
    });
  });
}

export function useLost(): boolean {
  return useSyncExternalStore(subscribe, () => lost);
}

/** The number of reconnections. After each, previously loaded data may be out of date. */
export function useReturns(): number {
  return useSyncExternalStore(subscribe, () => times);
}
