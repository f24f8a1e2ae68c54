// Step 3: what the scenario is tested with, and the campaign.

import { useState } from "react";
import type { Queue, Who } from "./api.gen";
import type { Edit, View } from "./draft";
import { Field } from "./parts";
import type { Table } from "./schema";
import { useLoaded } from "./state";

const ABOUT: Record<string, string> = {
  simulate: "In virtual time, with the models of TCP: fast and exactly repeatable.",
  kernel: "A real Linux kernel in virtual time: real TCP, no waiting.",
  emulate: "Real hosts in real time, one run at a time.",
};

/** What is to be run is kept for the tab, so that it outlives a reload. */
export function useInstruments(id: string, who: Who): [string[], (next: string[]) => void] {
  const key = `instruments ${id}`;
  const [found, setFound] = useState<string[]>(() => JSON.parse(sessionStorage.getItem(key) ?? '["simulate"]') as string[]);
  const allowed = (who.limits.instruments as string[]) ?? [];
  return [
    found.filter((one) => allowed.includes(one)),
    (next) => {
      sessionStorage.setItem(key, JSON.stringify(next));
      setFound(next);
    },
  ];
}

export function Trial({ view, edit, id, who }: { view: View | null; edit?: Edit; id: string; who: Who }) {
  const [instruments, setInstruments] = useInstruments(id, who);
  const campaign = view?.campaign ?? null;
  // Whether this test bed emulates in real time is its administrator's to say.
  const off = useLoaded<Queue>("/queue").value?.real_time === false ? "emulate" : "";
  const [key, setKey] = useState("");
  const [values, setValues] = useState("");
  const vary = (campaign?.vary ?? {}) as Table;
  const first = ((view?.resolved.flow ?? []) as Table[])[0];
  return (
    <div className="columns">
      <section className="left">
        <h2>How to test</h2>
        <p>Predictions of the equations are part of every launch. Choose one instrument, or several to see them side by side.</p>
        <fieldset>
          <legend>Instruments</legend>
          {Object.entries(ABOUT).map(([name, about]) => (
            <label key={name} className="check">
              <input
                type="checkbox"
                checked={instruments.includes(name)}
                disabled={name === off || !((who.limits.instruments as string[]) ?? []).includes(name)}
                onChange={(event) => setInstruments(event.target.checked ? [...instruments, name] : instruments.filter((one) => one !== name))}
              />
              <span>
                <strong>{name}</strong> <span className="soft">
                  {about}
                  {name === off && " Off on this test bed."}
                </span>
              </span>
            </label>
          ))}
        </fieldset>
        <Setting label="Duration" path={["duration"]} view={view} edit={edit} />
        <Setting label="Seed" path={["seed"]} view={view} edit={edit} number />
      </section>
      <section className="right">
        <h2>Campaign</h2>
        <p className="soft">Vary values and repeat with other random numbers: every combination becomes a run.</p>
        {Object.keys(vary).length > 0 && (
          <ul>
            {Object.entries(vary).map(([name, listed]) => (
              <li key={name}>
                <code>{name}</code>: {(listed as unknown[]).map(String).join(", ")}{" "}
                {edit && (
                  <button onClick={() => void edit([{ path: ["campaign", "vary", name], value: null }])} aria-label={`Stop varying ${name}`}>
                    Remove
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
        {campaign && <p>Replications: {String(campaign.replications)}</p>}
        {edit && (
          <>
            <form
              className="stack"
              onSubmit={(event) => {
                event.preventDefault();
                const list = values
                  .split(",")
                  .map((one) => one.trim())
                  .filter(Boolean)
                  .map((one) => (Number.isFinite(Number(one)) ? Number(one) : one));
                void edit([{ path: ["campaign", "vary", key], value: list }]);
              }}
            >
              <Field label="Key to vary" help={first ? `Such as flow.${String(first.name)}.transport.congestion` : undefined}>
                {(id, described) => <input id={id} aria-describedby={described} value={key} onChange={(event) => setKey(event.target.value)} />}
              </Field>
              <Field label="Values" help="Separated by commas: reno, cubic, hybla">
                {(id, described) => <input id={id} aria-describedby={described} value={values} onChange={(event) => setValues(event.target.value)} />}
              </Field>
              <button disabled={!key || !values}>Vary</button>
            </form>
            <Field label="Replications">
              {(id) => (
                <input
                  id={id}
                  type="number"
                  min={1}
                  max={1000}
                  value={Number(campaign?.replications ?? 1)}
                  onChange={(event) => void edit([{ path: ["campaign", "replications"], value: Math.max(1, Number(event.target.value)) }])}
                />
              )}
            </Field>
          </>
        )}
      </section>
    </div>
  );
}

function Setting({ label, path, view, edit, number = false }: { label: string; path: string[]; view: View | null; edit?: Edit; number?: boolean }) {
  const known = String(view?.resolved[path[0]!] ?? "");
  const [value, setValue] = useState<string | null>(null);
  return (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          value={value ?? known}
          disabled={!edit}
          onChange={(event) => setValue(event.target.value)}
          onBlur={() => {
            if (value !== null && value !== known) void edit?.([{ path, value: number ? Number(value) : value }]);
            setValue(null);
          }}
        />
      )}
    </Field>
  );
}

