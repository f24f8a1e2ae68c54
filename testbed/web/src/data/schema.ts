// The subset of JSON Schema used by the schema of scenarios.

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  changeable?: boolean;
  /** Units of a quantity: for each base unit, the units and their sizes in the base unit. */
  units?: Record<string, Record<string, number>>;
  /** Transports that can carry an application. The first is the default. */
  transports?: string[];
  /** True for keys that forms show at once. */
  common?: boolean;
  /** The position of a key in its form. */
  order?: number;
  /** The group in which forms fold a key that is not common. */
  group?: string;
  /** True for a text of several lines, which a file may contain instead. */
  long?: boolean;
}

export type Table = Record<string, unknown>;

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns true for alternatives that forms do not offer: the null of an optional key, a file, and
 * the inline contents of a file. */
function foreign(part: Schema): boolean {
  return part.type === "null" || part.properties?.file !== undefined || part.pattern === "\n";
}

/** Follows references, and drops the alternatives that forms do not offer. Keywords next to a
 * reference override those of its target. */
export function resolved(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let depth = 0; depth < 8; depth++) {
    const parts = (found.anyOf ?? []).filter((part) => !foreign(part));
    if (found.anyOf && parts.length === 1) {
      const { anyOf: among, ...rest } = found;
      found = { ...parts[0], ...rest };
      if (among.some((part) => part.properties?.file !== undefined)) found.long = true;
    } else if (found.$ref) {
      const { $ref, ...rest } = found;
      found = { ...root.$defs?.[$ref.split("/").pop() ?? ""], ...rest };
    } else break;
  }
  if (Array.isArray(found.type)) found = { ...found, type: found.type.find((kind) => kind !== "null") };
  return found;
}

/** The keys of a table in the order of forms. */
export function orderedKeys(schema: Schema): [string, Schema][] {
  return Object.entries(schema.properties ?? {}).sort(([, a], [, b]) => (a.order ?? 0) - (b.order ?? 0));
}

/** The variants of a schema with the key `kind`; empty for other schemas. */
export function variants(schema: Schema): { kind: string; schema: Schema }[] {
  return (schema.oneOf ?? []).flatMap((part) => {
    const kind = part.properties?.kind?.const;
    return typeof kind === "string" ? [{ kind, schema: part }] : [];
  });
}

/** The allowed values of a text, each with its description; empty if any text is allowed. */
export function choices(schema: Schema): { value: string; about: string }[] {
  if (schema.enum)
    return schema.enum.filter((one) => one !== null).map((one) => ({ value: String(one), about: "" }));
  const parts = schema.oneOf ?? schema.anyOf ?? [];
  if (parts.length > 0 && parts.every((part) => part.const !== undefined || part.enum !== undefined)) {
    return parts.flatMap((part) =>
      (part.enum ?? [part.const]).map((one) => ({ value: String(one), about: part.description ?? "" })),
    );
  }
  return [];
}

/** The initial value of a key: its default, or else a minimal valid value. */
export function initialValue(given: Schema, root: Schema, depth = 0): unknown {
  const schema = resolved(given, root);
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.const !== undefined) return schema.const;
  const kinds = variants(schema);
  if (kinds[0]) return depth > 5 ? kinds[0].kind : initialValue(kinds[0].schema, root, depth + 1);
  const listed = choices(schema);
  if (listed[0]) return listed[0].value;
  if (schema.oneOf?.[0] ?? schema.anyOf?.[0])
    return initialValue((schema.oneOf ?? schema.anyOf)![0]!, root, depth + 1);
  switch (schema.type) {
    case "boolean":
      return false;
    case "integer":
    case "number":
      return schema.minimum ?? 0;
    case "array":
      return [];
    case "string":
      return schema.examples?.[0] ?? "";
  }
  const example = schema.examples?.[0];
  const made: Table = isTable(example) ? { ...example } : {};
  for (const key of schema.required ?? []) {
    const inner = schema.properties?.[key];
    if (inner && !(key in made)) made[key] = initialValue(inner, root, depth + 1);
  }
  return made;
}

export interface Change {
  path: string[];
  value: unknown;
}

/** The changes that turn one value into another. Tables are compared key by key; lists, and tables
 * of another kind, are replaced as a whole. */
export function changes(before: unknown, after: unknown, path: string[]): Change[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isTable(before) && isTable(after) && before.kind === after.kind) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => changes(before[key], after[key], [...path, key]));
  }
  return [{ path, value: after === undefined ? null : after }];
}
