// The keys of a resolved scenario with their values and schemas.

import { choices, isTable, resolved, type Schema, type Table, variants } from "./schema";

/** A key with a value: a number, a quantity, a text or the kind of a variant. */
export interface Leaf {
  path: string[];
  value: unknown;
  /** The schema of the value; undefined for keys that the schema does not describe. */
  schema: Schema | undefined;
  about: string;
  /** True if the value, or a table that contains it, can be changed during a run. */
  changeable: boolean;
  /** The possible values of a text; empty if any value is allowed. */
  choices: string[];
}

/** All keys with simple values below the tables and lists of a scenario. The path of a table in a
 * list contains its name. */
export function leaves(data: Table, root: Schema): Leaf[] {
  const found: Leaf[] = [];
  const walk = (value: unknown, given: Schema | undefined, path: string[], above: boolean) => {
    let schema = given && resolved(given, root);
    const kinds = schema ? variants(schema) : [];
    const about = given?.description ?? schema?.description ?? "";
    const changeable = above || Boolean(given?.changeable ?? schema?.changeable);
    if (isTable(value)) {
      if (kinds.length > 0 && typeof value.kind === "string") {
        const named = kinds.map((one) => one.kind);
        found.push({ path, value: value.kind, schema, about, changeable, choices: named });
        schema = kinds.find((one) => one.kind === value.kind)?.schema;
      }
      for (const [key, inner] of Object.entries(value)) {
        const of =
          schema?.properties?.[key] ??
          (isTable(schema?.additionalProperties) ? (schema.additionalProperties as Schema) : undefined);
        if (key !== "kind" && key !== "name") walk(inner, of, [...path, key], changeable);
      }
    } else if (Array.isArray(value)) {
      for (const item of value) {
        if (isTable(item) && typeof item.name === "string")
          walk(item, schema?.items, [...path, item.name], changeable);
      }
    } else if (value !== null && value !== undefined) {
      const listed = schema ? choices(schema).map((one) => one.value) : [];
      found.push({ path, value, schema, about, changeable, choices: listed });
    }
  };
  for (const [key, value] of Object.entries(data)) {
    if (key !== "campaign" && key !== "name") walk(value, root.properties?.[key], [key], false);
  }
  return found;
}

/** Numbers from one to another, in equal steps or in equal ratios, rounded to four digits. Whole
 * numbers are not repeated. */
export function steps(from: number, to: number, count: number, log: boolean, whole: boolean): number[] {
  const last = Math.max(1, count - 1);
  const numbers = Array.from({ length: Math.max(1, count) }, (_, place) => {
    const part = place / last;
    const exact = log ? from * (to / from) ** part : from + (to - from) * part;
    return whole ? Math.round(exact) : Number(exact.toPrecision(4));
  });
  return [...new Set(numbers)];
}
