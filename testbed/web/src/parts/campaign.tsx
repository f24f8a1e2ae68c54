// The builder of a campaign: the choice of a key and of its values, and the table of the points.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api } from "../data/api";
import type { Plan } from "../data/api.gen";
import type { Edit } from "../data/draft";
import { duration, rounded } from "../data/format";
import { type Leaf, leaves, steps } from "../data/keys";
import { significant } from "../data/numbers";
import { quantity, type Units, unitsOf } from "../data/quantities";
import type { Schema, Table } from "../data/schema";
import { message, useLoaded } from "../data/state";
import { Field, Notice, ScrollRegion } from "./basics";
import "./campaign.css";

/** A number or a quantity that can be varied over a range. */
interface Numeric {
  number: number;
  unit: string;
  units: Units;
  whole: boolean;
}

function numericOf({ value, schema }: Leaf, root: Schema): Numeric | null {
  const whole = schema?.type === "integer";
  if (typeof value === "number") return { number: value, unit: "", units: {}, whole };
  const units = schema ? unitsOf(schema, root) : {};
  const found = quantity(value, units);
  return found && { number: found.number, unit: found.unit, units, whole: false };
}

/** Largest number of values of a range. */
const MAX_STEPS = 100;

/** The form that varies one key, over a list or a range of values. `chosen` is a key that a button
 * of another form has chosen. */
export function VaryForm({ data, chosen, edit }: { data: Table; chosen: string; edit: Edit }) {
  const schema = useLoaded<Schema>("/schema").value;
  const all = useMemo(() => (schema ? leaves(data, schema) : []), [data, schema]);
  const [key, setKey] = useState(chosen);
  useEffect(() => {
    if (chosen) setKey(chosen);
  }, [chosen]);
  const leaf = all.find((one) => one.path.join(".") === key.trim());
  const numeric = leaf && schema ? numericOf(leaf, schema) : null;
  const [mode, setMode] = useState<"range" | "list">("range");
  const vary = async (values: unknown[]) => {
    if (await edit([{ path: ["campaign", "vary", key.trim()], value: values }]))
      setKey((before) => (before === key ? "" : before));
  };
  return (
    <div className="vary-form">
      <Field
        label="Key to vary"
        help={
          leaf
            ? `Now ${String(leaf.value)}. ${firstSentence(leaf.about)}`
            : `Type a part of a name, such as rate, delay or congestion. ${all.length} keys have values.`
        }
      >
        {(id, described) => (
          <>
            <input
              id={id}
              list={`${id}-keys`}
              autoComplete="off"
              aria-describedby={described}
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
            <datalist id={`${id}-keys`}>
              {all.map((one) => (
                <option
                  key={one.path.join(".")}
                  value={one.path.join(".")}
                  label={`now ${String(one.value)}`}
                />
              ))}
            </datalist>
          </>
        )}
      </Field>
      {numeric && (
        <fieldset className="row">
          <legend>Values as</legend>
          {(["range", "list"] as const).map((one) => (
            <label key={one} className="check">
              <input type="radio" name="vary-mode" checked={mode === one} onChange={() => setMode(one)} />
              {one}
            </label>
          ))}
        </fieldset>
      )}
      {numeric && mode === "range" ? (
        <RangeForm key={key} of={numeric} vary={vary} />
      ) : (
        <ListForm key={key} leaf={leaf} ready={key.trim() !== ""} vary={vary} />
      )}
    </div>
  );
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/.exec(text.replace(/\s+/g, " ").replaceAll("`", ""))?.[0] ?? "";
}

function RangeForm({ of, vary }: { of: Numeric; vary: (values: unknown[]) => void }) {
  const [from, setFrom] = useState(String(significant(of.number / 2, 4)));
  const [to, setTo] = useState(String(significant(of.number * 2, 4)));
  const [count, setCount] = useState("5");
  const [log, setLog] = useState(false);
  const [unit, setUnit] = useState(of.unit);
  const units = Object.values(of.units).find((sizes) => of.unit in sizes) ?? {};
  const [first, last, number] = [Number(from), Number(to), Number(count)];
  const wrong = [
    [
      !from.trim() || !to.trim() || !Number.isFinite(first) || !Number.isFinite(last),
      "From and to must be numbers.",
    ],
    [
      !(number >= 2 && number <= MAX_STEPS && Number.isInteger(number)),
      `Steps: a whole number from 2 to ${MAX_STEPS}.`,
    ],
    [log && !(first > 0 && last > 0), "A logarithmic scale needs values greater than zero."],
  ].find(([is]) => is)?.[1] as string | undefined;
  const values = wrong ? [] : steps(first, last, number, log, of.whole);
  const texts = values.map((one) => (unit ? `${one} ${unit}` : one));
  const input = (label: string, value: string, set: (value: string) => void) => (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          className="short"
          inputMode="decimal"
          value={value}
          onChange={(event) => set(event.target.value)}
        />
      )}
    </Field>
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!wrong) vary(texts);
      }}
    >
      <div className="row">
        {input("From", from, setFrom)}
        {input("To", to, setTo)}
        {unit && (
          <Field label="Unit">
            {(id) => (
              <select id={id} value={unit} onChange={(event) => setUnit(event.target.value)}>
                {Object.keys(units).map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            )}
          </Field>
        )}
        {input("Steps", count, setCount)}
        <Field label="Scale">
          {(id) => (
            <select
              id={id}
              value={log ? "log" : "linear"}
              onChange={(event) => setLog(event.target.value === "log")}
            >
              <option value="linear">linear</option>
              <option value="log">logarithmic</option>
            </select>
          )}
        </Field>
      </div>
      <p className={wrong ? "field-error" : "soft"} role="status">
        {wrong ?? `${values.length} values: ${texts.join(", ")}`}
      </p>
      <button type="submit" disabled={wrong !== undefined}>
        Vary
      </button>
    </form>
  );
}

