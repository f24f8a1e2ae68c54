// The panel of a node: its senders, queues, proxy, competing senders, and what else is there.

import {
  type Addition,
  type Draft,
  mechanismOf,
  newCompetitor,
  newFlow,
  newLink,
  newProxy,
} from "../../data/additions";
import type { Edit } from "../../data/draft";
import { adaptTransport } from "../../data/flows";
import { isTable, resolved, type Schema, type Table, variants } from "../../data/schema";
import { includes, networksOf, tablesOf, things } from "../../data/things";
import { Field } from "../../parts/basics";
import { Panel } from "../../parts/panel";
import { Section } from "./section";

interface Given {
  node: string;
  draft: Draft;
  data: Table;
  schema: Schema;
  directions: Map<string, [string, string]>;
  edit?: Edit;
  stale: boolean;
  choose: (path: string[]) => void;
  add: (addition: Addition) => void;
}

export function NodePanel(given: Given) {
  const { node, draft, data, edit, add } = given;
  const flows = tablesOf(data, "flow");
  const sent = flows.filter((one) => includes(one.from, node));
  const received = flows.filter((one) => includes(one.to, node));
  const near = neighbours(data, node);
  const isEnd = sent.length > 0 || received.length > 0;
  const hasProxy = tablesOf(data, "proxy").some((one) => one.node === node);
  const others = draft.nodes.filter((one) => one !== node);
  return (
    <>
      {sent.map((one) => (
        <Sender key={String(one.name)} flow={one} {...given} />
      ))}
      {hasProxy && <ProxySection {...given} />}
      <Queues {...given} forward />
      {!isEnd && <Competitors {...given} />}
      {!isEnd && !hasProxy && near.length > 1 && <ProxySection {...given} />}
      {received.length > 0 && (
        <Section title="Receives">
          <Buttons paths={received.map((one) => [["flow", String(one.name)], flowText(one)])} {...given} />
        </Section>
      )}
      <Queues {...given} forward={false} />
      <Others {...given} />
      {near.length === 0 && networksOf(data).length + tablesOf(data, "link").length === 0 && (
        <p>No link leads to this host yet.</p>
      )}
      {edit && (
        <Section title="Connect">
          <div className="row">
            {isEnd || near.length < 2 ? (
              <AddTo
                label="Send to"
                action="Add a flow"
                among={others}
                add={(to) => add(newFlow(draft, node, to))}
              />
            ) : null}
            <AddTo
              label="Link to"
              action="Add a link"
              among={others}
              add={(to) => add(newLink(draft, node, to))}
            />
          </div>
        </Section>
      )}
    </>
  );
}

/** The nodes to which links lead from a node. */
function neighbours(data: Table, node: string): string[] {
  return tablesOf(data, "link").flatMap((one) =>
    one.from === node ? [String(one.to)] : one.to === node ? [String(one.from)] : [],
  );
}

function flowText(flow: Table): string {
  const transport = isTable(flow.transport) ? flow.transport : {};
  const app = isTable(flow.app) ? flow.app.kind : flow.app;
  const variant = String(transport.congestion ?? transport.kind ?? "");
  // A congestion control may be a text of C source.
  const short = variant.includes("\n") ? "own C source" : variant;
  return `${String(flow.name)}: ${String(flow.from)} → ${String(flow.to)}, ${String(app)}, ${short}`;
}

