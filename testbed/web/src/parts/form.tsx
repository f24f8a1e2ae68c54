// The form of one entity, generated from the scenario's schema. Each key has its unit, range,
// default and description.

import { memo, type ReactNode, useId, useState } from "react";
import {
  choices,
  initialValue,
  isTable,
  orderedKeys,
  resolved,
  type Schema,
  type Table,
  variants,
} from "../data/schema";
import { DropCurve, hasDropCurve } from "./drop_curve";
import "./form.css";
import { FieldError, useProblem, useProblemsBelow } from "./problems";
import { QuantityField } from "./quantity_field";
import { VaryButton } from "./vary";

interface FieldProperties {
  /** Path of the key, as in messages about problems. */
  at: string;
  schema: Schema;
  root: Schema;
  value: unknown;
  change: (value: unknown) => void;
  disabled?: boolean;
}

/** Tables with more keys than this have a search field. */
const SEARCH_MIN_KEYS = 12;

/** A form for the keys of a table, except the keys in `fixed`: first the common keys, then the
 * others in folded groups. With `only`, the form contains these keys, in their order. */
export function TableForm({
  at,
  schema,
  root,
  value,
  change,
  disabled,
  fixed = [],
  only,
}: FieldProperties & { fixed?: string[]; only?: string[] }) {
  const table = isTable(value) ? value : {};
  const id = useId();
  const [search, setSearch] = useState("");
  const required = schema.required ?? [];
  const keys = orderedKeys(schema).filter(
    ([key]) => key !== "kind" && !fixed.includes(key) && (!only || only.includes(key)),
  );
  if (only) keys.sort(([a], [b]) => only.indexOf(a) - only.indexOf(b));
  const set = (key: string, inner: unknown) => {
    const { [key]: _, ...rest } = table;
    change(inner === undefined ? rest : { ...table, [key]: inner });
  };
  const shown = keys.filter(([key, inner]) => matches(key, inner, root, search));
  const unfolded = (inner: Schema) => only !== undefined || search !== "" || inner.common !== false;
  const field = ([key, inner]: [string, Schema]) => (
    <KeyField
      key={key}
      name={key}
      at={`${at}.${key}`}
      schema={inner}
      root={root}
      value={table[key]}
      required={required.includes(key)}
      change={(given) => set(key, given)}
      disabled={disabled}
      alone={only?.length === 1}
      near={siblingQuantity(table, key, schema)}
    />
  );
  const groups = new Map<string, [string, Schema][]>();
  for (const one of shown) {
    if (unfolded(one[1])) continue;
    const name = one[1].group ?? "More";
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return (
    <div className="keys">
      {keys.length > SEARCH_MIN_KEYS && (
        <div className="field">
          <label htmlFor={id}>Search {keys.length} keys</label>
          <input
            id={id}
            type="search"
            value={search}
            placeholder="word in a name or description"
            onChange={(event) => setSearch(event.target.value)}
          />
          {shown.length === 0 && <p className="help">No matching key.</p>}
        </div>
      )}
      {shown.filter(([, inner]) => unfolded(inner)).map(field)}
      {[...groups].map(([name, inner]) => (
        <KeyGroup
          key={name}
          name={name}
          at={at}
          keys={inner.map(([key]) => key)}
          used={
            inner.length <= MAX_OPENED_KEYS &&
            inner.some(([key, one]) => table[key] !== undefined && (one.default ?? null) === null)
          }
        >
          {inner.map(field)}
        </KeyGroup>
      ))}
    </div>
  );
}

/** A larger group stays folded if its keys are set, because the engine fills in most of them. */
const MAX_OPENED_KEYS = 6;

/** A folded group of keys. It opens by itself if one of its keys is used or has a problem. */
function KeyGroup({
  name,
  at,
  keys,
  used,
  children,
}: {
  name: string;
  at: string;
  keys: string[];
  /** True if the scenario sets one of the keys. */
  used: boolean;
  children: ReactNode;
}) {
  const problems = useProblemsBelow(`${at}.`);
  const wrong = problems.some((one) => keys.includes(one.path.slice(at.length + 1).split(".")[0] ?? ""));
  const [open, setOpen] = useState(used);
  return (
    <details
      className="key-group"
      open={open || wrong}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        {name} <span className="soft">{keys.map((one) => one.replaceAll("_", " ")).join(", ")}</span>
      </summary>
      {(open || wrong) && <div className="keys">{children}</div>}
    </details>
  );
}

/** The value or default of another key that is a quantity, such as "75 kB". Empty if the table has
 * no such key. */
function siblingQuantity(table: Table, key: string, schema: Schema): string {
  const defaults = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, one.default] as const);
  const found = [...Object.entries(table), ...defaults].find(
    ([name, value]) => name !== key && typeof value === "string" && /^[\d.]+ \S+$/.test(value),
  );
  return found ? String(found[1]) : "";
}

