// The user of the session, for every component of the page.

import { createContext, useContext } from "react";
import type { SessionUser } from "./api.gen";

export const CurrentUser = createContext<SessionUser | null>(null);

/** The user of the session; null before the log-in. */
export function useUser(): SessionUser | null {
  return useContext(CurrentUser);
}
