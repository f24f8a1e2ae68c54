// The filters of the table of runs, the choice of its columns, and saved views of the table.

import { useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { Total, View } from "../data/api.gen";
import { FINAL, go, useLoaded, usePlace, useValue } from "../data/state";
import { Field, Notice } from "./basics";
import { ask } from "./dialog";
import { More } from "./more";
import { CHOICES, DEFAULT_COLUMNS } from "./run_columns";

/** The parameters of the address that filter the table. The server has filters of the same
 * names. */
export const FILTERS = ["search", "state", "owner", "instrument", "tag", "verdict"];
/** All parameters of the address that belong to a saved view. */
const OF_VIEW = [...FILTERS, "sort", "columns"];

const VERDICTS: [string, string][] = [
  ["valid", "valid"],
  ["degraded", "degraded"],
  ["void", "void"],
  ["changed", "changed manually"],
];

export function Filters({ known }: { known: Total | undefined }) {
  const [search, setSearch] = useValue("search");
  const { path, values } = usePlace();
  const filtered = FILTERS.some((one) => values.get(one));
  // On a phone, the filters other than the search are folded.
  const [open, setOpen] = useState(filtered);
  return (
    <div className={`row filters${open ? " open" : ""}`}>
      <Field label="Search">
        {(id) => (
          <input
            id={id}
            type="search"
            placeholder="name, note or tag"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        )}
      </Field>
      <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        Filters
      </button>
      <Choice name="state" label="State" options={["queued", "running", ...FINAL].map((one) => [one, one])} />
      <Choice name="owner" label="Owner" options={(known?.owners ?? []).map((one) => [one, one])} />
      <Choice
        name="instrument"
        label="Instrument"
        options={["simulate", "kernel", "emulate", "study"].map((one) => [one, one])}
      />
      <Choice name="verdict" label="Verdict" options={VERDICTS} />
      <Choice name="tag" label="Tag" options={(known?.tags ?? []).map((one) => [one, one])} />
      <Columns />
      {filtered && (
        <button
          type="button"
          onClick={() => {
            const kept = [...values].filter(([name]) => !FILTERS.includes(name) && name !== "page");
            go(path, Object.fromEntries(kept), true);
          }}
        >
          Clear filters
        </button>
      )}
    </div>
  );
}

/** A filter by one of several values. A value of the address that is no option, such as a tag that
 * no run has, is an option as well. */
function Choice({ name, label, options }: { name: string; label: string; options: [string, string][] }) {
  const [value, setValue] = useValue(name);
  const missing = value && !options.some(([one]) => one === value);
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => setValue(event.target.value)}>
          <option value="">all</option>
          {missing && <option value={value}>{value}</option>}
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Columns() {
  const [columns, setColumns] = useValue("columns", DEFAULT_COLUMNS.join(","));
  const shown = columns.split(",");
  return (
    <More label="Columns" text="Columns">
      {CHOICES.map(([name, label]) => (
        <label key={name} className="check">
          <input
            type="checkbox"
            checked={shown.includes(name)}
            onChange={(event) =>
              setColumns(
                CHOICES.map(([one]) => one)
                  .filter((one) => (one === name ? event.target.checked : shown.includes(one)))
                  .join(",") || "none",
              )
            }
          />
          {label}
        </label>
      ))}
    </More>
  );
}

/** The user's saved views: filters, order and columns under a name. */
export function SavedViews() {
  const { value, reload } = useLoaded<View[]>("/views");
  const { path, values } = usePlace();
  const { failure, perform } = useActions(reload);
  const [removing, setRemoving] = useState(false);
  const now = new URLSearchParams(
    OF_VIEW.flatMap((one) => (values.get(one) ? [[one, values.get(one)!]] : [])),
  );
  const others = Object.fromEntries([...values].filter(([name]) => name === "batch"));
  const save = async () => {
    const name = await ask({
      title: "Save this view",
      about:
        "Keeps the filters, the order and the columns under a name. A view with the same name is replaced.",
      action: "Save",
      field: { label: "Name of the view", value: values.get("tag") ?? "", maxLength: 64 },
    });
    if (name) await perform(api.put(`/views/${encodeURIComponent(name)}`, { query: now.toString() }));
  };
  return (
    <>
      <Notice text={failure} />
      <nav className="views" aria-label="Saved views">
        <a href="#/runs" aria-current={now.size === 0 ? "true" : undefined}>
          All runs
        </a>
        {value?.map((one) => (
          <span key={one.name}>
            <button
              type="button"
              className="view"
              aria-current={one.query === now.toString() ? "true" : undefined}
              onClick={() => go(path, { ...others, ...Object.fromEntries(new URLSearchParams(one.query)) })}
            >
              {one.name}
            </button>
            {removing && (
              <button
                type="button"
                className="plain"
                aria-label={`Remove the view ${one.name}`}
                onClick={() => void perform(api.remove(`/views/${encodeURIComponent(one.name)}`))}
              >
                ×
              </button>
            )}
          </span>
        ))}
        <button type="button" className="plain" onClick={() => void save()}>
          Save this view
        </button>
        {value && value.length > 0 && (
          <button
            type="button"
            className="plain"
            aria-pressed={removing}
            onClick={() => setRemoving(!removing)}
          >
            Edit views
          </button>
        )}
      </nav>
    </>
  );
}
