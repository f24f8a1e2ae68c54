// Manual changes to a run in progress: a slider for each number that the schema marks as
// changeable, and a form for other keys.

import { useEffect, useMemo, useRef, useState } from "react";
import { api } from "../data/api";
import type { Changed, Scenario } from "../data/api.gen";
import { leaves } from "../data/keys";
import { significant } from "../data/numbers";
import { inUnit, quantity, type Units, unitsOf } from "../data/quantities";
import type { Schema, Table } from "../data/schema";
import { message, useLoaded } from "../data/state";
import { Field, Notice, ScrollRegion } from "./basics";

interface Slider {
  key: string;
  /** Value at the start of the run, in `unit`. */
  value: number;
  unit: string;
  units: Units;
  min: number;
  max: number;
  logarithmic: boolean;
  about: string;
}

/** Sliders for all numbers and quantities of the links and networks of a scenario that the schema
 * marks as changeable. */
export function sliders(data: Table, root: Schema): Slider[] {
  return leaves({ link: data.link, network: data.network }, root)
    .filter((one) => one.changeable)
    .flatMap(({ path, value, schema, about }) => {
      const slider = sliderOf(path.join("."), value, schema, schema ? unitsOf(schema, root) : {});
      return slider ? [{ ...slider, about }] : [];
    });
}

function sliderOf(
  key: string,
  value: unknown,
  schema: Schema | undefined,
  units: Units,
): Omit<Slider, "about"> | null {
  if (
    typeof value === "number" &&
    schema?.maximum !== undefined &&
    schema.maximum <= 1 &&
    (schema.minimum ?? 0) === 0
  ) {
    return { key, value, unit: "", units: {}, min: 0, max: schema.maximum, logarithmic: false };
  }
  const { number, unit } =
    typeof value === "number"
      ? { number: value, unit: "" }
      : (quantity(value, units) ?? { number: 0, unit: "" });
  if (number <= 0) return null;
  const min = Math.max(number / 10, schema?.minimum ?? 0);
  return {
    key,
    value: number,
    unit,
    units,
    min,
    max: Math.min(number * 10, schema?.maximum ?? Infinity),
    logarithmic: true,
  };
}

/** The manual changes of a run. An increment of `events` reloads the list of changes. `recorded` is
 * called after each change that the run has made. */
export function Controls({
  run,
  data,
  events,
  recorded,
}: {
  run: Scenario;
  data: Table;
  events: number;
  recorded: () => void;
}) {
  const schema = useLoaded<Schema>("/schema").value;
  const all = useMemo(() => (schema ? sliders(data, schema) : []), [data, schema]);
  const made = useLoaded<Changed[]>(`/runs/${run.id}/changes?at=${events}`);
  const [changes, setChanges] = useState<Changed[]>([]);
  useEffect(() => {
    if (made.value) setChanges(made.value);
  }, [made.value]);
  // The run may answer before the test bed has recorded the answer, so the list is polled.
  const unanswered = changes.some((one) => one.done === null && one.refused === null);
  const count = changes.filter((one) => one.done !== null).length;
  useEffect(() => {
    if (count > 0) recorded();
  }, [count, recorded]);
  const reload = made.reload;
  useEffect(() => {
    if (!unanswered) return;
    const timer = setInterval(reload, 500);
    return () => clearInterval(timer);
  }, [unanswered, reload]);
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const { pending, failure, change } = useChanges(run.id, setChanges);
  /** The last change of each key, which has the current value. */
  const set = new Map(changes.flatMap((one) => (one.done !== null ? [[one.key, one]] : [])));
  return (
    <>
      <h2>Change settings during the run</h2>
      <Notice text={failure} />
      {all.length === 0 && (
        <p className="soft">This scenario has no settings that can be changed during a run.</p>
      )}
      {grouped(all).map(([part, sliders], place) => (
        <details key={part} open={place === 0}>
          <summary>{part}</summary>
          {sliders.map((one) => (
            <SliderField
              key={one.key}
              of={one}
              set={set.get(one.key)}
              pending={pending.includes(one.key)}
              change={change}
            />
          ))}
        </details>
      ))}
      <details>
        <summary>Any key</summary>
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            change(key, value);
          }}
        >
          <Field
            label="Key"
            help="For example link.sat.error. The reference marks keys that can be changed during a run."
          >
            {(id, described) => (
              <input
                id={id}
                aria-describedby={described}
                value={key}
                onChange={(event) => setKey(event.target.value)}
              />
            )}
          </Field>
          <Field
            label="New value"
            help={'For example 1 Mbit/s, 0.01 or { kind = "packet", probability = 0.01 }'}
          >
            {(id, described) => (
              <input
                id={id}
                aria-describedby={described}
                value={value}
                onChange={(event) => setValue(event.target.value)}
              />
            )}
          </Field>
          <button type="submit" disabled={!key || !value}>
            Change
          </button>
        </form>
      </details>
      <ManualChanges changes={changes} />
    </>
  );
}

/** The sliders by part of the scenario, such as "link.satellite". */
function grouped(all: Slider[]): [string, Slider[]][] {
  const found = new Map<string, Slider[]>();
  for (const one of all) {
    const part = one.key.split(".").slice(0, 2).join(".");
    found.set(part, [...(found.get(part) ?? []), one]);
  }
  return [...found];
}

