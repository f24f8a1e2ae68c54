// The panel of a scheduled change: its time, and the keys with their new values.

import { useId, useMemo } from "react";
import type { Edit } from "../../data/draft";
import { isTable, type Schema, type Table } from "../../data/schema";
import { Field } from "../../parts/basics";
import { sliders } from "../../parts/controls";
import { KeyField, TableForm } from "../../parts/form";
import { entity, Missing, useEntity } from "../../parts/panel";
import { Section } from "./section";

export function ChangePanel({
  path,
  schema,
  data,
  edit,
  stale,
}: {
  path: string[];
  schema: Schema;
  data: Table;
  edit?: Edit;
  stale: boolean;
}) {
  const id = useId();
  const { found, value, change } = useEntity({ path, schema, data, edit, stale });
  const table = isTable(value) ? value : {};
  const set = useMemo(() => leaves(table.set, []), [table.set]);
  const known = useMemo(() => sliders(data, schema).map((one) => one.key.split(".")), [data, schema]);
  const others = known.filter((one) => !set.some((other) => other.path.join(".") === one.join(".")));
  if (!found) return <Missing stale={stale} />;
  const write = (key: string[], next: unknown) =>
    change({ ...table, set: withValue(isTable(table.set) ? table.set : {}, key, next) });
  return (
    <>
      <TableForm
        at={path.join(".")}
        schema={found.schema}
        root={schema}
        value={table}
        change={change}
        disabled={!edit}
        only={["at"]}
      />
      <Section title="New values" path={`${path.join(".")}.set`}>
        {set.map((one) => (
          <div className="item" key={one.path.join(".")}>
            <KeyField
              name={one.path.join(" ")}
              at={[...path, "set", ...one.path].join(".")}
              schema={entity(one.path, schema, data)?.declared ?? {}}
              root={schema}
              value={one.value}
              required
              disabled={!edit}
              change={(value) => write(one.path, value)}
            />
            {edit && set.length > 1 && (
              <button
                type="button"
                aria-label={`Remove ${one.path.join(" ")}`}
                onClick={() => write(one.path, undefined)}
              >
                Remove
              </button>
            )}
          </div>
        ))}
        {edit && others.length > 0 && (
          <Field label="Change also">
            {(field) => (
              <select
                id={field}
                key={set.length}
                defaultValue=""
                aria-describedby={`${id}-help`}
                onChange={(event) => {
                  const key = others.find((one) => one.join(".") === event.target.value);
                  if (key) write(key, entity(key, schema, data)?.value);
                }}
              >
                <option value="">choose a key</option>
                {others.map((one) => (
                  <option key={one.join(".")}>{one.join(".")}</option>
                ))}
              </select>
            )}
          </Field>
        )}
        <p className="help" id={`${id}-help`}>
          Other keys keep their values. A key that is added has its present value at first.
        </p>
      </Section>
    </>
  );
}

/** The keys that a change sets. A table with a kind, such as a queue, is one value. */
function leaves(value: unknown, path: string[]): { path: string[]; value: unknown }[] {
  if (isTable(value) && value.kind === undefined && path.length < 6)
    return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]));
  return path.length > 0 ? [{ path, value }] : [];
}

/** A table after one value below it was set or, if undefined, removed with the tables that it
 * leaves empty. */
function withValue(table: Table, [key = "", ...rest]: string[], value: unknown): Table {
  const { [key]: inner, ...others } = table;
  const next = rest.length > 0 ? withValue(isTable(inner) ? inner : {}, rest, value) : value;
  const empty = next === undefined || (rest.length > 0 && Object.keys(next as Table).length === 0);
  return empty ? others : { ...table, [key]: next };
}
