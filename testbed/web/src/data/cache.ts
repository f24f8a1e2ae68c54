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

/** Repeats the requests of open views whose path begins with one of the prefixes, and forgets the
 * cached responses of all other views. */
export function reload(...prefixes: string[]): void {
  void cache.invalidateQueries({
    predicate: (query) => prefixes.some((prefix) => String(query.queryKey[0]).startsWith(prefix)),
  });
}

// These responses depend on the version of the test bed only.
for (const path of ["/schema", "/templates", "/traces"]) {
  cache.setQueryDefaults([path], { staleTime: Number.POSITIVE_INFINITY });
}
