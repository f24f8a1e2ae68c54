// The problems of a scenario.

/** A problem, as the loader reports it. */
export interface Problem {
  file: string;
  line: number | null;
  column: number | null;
  path: string;
  value: string | null;
  message: string;
  allowed: string[];
  nearest: string | null;
}

/** A problem as text: the value, the message, and the allowed values. */
export function problemText(one: Problem): string {
  const value = one.value === null ? "" : `${one.value} `;
  const nearest = one.nearest ? ` – did you mean ${one.nearest}?` : "";
  const allowed = one.allowed.length > 0 ? ` Allowed: ${one.allowed.join(", ")}` : "";
  return `${value}${one.message}${nearest || (allowed && ".")}${allowed}`;
}
