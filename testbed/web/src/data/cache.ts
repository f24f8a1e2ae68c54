// The cache of responses to GET requests. Views that load the same path share one request.

import { QueryClient } from "@tanstack/react-query";
import { api, Refusal } from "./api";

/** The cache of the page. A view that opens shows the cached response and repeats the request. */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      queryFn: ({ queryKey }) => api.get(queryKey[0] as string),
      // The interface answers 404 or 403 for good; only a busy test bed is asked again.
      retry: (count, error) => count < 3 && error instanceof Refusal && error.status === 503,
      networkMode: "always",
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      structuralSharing: true,
    },
  },
});

/** Repeats requests of open views, and forgets cached responses of all other views. A response that
 * is under way may be older than the change that calls for the reload, so its request is cancelled:
 * the library alone would keep the first request of a path. */
async function reloadWhere(chosen: (path: string) => boolean): Promise<void> {
  const filters = {
    predicate: (query: { queryKey: readonly unknown[] }) => chosen(String(query.queryKey[0])),
  };
  await cache.cancelQueries(filters);
  await cache.invalidateQueries(filters);
}

export function reloadPath(path: string): void {
  void reloadWhere((one) => one === path);
}

/** Reloads all paths that begin with one of the prefixes. */
export function reload(...prefixes: string[]): void {
  void reloadWhere((path) => prefixes.some((prefix) => path.startsWith(prefix)));
}

// These responses depend on the version of the test bed only.
for (const path of ["/schema", "/templates", "/traces"]) {
  cache.setQueryDefaults([path], { staleTime: Number.POSITIVE_INFINITY });
}
