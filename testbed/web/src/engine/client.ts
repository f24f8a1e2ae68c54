/** Runs scenarios in a worker. A new run cancels the last one. */
import type { Problem } from "../data/problem";
import type { Answer, Request } from "./answer";
import EngineWorker from "./worker?worker&inline";

export type ToWorker =
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "run"; id: number; request: Request }
  | { kind: "cancel"; id: number };

/** The outcome of a run; `cancelled` if another run replaced the run. */
export type Outcome =
  | { kind: "answer"; answer: Answer }
  | { kind: "refused"; text: string; problems: Problem[] }
  /** The run has too many events: `events` for the completed `fraction` of its duration. */
  | { kind: "declined"; events: number; fraction: number }
  | { kind: "failed"; text: string }
  | { kind: "cancelled" };

/** `progress` only states that the worker still responds. */
export type FromWorker = { id: number } & (Exclude<Outcome, { kind: "cancelled" }> | { kind: "progress" });

/** Time without a message after which a run has failed. The worker reports every 100 ms. */
const SILENCE_MS = 10_000;

/**
 * Decodes the module from the site's file `engine.js`. The module is gzip in base64, because a page
 * that is opened from a file cannot fetch other files.
 */
export async function decoded(base64: string): Promise<WebAssembly.Module> {
  const bytes = await (await fetch(`data:application/octet-stream;base64,${base64}`)).arrayBuffer();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

export class Client {
  private worker: Worker;
  private id = 0;
  private settle: ((outcome: Outcome) => void) | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly module: WebAssembly.Module) {
    this.worker = this.started();
  }

  private started(): Worker {
    const worker = new EngineWorker();
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    this.send({ kind: "module", module: this.module }, worker);
    return worker;
  }

  private send(message: ToWorker, worker = this.worker) {
    worker.postMessage(message);
  }

  private receive({ id, ...message }: FromWorker) {
    if (id !== this.id) return;
    this.expectMessage();
    if (message.kind !== "progress") this.end(message);
  }

  /** Replaces a worker that does not report: a call of the module does not return. */
  private expectMessage() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.worker.terminate();
      this.worker = this.started();
      this.end({ kind: "failed", text: "the run did not respond" });
    }, SILENCE_MS);
  }

  private end(outcome: Outcome) {
    clearTimeout(this.silence);
    this.settle?.(outcome);
    this.settle = undefined;
  }

  /** Cancels the current run, if any. */
  cancel(): void {
    if (!this.settle) return;
    this.end({ kind: "cancelled" });
    this.id += 1;
    this.send({ kind: "cancel", id: this.id });
  }

  /**
   * Runs a scenario. Resolves in every case. A run that another call replaces resolves as
   * `cancelled`.
   */
  run(request: Request): Promise<Outcome> {
    this.end({ kind: "cancelled" });
    this.id += 1;
    this.send({ kind: "run", id: this.id, request });
    this.expectMessage();
    return new Promise((resolve) => {
      this.settle = resolve;
    });
  }
}
