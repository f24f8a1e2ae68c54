/**
 * The interactive figures of the site: controls, figures and a sentence. The engine runs in this
 * page at each change of a control.
 */
import "uplot/dist/uPlot.min.css";
import "./try.css";
import type { Answer } from "../engine/answer";
import type { Client, Outcome } from "../engine/client";
import { Chart } from "./chart";
import { client, compiled } from "./engine";
import { filled, type Named } from "./expression";
import { type Line, linesOf, numberOf, type Reduced } from "./lines";
import { at, overrides, type Settings, type Spec, shown, shownValue } from "./spec";

/**
 * A move cancels a run that has taken longer than this. A shorter run ends and is drawn, so that
 * the figure moves with the slider.
 */
const PATIENCE_MS = 300;
/** Pause of the controls after which the sentence is announced. */
const ANNOUNCE_MS = 900;
/** Number of reduced results that a block keeps. */
const KEPT = 200;

interface Job {
  /** Index of the choice in `each`; 0 without choices. */
  run: number;
  /** Index of the value in the sweep; 0 without a sweep. */
  point: number;
  key: string;
  given: string[];
}

let blocks = 0;

function element<K extends keyof HTMLElementTagNameMap>(name: K, more: Record<string, unknown> = {}) {
  return Object.assign(document.createElement(name), more) as HTMLElementTagNameMap[K];
}

class Block {
  private readonly settings: Settings;
  private readonly charts: Chart[];
  private readonly kept = new Map<string, Reduced>();
  private readonly shownResults = new Map<string, Reduced>();
  private readonly sentence = element("p", { className: "try-sentence" });
  private readonly live = element("p", { className: "try-live" });
  private readonly message = element("p", { className: "try-message", hidden: true });
  private readonly figures = element("div", { className: "try-figures", hidden: true });
  private readonly hint = element("div", { className: "try-hint" });
  private engine: Promise<Client> | undefined;
  private generation = 0;
  private isRunning = false;
  /** The client whose run is in progress. A move may cancel this run. */
  private current: Client | undefined;
  private started = 0;
  private next = 0;
  private end: number | undefined;
  private announcement: number | undefined;

  constructor(
    private readonly root: HTMLElement,
    private readonly spec: Spec,
  ) {
    this.settings = spec.controls.map((control) => control.start);
    const axis = spec.sweep
      ? {
          label: spec.sweep.show.unit ? `${spec.sweep.label} (${spec.sweep.show.unit})` : spec.sweep.label,
          log: spec.sweep.log,
        }
      : { label: "time (s)", log: false };
    this.charts = spec.figures.map((figure) => new Chart(figure, axis));
    this.figures.append(...this.charts.map((chart) => chart.root));
    this.live.setAttribute("role", "status");
    this.live.setAttribute("aria-live", "polite");
    const run = element("button", { type: "button", className: "try-run", textContent: "Run in this page" });
    run.addEventListener("click", () => this.ask());
    this.hint.append(run, " or move a control.");
    root.append(this.form(), this.hint, this.figures, this.message, this.sentence, this.live);
    for (const event of ["pointerenter", "focusin"]) {
      root.addEventListener(event, () => void compiled().catch(() => undefined), { once: true });
    }
    root.hidden = false;
  }

