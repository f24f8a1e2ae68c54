// The form of one entity, generated from the scenario's schema. Each key has its unit, range,
// default and description.

import { memo, useId, useState } from "react";
import { beginning, choices, isTable, resolved, type Schema, type Table, variants } from "../data/schema";
import { useProblem, Wrong } from "./problems";

interface Given {
  /** Path of the key, as in messages about problems. */
  at: string;
  schema: Schema;
  root: Schema;
  value: unknown;
  change: (value: unknown) => void;
  disabled?: boolean;
}

/** Tables with more keys than this have a search field. */
const MANY = 12;

/** A form for the keys of a table, except the keys in `fixed`. */
export function TableForm({
  at,
  schema,
  root,
  value,
  change,
  disabled,
  fixed = [],
}: Given & { fixed?: string[] }) {
  const table = isTable(value) ? value : {};
  const id = useId();
  const [sought, setSought] = useState("");
  const required = schema.required ?? [];
  const keys = Object.entries(schema.properties ?? {}).filter(
    ([key]) => key !== "kind" && !fixed.includes(key),
  );
  const set = (key: string, inner: unknown) => {
    const { [key]: _, ...rest } = table;
    change(inner === undefined ? rest : { ...table, [key]: inner });
  };
  const shown = keys.filter(([key, inner]) => mentions(key, inner, root, sought));
  return (
    <div className="keys">
      {keys.length > MANY && (
        <div className="field">
          <label htmlFor={id}>Search {keys.length} keys</label>
          <input
            id={id}
            type="search"
            value={sought}
            placeholder="word in a name or description"
            onChange={(event) => setSought(event.target.value)}
          />
          {shown.length === 0 && <p className="help">No matching key.</p>}
        </div>
      )}
      {shown.map(([key, inner]) => (
        <Key
          key={key}
          name={key}
          at={`${at}.${key}`}
          schema={inner}
          root={root}
          value={table[key]}
          required={required.includes(key)}
          change={(given) => set(key, given)}
          disabled={disabled}
        />
      ))}
    </div>
  );
}

/** Returns true if the name or the description of a key contains the search text. */
function mentions(name: string, schema: Schema, root: Schema, sought: string): boolean {
  const text = [
    name,
    name.replaceAll("_", " "),
    schema.description ?? resolved(schema, root).description ?? "",
  ].join(" ");
  return text.toLowerCase().includes(sought.trim().toLowerCase());
}

const Key = memo(
  function Key({
    at,
    name,
    schema: given,
    root,
    value,
    required,
    change,
    disabled,
  }: Given & { name: string; required: boolean }) {
    const id = useId();
    const schema = resolved(given, root);
    const simple = isSimple(schema);
    const about = [given.description ?? schema.description ?? "", range(schema)].filter(Boolean).join(" ");
    const label = name.replaceAll("_", " ");
    const problem = useProblem(at);
    const described =
      [about && `${id}-help`, problem && `${id}-wrong`].filter(Boolean).join(" ") || undefined;
    if (simple) {
      return (
        <div className="field">
          <label htmlFor={id}>
            {label}
            {required && <span className="soft"> (required)</span>}
          </label>
          <Simple
            id={id}
            described={described}
            invalid={problem !== ""}
            schema={schema}
            value={value}
            change={change}
            disabled={disabled}
            required={required}
          />
          <Wrong id={`${id}-wrong`} text={problem} />
          {about && <About id={`${id}-help`} text={about} />}
        </div>
      );
    }
    const isSet = value !== undefined && value !== null;
    return (
      <fieldset className="inner" aria-describedby={described}>
        <legend>{label}</legend>
        <Wrong id={`${id}-wrong`} text={problem} />
        {about && <About id={`${id}-help`} text={about} />}
        {!required && (
          <label className="check">
            <input
              type="checkbox"
              checked={isSet}
              disabled={disabled}
              onChange={(event) => change(event.target.checked ? beginning(given, root) : undefined)}
            />
            set
          </label>
        )}
        {isSet && (
          <Value at={at} schema={schema} root={root} value={value} change={change} disabled={disabled} />
        )}
      </fieldset>
    );
  },
  (before, after) =>
    before.value === after.value &&
    before.schema === after.schema &&
    before.disabled === after.disabled &&
    before.at === after.at &&
    before.change === after.change,
);

