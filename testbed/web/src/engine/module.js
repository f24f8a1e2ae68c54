// @ts-check
/**
 * The engine as a WebAssembly module (`crates/web`), which imports nothing. This file is plain JavaScript, so that Node
 * runs it in tests as it is.
 *
 * @typedef {import("./answer").Request} Request
 * @typedef {import("./answer").Answer} Answer
 * @typedef {import("./answer").Checked} Checked
 * @typedef {import("./answer").Trace} Trace
 * @typedef {{
 *   memory: WebAssembly.Memory,
 *   bp_input: (length: number) => number,
 *   bp_open: () => number,
 *   bp_check: () => number,
 *   bp_advance: (events: number) => number,
 *   bp_events: () => number,
 *   bp_close: () => void,
 *   bp_answer: () => number,
 *   bp_answer_length: () => number,
 *   bp_panic: () => number,
 *   bp_panic_length: () => number,
 * }} Exports
 */

/** A refused scenario: its problems, each with file, line, key path, message and allowed values. */
export class Refused extends Error {
  /** @param {string} text @param {import("../data/problem").Problem[]} problems */
  constructor(text, problems) {
    super(text);
    this.name = "Refused";
    this.problems = problems;
  }
}

/** A failure of the engine, after which the instance cannot be used again. */
export class Trapped extends Error {}

/** One instance of the module, which runs one scenario at a time. */
export class Engine {
  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    this.exports = /** @type {Exports} */ (/** @type {unknown} */ (instance.exports));
  }

  /** @param {WebAssembly.Module} module */
  static async of(module) {
    return new Engine(await WebAssembly.instantiate(module, {}));
  }

  /** @param {number} at @param {number} length */
  text(at, length) {
    return new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, at, length));
  }

  /**
   * Calls an export. A trap becomes an error with the message of the panic.
   * @template T
   * @param {() => T} run
   * @returns {T}
   */
  guarded(run) {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      const message = this.text(this.exports.bp_panic(), this.exports.bp_panic_length());
      throw new Trapped(
        message || (this.canGrow() ? error.message : "the run needs too much memory for a page"),
      );
    }
  }

  /** Returns false if the memory is exhausted, in which case an allocation has trapped without a panic. */
  canGrow() {
    try {
      this.exports.memory.grow(1);
      return true;
    } catch {
      return false;
    }
  }

  answer() {
    return JSON.parse(this.text(this.exports.bp_answer(), this.exports.bp_answer_length()));
  }

  /**
   * Loads a scenario and builds its network.
   * @param {Request} request
   */
  open(request) {
    this.ask(request, this.exports.bp_open);
  }

  /**
   * Checks a scenario without a run.
   * @param {Request} request
   * @returns {Checked}
   */
  check(request) {
    this.ask(request, this.exports.bp_check);
    return this.answer();
  }

  /**
   * Passes a request to an export, which returns 0 if it refuses the request.
   * @param {Request} request
   * @param {() => number} asked
   */
  ask(request, asked) {
    const input = new TextEncoder().encode(JSON.stringify(request));
    const isAccepted = this.guarded(() => {
      const at = this.exports.bp_input(input.length);
      new Uint8Array(this.exports.memory.buffer, at, input.length).set(input);
      return asked();
    });
    if (isAccepted) return;
    const answer = this.answer();
    if (answer.error) throw new Error(answer.error);
    throw new Refused(answer.text, answer.problems);
  }

  /**
   * Processes at most `events` events. Returns the completed fraction of the duration.
   * @param {number} events
   */
  advance(events) {
    return this.guarded(() => this.exports.bp_advance(events));
  }

  /** Returns the number of events processed so far. */
  events() {
    return this.exports.bp_events();
  }

  /**
   * Ends the run and copies its outcome out of the module's memory.
   * @returns {Answer}
   */
  close() {
    this.guarded(() => this.exports.bp_close());
    const answer = this.answer();
    // Views of the memory are made here because they are detached when the memory grows.
    const buffer = this.exports.memory.buffer;
    for (const trace of answer.traces) {
      trace.time = new Float64Array(buffer, trace.time, trace.rows).slice();
      trace.entity = new Uint32Array(buffer, trace.entity, trace.rows).slice();
      for (const column of trace.columns) {
        column.values = new Float64Array(buffer, column.at, trace.rows).slice();
        delete column.at;
      }
    }
    return answer;
  }
}
