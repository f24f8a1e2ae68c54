/**
 * The worker that calls the module. A run is processed in slices of about 12 ms. Between slices the
 * worker reads messages, so a new run replaces the current run at once.
 */
import type { Request } from "./answer";
import type { FromWorker, ToWorker } from "./client";
import { Engine, Refused } from "./module.js";

const SLICE_MS = 12;
/** Maximum number of events of a run in a page: some seconds. */
const MAX_EVENTS = 5_000_000;
/** An instance with more memory is replaced, because the memory of an instance never shrinks. */
const MEMORY_BYTES = 96 * 2 ** 20;
/** Time between two reports of progress. */
const PROGRESS_MS = 100;

let module: WebAssembly.Module | undefined;
let engine: Engine | undefined;
let latest = 0;

const send = (message: FromWorker, transfer: Transferable[] = []) => self.postMessage(message, { transfer });

/** Channel for resolving a promise after pending messages; `setTimeout` takes at least 4 ms. */
const channel = new MessageChannel();
const turns: (() => void)[] = [];
channel.port1.onmessage = () => turns.shift()?.();
const nextTurn = () =>
  new Promise<void>((resolve) => {
    turns.push(resolve);
    channel.port2.postMessage(null);
  });

async function run(id: number, request: Request, used: Engine): Promise<void> {
  const started = performance.now();
  let [reported, events, fraction] = [started, 2_000, 0];
  used.open(request);
  for (;;) {
    const before = performance.now();
    fraction = used.advance(events);
    const now = performance.now();
    if (fraction >= 1) break;
    events = Math.min(200_000, Math.max(100, Math.round((events * SLICE_MS) / Math.max(0.1, now - before))));
    await nextTurn();
    if (latest !== id) return;
    if (used.events() > MAX_EVENTS) {
      send({ id, kind: "declined", events: used.events(), fraction, limit: MAX_EVENTS });
      return;
    }
    if (now - reported > PROGRESS_MS) {
      reported = now;
      send({ id, kind: "progress", fraction });
    }
  }
  const answer = used.close();
  if (used.exports.memory.buffer.byteLength > MEMORY_BYTES) engine = undefined;
  const buffers = answer.traces.flatMap((trace) => [
    trace.time.buffer,
    trace.entity.buffer,
    ...trace.columns.map((column) => column.values.buffer),
  ]);
  const milliseconds = performance.now() - started;
  send({ id, kind: "answer", answer, milliseconds }, buffers as ArrayBuffer[]);
}

self.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "module") {
    module = data.module;
    return;
  }
  latest = data.id;
  if (data.kind === "cancel") return;
  try {
    if (!module) throw new Error("the worker has no module");
    engine ??= await Engine.of(module);
    if (data.kind === "run") await run(data.id, data.request, engine);
    else send({ id: data.id, kind: "checked", checked: engine.check(data.request) });
  } catch (error) {
    if (error instanceof Refused) {
      send({ id: data.id, kind: "refused", text: error.message, problems: error.problems });
    } else {
      engine = undefined;
      send({ id: data.id, kind: "failed", text: error instanceof Error ? error.message : String(error) });
    }
  }
};
