// Names and copies of configurations.

import { api } from "./api";
import type { Full } from "./api.gen";

/** A name that is not taken: `wanted`, or `wanted` with a number. */
export function freeName(wanted: string, taken: string[]): string {
  let name = wanted;
  for (let count = 2; taken.includes(name); count++) name = `${wanted} ${count}`;
  return name;
}

/** Saves a text as a new configuration with a name. */
export function saveCopy(name: string, text: string, positions: unknown): Promise<Full> {
  return api.post<Full>("/configurations", { name, text, positions });
}
