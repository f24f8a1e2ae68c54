// Step 2: the flows, with their applications and transports.

import type { Edit, View } from "./draft";
import { Panel } from "./panel";
import { isTable, type Change, type Schema, type Table } from "./schema";
import { useLoaded } from "./state";
import { unused } from "./system";

/** How many flows a table stands for, if more than one. */
function members(flow: Table): string {
  if (typeof flow.count === "number") return `${flow.count} flows`;
  return [flow.from, flow.to].some((end) => String(end).includes("*")) ? "a flow per node" : "";
}

/** When the members of a group start. */
function started(starts: unknown): string {
  if (!isTable(starts)) return String(starts);
  return `${String(starts.kind)}, ${String(starts.mean ?? starts.over ?? "")}`;
}

export function Connections({ view, edit, chosen, choose }: { view: View | null; edit?: Edit; chosen: string; choose: (path: string[]) => void }) {
  const schema = useLoaded<Schema>("/schema").value;
  const flows = ((view?.resolved.flow ?? []) as Table[]).map((one) => one);
  const nodes = (view?.picture.nodes ?? []).filter((one) => !["network", "group"].includes(one.kind)).map((one) => one.id);
  const name = chosen.startsWith("flow.") ? chosen.slice(5) : String(flows[0]?.name ?? "");
  const [from = "", to = ""] = flows[0] ? [String(flows[0].from), String(flows[0].to)] : nodes;
  // A group is one flow with a count: its members start by a process, and are one row of results.
  const add = (group: boolean) => {
    const path = ["flow", unused(group ? "group" : "flow", flows.map((one) => String(one.name)))];
    const value: Table = { from, to, app: { kind: "bulk" }, transport: { kind: "tcp", congestion: "cubic" } };
    if (group) Object.assign(value, { count: 5, starts: { kind: "poisson", mean: "1 s" } });
    const made: Change[] = [{ path, value }];
    void edit?.(made).then(() => choose(path));
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
                    {members(one) && <span className="badge">{members(one)}</span>}
                  </th>
                  <td>
                    {String(one.from)} → {String(one.to)}
                  </td>
                  <td>{String((one.app as Table).kind)}</td>
                  <td>
                    {String((one.transport as Table).kind)} {String((one.transport as Table).congestion ?? "")}
                  </td>
                  <td>{one.starts ? started(one.starts) : String(one.start)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {flows.length === 0 && <p className="soft">There are none yet.</p>}
        {edit && nodes.length > 1 && (
          <div className="row">
            <button onClick={() => add(false)}>Add a connection</button>
            <button onClick={() => add(true)}>Add a group of 5</button>
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

