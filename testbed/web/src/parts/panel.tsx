// The form of one entity of a draft.

import { useCallback, useEffect, useRef, useState } from "react";
import type { Edit } from "../data/draft";
import { changes, isTable, resolved, type Schema, type Table, variants } from "../data/schema";
import { TableForm } from "./form";

/** The schema and the value of the entity at a key path. `declared` is the schema before the
 * variant of the value was selected. */
export function entity(
  path: string[],
  schema: Schema,
  data: Table,
): { schema: Schema; declared: Schema; value: unknown } | null {
  let of: Schema = schema;
  let value: unknown = data;
  for (const key of path) {
    of = variantOf(resolved(of, schema), value);
    if (Array.isArray(value)) {
      value = value.find((one: Table, place) => (one.name ?? String(place)) === key);
      of = of.items ?? {};
    } else if (isTable(value)) {
      value = value[key];
      of = of.properties?.[key] ?? (isTable(of.additionalProperties) ? of.additionalProperties : {});
    } else return null;
  }
  if (value === undefined) return null;
  return { schema: variantOf(resolved(of, schema), value), declared: of, value };
}

/** The variant of a schema for a value with a kind. */
function variantOf(schema: Schema, value: unknown): Schema {
  if (!isTable(value)) return schema;
  return variants(schema).find((one) => one.kind === value.kind)?.schema ?? schema;
}

/** Keys that forms do not change. */
const FIXED = ["name", "flow", "link", "network"];

function unchanged(_: unknown, next: unknown): unknown {
  return next;
}

/** Sends the input that waits for a pause in typing, in all panels. */
export function flushInput(): void {
  for (const send of waiting) send();
}

const waiting = new Set<() => void>();

/** Shows the values of the scenario in all panels, after a step of the history. */
export function resetInput(): void {
  for (const reset of resets) reset();
}

const resets = new Set<() => void>();

interface Given {
  path: string[];
  schema: Schema;
  data: Table;
  edit?: Edit;
  stale: boolean;
  /** Adapts other keys of the entity to a change. */
  adapt?: (before: unknown, next: unknown) => unknown;
}

/** The value of an entity, with the input that is not in the text yet. Input changes the text when
 * typing pauses. */
export function useEntity({ path, schema, data, edit, stale, adapt = unchanged }: Given) {
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
  const latest = useRef(before);
  latest.current = before;
  useEffect(() => {
    const reset = () => {
      typed.current = null;
      written.current = latest.current;
      setValue(latest.current);
    };
    resets.add(reset);
    return () => void resets.delete(reset);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies(path): the key of a panel is its path
  const send = useCallback(() => {
    clearTimeout(timer.current);
    timer.current = undefined;
    waiting.delete(send);
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
      waiting.add(send);
    },
    [before, send, adapt],
  );
  // Sends pending input when another panel opens before typing has paused.
  useEffect(() => () => void (timer.current !== undefined && send()), [send]);
  return { found, value, change };
}

/** The form of the entity at a key path. */
export function Panel({
  only,
  except = [],
  ...given
}: Given & {
  /** The keys to show, in their order. */
  only?: string[];
  /** Keys that another panel shows. */
  except?: string[];
}) {
  const { found, value, change } = useEntity(given);
  const { path, schema, edit } = given;
  if (!found) return <Missing stale={given.stale} />;
  return (
    <TableForm
      schema={found.schema}
      root={schema}
      value={value}
      change={change}
      disabled={!edit}
      at={path.join(".")}
      fixed={[...FIXED, ...except]}
      only={only}
    />
  );
}

/** Stands for the form of an entity that the last valid scenario does not have. */
export function Missing({ stale }: { stale: boolean }) {
  return (
    <p className="soft">
      {stale ? "This part appears when the scenario is valid." : "This part is no longer in the scenario."}
    </p>
  );
}
