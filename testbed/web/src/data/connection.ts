// Whether the test bed answers. While it does not, it is asked until it does, and then the views load again.

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

/** Answers of a proxy whose test bed does not run. */
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

/** The test bed has not answered. */
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

/** Asks whether the test bed answers, after something has looked as if it did not. */
export async function doubted(): Promise<void> {
  if (!lost && !(await probe())) missed();
}

/** Returns when the test bed answers again. */
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

/** How often the test bed has come back: what was loaded before may be out of date. */
export function useReturns(): number {
  return useSyncExternalStore(subscribe, () => times);
}
