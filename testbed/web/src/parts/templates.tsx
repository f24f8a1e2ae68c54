// The templates from which a configuration can start, as cards in groups.

import { useState } from "react";
import type { Template } from "../data/api.gen";
import { useLoaded } from "../data/state";
import { Thumbnail } from "./thumbnail";
import "./cards.css";

/** The templates of the open group, or all that match a search. */
export function Templates({
  search,
  busy,
  use,
}: {
  search: string;
  busy: boolean;
  use: (template: Template) => void;
}) {
  const { value } = useLoaded<Template[]>("/templates");
  const [group, setGroup] = useState("");
  if (!value) return <p aria-busy="true">Loading…</p>;
  const grouped = value.filter((one) => one.group);
  const groups = [...new Set(grouped.map((one) => one.group))];
  const open = group || groups[0];
  const words = search.toLowerCase();
  const shown = words
    ? grouped.filter((one) =>
        `${one.title} ${one.name} ${one.about} ${one.group}`.toLowerCase().includes(words),
      )
    : grouped.filter((one) => one.group === open);
  return (
    <section aria-labelledby="templates">
      <h2 id="templates">Start from a template</h2>
      {!words && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would be a form
        <div className="chips" role="group" aria-label="Groups of templates">
          {groups.map((one) => (
            <button key={one} type="button" aria-pressed={one === open} onClick={() => setGroup(one)}>
              {one}
            </button>
          ))}
        </div>
      )}
      {shown.length === 0 && <p className="soft">No matching templates.</p>}
      <ul className="cards">
        {shown.map((one) => (
          <li key={one.name} className="card">
            <Thumbnail of={one.picture} />
            <div className="body">
              <h3>
                <button type="button" className="open" disabled={busy} onClick={() => use(one)}>
                  <span className="hidden">Use template </span>
                  {one.title}
                </button>
              </h3>
              <p className="about">{one.about}</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
