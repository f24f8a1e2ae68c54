/**
 * The interactive figures of the site: controls, figures and a sentence. The engine runs in this
 * page at each change of a control.
 */
import "uplot/dist/uPlot.min.css";
import "./try.css";
import { element } from "../data/element";
import type { Answer } from "../engine/answer";
import type { Client } from "../engine/client";
import { compiled } from "../engine/loading";
import { reasonOf } from "../engine/reason";
import { PacketDiagram } from "../packets/diagram";
import { journeysOf, TRACES } from "../packets/journeys.js";
import { Chart } from "./chart";
import { client } from "./engine";
import { filled, type Named } from "./expression";
import { type Line, linesOf, numberOf, type Reduced } from "./lines";
import type { Spec } from "./spec";

/**
 * A move cancels a run that has taken longer than this. A shorter run ends and is drawn, so that
 * the figure moves with the slider.
 */
const PATIENCE_MS = 300;
/** Pause of the controls after which the sentence is announced. */
const ANNOUNCE_MS = 900;
/** Number of reduced results that a block keeps; those with packets are large. */
const KEPT = 200;
const KEPT_WITH_PACKETS = 8;

interface Job {
  /** Index of the choice in `each`; 0 without choices. */
  run: number;
  /** Index of the value in the sweep; 0 without a sweep. */
  point: number;
  /** Name of the result: the positions of the controls, `run` and `point`. */
  key: string;
  /** The position of each control, of `each` and of the sweep. */
  named: Named;
}

let blocks = 0;

class Block {
  /** The indices of the positions of the controls. */
  private readonly settings: number[];
  private readonly charts: (Chart | PacketDiagram)[];
  private readonly kept = new Map<string, Reduced>();
  private readonly shownResults = new Map<string, Reduced>();
  private readonly sentence = element("p", { className: "try-sentence" });
  private readonly live = element("p", { className: "hidden", role: "status", ariaLive: "polite" });
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
  private announcement: number | undefined;

