// Step 3: the instruments of the test, and the campaign.

import { useEffect, useRef, useState } from "react";
import type { SessionUser } from "../../data/api.gen";
import type { Edit, View } from "../../data/draft";
import { useInstruments } from "../../data/instruments";
import { problemText } from "../../data/problem";
import type { Table } from "../../data/schema";
import { useValue } from "../../data/state";
import { Field } from "../../parts/basics";
import { PointTable, VaryForm } from "../../parts/campaign";
import { parsedInput } from "../../parts/form";
import { useProblem, useProblemsBelow } from "../../parts/problems";

const DESCRIPTIONS: Record<string, string> = {
  simulate: "Models of TCP in virtual time: fast and exactly repeatable.",
  kernel: "Real Linux kernels with their TCP, in virtual time.",
  emulate: "Real hosts in real time, one run at a time.",
};

/** Prefix of the varied keys of a campaign in the paths of problems. */
const VARY_PREFIX = "campaign.vary.";

export function TestStep({
  text,
  view,
  impossible,
  edit,
  id,
  user,
}: {
  /** The TOML text of the draft. */
  text: string;
  view: View | null;
  impossible: Record<string, string>;
  edit?: Edit;
  id: string;
  user: SessionUser;
}) {
  const [instruments, setInstruments] = useInstruments(id, user);
  const campaign = view?.campaign ?? null;
  const wrong = useProblemsBelow(VARY_PREFIX);
  const [chosen] = useValue("vary");
  const vary = (campaign?.vary ?? {}) as Table;
  return (
    <div className="test-step">
      <section>
        <h2>Test</h2>
        <p>
          Every launch includes predictions by equations. Choose one instrument, or several to compare their
          results.
        </p>
        <fieldset>
          <legend>Instruments</legend>
          {Object.entries(DESCRIPTIONS).map(([name, about]) => (
            <label key={name} className="check">
              <input
                type="checkbox"
                checked={instruments.includes(name)}
                // An unavailable instrument that was chosen before can be deselected.
                disabled={name in impossible && !instruments.includes(name)}
                aria-describedby={name in impossible ? `unavailable-${name}` : undefined}
                onChange={(event) =>
                  setInstruments(
                    event.target.checked ? [...instruments, name] : instruments.filter((one) => one !== name),
                  )
                }
              />
              <span>
                <strong>{name}</strong> <span className="soft">{about}</span>
                {name in impossible && (
                  <span className="unavailable" id={`unavailable-${name}`}>
                    {" "}
                    Unavailable: {impossible[name]}.
                  </span>
                )}
              </span>
            </label>
          ))}
        </fieldset>
        <Setting
          label="Duration"
          path={["duration"]}
          known={String(view?.resolved.duration ?? "")}
          edit={edit}
        />
        <Setting label="Seed" path={["seed"]} known={String(view?.resolved.seed ?? "")} edit={edit} number />
      </section>
      <section>
        <h2>Campaign</h2>
        <p className="soft">
          Vary keys, and replicate with other random numbers. Each combination of values and each replication
          is one run.
        </p>
        {Object.keys(vary).length > 0 && (
          <ul className="varied">
            {Object.entries(vary).map(([name, listed]) => (
              <li key={name}>
                <code>{name}</code>
                <span className="grow">{(listed as unknown[]).map(String).join(", ")}</span>
                {edit && (
                  <button
                    type="button"
                    onClick={() => void edit([{ path: ["campaign", "vary", name], value: null }])}
                    aria-label={`Stop varying ${name}`}
                  >
                    Remove
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
        {wrong.length > 0 && (
          <ul>
            {wrong.map((one) => (
              <li key={one.path + one.value}>
                <code>{one.path.slice(VARY_PREFIX.length)}</code>:{" "}
                <span className="field-error">{problemText(one)}</span>{" "}
                {edit && (
                  <button
                    type="button"
                    onClick={() =>
                      void edit([
                        { path: ["campaign", "vary", one.path.slice(VARY_PREFIX.length)], value: null },
                      ])
                    }
                    aria-label={`Stop varying ${one.path.slice(VARY_PREFIX.length)}`}
                  >
                    Remove
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
        {edit ? (
          <>
            {view && <VaryForm data={view.resolved} chosen={chosen} edit={edit} />}
            <div className="row">
              <Setting
                label="Replications"
                path={["campaign", "replications"]}
                known={String(campaign?.replications ?? 1)}
                edit={edit}
                number
              />
              <Setting
                label="Confidence of the intervals"
                path={["campaign", "confidence"]}
                known={String(campaign?.confidence ?? 0.95)}
                edit={edit}
                number
              />
            </div>
          </>
        ) : (
          campaign && <p>Replications: {String(campaign.replications)}</p>
        )}
        {campaign && instruments.length > 0 && <PointTable text={text} instruments={instruments} />}
      </section>
    </div>
  );
}

/** The field of one value of the scenario. Enter, or leaving the field, changes the draft. Input
 * stays visible until the draft contains it. */
function Setting({
  label,
  path,
  known,
  edit,
  number = false,
}: {
  label: string;
  path: string[];
  known: string;
  edit?: Edit;
  number?: boolean;
}) {
  const [value, setValue] = useState<string | null>(null);
  const sent = useRef(known);
  const problem = useProblem(path.join("."));
  useEffect(() => {
    sent.current = known;
    setValue(null);
  }, [known]);
  const send = () => {
    if (value === null || value === sent.current || !edit) return;
    const before = sent.current;
    sent.current = value;
    void edit([{ path, value: parsedInput(value.trim(), number) ?? null }]).then((made) => {
      if (!made) sent.current = before;
    });
  };
  return (
    <Field label={label} problem={problem}>
      {(id, described) => (
        <input
          id={id}
          aria-describedby={described}
          aria-invalid={problem ? true : undefined}
          inputMode={number ? "numeric" : undefined}
          value={value ?? known}
          disabled={!edit}
          onChange={(event) => setValue(event.target.value)}
          onBlur={send}
          onKeyDown={(event) => event.key === "Enter" && send()}
        />
      )}
    </Field>
  );
}
