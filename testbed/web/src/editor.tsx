// One configuration in five steps: system, connections, test, launch, report. Picture, forms and text are views of one draft;
// Apply makes it the configuration's scenario.

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api, Refusal } from "./api";
import type { Draft, Entry, Full, Who } from "./api.gen";
import { TableForm } from "./form";
import { bits, duration, Field, Notice, rounded, Title } from "./parts";
import { Picture, type PictureData, type Positions } from "./picture";
import { RunList } from "./runs";
import { changes, isTable, resolved, variants, type Change, type Schema, type Table } from "./schema";
import { go, link, message, useLoaded, usePlace } from "./state";

interface Problem {
  line: number | null;
  path: string;
  value: string | null;
  message: string;
  allowed: string[];
  nearest: string | null;
}
interface Prediction {
  flow: string;
  note: string;
  prediction: { goodput_bit_s: number; limited_by: string; round_trip: { mean_s: number } } | null;
}
interface View {
  valid: boolean;
  problems: Problem[];
  summary: string[];
  warnings: string[];
  resolved: Table;
  campaign: Table | null;
  picture: PictureData;
  predictions: Prediction[];
  cost: { events: number; seconds: number; refused: string | null };
}

const STEPS = [
  ["system", "System"],
  ["connections", "Connections"],
  ["test", "Test"],
  ["launch", "Launch"],
  ["report", "Report"],
] as const;

export function Editor({ id, who }: { id: string; who: Who }) {
  const loaded = useLoaded<Full>(`/configurations/${id}`);
  if (loaded.error) return <Notice text={loaded.error} />;
  if (!loaded.value) return <p aria-busy="true">Loading…</p>;
  return <Loaded key={loaded.value.id} first={loaded.value} who={who} />;
}

/** The draft outlives a reload of the page, not the tab. */
function kept(id: string): string | null {
  return sessionStorage.getItem(`draft ${id}`);
}