  private form(): HTMLFormElement {
    const form = element("form", { className: "try-controls" });
    form.addEventListener("submit", (event) => event.preventDefault());
    this.spec.controls.forEach((control, place) => {
      blocks += 1;
      const id = `try-${blocks}`;
      const label = element("label", { htmlFor: id, textContent: control.label });
      const row = element("div", { className: "try-control" });
      if ("choices" in control) {
        const select = element("select", { id });
        select.append(
          ...control.choices.map((choice, value) =>
            element("option", { value: String(value), textContent: choice.label }),
          ),
        );
        select.value = String(control.start);
        select.addEventListener("change", () => this.move(place, Number(select.value)));
        row.append(label, select);
      } else {
        const slider = element("input", {
          id,
          type: "range",
          min: "0",
          max: String(control.values.length - 1),
          step: "1",
        });
        slider.value = String(control.start);
        // The slider's own value text says the same. The element `output` would be a live region.
        const value = element("span", { className: "try-shown" });
        value.setAttribute("aria-hidden", "true");
        const tell = () => {
          value.textContent = shown(control, Number(slider.value));
          slider.setAttribute("aria-valuetext", value.textContent);
        };
        tell();
        slider.addEventListener("input", () => {
          tell();
          this.move(place, Number(slider.value));
        });
        row.append(label, slider, value);
      }
      form.append(row);
    });
    return form;
  }

  private move(place: number, position: number) {
    this.settings[place] = position;
    this.ask();
  }

  /** Asks for the results of the current settings. */
  private ask() {
    this.generation += 1;
    this.hint.hidden = true;
    this.figures.hidden = false;
    this.root.setAttribute("aria-busy", "true");
    if (!this.isRunning) void this.work();
    else if (this.current && performance.now() - this.started > PATIENCE_MS) void this.current.cancel();
  }

  private jobs(): Job[] {
    const { each, sweep } = this.spec;
    const own = overrides(this.spec, this.settings);
    const runs = each.length ? each.map((choice) => choice.overrides) : [[]];
    const points = sweep ? sweep.values.map((value) => at(sweep, value)) : [[]];
    return runs.flatMap((more, run) =>
      points.map((given, point) => {
        const all = [...own, ...more, ...given];
        return { run, point, given: all, key: JSON.stringify(all) };
      }),
    );
  }

  private async work(): Promise<void> {
    this.isRunning = true;
    try {
      this.engine ??= client();
      const engine = await this.engine;
      for (;;) {
        const generation = this.generation;
        const isDone = await this.answer(engine, generation);
        if (isDone && this.generation === generation) break;
      }
    } catch (error) {
      this.engine = undefined;
      this.fail(error instanceof Error ? error.message : String(error));
    }
    this.isRunning = false;
    this.root.setAttribute("aria-busy", "false");
  }

  /** Runs and draws the jobs of a generation. Returns false if a move has interrupted them. */
  private async answer(engine: Client, generation: number): Promise<boolean> {
    const jobs = this.jobs();
    const settings = [...this.settings];
    // Moves that interrupt several runs must not always draw the same one.
    const order = jobs.map((_, place) => jobs[(place + this.next) % jobs.length]!);
    let isFirst = true;
    for (const job of order) {
      if (this.generation !== generation && !isFirst) return false;
      isFirst = false;
      let reduced = this.kept.get(job.key);
      if (!reduced) {
        this.started = performance.now();
        this.current = engine;
        const outcome = await engine.run({
          toml: this.spec.toml,
          name: this.spec.name,
          overrides: job.given,
          traces: this.spec.traces,
          spacing_s: this.spec.spacing_s,
        });
        this.current = undefined;
        if (outcome.kind === "cancelled") return false;
        if (outcome.kind !== "answer") {
          this.fail(reason(outcome));
          return true;
        }
        reduced = this.reduced(outcome.answer, job, settings);
        this.keep(job.key, reduced);
      }
      this.next = (jobs.indexOf(job) + 1) % jobs.length;
      this.shownResults.set(`${job.run} ${job.point}`, reduced);
      this.message.hidden = true;
      this.draw();
      // Lets the browser paint.
      if (order.length > 1) await new Promise(requestAnimationFrame);
    }
    this.next = 0;
    this.speak();
    return true;
  }

