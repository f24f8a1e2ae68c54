// The page's address, data loaded from the test bed, and the stream of events.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useSyncExternalStore } from "react";
import { api } from "./api";
import { reloadPath } from "./cache";
import { checkConnection, connected, useReconnections } from "./connection";

/** The address of a view: the parts of the path after #, and the parameters after ?. The address
 * contains the whole state of the view, so a link opens an identical view. */
export interface Place {
  path: string[];
  values: URLSearchParams;
}

function parsed(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    values: new URLSearchParams(query),
  };
}

let place = parsed();
const listeners = new Set<() => void>();
window.addEventListener("hashchange", () => {
  place = parsed();
  for (const call of listeners) call();
});

export function usePlace(): Place {
  return useSyncExternalStore(
    (call) => {
      listeners.add(call);
      return () => listeners.delete(call);
    },
    () => place,
  );
}

export function link(path: string[], values: Record<string, string | undefined> = {}): string {
  const given = Object.entries(values).filter((one): one is [string, string] => Boolean(one[1]));
  const query = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

/** Navigates to a view. With `replace`, the navigation adds no entry to the browser's history. */
export function go(path: string[], values: Record<string, string | undefined> = {}, replace = false): void {
  const to = link(path, values);
  if (replace) {
    history.replaceState(null, "", to);
    place = parsed();
    for (const call of listeners) call();
  } else {
    location.hash = to;
  }
}

/** A parameter of the page's address, and a function that sets it without an entry in the browser's
 * history. */
export function useValue(name: string, otherwise = ""): [string, (value: string) => void] {
  const { values } = usePlace();
  const set = useCallback(
    (value: string) => {
      const now = parsed();
      go(
        now.path,
        { ...Object.fromEntries(now.values), [name]: value === otherwise ? undefined : value },
        true,
      );
    },
    [name, otherwise],
  );
  return [values.get(name) ?? otherwise, set];
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The response to a GET request, and a function that repeats the request. An empty path sends no
 * request. A view that opens shows the cached response until the next one arrives; with `current`,
 * it waits for the next one. After a change of the path, `keep` shows the response to the previous
 * path until the next one arrives. That response is `stale`. */
export function useLoaded<T>(
  path: string,
  { current = false, keep = false } = {},
): { value: T | undefined; stale: boolean; error: string; reload: () => void } {
  const { data, error, isPlaceholderData } = useQuery<T>({
    queryKey: [path],
    enabled: path !== "",
    gcTime: current ? 0 : undefined,
    placeholderData: keep ? keepPreviousData : undefined,
  });
  const reconnections = useReconnections();
  const before = useRef(reconnections);
  useEffect(() => {
    if (before.current !== reconnections && path) reloadPath(path);
    before.current = reconnections;
  }, [reconnections, path]);
  const reload = useCallback(() => reloadPath(path), [path]);
  return { value: data, stale: isPlaceholderData, error: error ? message(error) : "", reload };
}

/** The states of a run that has ended. */
export const FINAL = ["done", "failed", "cancelled", "incomplete"];

export interface RunEvent {
  run: string;
  state: string;
  progress: number;
  reason: string;
  /** Known after the end of a run: its owner's account, its number, name, label and fidelity. */
  owner?: number;
  number?: number;
  name?: string;
  label?: string;
  verdict?: string;
}

/** Live data of a run since the previous part: rows by table and entity. A row contains the time in
 * seconds, then the columns. */
export interface Part {
  rows: Record<string, Record<string, (number | null)[][]>>;
  dropped: number;
  changes: { key: string; value: string; time: number | null; refused: string | null }[];
}
type OnRows = (parts: Part[], begins: boolean) => void;

const eventListeners = new Set<(event: RunEvent | null) => void>();
let rowsListener: { run: string; call: OnRows } | null = null;
let source: EventSource | null = null;

/** Opens or closes the only stream of the tab, after a change of its subscribers. */
function updateStream(): void {
  source?.close();
  source = null;
  if (eventListeners.size === 0 && rowsListener === null) return;
  const stream = new EventSource(rowsListener ? `/api/events?run=${rowsListener.run}` : "/api/events");
  source = stream;
  // Browsers reconnect automatically, except after an error status: from a proxy, or for an expired
  // session.
  source.addEventListener("error", () => {
    if (source !== stream) return;
    void checkConnection();
    if (stream.readyState === EventSource.CLOSED) void reconnect(stream);
  });
  source.addEventListener("run", (event) => {
    const data = JSON.parse((event as MessageEvent<string>).data) as RunEvent;
    for (const each of eventListeners) each(data);
  });
  source.addEventListener("reload", () => {
    for (const each of eventListeners) each(null);
  });
  source.addEventListener("rows", (event) => {
    const data = JSON.parse((event as MessageEvent<string>).data) as {
      run: string;
      begins: boolean;
      parts: Part[];
    };
    if (rowsListener?.run === data.run) rowsListener.call(data.parts, data.begins);
  });
}

async function reconnect(closed: EventSource): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2000));
  await connected();
  // Without a session, this request waits until the user has logged in.
  await api.get("/queue").catch(() => undefined);
  if (source !== closed) return;
  updateStream();
  for (const each of eventListeners) each(null);
}

/** Calls back for every event of the user's runs, and with null if events may have been lost. All
 * subscribers share the stream of the tab. Calls nothing unless `active`. */
export function useEvents(call: (event: RunEvent | null) => void, active = true): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (!active) return;
    const listener = (event: RunEvent | null) => latest.current(event);
    eventListeners.add(listener);
    if (source === null) updateStream();
    return () => {
      eventListeners.delete(listener);
      if (eventListeners.size === 0) updateStream();
    };
  }, [active]);
}

/** Calls back with the live data of a run, from its start, over the stream of the tab. A tab can
 * watch one run at a time. */
export function useRows(run: string, call: OnRows): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    const own = { run, call: (parts: Part[], begins: boolean) => latest.current(parts, begins) };
    rowsListener = own;
    updateStream();
    return () => {
      if (rowsListener === own) {
        rowsListener = null;
        updateStream();
      }
    };
  }, [run]);
}