  constructor(
    private readonly root: HTMLElement,
    private readonly spec: Spec,
  ) {
    this.settings = spec.controls.map((control) => control.start);
    const axis = spec.sweep ?? { label: "time (s)", log: false };
    this.charts = spec.figures.map((figure) =>
      "packets" in figure ? new PacketDiagram(figure.label, figure.about) : new Chart(figure, axis),
    );
    this.figures.append(...this.charts.map((chart) => chart.root));
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
      const label = element("label", { htmlFor: id }, control.label);
      const parts = control.kind === "selection" ? [this.selection(place, id)] : this.slider(place, id);
      form.append(element("div", { className: "try-control" }, label, ...parts));
    });
    return form;
  }

  private selection(place: number, id: string): HTMLSelectElement {
    const { positions, start } = this.spec.controls[place]!;
    const options = positions.map(({ label }, value) => element("option", { value: String(value) }, label));
    const select = element("select", { id }, ...options);
    select.value = String(start);
    select.addEventListener("change", () => this.move(place, Number(select.value)));
    return select;
  }

  /** Returns a slider and the label of its position. */
  private slider(place: number, id: string): HTMLElement[] {
    const { positions, start } = this.spec.controls[place]!;
    const max = String(positions.length - 1);
    const slider = element("input", { id, type: "range", min: "0", max, step: "1" });
    slider.value = String(start);
    // The slider's own value text says the same. The element `output` would be a live region.
    const shown = element("span", { className: "try-shown", ariaHidden: "true" });
    const show = () => {
      const { label } = positions[Number(slider.value)]!;
      shown.textContent = label;
      slider.ariaValueText = label;
    };
    show();
    slider.addEventListener("input", () => {
      show();
      this.move(place, Number(slider.value));
    });
    return [slider, shown];
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
    else if (this.current && performance.now() - this.started > PATIENCE_MS) this.current.cancel();
  }

  private jobs(): Job[] {
    const { controls, each, sweep } = this.spec;
    const settings = this.settings.join(" ");
    const own = Object.fromEntries(
      controls.map((control, place) => [control.name, control.positions[this.settings[place]!]!]),
    );
    const runs: Named[] = each.length ? each.map((choice) => ({ each: choice })) : [{}];
    const points: Named[] = sweep ? sweep.positions.map((position) => ({ sweep: position })) : [{}];
    return runs.flatMap((choice, run) =>
      points.map((position, point) => ({
        run,
        point,
        key: `${settings} ${run} ${point}`,
        named: { ...own, ...choice, ...position },
      })),
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
        const packets = this.spec.capture.length > 0;
        const outcome = await engine.run({
          toml: this.spec.toml,
          name: this.spec.name,
          overrides: this.overrides(job.named),
          traces: packets ? [...new Set([...this.spec.traces, ...TRACES])] : this.spec.traces,
          spacing_s: this.spec.spacing_s,
          packets,
        });
        this.current = undefined;
        if (outcome.kind === "cancelled") return false;
        if (outcome.kind !== "answer") {
          this.fail(reasonOf(outcome));
          return true;
        }
        reduced = this.reduced(outcome.answer, job.named);
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

  private overrides(named: Named): string[] {
    const { capture } = this.spec;
    const own = Object.values(named).flatMap((position) => position.overrides);
    return capture.length > 0 ? [...own, `record.capture=${JSON.stringify(capture)}`] : own;
  }

  private keep(key: string, reduced: Reduced) {
    this.kept.set(key, reduced);
    const most = this.spec.capture.length > 0 ? KEPT_WITH_PACKETS : KEPT;
    if (this.kept.size > most) this.kept.delete(this.kept.keys().next().value!);
  }

  private reduced(answer: Answer, named: Named): Reduced {
    const { spec } = this;
    const label = named.each?.label ?? "";
    const sentence = filled(spec.say, answer, named);
    return {
      lines: spec.figures.map((figure) => linesOf(figure, answer, label)),
      numbers: spec.figures.map((figure) => numberOf(figure, answer, named)),
      journeys: spec.figures.map((figure) =>
        "packets" in figure ? journeysOf(answer, figure.packets, figure.nodes) : null,
      ),
      sentence: sentence ?? filled(spec.otherwise, answer, named) ?? "",
      isMissing: sentence === null,
      end: answer.summary.duration_seconds,
    };
  }

  private draw() {
    const { spec } = this;
    const runs = spec.each.length ? spec.each.map((choice) => choice.label) : [""];
    const result = (run: number, point = 0) => this.shownResults.get(`${run} ${point}`);
    const end = Math.max(...[...this.shownResults.values()].map((one) => one.end));
    spec.figures.forEach((figure, place) => {
      const chart = this.charts[place]!;
      if (chart instanceof PacketDiagram) {
        const journeys = result(0)?.journeys[place];
        if (journeys) chart.show(journeys);
      } else if ("bars" in figure) {
        chart.drawBars(runs.map((label, run) => ({ label, value: result(run)?.numbers[place] ?? null })));
      } else if ("sweep" in figure) {
        const { axis } = spec.sweep!;
        const lines = runs.map(
          (label, run): Line => ({
            label,
            x: axis,
            y: axis.map((_, point) => result(run, point)?.numbers[place] ?? null),
          }),
        );
        chart.draw(lines, end);
      } else {
        chart.draw(
          runs.flatMap((_, run) => result(run)?.lines[place] ?? []),
          end,
        );
      }
    });
    const namesRun = spec.say.some(
      (part) => typeof part === "object" && "shown" in part && part.shown === "each",
    );
    this.sentence.replaceChildren();
    runs.forEach((label, run) => {
      const text = this.sentenceOf(run);
      if (!text) return;
      const start = label && !namesRun ? [element("strong", {}, label), ": "] : [];
      this.sentence.append(element("span", {}, ...start, `${text} `));
    });
  }

  /** Over a sweep: the sentences of the last value with a result, and of the first without. */
  private sentenceOf(run: number): string {
    const points = this.spec.sweep?.axis ?? [0];
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

for (const root of document.querySelectorAll<HTMLElement>(".try")) {
  const text = root.querySelector("script")?.textContent;
  if (text) new Block(root, JSON.parse(text) as Spec);
}
