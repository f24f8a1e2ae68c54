// Step 1: the system, as a picture, panels and text, which are views of one draft.

import { useMemo, useRef, useState } from "react";
import { type Edit, type PictureData, type Positions, unused, type View } from "../../data/draft";
import { isTable, type Schema, type Table } from "../../data/schema";
import { useLoaded } from "../../data/state";
import { Field } from "../../parts/basics";
import { Panel } from "../../parts/panel";
import { Picture } from "../../parts/picture";
import { Satellites } from "../../parts/satellites";

export function System({
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
  edit?: Edit;
  positions: Positions;
  move?: (positions: Positions) => void;
  chosen: string;
  choose: (path: string[]) => void;
}) {
  const schema = useLoaded<Schema>("/schema").value;
  const heading = useRef<HTMLHeadingElement>(null);
  // The focus moves to the panel, which is elsewhere on the page, and on phones below the visible
  // area.
  const open = (of: string[]) => {
    choose(of);
    heading.current?.focus();
  };
  const [pending, setPending] = useState<string[]>([]);
  const [local, setLocal] = useState(positions);
  const data = useMemo<PictureData>(() => {
    const known = view?.picture ?? { nodes: [], edges: [] };
    const names = new Set(known.nodes.map((one) => one.id));
    const drawn = pending
      .filter((one) => !names.has(one))
      .map((one) => ({ id: one, label: one, kind: "router" as const, path: ["node", one] }));
    return { ...known, nodes: [...known.nodes, ...drawn] };
  }, [view, pending]);
  const entities = useMemo(() => parts(view?.resolved), [view]);
  const path = useMemo(() => (chosen ? splitPath(chosen, entities) : []), [chosen, entities]);
  const nodes = data.nodes
    .filter((one) => one.kind !== "network" && one.kind !== "group")
    .map((one) => one.id);
  const addLink = (from: string, to: string) => {
    const name = unused(
      "link",
      entities.map((one) => one.path[1] ?? ""),
    );
    void edit?.([{ path: ["link", name], value: { from, to, rate: "10 Mbit/s", delay: "10 ms" } }]).then(
      (done) => done && choose(["link", name]),
    );
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
        {view && !stale && <Satellites data={view.resolved} text={text} />}
        {edit && (
          <DrawForm nodes={nodes} addNode={(name) => setPending([...pending, name])} addLink={addLink} />
        )}
        <details className="panel" open={data.nodes.length > 0 && data.nodes.length <= 40}>
          <summary>All parts</summary>
          <ul className="parts">
            {entities.map((one) => (
              <li key={one.path.join(".")}>
                <button
                  type="button"
                  className="plain"
                  aria-pressed={chosen === one.path.join(".")}
                  onClick={() => open(one.path)}
                >
                  {one.label}
                </button>
              </li>
            ))}
          </ul>
        </details>
      </section>
      <section aria-label="Panel" className="right">
        <div className="heading">
          <h2 ref={heading} tabIndex={-1}>
            {path.length > 0 ? path.join(" ") : "TOML"}
          </h2>
          <span className="grow" />
          {path.length > 0 && (
            <button type="button" onClick={() => open([])}>
              Show TOML
            </button>
          )}
          {path.length > 0 && edit && path[0] !== "node" && (
            <button
              type="button"
              onClick={() => {
                void edit([{ path, value: null }]).then((done) => done && choose([]));
              }}
            >
              Remove
            </button>
          )}
        </div>
        {path.length === 0 && <TomlText text={text} setText={setText} />}
        {path[0] === "node" && <NodeParts node={path[1] ?? ""} view={view} choose={open} />}
        {path.length > 0 && path[0] !== "node" && schema && view && (
          <Panel
            key={path.join(".")}
            path={path}
            schema={schema}
            data={view.resolved}
            edit={edit}
            stale={stale}
          />
        )}
      </section>
    </div>
  );
}

