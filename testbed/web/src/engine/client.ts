/** Checks and runs scenarios in a worker. A new run or check cancels the last one. */
import type { Problem } from "../data/problem";
import type { Answer, Checked, Request } from "./answer";

export type ToWorker =
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "run" | "check"; id: number; request: Request }
  | { kind: "cancel"; id: number };

/** The outcome of a run; `cancelled` if another run replaced the run. */
export type Outcome =
  | { kind: "answer"; answer: Answer; milliseconds: number }
  | { kind: "checked"; checked: Checked }
  | { kind: "refused"; text: string; problems: Problem[] }
  /**
   * The run has more than `limit` events: `events` for the completed `fraction` of its duration.
   */
  | { kind: "declined"; events: number; fraction: number; limit: number }
  | { kind: "failed"; text: string }
  | { kind: "cancelled" };

export type FromWorker = { id: number } & (
  | Exclude<Outcome, { kind: "cancelled" }>
  | { kind: "progress"; fraction: number }
);

/** Time without a message after which a run has failed. The worker reports every 100 ms. */
const SILENCE_MS = 10_000;

export class Client {
  private worker: Worker;
  private id = 0;
  private settle: ((outcome: Outcome) => void) | undefined;
  private progress: ((fraction: number) => void) | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;

  /** `create` starts a worker of `worker.ts`. */
  constructor(
    private readonly module: WebAssembly.Module,
    private readonly create: () => Worker,
  ) {
    this.worker = this.started();
  }

  private started(): Worker {
    const worker = this.create();
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
    if (message.kind === "progress") this.progress?.(message.fraction);
    else this.end(message);
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

  /** Ends the worker. The client cannot be used again. */
  stop(): void {
    this.end({ kind: "cancelled" });
    this.worker.terminate();
  }

  /**
   * Runs a scenario. Resolves in every case. A run that another call replaces resolves as
   * `cancelled`. `progress` receives the completed fraction from time to time.
   */
  run(request: Request, progress?: (fraction: number) => void): Promise<Outcome> {
    return this.ask("run", request, progress);
  }

  /** Checks a scenario without a run. Resolves as `run` does. */
  check(request: Request): Promise<Outcome> {
    return this.ask("check", request);
  }

  private ask(
    kind: "run" | "check",
    request: Request,
    progress?: (fraction: number) => void,
  ): Promise<Outcome> {
    this.end({ kind: "cancelled" });
    this.id += 1;
    this.progress = progress;
    this.send({ kind, id: this.id, request });
    this.expectMessage();
    return new Promise((resolve) => {
      this.settle = resolve;
    });
  }
}