function About({ id, text }: { id: string; text: string }) {
  return (
    <p className="help" id={id}>
      {flowing(text)}
    </p>
  );
}

/** Removes the line breaks of the source, except between paragraphs, and the marks of code. */
function flowing(text: string): string {
  return text.replace(/([^\n])\n(?!\n|```)/g, "$1 ").replaceAll("`", "");
}

function range({ minimum, maximum, default: standard, changeable }: Schema): string {
  const parts = [];
  if (minimum !== undefined || maximum !== undefined)
    parts.push(`Range: ${minimum ?? "…"} to ${maximum ?? "…"}.`);
  if (standard !== undefined && standard !== null && typeof standard !== "object")
    parts.push(`Default: ${String(standard)}.`);
  if (changeable) parts.push("Can be changed during a run.");
  return parts.join(" ");
}

function isSimple(schema: Schema): boolean {
  if (choices(schema).length > 0) return true;
  return (
    ["string", "boolean", "integer", "number"].includes(String(schema.type)) && !schema.oneOf && !schema.anyOf
  );
}

function Simple({
  id,
  described,
  invalid = false,
  schema,
  value,
  change,
  disabled,
  required,
}: Omit<Given, "root" | "at"> & { id: string; described?: string; invalid?: boolean; required: boolean }) {
  const common = { id, "aria-describedby": described, "aria-invalid": invalid || undefined, disabled };
  const listed = choices(schema);
  if (schema.type === "boolean" && listed.length === 0) {
    return (
      <select
        {...common}
        value={value === undefined ? "" : String(value)}
        onChange={(event) => change(event.target.value === "" ? undefined : event.target.value === "true")}
      >
        {(!required || value === undefined) && <option value="">not set</option>}
        <option value="true">yes</option>
        <option value="false">no</option>
      </select>
    );
  }
  if (listed.length > 0) {
    return (
      <select
        {...common}
        value={value === undefined ? "" : String(value)}
        onChange={(event) => change(event.target.value === "" ? undefined : event.target.value)}
      >
        {(!required || value === undefined) && <option value="">not set</option>}
        {listed.map((one) => (
          <option key={one.value} value={one.value} title={one.about}>
            {one.value}
          </option>
        ))}
      </select>
    );
  }
  const numeric = schema.type === "integer" || schema.type === "number";
  // A single-line field would lose the line breaks.
  if (schema.long || (typeof value === "string" && value.includes("\n"))) {
    return (
      <textarea
        {...common}
        className="toml"
        rows={8}
        spellCheck={false}
        value={value === undefined || value === null ? "" : String(value)}
        onChange={(event) => change(event.target.value || undefined)}
      />
    );
  }
  return (
    <input
      {...common}
      type="text"
      inputMode={numeric ? "decimal" : undefined}
      value={value === undefined || value === null ? "" : String(value)}
      placeholder={[required ? "" : "not set", schema.examples?.[0] && `such as ${schema.examples[0]}`]
        .filter(Boolean)
        .join(", ")}
      onChange={(event) => change(typed(event.target.value, numeric))}
    />
  );
}

/** Parses the input for a key: a number if the key is numeric, otherwise the text. The check of the
 * scenario reports texts that are not valid. */
export function typed(text: string, numeric: boolean): unknown {
  if (text === "") return undefined;
  return numeric && text.trim() !== "" && Number.isFinite(Number(text)) && !/\.0*$/.test(text)
    ? Number(text)
    : text;
}

function Value({ at, schema: given, root, value, change, disabled }: Given) {
  const id = useId();
  const schema = resolved(given, root);
  const kinds = variants(schema);
  if (kinds.length > 0) {
    const kind = isTable(value) ? String(value.kind) : String(value);
    const chosen = kinds.find((one) => one.kind === kind);
    return (
      <>
        <div className="field">
          <label htmlFor={id}>kind</label>
          <select
            id={id}
            value={chosen ? kind : ""}
            disabled={disabled}
            onChange={(event) => {
              const next = kinds.find((one) => one.kind === event.target.value);
              if (next) change(moved(value, next.schema, root));
            }}
          >
            {kinds.map((one) => (
              <option key={one.kind}>{one.kind}</option>
            ))}
          </select>
          {chosen?.schema.description && <p className="help">{flowing(chosen.schema.description)}</p>}
        </div>
        {chosen && (
          <TableForm
            at={at}
            schema={chosen.schema}
            root={root}
            value={value}
            change={change}
            disabled={disabled}
          />
        )}
      </>
    );
  }
  if (isSimple(schema)) {
    return (
      <>
        <label htmlFor={id} className="hidden">
          value
        </label>
        <Simple id={id} schema={schema} value={value} change={change} disabled={disabled} required />
      </>
    );
  }
  if (schema.type === "array") {
    return <List at={at} schema={schema} root={root} value={value} change={change} disabled={disabled} />;
  }
  if (schema.properties) {
    return (
      <TableForm at={at} schema={schema} root={root} value={value} change={change} disabled={disabled} />
    );
  }
  const parts = schema.oneOf ?? schema.anyOf ?? [];
  const part = parts
    .map((one) => resolved(one, root))
    .find((one) => (isTable(value) ? one.type === "object" || one.properties : one.type !== "object"));
  if (part && part !== schema)
    return <Value at={at} schema={part} root={root} value={value} change={change} disabled={disabled} />;
  if (isTable(value) && isTable(schema.additionalProperties)) {
    return <Named at={at} schema={schema} root={root} value={value} change={change} disabled={disabled} />;
  }
  return <p className="help">{JSON.stringify(value)} – edit this value in the TOML text.</p>;
}

/** Initial value of another variant, with the values of the required keys that both variants have.
 */
function moved(value: unknown, schema: Schema, root: Schema): Table {
  const made = beginning(schema, root) as Table;
  if (!isTable(value)) return made;
  for (const key of Object.keys(schema.properties ?? {})) {
    if (key !== "kind" && key in value && (schema.required ?? []).includes(key)) made[key] = value[key];
  }
  return made;
}

function List({ at, schema, root, value, change, disabled }: Given) {
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const of = schema.items ?? {};
  return (
    <div className="list">
      {items.map((item, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no names
        <div className="item" key={place}>
          <div className="grow">
            <Value
              at={`${at}.${place}`}
              schema={of}
              root={root}
              value={item}
              disabled={disabled}
              change={(given) => change(items.map((other, index) => (index === place ? given : other)))}
            />
          </div>
          <button
            type="button"
            disabled={disabled}
            onClick={() => change(items.filter((_, other) => other !== place))}
            aria-label={`Remove item ${place + 1}`}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" disabled={disabled} onClick={() => change([...items, beginning(of, root)])}>
        Add
      </button>
    </div>
  );
}

function Named({ at, schema, root, value, change, disabled }: Given) {
  const table = value as Table;
  return (
    <>
      {Object.entries(table).map(([name, inner]) => (
        <fieldset className="inner" key={name}>
          <legend>{name}</legend>
          <Value
            at={`${at}.${name}`}
            schema={schema.additionalProperties as Schema}
            root={root}
            value={inner}
            disabled={disabled}
            change={(given) => change({ ...table, [name]: given })}
          />
        </fieldset>
      ))}
    </>
  );
}