/** Returns true if the name or the description of a key contains the search text. */
function matches(name: string, schema: Schema, root: Schema, search: string): boolean {
  const text = [
    name,
    name.replaceAll("_", " "),
    schema.description ?? resolved(schema, root).description ?? "",
  ].join(" ");
  return text.toLowerCase().includes(search.trim().toLowerCase());
}

/** The field of one key: a simple field, or a fieldset for a table or list. */
export const KeyField = memo(
  function KeyField({
    at,
    name,
    schema: given,
    root,
    value,
    required,
    change,
    disabled,
    alone = false,
    near = "",
  }: FieldProperties & {
    name: string;
    required: boolean;
    /** True if the heading above the field already says its name. */
    alone?: boolean;
    /** Another quantity of the same table, whose unit is proposed. */
    near?: string;
  }) {
    const id = useId();
    const schema = resolved(given, root);
    const simple = isSimple(schema);
    const about = [
      given.description ?? schema.description ?? "",
      range({ ...schema, description: given.description ?? schema.description }),
    ]
      .filter(Boolean)
      .join(" ");
    const label = name.replaceAll("_", " ");
    const problem = useProblem(at);
    const described =
      [about && `${id}-help`, problem && `${id}-error`].filter(Boolean).join(" ") || undefined;
    if (simple) {
      return (
        <div className="field">
          <label htmlFor={id}>
            {label}
            {required && <span className="soft"> (required)</span>}
          </label>
          <SimpleField
            id={id}
            described={described}
            invalid={problem !== ""}
            schema={schema}
            value={value}
            change={change}
            disabled={disabled}
            required={required}
            label={label}
            near={near}
          />
          <FieldError id={`${id}-error`} text={problem} />
          {about && <Description id={`${id}-help`} text={about} />}
          <VaryButton at={at} />
        </div>
      );
    }
    const isSet = value !== undefined && value !== null;
    // The engine fills in a default, so such a key is always set.
    const removable = !required && (given.default ?? schema.default ?? null) === null;
    return (
      <fieldset className={alone ? "inner alone" : "inner"} aria-describedby={described}>
        <legend className={alone ? "hidden" : undefined}>{label}</legend>
        <FieldError id={`${id}-error`} text={problem} />
        {about && <Description id={`${id}-help`} text={about} />}
        {(removable || !isSet) && (
          <label className="check">
            <input
              type="checkbox"
              checked={isSet}
              disabled={disabled}
              onChange={(event) => change(event.target.checked ? initialValue(given, root) : undefined)}
            />
            set
          </label>
        )}
        {isSet && (
          <ValueField at={at} schema={schema} root={root} value={value} change={change} disabled={disabled} />
        )}
      </fieldset>
    );
  },
  (before, after) =>
    before.value === after.value &&
    before.schema === after.schema &&
    before.disabled === after.disabled &&
    before.at === after.at &&
    before.near === after.near &&
    before.change === after.change,
);

function Description({ id, text }: { id: string; text: string }) {
  return (
    <p className="help" id={id}>
      {unwrapped(text)}
    </p>
  );
}

