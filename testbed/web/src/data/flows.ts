// The applications and transports of flows.

import { isTable, resolved, type Schema, type Table, variants } from "./schema";

/** The applications that the page offers. The test bed starts no programs of the machine, so
 * `command` is missing. */
export function applications(schema: Schema | undefined): { kind: string; schema: Schema }[] {
  const flow = schema?.properties?.flow && resolved(schema.properties.flow, schema);
  const app = flow?.items && resolved(flow.items, schema!).properties?.app;
  return app ? variants(resolved(app, schema!)).filter((one) => one.kind !== "command") : [];
}

/** The default transport of an application. */
export function defaultTransport(app: Schema): Table {
  const kind = app.transports?.[0] ?? "tcp";
  return kind === "tcp" ? { kind, congestion: "cubic" } : { kind };
}

/** Adapts the transport of a flow after a change of its application. The transport stays if the new
 * application supports it and both applications have the same default transport. */
export function adaptTransport(before: unknown, next: unknown, schema: Schema | undefined): unknown {
  if (!isTable(before) || !isTable(next) || !isTable(next.app) || !isTable(before.app)) return next;
  const kind = String(next.app.kind);
  const former = String(before.app.kind);
  if (kind === former || !isTable(next.transport)) return next;
  const [app, old] = [kind, former].map(
    (name) => applications(schema).find((one) => one.kind === name)?.schema ?? {},
  ) as [Schema, Schema];
  const proposed = defaultTransport(app);
  const stays =
    proposed.kind === defaultTransport(old).kind && app.transports?.includes(String(next.transport.kind));
  return stays ? next : { ...next, transport: proposed };
}