/** Interval at which the run's answer is polled, in milliseconds. */
const POLL_MS = 200;
/** Longest wait for the run's answer to one change, in milliseconds. */
const ANSWER_TIMEOUT_MS = 5000;

/** Sends changes to a run one at a time, each after the answer to the previous one. If a key
 * changes several times in between, only its latest value is sent. `pending` lists the keys whose
 * change has no answer yet. */
function useChanges(
  run: string,
  onChanges: (changes: Changed[]) => void,
): { pending: string[]; failure: string; change: (key: string, value: string) => void } {
  const queued = useRef(new Map<string, string>());
  const busy = useRef(false);
  const mounted = useRef(true);
  const [pending, setPending] = useState<string[]>([]);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    mounted.current = true;
    return () => {
      mounted.current = false;
    };
  }, []);
  const answered = async (made: Changed) => {
    const until = Date.now() + ANSWER_TIMEOUT_MS;
    while (mounted.current && Date.now() < until) {
      const all = await api.get<Changed[]>(`/runs/${run}/changes`);
      onChanges(all);
      const found = all.find((one) => one.id === made.id);
      if (!found || found.done !== null || found.refused !== null) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  const send = async () => {
    if (busy.current) return;
    busy.current = true;
    for (let next = first(queued.current); next && mounted.current; next = first(queued.current)) {
      const [key, value] = next;
      queued.current.delete(key);
      try {
        await answered(await api.post<Changed>(`/runs/${run}/changes`, { key, value }));
      } catch (error) {
        setFailure(message(error));
      }
      setPending([...queued.current.keys()]);
    }
    busy.current = false;
  };
  const change = (key: string, value: string) => {
    setFailure("");
    queued.current.set(key, value);
    setPending((before) => [...new Set([...before, key])]);
    void send();
  };
  return { pending, failure, change };
}

function first(of: Map<string, string>): [string, string] | undefined {
  return of.entries().next().value;
}

const STEPS = 200;

function SliderField({
  of,
  set,
  pending,
  change,
}: {
  of: Slider;
  set: Changed | undefined;
  pending: boolean;
  change: (key: string, value: string) => void;
}) {
  // The position of the slider while the user moves it (otherwise null). At other times, the slider
  // shows the value of the run, which another window may have changed.
  const [moved, setMoved] = useState<number | null>(null);
  const current = (set && valueIn(set.value, of)) ?? of.value;
  const value = moved ?? current;
  const scale = (number: number) =>
    of.logarithmic
      ? Math.log(number / of.min) / Math.log(of.max / of.min)
      : (number - of.min) / (of.max - of.min);
  const back = (place: number) => {
    const number = of.logarithmic ? of.min * (of.max / of.min) ** place : of.min + place * (of.max - of.min);
    const rounded = significant(number, 3);
    return Number.isInteger(of.value) && of.unit === "" && of.logarithmic
      ? Math.max(1, Math.round(rounded))
      : rounded;
  };
  const text = `${value}${of.unit && ` ${of.unit}`}`;
  const sent = useRef("");
  const release = () => {
    if (moved === null || text === sent.current) return;
    sent.current = text;
    change(of.key, text);
  };
  // After the answer to the last change, show the value of the run, even if the run refused the
  // change.
  const before = useRef(pending);
  useEffect(() => {
    if (before.current && !pending && text === sent.current) {
      sent.current = "";
      setMoved(null);
    }
    before.current = pending;
  }, [pending, text]);
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
            onChange={(event) => setMoved(back(Number(event.target.value) / STEPS))}
            onPointerUp={release}
            onKeyUp={release}
            onBlur={release}
          />
          <output htmlFor={id}>
            <strong>{text}</strong>
            <span className="soft">
              {pending ? " pending" : moved !== null ? "" : set ? ` set at ${set.done!.toFixed(1)} s` : ""}
            </span>
          </output>
          <small className="soft">
            {significant(of.min, 3)} to {significant(of.max, 3)}
            {of.unit && ` ${of.unit}`}
          </small>
        </span>
      )}
    </Field>
  );
}

/** Converts a value to the unit of its slider. Returns null if the value cannot be converted, such
 * as a symbol rate to bit/s. */
function valueIn(text: string, { unit, units }: Slider): number | null {
  if (unit === "") return Number.isFinite(Number(text)) ? Number(text) : null;
  const found = quantity(text, units);
  return found && inUnit(found, unit, units);
}

/** A table of the manual changes of a run, each with its time or the reason of its refusal. */
export function ManualChanges({ changes }: { changes: Changed[] }) {
  if (changes.length === 0) return null;
  return (
    <ScrollRegion label="Manual changes">
      <table>
        <caption>Manual changes</caption>
        <thead>
          <tr>
            <th>Time</th>
            <th>Key</th>
            <th>Value</th>
            <th>User</th>
          </tr>
        </thead>
        <tbody>
          {changes.map((one) => (
            <tr key={one.id}>
              <td>{one.done !== null ? `${one.done.toFixed(2)} s` : one.refused ? "refused" : "pending"}</td>
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
    </ScrollRegion>
  );
}
