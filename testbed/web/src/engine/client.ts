/** Runs scenarios in a worker. A new run cancels the last one. */
import type { Answer, Problem, Request } from "./answer";
import EngineWorker from "./worker?worker&inline";

export type ToWorker =
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "run"; id: number; request: Request; maxEvents: number }
  | { kind: "cancel"; id: number };

export type FromWorker = { id: number } & (
  | { kind: "progress"; fraction: number }
  | { kind: "answer"; answer: Answer; milliseconds: number }
  | { kind: "refused"; text: string; problems: Problem[] }
  | { kind: "declined"; events: number; fraction: number }
  | { kind: "failed"; text: string }
);

/** The outcome of a run; `cancelled` if another run replaced the run. */
export type Outcome = Exclude<FromWorker, { kind: "progress" }> | { id: number; kind: "cancelled" };

/** Maximum number of events of a run in a page: some seconds. */
export const MAX_EVENTS = 5_000_000;

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
  private worker: Promise<Worker>;
  private id = 0;
  private settle: ((outcome: Outcome) => void) | undefined;
  private progress: ((fraction: number) => void) | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly module: Promise<WebAssembly.Module>,
    private readonly silenceMs = SILENCE_MS,
  ) {
    this.worker = this.started();
  }

  private async started(): Promise<Worker> {
    const compiled = await this.module;
    const worker = new EngineWorker();
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    worker.postMessage({ kind: "module", module: compiled } satisfies ToWorker);
    return worker;
  }

  private receive(message: FromWorker) {
    if (message.id !== this.id) return;
    this.expectMessage();
    if (message.kind === "progress") this.progress?.(message.fraction);
    else this.end(message);
  }

  /** Replaces a worker that does not report: a call of the module does not return. */
  private expectMessage() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.worker.then((worker) => worker.terminate());
      this.worker = this.started();
      this.end({ id: this.id, kind: "failed", text: "the run did not respond" });
    }, this.silenceMs);
  }

  private end(outcome: Outcome) {
    clearTimeout(this.silence);
    this.settle?.(outcome);
    this.settle = undefined;
    this.progress = undefined;
  }

  /** Cancels the current run, if any. */
  async cancel(): Promise<void> {
    if (!this.settle) return;
    this.end({ id: this.id, kind: "cancelled" });
    this.id += 1;
    const id = this.id;
    (await this.worker).postMessage({ kind: "cancel", id } satisfies ToWorker);
  }

  /**
   * Runs a scenario. Resolves in every case. A run that another call replaces resolves as
   * `cancelled`.
   */
  async run(
    request: Request,
    progress?: (fraction: number) => void,
    maxEvents = MAX_EVENTS,
  ): Promise<Outcome> {
    this.end({ id: this.id, kind: "cancelled" });
    this.id += 1;
    const id = this.id;
    const outcome = new Promise<Outcome>((resolve) => {
      this.settle = resolve;
    });
    this.progress = progress;
    const worker = await this.worker;
    if (this.id === id) {
      worker.postMessage({ kind: "run", id, request, maxEvents } satisfies ToWorker);
      this.expectMessage();
    }
    return outcome;
  }
}
