// The levels of accounts.

import type { Account } from "./api.gen";

export type Level = Account["level"];

/** In ascending order. Each level includes the permissions of all lower levels. */
export const LEVELS: Level[] = ["guest", "user", "administrator"];

/** Returns true if a level is at least `required`. */
export function isAtLeast(level: Level, required: Level): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(required);
}
