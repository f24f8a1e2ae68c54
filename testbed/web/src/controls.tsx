// What may change while a run is in progress: a slider for every quantity that the schema marks, and any other change as a key
// and a value.

import { useEffect, useMemo, useRef, useState } from "react";
import { useActions } from "./actions";
import { api } from "./api";
import type { Changed, Scenario } from "./api.gen";
import { Field, Notice } from "./parts";
import { isTable, resolved, variants, type Schema, type Table } from "./schema";
import { useLoaded } from "./state";

interface Slider {
  key: string;
  /** Value at the start of the run, in `unit`. */
  value: number;
  unit: string;
  least: number;
  most: number;
  logarithmic: boolean;
  about: string;
}

/** Every number and quantity of the scenario below a key that the schema marks as changeable. */
export function sliders(data: Table, root: Schema): Slider[] {
  const found: Slider[] = [];
  const walk = (value: unknown, given: Schema | undefined, path: string[], changeable: boolean) => {
    let schema = given && resolved(given, root);
    if (schema && isTable(value)) {
      const variant = variants(schema).find((one) => one.kind === value.kind);
      if (variant) schema = variant.schema;
    }
    const marked = changeable || Boolean(given?.changeable ?? schema?.changeable);
    if (isTable(value)) {
      for (const [key, inner] of Object.entries(value)) walk(inner, schema?.properties?.[key], [...path, key], marked);
      return;
    }
    if (!marked) return;
    const slider = sliderOf(path.join("."), value, schema);
    if (slider) found.push({ ...slider, about: given?.description ?? schema?.description ?? "" });
  };
  const entities = (list: string, items: [string, unknown][]) => {
    const schema = root.properties?.[list] && resolved(root.properties[list], root);
    const of = schema?.items ?? (isTable(schema?.additionalProperties) ? (schema.additionalProperties as Schema) : undefined);
    for (const [name, value] of items) walk(value, of, [list, name], false);
  };
  entities("link", ((data.link ?? []) as Table[]).map((one) => [String(one.name), one]));
  entities("network", Object.entries((data.network ?? {}) as Table));
  return found;
}

function sliderOf(key: string, value: unknown, schema: Schema | undefined): Omit<Slider, "about"> | null {
  if (typeof value === "number" && schema?.maximum !== undefined && schema.maximum <= 1 && (schema.minimum ?? 0) === 0) {
    return { key, value, unit: "", least: 0, most: schema.maximum, logarithmic: false };
  }
  const quantity = typeof value === "number" ? [String(value), String(value), ""] : /^([\d.]+(?:e[+-]?\d+)?) ?([A-Za-z/]+)$/.exec(String(value));
  if (!quantity) return null;
  const number = Number(quantity[1]);
  if (!(number > 0)) return null;
  const least = Math.max(number / 10, schema?.minimum ?? 0);
  return { key, value: number, unit: quantity[2] ?? "", least, most: Math.min(number * 10, schema?.maximum ?? Infinity), logarithmic: true };
}

export function Controls({ run, data, events }: { run: Scenario; data: Table; events: number }) {
  const schema = useLoaded<Schema>("/schema").value;
  const all = useMemo(() => (schema ? sliders(data, schema) : []), [data, schema]);
  const made = useLoaded<Changed[]>(`/runs/${run.id}/changes?at=${events}`);
  const kept = useRef<Changed[]>([]);
  if (made.value) kept.current = made.value;
  // The run answers before its answer is recorded.
  const unanswered = kept.current.some((one) => one.done === null && one.refused === null);
  const again = made.again;
  useEffect(() => {
    if (!unanswered) return;
    const timer = setInterval(again, 500);
    return () => clearInterval(timer);
  }, [unanswered, again]);
  const { trouble, act } = useActions(again);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const change = (of: string, to: string) => act(api.post<Changed>(`/runs/${run.id}/changes`, { key: of, value: to }));
  return (
    <>
      <h2>Change while it runs</h2>
      <Notice text={trouble} />
      {all.length === 0 && <p className="soft">Nothing of this scenario can change while it runs.</p>}
      {all.map((one) => (
        <Slide key={one.key} of={one} change={change} />
      ))}
      <details>
        <summary>Any key</summary>
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void change(key, value);
          }}
        >
          <Field label="Key" help="Such as link.sat.error; the reference marks the keys that can change.">
            {(id, described) => <input id={id} aria-describedby={described} value={key} onChange={(event) => setKey(event.target.value)} />}
          </Field>
          <Field label="New value" help={'As in TOML: 1 Mbit/s, 0.01, { kind = "packet", probability = 0.01 }'}>
            {(id, described) => <input id={id} aria-describedby={described} value={value} onChange={(event) => setValue(event.target.value)} />}
          </Field>
          <button disabled={!key || !value}>Change</button>
        </form>
      </details>
      <MadeList changes={kept.current} />
    </>
  );
}

const STEPS = 200;

function Slide({ of, change }: { of: Slider; change: (key: string, value: string) => Promise<void> }) {
  const [value, setValue] = useState(of.value);
  const [sent, setSent] = useState(of.value);
  const scale = (number: number) => (of.logarithmic ? Math.log(number / of.least) / Math.log(of.most / of.least) : (number - of.least) / (of.most - of.least));
  const back = (place: number) => {
    const number = of.logarithmic ? of.least * (of.most / of.least) ** place : of.least + place * (of.most - of.least);
    const rounded = Number(number.toPrecision(3));
    return Number.isInteger(of.value) && of.unit === "" && of.logarithmic ? Math.max(1, Math.round(rounded)) : rounded;
  };
  const text = `${value}${of.unit && ` ${of.unit}`}`;
  const send = () => {
    if (value === sent) return;
    setSent(value);
    void change(of.key, text);
  };
  return (
    <Field label={of.key}>
      {(id) => (
        <span className="slide">
          <input
            id={id}
            type="range"
            min={0}
            max={STEPS}
            value={Math.round(scale(value) * STEPS)}
            aria-valuetext={text}
            title={of.about.replace(/\s+/g, " ")}
            onChange={(event) => setValue(back(Number(event.target.value) / STEPS))}
            onPointerUp={send}
            onKeyUp={send}
            onBlur={send}
          />
          <output htmlFor={id}>{text}</output>
        </span>
      )}
    </Field>
  );
}

/** The changes that were made by hand in a run, with what became of them. */
export function MadeList({ changes }: { changes: Changed[] }) {
  if (changes.length === 0) return null;
  return (
    <div className="wide" role="region" aria-label="Changes by hand" tabIndex={0}>
      <table>
        <caption>Changes by hand</caption>
        <thead>
          <tr>
            <th>At</th>
            <th>Key</th>
            <th>Value</th>
            <th>By</th>
          </tr>
        </thead>
        <tbody>
          {changes.map((one) => (
            <tr key={one.id}>
              <td>{one.done !== null ? `${one.done.toFixed(2)} s` : one.refused ? "refused" : "asked"}</td>
              <th scope="row">
                <code>{one.key}</code>
                {one.refused && <p className="notice error">{one.refused}</p>}
              </th>
              <td>{one.value}</td>
              <td>{one.user}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
