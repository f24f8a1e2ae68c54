// What is wrong with a draft, for the fields of its keys.

import { createContext, useContext } from "react";
import type { Problem } from "../data/draft";

const Problems = createContext<Problem[]>([]);

export const ProblemsOf = Problems.Provider;

/** What is wrong with the value of a key, as a text; empty if nothing is known. */
export function useProblem(path: string): string {
  const found = useContext(Problems).find((one) => one.path === path);
  return found ? sentence(found) : "";
}

/** The problems of keys below a path. */
export function useProblemsBelow(path: string): Problem[] {
  return useContext(Problems).filter((one) => one.path.startsWith(path));
}

/** A problem as a text that says what is wrong and what is allowed. */
export function sentence(one: Problem): string {
  const value = one.value === null ? "" : `${one.value} `;
  const nearest = one.nearest ? ` – did you mean ${one.nearest}?` : "";
  const allowed = one.allowed.length > 0 ? ` Allowed: ${one.allowed.join(", ")}` : "";
  return `${value}${one.message}${nearest || (allowed && ".")}${allowed}`;
}

/** Text of a problem beside its field, which is described by it. */
export function Wrong({ id, text }: { id: string; text: string }) {
  if (!text) return null;
  return (
    <p className="wrong" id={id}>
      {text}
    </p>
  );
}