function Buttons({ paths, choose }: { paths: [string[], string][]; choose: (path: string[]) => void }) {
  return (
    <ul className="parts">
      {paths.map(([path, label]) => (
        <li key={path.join(".")}>
          <button type="button" className="plain" onClick={() => choose(path)}>
            {label}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Sender({ flow, schema, data, edit, stale }: Given & { flow: Table }) {
  const path = ["flow", String(flow.name)];
  return (
    <Section title={`Sends to ${String(flow.to)}`} path={path.join(".")}>
      <Panel
        path={path}
        schema={schema}
        data={data}
        edit={edit}
        stale={stale}
        only={["transport", "app", "start", "to"]}
        adapt={(before, next) => adaptTransport(before, next, schema)}
      />
      <Section title="Other keys of the flow" folded>
        <Panel
          path={path}
          schema={schema}
          data={data}
          edit={edit}
          stale={stale}
          except={["transport", "app", "start", "to", "from"]}
        />
      </Section>
    </Section>
  );
}

/** A queue in front of a link or network. `path` is that of the table with the key `queue`. */
interface QueueOf {
  path: string[];
  other: string;
  /** True if the queue of the other direction has the same keys. */
  shared: boolean;
  /** True if the data of flows leaves through the queue. */
  forward: boolean;
}

function queuesAt({ node, data, directions }: Given): QueueOf[] {
  const found: QueueOf[] = [];
  for (const link of tablesOf(data, "link")) {
    if (link.from !== node && link.to !== node) continue;
    const name = String(link.name);
    const outward = link.from === node;
    const shared = !outward && !isTable(link.return);
    found.push({
      path: outward || shared ? ["link", name] : ["link", name, "return"],
      other: String(outward ? link.to : link.from),
      shared,
      forward: leavesOver(name, node, directions) ?? outward,
    });
  }
  for (const [name, network] of networksOf(data)) {
    const terminals = Array.isArray(network.terminals) ? network.terminals : [];
    if (network.gateway === node && isTable(network.forward)) {
      const path = ["network", name, "forward"];
      found.push({ path, other: `the terminals of ${name}`, shared: false, forward: true });
    }
    if (isTable(network.return) && terminals.some((one) => (isTable(one) ? one.name : one) === node)) {
      const path = ["network", name, "return"];
      found.push({ path, other: `the gateway of ${name}`, shared: false, forward: true });
    }
  }
  return found;
}

/** The queues of a node, in the direction of the flows or against it. */
function Queues(given: Given & { forward: boolean }) {
  const { schema, data, edit, stale, forward } = given;
  return queuesAt(given)
    .filter((one) => one.forward === forward)
    .map((one) => (
      <Section
        key={one.path.join(".")}
        title={`Queue towards ${one.other}`}
        path={[...one.path, "queue"].join(".")}
        folded={!forward}
      >
        {one.shared && (
          <p className="help">The link has the same queue in both directions. A change applies to both.</p>
        )}
        <Panel path={one.path} schema={schema} data={data} edit={edit} stale={stale} only={["queue"]} />
      </Section>
    ));
}

/** Returns true if data leaves a node over a link; undefined if no edge of the link is known. */
function leavesOver(
  link: string,
  node: string,
  directions: Map<string, [string, string]>,
): boolean | undefined {
  for (const [id, [from, to]] of directions) {
    if (!id.startsWith(`link ${link} `)) continue;
    if (from === node) return true;
    if (to === node) return false;
  }
  return undefined;
}

/** The flows that enter the network at a node, from the senders next to it. */
function Competitors({ node, data, draft, edit, choose, add }: Given) {
  const near = neighbours(data, node);
  const entering = tablesOf(data, "flow").filter((one) => near.some((other) => includes(one.from, other)));
  const receivers = [...new Set(tablesOf(data, "flow").map((one) => String(one.to)))].filter(
    (one) => !one.includes("*"),
  );
  if (entering.length === 0) return null;
  return (
    <Section title="Competing senders">
      <Buttons paths={entering.map((one) => [["flow", String(one.name)], flowText(one)])} choose={choose} />
      {edit && (
        <button type="button" onClick={() => add(newCompetitor(draft, node, receivers))}>
          Add a competing sender
        </button>
      )}
    </Section>
  );
}

/** The proxy at a node, of which a list of mechanisms adds, changes or disables one. */
function ProxySection({ node, data, draft, schema, edit, stale, add }: Given) {
  const proxies = tablesOf(data, "proxy").filter((one) => one.node === node);
  const of = schema.$defs?.Mechanism;
  const kinds = of ? variants(resolved(of, schema)) : [];
  const pick = (kind: string, proxy: Table | undefined) => {
    if (!proxy) {
      if (kind) add(newProxy(draft, mechanismOf(kind, data, node), node));
      return;
    }
    const path = ["proxy", String(proxy.name)];
    if (!kind) return void edit?.([{ path: [...path, "enabled"], value: false }]);
    const same = isTable(proxy.mechanism) && proxy.mechanism.kind === kind;
    void edit?.([
      { path: [...path, "enabled"], value: proxy.enabled === false ? true : null },
      ...(same ? [] : [{ path: [...path, "mechanism"], value: mechanismOf(kind, data, node) }]),
    ]);
  };
  return (proxies.length > 0 ? proxies : [undefined]).map((proxy) => {
    const active = proxy && proxy.enabled !== false;
    const kind = active && isTable(proxy.mechanism) ? String(proxy.mechanism.kind) : "";
    const path = proxy ? ["proxy", String(proxy.name)] : [];
    return (
      <Section key={path.join(".")} title="Proxy" path={path.join(".")}>
        <Field
          label={proxies.length > 1 ? `Mechanism of ${path[1]}` : "Mechanism"}
          help={kinds.find((one) => one.kind === kind)?.schema.description?.replaceAll("\n", " ")}
        >
          {(id, described) => (
            <select
              id={id}
              aria-describedby={described}
              value={kind}
              disabled={!edit}
              onChange={(event) => pick(event.target.value, proxy)}
            >
              <option value="">none</option>
              {kinds.map((one) => (
                <option key={one.kind}>{one.kind}</option>
              ))}
            </select>
          )}
        </Field>
        {active && (
          <div className="thing-keys">
            <Panel
              key={kind}
              path={[...path, "mechanism"]}
              schema={schema}
              data={data}
              edit={edit}
              stale={stale}
            />
            <Section title="Flows that it serves" folded>
              <Panel path={path} schema={schema} data={data} edit={edit} stale={stale} only={["flows"]} />
            </Section>
          </div>
        )}
      </Section>
    );
  });
}

/** The other things at a node: its links, networks, services and DiffServ edges. */
function Others({ node, data, choose }: Given) {
  const found = things(data).filter(
    (one) => one.ends.includes(node) && !["flow", "proxy"].includes(one.path[0]!),
  );
  if (found.length === 0) return null;
  return (
    <Section title="Links and others">
      <Buttons paths={found.map((one) => [one.path, one.label])} choose={choose} />
    </Section>
  );
}

function AddTo({
  label,
  action,
  among,
  add,
}: {
  label: string;
  action: string;
  among: string[];
  add: (to: string) => void;
}) {
  if (among.length === 0) return null;
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        add(String(new FormData(event.currentTarget).get("to")));
      }}
    >
      <Field label={label}>
        {(id) => (
          <select id={id} name="to">
            {among.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      <button type="submit">{action}</button>
    </form>
  );
}