/** Removes the line breaks of the source, except between paragraphs, and the marks of code. */
function unwrapped(text: string): string {
  return text.replace(/([^\n])\n(?!\n|```)/g, "$1 ").replaceAll("`", "");
}

function range({ minimum, maximum, default: standard, changeable, description }: Schema): string {
  const parts = [];
  if (minimum !== undefined || maximum !== undefined)
    parts.push(`Range: ${minimum ?? "…"} to ${maximum ?? "…"}.`);
  const stated = /\bdefault\b/i.test(description ?? "");
  if (!stated && standard !== undefined && standard !== null && typeof standard !== "object")
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

function SimpleField({
  id,
  described,
  invalid = false,
  schema,
  value,
  change,
  disabled,
  required,
  label,
  near = "",
}: Omit<FieldProperties, "root" | "at"> & {
  id: string;
  described?: string;
  invalid?: boolean;
  required: boolean;
  label: string;
  near?: string;
}) {
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
  if (schema.units) {
    return (
      <QuantityField
        {...common}
        label={label}
        units={schema.units}
        value={value}
        change={change}
        near={near}
        example={String(schema.examples?.[0] ?? "")}
        required={required}
      />
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
      onChange={(event) => change(parsedInput(event.target.value, numeric))}
    />
  );
}

/** Parses the input for a key: a number if the key is numeric, otherwise the text. The check of the
 * scenario reports texts that are not valid. */
export function parsedInput(text: string, numeric: boolean): unknown {
  if (text === "") return undefined;
  return numeric && text.trim() !== "" && Number.isFinite(Number(text)) && !/\.0*$/.test(text)
    ? Number(text)
    : text;
}

function ValueField({ at, schema: given, root, value, change, disabled }: FieldProperties) {
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
              if (next) change(converted(value, next.schema, root));
            }}
          >
            {kinds.map((one) => (
              <option key={one.kind}>{one.kind}</option>
            ))}
          </select>
          {chosen?.schema.description && <p className="help">{unwrapped(chosen.schema.description)}</p>}
        </div>
        {chosen && hasDropCurve(kind) && isTable(value) && (
          <DropCurve schema={chosen.schema} root={root} value={value} change={change} disabled={disabled} />
        )}
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
        <SimpleField
          id={id}
          schema={schema}
          value={value}
          change={change}
          disabled={disabled}
          required
          label="value"
        />
      </>
    );
  }
  if (schema.type === "array" && choices(resolved(schema.items ?? {}, root)).length > 0) {
    return <CheckList schema={schema} root={root} value={value} change={change} disabled={disabled} />;
  }
  if (schema.type === "array") {
    return (
      <ListField at={at} schema={schema} root={root} value={value} change={change} disabled={disabled} />
    );
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
    return <ValueField at={at} schema={part} root={root} value={value} change={change} disabled={disabled} />;
  if (isTable(value) && isTable(schema.additionalProperties)) {
    return (
      <TablesField at={at} schema={schema} root={root} value={value} change={change} disabled={disabled} />
    );
  }
  return <p className="help">{JSON.stringify(value)} – edit this value in the TOML text.</p>;
}

/** Initial value of another variant. Keeps the values of its required keys, if they are set. */
function converted(value: unknown, schema: Schema, root: Schema): Table {
  const made = initialValue(schema, root) as Table;
  if (!isTable(value)) return made;
  for (const key of Object.keys(schema.properties ?? {})) {
    if (key !== "kind" && key in value && (schema.required ?? []).includes(key)) made[key] = value[key];
  }
  return made;
}

function ListField({ at, schema, root, value, change, disabled }: FieldProperties) {
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const of = schema.items ?? {};
  return (
    <div className="list">
      {items.map((item, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no names
        <div className="item" key={place}>
          <div className="grow">
            <ValueField
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
      <button type="button" disabled={disabled} onClick={() => change([...items, initialValue(of, root)])}>
        Add
      </button>
    </div>
  );
}

/** A list whose items are from a fixed set, as check boxes in the order of the schema. */
function CheckList({ schema, root, value, change, disabled }: Omit<FieldProperties, "at">) {
  const listed = choices(resolved(schema.items ?? {}, root)).map((one) => one.value);
  const chosen = Array.isArray(value) ? value.map(String) : [];
  const keep = (names: string[]) => change(listed.filter((one) => names.includes(one)));
  return (
    <>
      <div className="row">
        <button type="button" disabled={disabled} onClick={() => keep(listed)}>
          All
        </button>
        <button type="button" disabled={disabled} onClick={() => keep([])}>
          None
        </button>
      </div>
      <div className="check-list">
        {listed.map((one) => (
          <label className="check" key={one}>
            <input
              type="checkbox"
              checked={chosen.includes(one)}
              disabled={disabled}
              onChange={(event) =>
                keep(event.target.checked ? [...chosen, one] : chosen.filter((name) => name !== one))
              }
            />
            {one.replaceAll("_", " ")}
          </label>
        ))}
      </div>
    </>
  );
}

function TablesField({ at, schema, root, value, change, disabled }: FieldProperties) {
  const table = value as Table;
  return (
    <>
      {Object.entries(table).map(([name, inner]) => (
        <fieldset className="inner" key={name}>
          <legend>{name}</legend>
          <ValueField
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
