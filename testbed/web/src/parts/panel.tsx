// The form of one entity of a draft.

import { useCallback, useEffect, useRef, useState } from "react";
import type { Edit } from "../data/draft";
import { changes, isTable, resolved, type Schema, type Table, variants } from "../data/schema";
import { TableForm } from "./form";

/** The schema and the value of the entity at a key path. */
function entity(path: string[], schema: Schema, data: Table): { schema: Schema; value: unknown } | null {
  let of: Schema = schema;
  let value: unknown = data;
  for (const key of path) {
    of = resolved(of, schema);
    if (Array.isArray(value)) {
      value = value.find((one: Table, place) => (one.name ?? String(place)) === key);
      of = of.items ?? {};
    } else if (isTable(value)) {
      value = value[key];
      of = of.properties?.[key] ?? (isTable(of.additionalProperties) ? of.additionalProperties : {});
    } else return null;
  }
  if (value === undefined) return null;
  of = resolved(of, schema);
  if (isTable(value)) {
    const kind = value.kind;
    const variant = variants(of).find((one) => one.kind === kind);
    if (variant) of = variant.schema;
  }
  return { schema: of, value };
}

function unchanged(_: unknown, next: unknown): unknown {
  return next;
}

/** The form of an entity. Input appears at once, and changes the text when typing pauses. */
export function Panel({
  path,
  schema,
  data,
  edit,
  stale,
  adapt = unchanged,
}: {
  path: string[];
  schema: Schema;
  data: Table;
  edit?: Edit;
  stale: boolean;
  /** Adapts other keys of the entity to a change. */
  adapt?: (before: unknown, next: unknown) => unknown;
}) {
  const found = entity(path, schema, data);
  const known = JSON.stringify(found?.value);
  const [value, setValue] = useState<unknown>(found?.value);
  const [base, setBase] = useState(known);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** The value in the text, as last known here. */
  const written = useRef<unknown>(found?.value);
  /** The input that is not in the text yet; null if there is none. */
  const typed = useRef<{ value: unknown } | null>(null);
  // The text has changed, here or elsewhere. Input that is not in the text yet is kept.
  if (known !== base && !stale) {
    setBase(known);
    if (typed.current === null) {
      written.current = found?.value;
      setValue(found?.value);
    }
  }
  const before = found?.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies(path): the key of a panel is its path
  const send = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = undefined;
    const sent = typed.current;
    if (sent === null || !edit) return;
    const from = written.current;
    // Set before the response, so that later input is compared with this value.
    written.current = sent.value;
    void edit(changes(from, sent.value, path)).then((made) => {
      if (!made) written.current = from;
      else if (typed.current === sent) typed.current = null;
    });
  }, [edit]);
  const change = useCallback(
    (given: unknown) => {
      const next = adapt(before, given);
      typed.current = { value: next };
      setValue(next);
      clearTimeout(timer.current);
      timer.current = setTimeout(send, 400);
    },
    [before, send, adapt],
  );
  // Sends pending input when another panel opens before typing has paused.
  useEffect(() => () => void (timer.current !== undefined && send()), [send]);
  if (!found) return <p className="soft">This part is no longer in the scenario.</p>;
  return (
    <TableForm
      schema={found.schema}
      root={schema}
      value={value}
      change={change}
      disabled={!edit}
      at={path.join(".")}
      fixed={["name", "flow", "link", "network"]}
    />
  );
}
