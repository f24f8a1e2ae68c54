// Step 1: the system, as a picture, panels and text, which are views of one draft.

import { lazy, Suspense, useMemo, useRef, useState } from "react";
import { type Addition, newLink } from "../../data/additions";
import type { Edit, Positions, View } from "../../data/draft";
import { drawing } from "../../data/drawing";
import type { Problem } from "../../data/problem";
import type { Schema, Table } from "../../data/schema";
import { useLoaded } from "../../data/state";
import { directions, heading, splitPath, things } from "../../data/things";
import { Notice } from "../../parts/basics";
import { Panel } from "../../parts/panel";
import { Picture } from "../../parts/picture";
import { Satellites } from "../../parts/satellites";
import { AddMenu } from "./add";
import { ChangePanel } from "./change_panel";
import { LinkPanel } from "./link_panel";
import { NodePanel } from "./node_panel";
import "./system.css";

const TomlEditor = lazy(() =>
  import("../../parts/toml_editor").then((file) => ({ default: file.TomlEditor })),
);

const EMPTY: Table = {};

export function System({
  view,
  stale,
  problems,
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
  problems: Problem[];
  text: string;
  setText?: (text: string) => void;
  edit?: Edit;
  positions: Positions;
  move?: (positions: Positions) => void;
  chosen: string;
  choose: (path: string[]) => void;
}) {
  const schema = useLoaded<Schema>("/schema").value;
  const title = useRef<HTMLHeadingElement>(null);
  // The focus moves to the panel, which is elsewhere on the page, and on phones below the visible
  // area.
  const open = (of: string[]) => {
    choose(of);
    title.current?.focus();
  };
  const [pending, setPending] = useState<string[]>([]);
  const [refused, setRefused] = useState("");
  const data = view?.resolved ?? EMPTY;
  const drawn = useMemo(() => drawing(view?.picture, view?.resolved, pending), [view, pending]);
  const flowing = useMemo(() => directions(drawn, view?.resolved), [drawn, view]);
  const known = useMemo(() => things(view?.resolved), [view]);
  const path = useMemo(() => (chosen ? splitPath(chosen, known) : []), [chosen, known]);
  const places = drawn.nodes.filter((one) => one.path[0] === "node");
  const nodes = places.filter((one) => one.kind !== "group").map((one) => one.id);
  const draft = { data: view?.resolved, nodes, picture: view?.picture, chosen: path };
  const add = (addition: Addition) => {
    if ("refused" in addition) return setRefused(addition.refused);
    setRefused("");
    void edit?.(addition.edits).then((done) => done && open(addition.path));
  };
  const kind = path[0] ?? "";
  const node = kind === "node" ? drawn.nodes.find((one) => one.path.join(".") === path.join(".")) : undefined;
  const given = { schema: schema!, data, edit, stale };
  return (
    <div className="columns system">
      <section aria-label="Picture of the network" className="left">
        <div className="canvas">
          {edit && (
            <AddMenu
              draft={draft}
              add={add}
              addHost={(name) => {
                setPending((before) => [...before, name]);
                open(["node", name]);
              }}
            />
          )}
          <Picture
            picture={view?.picture}
            resolved={view?.resolved}
            pending={pending}
            positions={positions}
            chosen={chosen}
            choose={open}
            move={move}
            connect={
              edit &&
              ((from, to) => nodes.includes(from) && nodes.includes(to) && add(newLink(draft, from, to)))
            }
          />
        </div>
        {edit && drawn.nodes.length === 0 && (view !== null || problems.length > 0) && (
          <p className="soft">
            The scenario is empty. Add hosts and links, or a network, with the button + Add.
          </p>
        )}
        <Notice text={refused} />
        {view && !stale && <Satellites data={view.resolved} text={text} />}
        <details className="panel" open={drawn.nodes.length > 0 && drawn.nodes.length <= 40}>
          <summary>All parts</summary>
          <ul className="parts">
            {places.map((one) => (
              <PartButton
                key={one.id}
                label={`${one.kind} ${one.label}`}
                path={one.path}
                chosen={chosen}
                open={open}
              />
            ))}
            {known.map((one) => (
              <PartButton
                key={one.path.join(".")}
                label={one.label}
                path={one.path}
                chosen={chosen}
                open={open}
              />
            ))}
          </ul>
        </details>
      </section>
      <section aria-label="Panel" className="right">
        <div className="heading">
          <h2 ref={title} tabIndex={-1}>
            {node
              ? `${node.kind[0]!.toUpperCase()}${node.kind.slice(1)} ${node.label}`
              : heading(path, view?.resolved)}
            {path.length > 0 && <small className="key-path">{path.join(".")}</small>}
          </h2>
          <span className="grow" />
          {path.length > 0 && (
            <button type="button" onClick={() => open([])}>
              Show TOML
            </button>
          )}
          {path.length > 0 && edit && kind !== "node" && (
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
        {path.length === 0 && (
          <>
            <p className="help">
              Picture, forms and text show the same scenario. A change in one changes the others.
            </p>
            <Suspense fallback={<p aria-busy="true">Loading…</p>}>
              {schema && (
                <TomlEditor
                  label="Scenario"
                  text={text}
                  schema={schema}
                  problems={problems}
                  change={setText}
                  sharedHistory
                />
              )}
            </Suspense>
          </>
        )}
        {kind === "node" && schema && (
          <NodePanel
            key={path.join(".")}
            node={path[1] ?? ""}
            draft={draft}
            directions={flowing}
            choose={open}
            add={add}
            {...given}
          />
        )}
        {kind === "link" && schema && view && (
          <LinkPanel key={path.join(".")} path={path} add={add} {...given} />
        )}
        {kind === "change" && schema && view && <ChangePanel key={path.join(".")} path={path} {...given} />}
        {path.length > 0 && !["node", "link", "change"].includes(kind) && schema && view && (
          <Panel key={path.join(".")} path={path} {...given} />
        )}
      </section>
    </div>
  );
}

function PartButton({
  label,
  path,
  chosen,
  open,
}: {
  label: string;
  path: string[];
  chosen: string;
  open: (path: string[]) => void;
}) {
  return (
    <li>
      <button
        type="button"
        className="plain"
        aria-pressed={chosen === path.join(".")}
        onClick={() => open(path)}
      >
        {label}
      </button>
    </li>
  );
}
