// The page's address, data that is loaded, and the stream of events.

import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { api } from "./api";

/** The view: the parts of the path after #, and the values after ?. It is the whole view, so a link opens the same one. */
export interface Place {
  path: string[];
  values: URLSearchParams;
}

function parsed(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decodeURIComponent), values: new URLSearchParams(query) };
}

let place = parsed();
const listening = new Set<() => void>();
window.addEventListener("hashchange", () => {
  place = parsed();
  for (const call of listening) call();
});

export function usePlace(): Place {
  return useSyncExternalStore(
    (call) => {
      listening.add(call);
      return () => listening.delete(call);
    },
    () => place,
  );
}

export function link(path: string[], values: Record<string, string | undefined> = {}): string {
  const given = Object.entries(values).filter((one): one is [string, string] => Boolean(one[1]));
  const query = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

/** Goes to a view; `replace` leaves no entry for the back button. */
export function go(path: string[], values: Record<string, string | undefined> = {}, replace = false): void {
  const to = link(path, values);
  if (replace) {
    history.replaceState(null, "", to);
    place = parsed();
    for (const call of listening) call();
  } else {
    location.hash = to;
  }
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a request returns, and a way to ask again. An empty path asks for nothing. */
export function useLoaded<T>(path: string): { value: T | undefined; error: string; again: () => void } {
  const [found, setFound] = useState<{ path: string; value?: T; error: string }>({ path: "", error: "" });
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (!path) return;
    let current = true;
    api.get<T>(path).then(
      (value) => current && setFound({ path, value, error: "" }),
      (error: unknown) => current && setFound((before) => ({ ...before, path, error: message(error) })),
    );
    return () => {
      current = false;
    };
  }, [path, count]);
  const again = useCallback(() => setCount((before) => before + 1), []);
  return { value: found.path === path ? found.value : undefined, error: found.path === path ? found.error : "", again };
}

export interface RunEvent {
  run: string;
  state: string;
  progress: number;
  reason: string;
}

const watching = new Set<(event: RunEvent | null) => void>();
let source: EventSource | null = null;

/** Calls with every event of one's runs, and with null when some may have been missed. There is one stream for the whole tab. */
export function useEvents(call: (event: RunEvent | null) => void): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    const told = (event: RunEvent | null) => latest.current(event);
    watching.add(told);
    if (source === null) {
      source = new EventSource("/api/events");
      source.addEventListener("run", (event) => {
        const data = JSON.parse((event as MessageEvent<string>).data) as RunEvent;
        for (const each of watching) each(data);
      });
      source.addEventListener("reload", () => {
        for (const each of watching) each(null);
      });
    }
    return () => {
      watching.delete(told);
      if (watching.size === 0) {
        source?.close();
        source = null;
      }
    };
  }, []);
}
