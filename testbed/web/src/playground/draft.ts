// The draft in links and in the browser's storage.

import type { PlaygroundData, Shared } from "./data";
import { fromFragment } from "./share";

/** The name of the scenario in messages, downloads and commands. */
export const FILE = "scenario.toml";
/** The key of the draft in the browser's storage. */
const KEPT = "bentpipe-playground";

/** A scenario's text with the contents of its files. */
export type Draft = Required<Shared>;

/** Keeps a draft for the next visit of the page. */
export function keep(draft: Draft): void {
  localStorage.setItem(KEPT, JSON.stringify(draft));
}

/** Returns the draft to begin with: of the link, of the last visit, or the first example. */
export async function firstDraft(data: PlaygroundData): Promise<Draft> {
  const complete = (one: Shared): Draft => ({ toml: one.toml, files: one.files ?? {} });
  const named = data.examples.find((one) => location.hash === `#${one.name}`);
  if (named) return complete(named);
  try {
    const shared = await fromFragment(location.hash);
    if (shared !== undefined) return complete(JSON.parse(shared));
    const kept = localStorage.getItem(KEPT);
    if (kept !== null) return complete(JSON.parse(kept));
  } catch {
    // A damaged link or draft is replaced by the first example.
  }
  return complete(data.examples[0]!);
}
