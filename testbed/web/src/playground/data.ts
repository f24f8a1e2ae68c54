// The data of the playground, which scripts/manual/playground.py writes for the site.

import type { Schema } from "../data/schema";

/** A scenario to begin with. */
export interface Example {
  /** Its name in links, such as `geo-bulk`. */
  name: string;
  /** The heading above the scenario in the list. */
  group: string;
  /** One line about the scenario. */
  title: string;
  toml: string;
  /** Contents of the files that the scenario includes, by name. */
  files: Record<string, string>;
}

export interface PlaygroundData {
  schema: Schema;
  examples: Example[];
}

declare global {
  interface Window {
    /** Set by playground-data.js. */
    bentpipePlayground?: PlaygroundData;
  }
}

/** The state of the page that links contain. */
export interface Shared {
  toml: string;
  files?: Record<string, string>;
}
