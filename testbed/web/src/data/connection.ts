// The state of the connection to the test bed. While the test bed does not respond, this module
// probes it at intervals. The views reload their data after the reconnection.

import { useSyncExternalStore } from "react";

const PROBE_INTERVAL_MS = 2000;

let disconnected = false;
let reconnections = 0;
const listeners = new Set<() => void>();

function notify(): void {
  for (const call of listeners) call();
}

function subscribe(call: () => void): () => void {
  listeners.add(call);
  return () => listeners.delete(call);
}

/** Returns true for the status by which a proxy reports that the test bed is down. */
export function isGatewayError(status: number): boolean {
  return status === 502 || status === 503 || status === 504;
}

async function probe(): Promise<boolean> {
  try {
    return !isGatewayError((await fetch("/api/session")).status);
  } catch {
    return false;
  }
}

/** Marks the connection as lost, and probes the test bed until it responds. */
export function markDisconnected(): void {
  if (disconnected) return;
  disconnected = true;
  notify();
  const ask = async () => {
    if (!(await probe())) {
      setTimeout(() => void ask(), PROBE_INTERVAL_MS);
      return;
    }
    disconnected = false;
    reconnections += 1;
    notify();
  };
  setTimeout(() => void ask(), PROBE_INTERVAL_MS);
}

/** Probes the test bed once, after a sign of a lost connection. */
export async function checkConnection(): Promise<void> {
  if (!disconnected && !(await probe())) markDisconnected();
}

/** Resolves when the test bed responds; immediately if the connection is not lost. */
export function connected(): Promise<void> {
  return new Promise((resolve) => {
    if (!disconnected) return resolve();
    const stop = subscribe(() => {
      if (disconnected) return;
      stop();
      resolve();
    });
  });
}

export function useDisconnected(): boolean {
  return useSyncExternalStore(subscribe, () => disconnected);
}

/** The number of reconnections. After each, previously loaded data may be out of date. */
export function useReconnections(): number {
  return useSyncExternalStore(subscribe, () => reconnections);
}
