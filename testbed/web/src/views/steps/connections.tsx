// Step 2: the flows, with their applications and transports.

import { useCallback, useState } from "react";
import { type Edit, unused, type View } from "../../data/draft";
import { adaptTransport, applications, defaultTransport } from "../../data/flows";
import { type Change, initialValue, isTable, type Schema, type Table } from "../../data/schema";
import { useLoaded } from "../../data/state";
import { Field, ScrollRegion } from "../../parts/basics";
import { Panel } from "../../parts/panel";

/** The number of flows that a table of the scenario describes; empty for a single flow. */
function flowCount(flow: Table): string {
  if (typeof flow.count === "number") return `${flow.count} flows`;
  return [flow.from, flow.to].some((end) => String(end).includes("*")) ? "one flow per node" : "";
}

/** The start process of the flows of a group. */
function startProcess(starts: unknown): string {
  if (!isTable(starts)) return String(starts);
  return `${String(starts.kind)}, ${String(starts.mean ?? starts.over ?? "")}`;
}

export function Connections({
  view,
  edit,
  chosen,
  choose,
}: {
  view: View | null;
  edit?: Edit;
  chosen: string;
  choose: (path: string[]) => void;
}) {
  const schema = useLoaded<Schema>("/schema").value;
  const flows = ((view?.resolved.flow ?? []) as Table[]).map((one) => one);
  const nodes = (view?.picture.nodes ?? [])
    .filter((one) => !["network", "group"].includes(one.kind))
    .map((one) => one.id);
  const name = chosen.startsWith("flow.") ? chosen.slice(5) : String(flows[0]?.name ?? "");
  const [from = "", to = ""] = flows[0] ? [String(flows[0].from), String(flows[0].to)] : nodes;
  // A group is one flow with a count. Its members start by a random process and share a row of
  // results.
  const [app, setApp] = useState("bulk");
  const offered = applications(schema);
  const adapt = useCallback(
    (before: unknown, next: unknown) => adaptTransport(before, next, schema),
    [schema],
  );
  const add = (group: boolean) => {
    const path = [
      "flow",
      unused(
        group ? "group" : "flow",
        flows.map((one) => String(one.name)),
      ),
    ];
    const of = offered.find((one) => one.kind === app)!.schema;
    const value: Table = { from, to, app: initialValue(of, schema!), transport: defaultTransport(of) };
    if (group) Object.assign(value, { count: 5, starts: { kind: "poisson", mean: "1 s" } });
    const made: Change[] = [{ path, value }];
    void edit?.(made).then((done) => done && choose(path));
  };
  return (
    <div className="columns">
      <section className="left" aria-label="Connections">
        <ScrollRegion label="Flows">
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
                    <button
                      type="button"
                      className="plain"
                      aria-pressed={one.name === name}
                      onClick={() => choose(["flow", String(one.name)])}
                    >
                      {String(one.name)}
                    </button>
                    {flowCount(one) && <span className="badge">{flowCount(one)}</span>}
                  </th>
                  <td>
                    {String(one.from)} → {String(one.to)}
                  </td>
                  <td>{String((one.app as Table).kind)}</td>
                  <td>
                    {String((one.transport as Table).kind)}{" "}
                    {String((one.transport as Table).congestion ?? "")}
                  </td>
                  <td>{one.starts ? startProcess(one.starts) : String(one.start)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
        {flows.length === 0 && <p className="soft">No connections yet.</p>}
        {edit && nodes.length > 1 && (
          <div className="row">
            <Field label="Application">
              {(id) => (
                <select id={id} value={app} onChange={(event) => setApp(event.target.value)}>
                  {offered.map((one) => (
                    <option key={one.kind}>{one.kind}</option>
                  ))}
                </select>
              )}
            </Field>
            <button type="button" onClick={() => add(false)}>
              Add a connection
            </button>
            <button type="button" onClick={() => add(true)}>
              Add a group of 5
            </button>
          </div>
        )}
      </section>
      <section className="right" aria-label="Panel">
        {name && schema && view && (
          <>
            <div className="heading">
              <h2>
                Flow {name} <small className="key-path">flow.{name}</small>
              </h2>
              <span className="grow" />
              {edit && (
                <button
                  type="button"
                  onClick={() =>
                    void edit([{ path: ["flow", name], value: null }]).then((done) => done && choose([]))
                  }
                  aria-label={`Remove flow ${name}`}
                >
                  Remove
                </button>
              )}
            </div>
            <Panel
              key={name}
              path={["flow", name]}
              schema={schema}
              data={view.resolved}
              edit={edit}
              stale={false}
              adapt={adapt}
            />
          </>
        )}
      </section>
    </div>
  );
}