  private keep(key: string, reduced: Reduced) {
    this.kept.set(key, reduced);
    if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value!);
  }

  private reduced(answer: Answer, job: Job, settings: Settings): Reduced {
    const { spec } = this;
    const label = spec.each[job.run]?.label ?? "";
    const named: Named = { each: { number: Number.NaN, text: label } };
    spec.controls.forEach((control, place) => {
      const position = settings[place]!;
      const number = "values" in control ? control.values[position]! : Number.NaN;
      named[control.name] = { number, text: shown(control, position) };
    });
    if (spec.sweep) {
      const value = spec.sweep.values[job.point]!;
      named.sweep = { number: value, text: shownValue(spec.sweep, value) };
    }
    this.end = answer.summary.duration_seconds;
    const sentence = filled(spec.say, answer, named);
    return {
      lines: spec.figures.map((figure) => linesOf(figure, answer, label)),
      numbers: spec.figures.map((figure) => numberOf(figure, answer, named)),
      sentence: sentence ?? filled(spec.otherwise, answer, named) ?? "",
      isMissing: sentence === null,
    };
  }

  private draw() {
    const { spec } = this;
    const runs = spec.each.length ? spec.each.map((choice) => choice.label) : [""];
    const result = (run: number, point = 0) => this.shownResults.get(`${run} ${point}`);
    spec.figures.forEach((figure, place) => {
      const chart = this.charts[place]!;
      if ("bars" in figure) {
        chart.drawBars(runs.map((label, run) => ({ label, value: result(run)?.numbers[place] ?? null })));
      } else if ("sweep" in figure) {
        const { values: given, show } = spec.sweep!;
        const values = given.map((value) => value * show.factor);
        const lines = runs.map(
          (label, run): Line => ({
            label,
            x: values,
            y: values.map((_, point) => result(run, point)?.numbers[place] ?? null),
          }),
        );
        chart.draw(lines, undefined);
      } else {
        chart.draw(
          runs.flatMap((_, run) => result(run)?.lines[place] ?? []),
          this.end,
        );
      }
    });
    this.sentence.replaceChildren();
    runs.forEach((label, run) => {
      const text = this.sentenceOf(run);
      if (!text) return;
      const line = element("span");
      if (label && !spec.say.includes("{each}"))
        line.append(element("strong", { textContent: label }), `: ${text} `);
      else line.append(`${text} `);
      this.sentence.append(line);
    });
  }

  /** Over a sweep: the sentences of the last value with a result, and of the first without. */
  private sentenceOf(run: number): string {
    const points = this.spec.sweep?.values ?? [0];
    const results = points.flatMap((_, point) => this.shownResults.get(`${run} ${point}`) ?? []);
    const last = results.findLast((one) => !one.isMissing);
    const missing = results.find((one) => one.isMissing);
    return [last?.sentence, missing?.sentence].filter(Boolean).join(" ");
  }

  private fail(text: string) {
    this.message.textContent = text;
    this.message.hidden = false;
    this.sentence.replaceChildren();
    this.speak(text);
  }

  /** Announces the sentence after a pause. */
  private speak(text?: string) {
    clearTimeout(this.announcement);
    this.announcement = window.setTimeout(() => {
      this.live.textContent = text ?? this.sentence.textContent;
    }, ANNOUNCE_MS);
  }
}

function reason(outcome: Outcome): string {
  switch (outcome.kind) {
    case "refused": {
      const problem = outcome.problems[0];
      return `These settings are not a valid scenario. ${problem ? `${problem.path}: ${problem.message}` : outcome.text}`;
    }
    case "declined": {
      const millions = Math.round(outcome.events / Math.max(outcome.fraction, 0.01) / 1e6);
      return `These settings need about ${millions} million events, which take too long in a page. Run the scenario with bentpipe simulate.`;
    }
    case "failed":
      return `The engine stopped: ${outcome.text}. Other settings can still be tried.`;
    default:
      return "";
  }
}

for (const root of document.querySelectorAll<HTMLElement>(".try")) {
  const text = root.querySelector("script")?.textContent;
  if (text) new Block(root, JSON.parse(text) as Spec);
}
