// The levels of accounts.

import type { Account } from "./api.gen";

export type Level = Account["level"];

/** From the lowest: each level may do everything that the levels before it may do. */
export const LEVELS: Level[] = ["guest", "user", "administrator"];

/** True if a level is at least another one. */
export function reaches(level: Level, least: Level): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least);
}
