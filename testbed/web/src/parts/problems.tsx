// The problems of a draft, for the form fields of its keys.

import { createContext, useContext } from "react";
import { type Problem, problemText } from "../data/problem";

const Problems = createContext<Problem[]>([]);

export const ProblemsOf = Problems.Provider;

/** The message about the value of a key; empty if there is no problem. */
export function useProblem(path: string): string {
  const found = useContext(Problems).find((one) => one.path === path);
  return found ? problemText(found) : "";
}

/** The problems of keys below a path. */
export function useProblemsBelow(path: string): Problem[] {
  return useContext(Problems).filter((one) => one.path.startsWith(path));
}

/** The error message of a field. The field refers to it by `aria-describedby`. */
export function FieldError({ id, text }: { id: string; text: string }) {
  if (!text) return null;
  return (
    <p className="field-error" id={id}>
      {text}
    </p>
  );
}