function ListForm({
  leaf,
  ready,
  vary,
}: {
  leaf: Leaf | undefined;
  ready: boolean;
  vary: (values: unknown[]) => void;
}) {
  const [values, setValues] = useState("");
  const choices = leaf?.choices.length
    ? leaf.choices
    : typeof leaf?.value === "boolean"
      ? ["true", "false"]
      : [];
  const list = values
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  const typed = (text: string) => {
    if (typeof leaf?.value === "boolean") return text === "true";
    return Number.isFinite(Number(text)) ? Number(text) : text;
  };
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        vary(list.map(typed));
      }}
    >
      {choices.length > 0 ? (
        <fieldset className="choices">
          <legend>Values</legend>
          {choices.map((one) => (
            <label key={one} className="check">
              <input
                type="checkbox"
                checked={list.includes(one)}
                onChange={(event) =>
                  setValues(
                    (event.target.checked ? [...list, one] : list.filter((other) => other !== one)).join(","),
                  )
                }
              />
              {one}
            </label>
          ))}
        </fieldset>
      ) : (
        <Field label="Values" help="Separated by commas, for example 1 Mbit/s, 5 Mbit/s, 20 Mbit/s">
          {(id, described) => (
            <input
              id={id}
              aria-describedby={described}
              value={values}
              onChange={(event) => setValues(event.target.value)}
            />
          )}
        </Field>
      )}
      <button type="submit" disabled={!ready || list.length === 0}>
        Vary
      </button>
    </form>
  );
}

/** The shortest end of a key that differs from the ends of the other keys. */
function shortName(key: string, keys: string[]): string {
  const parts = key.split(".");
  for (let count = 1; count < parts.length; count++) {
    const end = parts.slice(-count).join(".");
    if (keys.every((one) => one === key || !`.${one}`.endsWith(`.${end}`))) return end;
  }
  return key;
}

/** Delay after a change of the scenario before its points are requested, in milliseconds. */
const DEBOUNCE_MS = 300;

/** The table of the points of a campaign, with the expected time of each. */
export function PointTable({ text, instruments }: { text: string; instruments: string[] }) {
  const [wanted, setWanted] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, error } = useQuery<Plan>({
    queryKey: ["/drafts/points", wanted, instruments],
    queryFn: () => api.computed<Plan>("/drafts/points", { text: wanted, instruments }),
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  if (error) return <Notice text={message(error)} kind="plain" />;
  if (!data) return <p aria-busy="true">Loading…</p>;
  const refused = data.points.filter((one) => one.refused !== null).length;
  return (
    <section className="points">
      <p role="status">
        <strong>
          {data.runs} {data.runs === 1 ? "run" : "runs"}
        </strong>
        : {data.count} {data.count === 1 ? "point" : "points"} × {data.replications}{" "}
        {data.replications === 1 ? "replication" : "replications"} × {instruments.length}{" "}
        {instruments.length === 1 ? "instrument" : "instruments"}
        {data.seconds !== null && `, about ${duration(data.seconds)} if they run one after the other`}.
        {refused > 0 && ` ${refused} ${refused === 1 ? "point" : "points"} cannot run.`}
      </p>
      <ScrollRegion label="Points of the campaign">
        <table>
          <caption>
            Points{data.count > data.points.length && `: the first ${data.points.length} of ${data.count}`}
          </caption>
          <thead>
            <tr>
              {data.keys.map((one) => (
                <th key={one} title={one}>
                  {shortName(one, data.keys)}
                </th>
              ))}
              <th>Events per run</th>
              <th>Expected time</th>
            </tr>
          </thead>
          <tbody>
            {data.points.map((one) => (
              <tr key={one.values.join("\n")}>
                {one.values.map((value, place) => (
                  <th scope="row" key={data.keys[place]}>
                    {value}
                  </th>
                ))}
                {one.refused === null ? (
                  <>
                    <td>{rounded(one.events === null ? null : significant(one.events, 2))}</td>
                    <td>{one.seconds === null ? "–" : `${significant(one.seconds, 2)} s`}</td>
                  </>
                ) : (
                  <td colSpan={2} className="text field-error">
                    {one.refused}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
