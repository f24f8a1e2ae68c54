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

/** The form of an entity. What is typed shows at once, and becomes a change of the text when typing pauses. */
export function Panel({
  path,
  schema,
  data,
  edit,
  stale,
  adapted = unchanged,
}: {
  path: string[];
  schema: Schema;
  data: Table;
  edit?: Edit;
  stale: boolean;
  /** What else of the entity follows from a change. */
  adapted?: (before: unknown, next: unknown) => unknown;
}) {
  const found = entity(path, schema, data);
  const known = JSON.stringify(found?.value);
  const [value, setValue] = useState<unknown>(found?.value);
  const [base, setBase] = useState(known);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** The value that the text has, as far as is known here, and one that was typed since (none: null). */
  const written = useRef<unknown>(found?.value);
  const typed = useRef<{ value: unknown } | null>(null);
  // The text was changed elsewhere, or a change has arrived. What was typed since stays.
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
    // Before the answer, so that what is typed until then is compared with it.
    written.current = sent.value;
    void edit(changes(from, sent.value, path)).then((made) => {
      if (!made) written.current = from;
      else if (typed.current === sent) typed.current = null;
    });
  }, [edit]);
  const change = useCallback(
    (given: unknown) => {
      const next = adapted(before, given);
      typed.current = { value: next };
      setValue(next);
      clearTimeout(timer.current);
      timer.current = setTimeout(send, 400);
    },
    [before, send, adapted],
  );
  // Another panel is opened before typing has paused.
  useEffect(() => () => void (timer.current !== undefined && send()), [send]);
  if (!found) return <p className="soft">It is not part of the scenario any more.</p>;
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