function Loaded({ first, who }: { first: Full; who: Who }) {
  const [applied, setApplied] = useState(first);
  const [text, setText] = useState(() => (first.mine ? (kept(first.id) ?? first.text) : first.text));
  const [view, setView] = useState<View | null>(null);
  const [good, setGood] = useState<View | null>(null);
  const [trouble, setTrouble] = useState("");
  const [told, setTold] = useState("");
  const { path, values } = usePlace();
  const step = path[2] ?? "system";
  const dirty = text !== applied.text;
  const mine = applied.mine && who.level !== "guest";
  const latest = useRef(text);
  latest.current = text;

  useEffect(() => {
    if (dirty) sessionStorage.setItem(`draft ${applied.id}`, text);
    else sessionStorage.removeItem(`draft ${applied.id}`);
  }, [dirty, text, applied.id]);

  useEffect(() => {
    const timer = setTimeout(
      () => {
        api.post<View>("/drafts/view", { text }).then(
          (found) => {
            if (latest.current !== text) return;
            setView(found);
            if (found.valid) setGood(found);
          },
          (error: unknown) => setTrouble(message(error)),
        );
      },
      view === null ? 0 : 250,
    );
    return () => clearTimeout(timer);
    // Only another text needs another look.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [text]);

  const edit = useCallback(async (edits: Change[]) => {
    if (edits.length === 0) return;
    try {
      const before = latest.current;
      const made = await api.post<Draft>("/drafts/edit", { text: before, edits });
      if (latest.current === before) setText(made.text);
      setTrouble("");
    } catch (error) {
      setTrouble(message(error));
    }
  }, []);

  const store = async (change: object, said: string) => {
    try {
      setApplied(await api.put<Full>(`/configurations/${applied.id}`, { version: applied.version, ...change }));
      setTrouble("");
      setTold(said);
      return true;
    } catch (error) {
      setTrouble(message(error));
      return false;
    }
  };
  const apply = () => store({ text }, "Applied.");
  const reset = async () => {
    if (!confirm("Restore the scenario with which this configuration was first saved?")) return;
    try {
      const made = await api.post<Full>(`/configurations/${applied.id}/reset`);
      setApplied(made);
      setText(made.text);
    } catch (error) {
      setTrouble(message(error));
    }
  };

  return (
    <>
      <div className="heading">
        <Title>{applied.name}</Title>
        {!applied.mine && <span className="badge">shared by {applied.owner}</span>}
        {dirty && (
          <span className="badge warn" role="status">
            not applied
          </span>
        )}
        <span className="grow" />
        {mine && (
          <>
            <button onClick={() => void reset()}>Reset</button>
            <button onClick={() => setText(applied.text)} disabled={!dirty}>
              Discard changes
            </button>
            <button className="primary" onClick={() => void apply()} disabled={!dirty}>
              Apply
            </button>
          </>
        )}
      </div>
      <nav className="steps" aria-label="Steps">
        <ol>
          {STEPS.map(([name, label], place) => (
            <li key={name}>
              <a href={link(["configuration", applied.id, name])} aria-current={step === name ? "step" : undefined}>
                {place + 1} {label}
              </a>
            </li>
          ))}
        </ol>
      </nav>
      <Notice text={trouble} />
      {!dirty && <Notice text={told} kind="good" />}
      <Problems view={view} />
      {step === "system" && (
        <System
          view={good}
          stale={view !== null && !view.valid}
          text={text}
          setText={mine ? setText : undefined}
          edit={mine ? edit : undefined}
          positions={applied.positions as Positions}
          move={mine ? (positions) => void store({ positions }, "") : undefined}
          chosen={values.get("of") ?? ""}
          choose={(of) => go(["configuration", applied.id, "system"], { of: of.join(".") }, true)}
        />
      )}
      {step === "connections" && (
        <Connections
          view={good}
          edit={mine ? edit : undefined}
          chosen={values.get("of") ?? ""}
          choose={(of) => go(["configuration", applied.id, "connections"], { of: of.join(".") }, true)}
        />
      )}
      {step === "test" && <Test view={good} edit={mine ? edit : undefined} id={applied.id} who={who} />}
      {step === "launch" && <Launch view={view} applied={applied} dirty={dirty} apply={apply} mine={mine} who={who} />}
      {step === "report" && (
        <section>
          <h2>Runs of this configuration</h2>
          <RunList of={applied.id} />
        </section>
      )}
    </>
  );
}

function Problems({ view }: { view: View | null }) {
  if (!view || view.valid) return null;
  return (
    <div className="notice error" role="alert">
      <strong>Not valid yet.</strong>
      <ul>
        {view.problems.slice(0, 8).map((one, place) => (
          <li key={place}>
            {one.line !== null && <>line {one.line}{one.path && ", "}</>}
            {one.path && <code>{one.path}</code>}
            {one.value !== null && (
              <>
                {" = "}
                <code>{one.value}</code>
              </>
            )}
            {(one.path || one.line !== null) && ": "}
            {one.message}
            {one.nearest && <> – did you mean {one.nearest}?</>}
            {one.allowed.length > 0 && <> Allowed: {one.allowed.join(", ")}</>}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The schema and the value of the entity at a key path. */
function entity(path: string[], schema: Schema, data: Table): { schema: Schema; value: unknown } | null {
  let of: Schema = schema;
  let value: unknown = data;
  for (const key of path) {
    of = resolved(of, schema);
    if (Array.isArray(value)) {
      value = value.find((one: Table, place) => (one.name ?? String(place)) === key);
      of = of.items ?? {};
    } else if (isTable(value)) {
      value = value[key];
      of = of.properties?.[key] ?? (isTable(of.additionalProperties) ? of.additionalProperties : {});
    } else return null;
  }
  if (value === undefined) return null;
  of = resolved(of, schema);
  if (isTable(value)) {
    const kind = value.kind;
    const variant = variants(of).find((one) => one.kind === kind);
    if (variant) of = variant.schema;
  }
  return { schema: of, value };
}

/** The form of an entity. What is typed shows at once, and becomes a change of the text when typing pauses. */
function Panel({ path, schema, data, edit, stale }: { path: string[]; schema: Schema; data: Table; edit?: (edits: Change[]) => Promise<void>; stale: boolean }) {
  const found = entity(path, schema, data);
  const known = JSON.stringify(found?.value);
  const [value, setValue] = useState<unknown>(found?.value);
  const [base, setBase] = useState(known);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The text was changed elsewhere, or a change has arrived.
  if (known !== base && !stale) {
    setBase(known);
    setValue(found?.value);
  }
  const before = found?.value;
  const change = useCallback(
    (next: unknown) => {
      setValue(next);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void edit?.(changes(before, next, path)), 400);
    },
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [before, path.join("."), edit],
  );
  if (!found) return <p className="soft">It is not part of the scenario any more.</p>;
  return <TableForm schema={found.schema} root={schema} value={value} change={change} disabled={!edit} fixed={["name", "flow", "link", "network"]} />;
}

function System({
  view,
  stale,
  text,
  setText,
  edit,
  positions,
  move,
  chosen,
  choose,
}: {
  view: View | null;
  stale: boolean;
  text: string;
  setText?: (text: string) => void;
  edit?: (edits: Change[]) => Promise<void>;
  positions: Positions;
  move?: (positions: Positions) => void;
  chosen: string;
  choose: (path: string[]) => void;
}) {
  const schema = useLoaded<Schema>("/schema").value;
  const [pending, setPending] = useState<string[]>([]);
  const [local, setLocal] = useState(positions);
  const data = useMemo<PictureData>(() => {
    const known = view?.picture ?? { nodes: [], edges: [] };
    const names = new Set(known.nodes.map((one) => one.id));
    const drawn = pending.filter((one) => !names.has(one)).map((one) => ({ id: one, label: one, kind: "router" as const, path: ["node", one] }));
    return { ...known, nodes: [...known.nodes, ...drawn] };
  }, [view, pending]);
  const entities = useMemo(() => parts(view?.resolved), [view]);
  const path = useMemo(() => (chosen ? splitPath(chosen, entities) : []), [chosen, entities]);
  const nodes = data.nodes.filter((one) => one.kind !== "network" && one.kind !== "group").map((one) => one.id);
  const addLink = (from: string, to: string) => {
    const name = unused("link", entities.map((one) => one.path[1] ?? ""));
    void edit?.([{ path: ["link", name], value: { from, to, rate: "10 Mbit/s", delay: "10 ms" } }]).then(() => choose(["link", name]));
  };
  return (
    <div className="columns">
      <section aria-label="Picture of the network" className="left">
        <Picture
          data={data}
          positions={local}
          chosen={chosen}
          choose={choose}
          move={
            move &&
            ((next) => {
              setLocal(next);
              move(next);
            })
          }
          connect={edit && ((from, to) => nodes.includes(from) && nodes.includes(to) && addLink(from, to))}
        />
        {edit && <Draw nodes={nodes} addNode={(name) => setPending([...pending, name])} addLink={addLink} />}
        <details className="panel" open={data.nodes.length > 0 && data.nodes.length <= 40}>
          <summary>All parts</summary>
          <ul className="parts">
            {entities.map((one) => (
              <li key={one.path.join(".")}>
                <button className="plain" aria-pressed={chosen === one.path.join(".")} onClick={() => choose(one.path)}>
                  {one.label}
                </button>
              </li>
            ))}
          </ul>
        </details>
      </section>
      <section aria-label="Panel" className="right">
        <div className="heading">
          <h2>{path.length > 0 ? path.join(" ") : "TOML"}</h2>
          <span className="grow" />
          {path.length > 0 && <button onClick={() => choose([])}>Show TOML</button>}
          {path.length > 0 && edit && path[0] !== "node" && (
            <button
              onClick={() => {
                void edit([{ path, value: null }]);
                choose([]);
              }}
            >
              Remove
            </button>
          )}
        </div>
        {path.length === 0 && <TomlText text={text} setText={setText} />}
        {path[0] === "node" && <OfNode node={path[1] ?? ""} view={view} choose={choose} />}
        {path.length > 0 && path[0] !== "node" && schema && view && (
          <Panel key={path.join(".")} path={path} schema={schema} data={view.resolved} edit={edit} stale={stale} />
        )}
      </section>
    </div>
  );
}

function TomlText({ text, setText }: { text: string; setText?: (text: string) => void }) {
  return (
    <Field label="Scenario" help="The same scenario as the picture and the forms: a change in one is a change in all.">
      {(id, described) => (
        <textarea
          id={id}
          aria-describedby={described}
          className="toml"
          spellCheck={false}
          readOnly={!setText}
          value={text}
          rows={28}
          onChange={(event) => setText?.(event.target.value)}
        />
      )}
    </Field>
  );
}

function Draw({ nodes, addNode, addLink }: { nodes: string[]; addNode: (name: string) => void; addLink: (from: string, to: string) => void }) {
  const [name, setName] = useState("");
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const start = nodes.includes(from) ? from : (nodes[0] ?? "");
  const end = nodes.includes(to) && to !== start ? to : (nodes.find((one) => one !== start) ?? "");
  return (
    <details className="panel">
      <summary>Draw nodes and links</summary>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (name && !nodes.includes(name)) addNode(name);
          setName("");
        }}
      >
        <Field label="New node" help="It becomes part of the scenario with its first link.">
          {(id, described) => (
            <input id={id} aria-describedby={described} value={name} pattern="[A-Za-z][A-Za-z0-9_\-]*" maxLength={60} onChange={(event) => setName(event.target.value)} />
          )}
        </Field>
        <button disabled={!name}>Add node</button>
      </form>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          addLink(start, end);
        }}
      >
        <Choice label="Link from" value={start} among={nodes} choose={setFrom} />
        <Choice label="to" value={end} among={nodes.filter((one) => one !== start)} choose={setTo} />
        <button disabled={!start || !end}>Add link</button>
      </form>
      <p className="help">Or drag from the right edge of a node to another one.</p>
    </details>
  );
}

function Choice({ label, value, among, choose }: { label: string; value: string; among: string[]; choose: (value: string) => void }) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => choose(event.target.value)}>
          {among.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

function OfNode({ node, view, choose }: { node: string; view: View | null; choose: (path: string[]) => void }) {
  const near = parts(view?.resolved).filter((one) => one.ends.includes(node));
  return (
    <>
      <p className="soft">What begins, ends or runs at this node:</p>
      <ul className="parts">
        {near.map((one) => (
          <li key={one.path.join(".")}>
            <button className="plain" onClick={() => choose(one.path)}>
              {one.label}
            </button>
          </li>
        ))}
      </ul>
      {near.length === 0 && <p>Nothing yet: draw a link to it.</p>}
    </>
  );
}

interface PartOf {
  path: string[];
  label: string;
  ends: string[];
}

/** All entities of a scenario that have a panel. */
function parts(data: Table | undefined): PartOf[] {
  if (!data) return [];
  const found: PartOf[] = [];
  for (const kind of ["link", "access", "proxy", "service", "flow"]) {
    for (const one of (data[kind] ?? []) as Table[]) {
      const ends = [one.from, one.to, one.node].filter((end): end is string => typeof end === "string");
      found.push({ path: [kind, String(one.name)], label: `${kind} ${String(one.name)}${one.to ? `: ${ends.join(" → ")}` : ""}`, ends });
    }
  }
  for (const [name, network] of Object.entries((data.network ?? {}) as Record<string, Table>)) {
    const ends = [network.gateway, ...((network.terminals ?? []) as unknown[]), ...((network.ends ?? []) as unknown[]), ...Object.keys((network.sites ?? {}) as Table)];
    found.push({
      path: ["network", name],
      label: `network ${name} (${String(network.kind)})`,
      ends: ends.map((one) => (isTable(one) ? String(one.name ?? "") : String(one))),
    });
  }
  found.push({ path: ["record"], label: "what is recorded", ends: [] });
  return found;
}

function splitPath(chosen: string, entities: PartOf[]): string[] {
  const known = entities.find((one) => one.path.join(".") === chosen);
  if (known) return known.path;
  const dot = chosen.indexOf(".");
  return dot < 0 ? [chosen] : [chosen.slice(0, dot), chosen.slice(dot + 1)];
}

function unused(stem: string, names: string[]): string {
  for (let count = 1; ; count++) if (!names.includes(`${stem}${count}`)) return `${stem}${count}`;
}

function Connections({ view, edit, chosen, choose }: { view: View | null; edit?: (edits: Change[]) => Promise<void>; chosen: string; choose: (path: string[]) => void }) {
  const schema = useLoaded<Schema>("/schema").value;
  const flows = ((view?.resolved.flow ?? []) as Table[]).map((one) => one);
  const nodes = (view?.picture.nodes ?? []).filter((one) => !["network", "group"].includes(one.kind)).map((one) => one.id);
  const name = chosen.startsWith("flow.") ? chosen.slice(5) : String(flows[0]?.name ?? "");
  const [from = "", to = ""] = flows[0] ? [String(flows[0].from), String(flows[0].to)] : nodes;
  const add = (many: number) => {
    const names = flows.map((one) => String(one.name));
    const made: Change[] = [];
    for (let count = 0; count < many; count++) {
      const next = unused("flow", [...names, ...made.map((one) => one.path[1]!)]);
      made.push({ path: ["flow", next], value: { from, to, app: { kind: "bulk" }, transport: { kind: "tcp", congestion: "cubic" } } });
    }
    void edit?.(made).then(() => choose(made[0]!.path));
  };
  return (
    <div className="columns">
      <section className="left" aria-label="Connections">
        <div className="wide" role="region" aria-label="Table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th>Flow</th>
                <th>From → to</th>
                <th>Application</th>
                <th>Transport</th>
                <th>Start</th>
              </tr>
            </thead>
            <tbody>
              {flows.map((one) => (
                <tr key={String(one.name)} className={one.name === name ? "chosen" : undefined}>
                  <th scope="row">
                    <button className="plain" aria-pressed={one.name === name} onClick={() => choose(["flow", String(one.name)])}>
                      {String(one.name)}
                    </button>
                  </th>
                  <td>
                    {String(one.from)} → {String(one.to)}
                  </td>
                  <td>{String((one.app as Table).kind)}</td>
                  <td>
                    {String((one.transport as Table).kind)} {String((one.transport as Table).congestion ?? "")}
                  </td>
                  <td>{String(one.start)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {flows.length === 0 && <p className="soft">There are none yet.</p>}
        {edit && nodes.length > 1 && (
          <div className="row">
            <button onClick={() => add(1)}>Add a connection</button>
            <button onClick={() => add(5)}>Add a group of 5</button>
          </div>
        )}
      </section>
      <section className="right" aria-label="Panel">
        {name && schema && view && (
          <>
            <div className="heading">
              <h2>flow {name}</h2>
              <span className="grow" />
              {edit && (
                <button onClick={() => void edit([{ path: ["flow", name], value: null }]).then(() => choose([]))} aria-label={`Remove flow ${name}`}>
                  Remove
                </button>
              )}
            </div>
            <Panel key={name} path={["flow", name]} schema={schema} data={view.resolved} edit={edit} stale={false} />
          </>
        )}
      </section>
    </div>
  );
}

const ABOUT: Record<string, string> = {
  simulate: "In virtual time, with the models of TCP: fast and exactly repeatable.",
  kernel: "A real Linux kernel in virtual time: real TCP, no waiting.",
  emulate: "Real hosts in real time, one run at a time.",
};

/** What is to be run is kept for the tab, so that it outlives a reload. */
function useInstruments(id: string, who: Who): [string[], (next: string[]) => void] {
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

function Test({ view, edit, id, who }: { view: View | null; edit?: (edits: Change[]) => Promise<void>; id: string; who: Who }) {
  const [instruments, setInstruments] = useInstruments(id, who);
  const campaign = view?.campaign ?? null;
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
                disabled={!((who.limits.instruments as string[]) ?? []).includes(name)}
                onChange={(event) => setInstruments(event.target.checked ? [...instruments, name] : instruments.filter((one) => one !== name))}
              />
              <span>
                <strong>{name}</strong> <span className="soft">{about}</span>
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

function Setting({ label, path, view, edit, number = false }: { label: string; path: string[]; view: View | null; edit?: (edits: Change[]) => Promise<void>; number?: boolean }) {
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

function Launch({ view, applied, dirty, apply, mine, who }: { view: View | null; applied: Full; dirty: boolean; apply: () => Promise<boolean>; mine: boolean; who: Who }) {
  const [instruments] = useInstruments(applied.id, who);
  const [trouble, setTrouble] = useState("");
  const [busy, setBusy] = useState(false);
  const campaign = Boolean(view?.campaign);
  const launch = async () => {
    setBusy(true);
    setTrouble("");
    try {
      if (dirty && !(await apply())) return;
      const made = await api.post<Entry[]>("/runs", { configuration: applied.id, instruments, campaign, once: crypto.randomUUID() });
      if (made.length === 1) go(["runs", made[0]!.id]);
      else go(["runs"], { batch: made[0]!.batch ?? "" });
    } catch (error) {
      setTrouble(error instanceof Refusal ? error.message : message(error));
    } finally {
      setBusy(false);
    }
  };
  if (!view) return <p aria-busy="true">Loading…</p>;
  return (
    <section>
      <div className="row">
        {who.level !== "guest" && (
          <button
            className="primary"
            disabled={busy || !view.valid || view.cost.refused !== null || instruments.length === 0 || (dirty && !mine)}
            onClick={() => void launch()}
          >
            {dirty ? "Apply and launch" : "Launch"}
          </button>
        )}
        <span className="soft">
          {instruments.join(", ")}
          {campaign && " – the campaign"}
        </span>
      </div>
      <Notice text={trouble} />
      {view.valid && (
        <>
          <Notice text={view.cost.refused ?? ""} />
          {view.warnings.map((one) => (
            <Notice key={one} text={one} kind="plain" />
          ))}
          <h2>Preview</h2>
          <p>
            About {rounded(view.cost.events)} events for {duration(view.cost.seconds)} of the scenario.
          </p>
          {view.predictions.length > 0 && (
            <div className="wide" role="region" aria-label="Table" tabIndex={0}>
              <table>
                <caption>Predicted by the equations</caption>
                <thead>
                  <tr>
                    <th>Flow</th>
                    <th>Goodput</th>
                    <th>Round trip (mean)</th>
                    <th>Limited by</th>
                    <th>Note</th>
                  </tr>
                </thead>
                <tbody>
                  {view.predictions.map((one) => (
                    <tr key={one.flow}>
                      <th scope="row">{one.flow}</th>
                      <td>{bits(one.prediction?.goodput_bit_s)}</td>
                      <td>{one.prediction ? `${rounded(one.prediction.round_trip.mean_s * 1000)} ms` : "–"}</td>
                      <td>{one.prediction?.limited_by ?? "–"}</td>
                      <td className="text">{one.note}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          <pre tabIndex={0} aria-label="Summary of the scenario">
            {view.summary.join("\n")}
          </pre>
        </>
      )}
    </section>
  );
}