function TomlText({ text, setText }: { text: string; setText?: (text: string) => void }) {
  return (
    <Field
      label="Scenario"
      help="Picture, forms and text show the same scenario. A change in one changes the others."
    >
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

function DrawForm({
  nodes,
  addNode,
  addLink,
}: {
  nodes: string[];
  addNode: (name: string) => void;
  addLink: (from: string, to: string) => void;
}) {
  const [name, setName] = useState("");
  const [taken, setTaken] = useState("");
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
          if (nodes.includes(name))
            return setTaken(`A node named ${name} already exists: choose another name.`);
          addNode(name);
          setName("");
        }}
      >
        <Field
          label="New node"
          help="A letter, then letters, digits, _ or -. The scenario includes the node after its first link."
          problem={taken}
        >
          {(id, described) => (
            <input
              id={id}
              aria-describedby={described}
              aria-invalid={taken !== "" || undefined}
              value={name}
              pattern="[A-Za-z][A-Za-z0-9_\-]*"
              title="A letter, then letters, digits, _ or -"
              maxLength={60}
              onChange={(event) => {
                setName(event.target.value);
                setTaken("");
              }}
            />
          )}
        </Field>
        <button type="submit" disabled={!name}>
          Add node
        </button>
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
        <button type="submit" disabled={!start || !end}>
          Add link
        </button>
      </form>
      <p className="help">You can also drag from the right edge of a node to another node.</p>
    </details>
  );
}

function Choice({
  label,
  value,
  among,
  choose,
}: {
  label: string;
  value: string;
  among: string[];
  choose: (value: string) => void;
}) {
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

function NodeParts({
  node,
  view,
  choose,
}: {
  node: string;
  view: View | null;
  choose: (path: string[]) => void;
}) {
  const near = parts(view?.resolved).filter((one) => one.ends.includes(node));
  return (
    <>
      <p className="soft">Parts of the scenario at this node:</p>
      <ul className="parts">
        {near.map((one) => (
          <li key={one.path.join(".")}>
            <button type="button" className="plain" onClick={() => choose(one.path)}>
              {one.label}
            </button>
          </li>
        ))}
      </ul>
      {near.length === 0 && <p>No parts yet: draw a link to this node.</p>}
    </>
  );
}

interface PartOf {
  path: string[];
  label: string;
  ends: string[];
}

/** All parts of a scenario that have a panel. */
function parts(data: Table | undefined): PartOf[] {
  if (!data) return [];
  const found: PartOf[] = [];
  for (const kind of ["link", "multilink", "proxy", "service", "flow"]) {
    for (const one of (data[kind] ?? []) as Table[]) {
      const ends = [one.from, one.to, one.node].filter((end): end is string => typeof end === "string");
      found.push({
        path: [kind, String(one.name)],
        label: `${kind} ${String(one.name)}${one.to ? `: ${ends.join(" → ")}` : ""}`,
        ends,
      });
    }
  }
  for (const [name, network] of Object.entries((data.network ?? {}) as Record<string, Table>)) {
    const ends = [
      network.gateway,
      ...((network.terminals ?? []) as unknown[]),
      ...((network.ends ?? []) as unknown[]),
      ...Object.keys((network.sites ?? {}) as Table),
    ];
    found.push({
      path: ["network", name],
      label: `network ${name} (${String(network.kind)})`,
      ends: ends.map((one) => (isTable(one) ? String(one.name ?? "") : String(one))),
    });
  }
  for (const node of Object.keys((data.edge ?? {}) as Table))
    found.push({ path: ["edge", node], label: `DiffServ edge ${node}`, ends: [node] });
  // Handovers and changes have no names, so their paths contain positions in the list.
  for (const kind of ["handover", "change"]) {
    for (const [place, one] of ((data[kind] ?? []) as Table[]).entries()) {
      const label = `${kind} at ${String(one.at ?? place + 1)}`;
      found.push({ path: [kind, String(place)], label, ends: [] });
    }
  }
  found.push({ path: ["record"], label: "recording", ends: [] });
  return found;
}

function splitPath(chosen: string, entities: PartOf[]): string[] {
  const known = entities.find((one) => one.path.join(".") === chosen);
  if (known) return known.path;
  const dot = chosen.indexOf(".");
  return dot < 0 ? [chosen] : [chosen.slice(0, dot), chosen.slice(dot + 1)];
}
