// A list of those with whom an item can be shared, and a button that shares it.

import { useState } from "react";
import type { CourseEntry } from "../data/api.gen";
import { useLoaded } from "../data/state";

/** The state of sharing: "nobody", "everybody", or the number of a course. */
export type Audience = string;

export function audienceOf(of: { shared: boolean; course_id: number | null }): Audience {
  return of.shared ? "everybody" : of.course_id === null ? "nobody" : String(of.course_id);
}

/** The change of an item that shares it with an audience. */
export function sharedWith(to: Audience): { shared: boolean; course: number | null } {
  const known = to === "everybody" || to === "nobody";
  return { shared: to === "everybody", course: known ? null : Number(to) };
}

/** A list with a button, because arrow keys step through all values of a list. `now` is the present
 * audience, if all items have the same. */
export function Sharing({
  name,
  now,
  share,
}: {
  name: string;
  now?: Audience;
  share: (to: Audience, text: string) => void;
}) {
  const courses = useLoaded<CourseEntry[]>("/courses").value ?? [];
  const [to, setTo] = useState(now ?? "everybody");
  const texts = new Map([
    ["nobody", "nobody"],
    ["everybody", "everybody"],
    ...courses.map((one): [string, string] => [String(one.id), one.name]),
  ]);
  return (
    <span className="joined">
      <select aria-label={`Share ${name} with`} value={to} onChange={(event) => setTo(event.target.value)}>
        {[...texts].map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      <button
        type="button"
        disabled={to === now}
        onClick={() => share(to, texts.get(to) ?? to)}
        aria-label={`Share ${name}`}
      >
        Share
      </button>
    </span>
  );
}
