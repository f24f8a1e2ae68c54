// The schema of the key at a path, and the keys and values that it allows there.

import { choices, isTable, resolved, type Schema, type Table, variants } from "./schema";
import type { Path } from "./toml";

/** A key or value to offer, with the text to insert. */
export interface Offer {
  label: string;
  insert: string;
  detail: string;
  about: string;
}

/**
 * The schema at a path. The values of the text select the variants of tables with the key `kind`.
 * Undefined for an unknown path.
 */
export function schemaAt(root: Schema, path: Path, values: unknown): Schema | undefined {
  let [found, value]: [Schema | undefined, unknown] = [root, values];
  for (const key of path) {
    if (!found) return undefined;
    const whole = resolved(found, root);
    if (typeof key === "number") {
      found = whole.items;
      value = Array.isArray(value) ? value[key] : undefined;
    } else {
      found = keysOf(whole, root, value).get(key) ?? named(whole, root, value);
      value = isTable(value) ? value[key] : undefined;
    }
  }
  return found && resolved(found, root);
}

/** The variants of a schema that fit the value: one if its kind is known, otherwise all. */
function fitting(schema: Schema, root: Schema, value: unknown): Schema[] {
  const parts = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].map((part) => resolved(part, root));
  const kind = isTable(value) ? value.kind : undefined;
  const matching = parts.filter((part) => kind !== undefined && part.properties?.kind?.const === kind);
  return [schema, ...(matching.length > 0 ? matching : parts)];
}

/** The keys of the tables that a schema allows. */
export function keysOf(schema: Schema, root: Schema, value: unknown): Map<string, Schema> {
  const found = new Map<string, Schema>();
  for (const part of fitting(schema, root, value)) {
    for (const [key, one] of Object.entries(part.properties ?? {})) if (!found.has(key)) found.set(key, one);
  }
  return found;
}

/** The schema of keys that the user names, such as those of networks. */
function named(schema: Schema, root: Schema, value: unknown): Schema | undefined {
  for (const part of fitting(schema, root, value)) {
    if (isTable(part.additionalProperties)) return part.additionalProperties as Schema;
    if (part.items) return undefined;
  }
  return undefined;
}

/** The keys to offer in a table, without the keys that it has. */
export function keyOffers(root: Schema, path: Path, values: unknown, present: Table): Offer[] {
  const schema = schemaAt(root, path, values);
  if (!schema) return [];
  return [...keysOf(schema, root, present)]
    .filter(([key]) => !(key in present))
    .map(([key, one]) => {
      const whole = resolved(one, root);
      return { label: key, insert: `${key} = `, detail: short(whole, root), about: description(one, root) };
    });
}

/** The tables to offer in a header below a path. */
export function headerOffers(root: Schema, path: Path, values: unknown): Offer[] {
  const schema = schemaAt(root, path, values);
  if (!schema) return [];
  return [...keysOf(schema, root, undefined)].flatMap(([key, one]) => {
    const whole = resolved(one, root);
    const holds = whole.type === "array" ? resolved(whole.items ?? {}, root) : whole;
    if (holds.type !== "object" && variants(holds).length === 0) return [];
    return [{ label: key, insert: key, detail: short(whole, root), about: description(one, root) }];
  });
}

/** The values to offer for a key. */
export function valueOffers(root: Schema, path: Path, values: unknown): Offer[] {
  const schema = schemaAt(root, path, values);
  if (!schema) return [];
  const offer = (text: string, about: string) => ({ label: text, insert: text, detail: "", about });
  const listed = fitting(schema, root, undefined).flatMap((part) => choices(part));
  const kinds = variants(schema).map(({ kind, schema: one }) => offer(`"${kind}"`, one.description ?? ""));
  const texts = listed.map(({ value, about }) => offer(`"${value}"`, about));
  const examples = (schema.examples ?? []).map((one) => offer(JSON.stringify(one), "example"));
  const flags = schema.type === "boolean" ? [offer("true", ""), offer("false", "")] : [];
  const all = [...kinds, ...texts, ...flags, ...examples];
  return all.filter((one, index) => all.findIndex((other) => other.label === one.label) === index);
}

/** The description of a key: purpose, type or range, units and default. */
export function description(given: Schema, root: Schema): string {
  const schema = resolved(given, root);
  const about = given.description ?? schema.description ?? "";
  const type = short(schema, root);
  const units = Object.values(schema.units ?? {}).flatMap((sizes) =>
    Object.keys(sizes).sort((a, b) => sizes[a]! - sizes[b]!),
  );
  const parts = [about, type && `Type: ${type}.`, units.length > 0 ? `Units: ${units.join(", ")}.` : ""];
  if (schema.default !== undefined && schema.default !== null && !isTable(schema.default))
    parts.push(`Default: ${JSON.stringify(schema.default)}.`);
  return parts.filter(Boolean).join("\n");
}

/** The type of a value in few words. */
function short(schema: Schema, root: Schema): string {
  if (schema.units) return "quantity";
  const kinds = variants(schema);
  if (kinds.length > 0) return `one of ${kinds.length} kinds`;
  const listed = choices(schema);
  if (listed.length > 0) return `one of ${listed.length} values`;
  const { minimum, maximum } = schema;
  const range = minimum !== undefined && maximum !== undefined ? `, ${minimum} to ${maximum}` : "";
  switch (schema.type) {
    case "integer":
      return `whole number${range}`;
    case "number":
      return `number${range}`;
    case "boolean":
      return "true or false";
    case "array":
      return `list of ${short(resolved(schema.items ?? {}, root), root) || "values"}`;
    case "string":
      return "text";
    case "object":
      return "table";
    default:
      return "";
  }
}
