/**
 * A space-time diagram of the packets of one flow, which can be played and scrubbed. The nodes of
 * the path are vertical lines, time runs downwards, and packets are slanted lines. Plain DOM and
 * canvas, for pages with and without React.
 */
import "./packets.css";
import { element } from "../data/element";
import { type Frame, layout } from "./frame";
import { between, eachHop, type Journeys } from "./journeys.js";
import { type Kind, paint, type View } from "./painter";
import { detailsOf, sentenceAt, summaryOf, timeText } from "./texts.js";

/** Speeds relative to real time. */
const SPEEDS = [-3, -2, -1, 0, 1, 2, 3].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
/**
 * Seconds that a round trip lasts at the first speed, and number of round trips in the first view.
 */
const ROUND_TRIP_S = 4;
const ROUND_TRIPS = 2.5;
/** Place of the present time in the view, as a fraction of its height, once the view scrolls. */
const PLACE = 0.72;
/** Pause after which the sentence is announced, and time between two sentences while playing. */
const ANNOUNCE_MS = 900;
const SENTENCE_MS = 250;
/** Time between two pictures if the reader wants reduced motion. */
const STEP_MS = 1000;
/** Distance in pixels within which a packet is selected. */
const REACH = 14;

const NAMES: Record<Kind, string> = {
  data: "data",
  answer: "acknowledgment",
  control: "set-up and end",
  repeat: "retransmission",
  loss: "loss",
  wait: "wait",
  request: "capacity request",
  plan: "burst time plan",
  superframe: "start of a superframe",
};

let diagrams = 0;

function speedText(speed: number): string {
  if (speed === 1) return "real time";
  return speed < 1 ? `1/${Math.round(1 / speed)} speed` : `${speed} × speed`;
}

export class PacketDiagram {
  readonly root: HTMLElement;
  private readonly canvas = element("canvas", { className: "packets-canvas", role: "img" });
  private readonly details = element("div", { className: "packets-details", hidden: true });
  private readonly place = element("div", { className: "packets-place" }, this.canvas, this.details);
  private readonly play = element("button", { type: "button", className: "packets-button packets-play" });
  private readonly scrub = element("input", { type: "range", className: "packets-scrub", ariaLabel: "Time" });
  private readonly speeds = element("select", { className: "packets-speed", ariaLabel: "Speed" });
  private readonly sentence = element("p", { className: "packets-sentence" });
  private readonly live = element("p", { className: "hidden", role: "status", ariaLive: "polite" });
  private readonly legend = element("ul", { className: "packets-legend" });
  private readonly frames: ResizeObserver;
  private readonly themes: MutationObserver;
  private readonly dark = matchMedia("(prefers-color-scheme: dark)");
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)");
  private readonly redraw = () => this.draw();

  private journeys: Journeys | undefined;
  private frame: Frame | undefined;
  /** The present time and the visible time span in nanoseconds. */
  private now = 0;
  private span = 1e9;
  private speed = 1;
  /**
   * True until the reader plays or scrubs: the first view is complete, and playing starts at its
   * start.
   */
  private isFresh = true;
  private isPlaying = false;
  private request = 0;
  private last = 0;
  private spoken = 0;
  private announcement: ReturnType<typeof setTimeout> | undefined;
  private selected = -1;
  private isPinned = false;
  private drag: { y: number; now: number; isMoved: boolean } | undefined;

  /** Creates a diagram with a title and, above the diagram, an introduction. */
  constructor(label: string, about = "") {
    diagrams += 1;
    const title = element("p", { className: "packets-title", id: `packets-title-${diagrams}` }, label);
    this.sentence.id = `packets-sentence-${diagrams}`;
    this.canvas.setAttribute("aria-describedby", this.sentence.id);
    const closer = this.button("+", "Show less time", () => this.zoom(1 / 1.5));
    const wider = this.button("−", "Show more time", () => this.zoom(1.5));
    this.play.addEventListener("click", () => this.toggle());
    this.scrub.addEventListener("input", () => this.seek(Number(this.scrub.value)));
    this.speeds.addEventListener("change", () => {
      this.speed = Number(this.speeds.value);
    });
    this.root = element(
      "section",
      { className: "packets packets-empty" },
      title,
      element("p", { className: "packets-about", hidden: !about }, about),
      element("div", { className: "packets-bar" }, this.play, this.scrub, this.speeds, wider, closer),
      this.place,
      this.legend,
      this.sentence,
      element(
        "p",
        { className: "packets-keys" },
        "Space plays and pauses. The arrow keys move the time, + and − change the visible span, N and P select packets.",
      ),
      this.live,
    );
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-labelledby", title.id);
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", (event) => this.release(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("pointercancel", () => this.leave());
    this.frames = new ResizeObserver(this.redraw);
    this.frames.observe(this.place);
    this.themes = new MutationObserver(this.redraw);
    this.themes.observe(document.body, { attributeFilter: ["data-theme"] });
    this.dark.addEventListener("change", this.redraw);
    this.pause();
  }

  /** Stops the diagram for good, before its element is removed. */
  destroy(): void {
    this.pause();
    clearTimeout(this.announcement);
    this.frames.disconnect();
    this.themes.disconnect();
    this.dark.removeEventListener("change", this.redraw);
  }

  /**
   * Shows the packets of a run. Keeps the present time, the span and the speed of an earlier run.
   */
  show(journeys: Journeys): void {
    const before = this.journeys;
    this.journeys = journeys;
    this.frame = undefined;
    this.select(-1);
    const { start, finish, roundTrip } = journeys;
    if (!before || this.isFresh) {
      this.span = Math.min(finish - start, ROUND_TRIPS * roundTrip) || 1e9;
      this.choose(roundTrip);
      this.now = start + this.span;
    }
    this.now = Math.min(finish, Math.max(start, this.now));
    this.scrub.min = String(Math.floor(start));
    this.scrub.max = String(Math.ceil(finish));
    this.scrub.step = String(10 ** Math.floor(Math.log10(Math.max(1e3, roundTrip / 20))));
    this.root.classList.remove("packets-empty");
    this.canvas.ariaLabel = `Space-time diagram of the flow ${journeys.flow} between ${journeys.nodes.join(", ")}`;
    this.explain();
    this.draw();
    this.speak();
  }

  private button(text: string, label: string, act: () => void): HTMLButtonElement {
    const made = element("button", { type: "button", className: "packets-button", ariaLabel: label }, text);
    made.title = label;
    made.addEventListener("click", act);
    return made;
  }

  /** Offers the speeds near the one at which a round trip lasts some seconds. */
  private choose(roundTrip: number) {
    const wanted = roundTrip / 1e9 / ROUND_TRIP_S;
    const distance = (speed: number) => Math.abs(Math.log(speed / wanted));
    const best = SPEEDS.reduce((one, other) => (distance(other) < distance(one) ? other : one));
    const at = SPEEDS.indexOf(best);
    const offered = SPEEDS.filter((speed, place) => Math.abs(place - at) <= 4 || speed === 1);
    this.speed = best;
    this.speeds.replaceChildren(
      ...offered.map((speed) => element("option", { value: String(speed) }, speedText(speed))),
    );
    this.speeds.value = String(best);
  }

  private view(): View {
    const { start, finish } = this.journeys!;
    const top = this.isFresh
      ? start
      : Math.max(start, Math.min(this.now - PLACE * this.span, finish - this.span));
    return { top, span: this.span, now: this.now, isFresh: this.isFresh, selected: this.selected };
  }

  private toggle() {
    if (this.isPlaying) this.pause();
    else this.start();
  }

  private start() {
    const { journeys } = this;
    if (!journeys) return;
    if (this.isFresh || this.now >= journeys.finish) this.now = journeys.start;
    this.isFresh = false;
    this.isPlaying = true;
    this.label("Pause", "❚❚");
    this.select(-1);
    this.last = performance.now();
    this.request = requestAnimationFrame(this.tick);
  }

  private pause() {
    this.isPlaying = false;
    cancelAnimationFrame(this.request);
    this.label("Play", "►");
    this.speak();
  }

  private label(text: string, sign: string) {
    this.play.replaceChildren(element("span", { className: "packets-sign", ariaHidden: "true" }, sign), text);
  }

  private readonly tick = (time: number) => {
    const { journeys } = this;
    if (!this.isPlaying || !journeys) return;
    const passed = time - this.last;
    if (passed > 0 && (!this.calm.matches || passed >= STEP_MS)) {
      this.last = time;
      // A page in the background must not skip ahead.
      this.now += Math.min(passed, this.calm.matches ? 2 * STEP_MS : 100) * 1e6 * this.speed;
      if (this.now >= journeys.finish) {
        this.now = journeys.finish;
        this.pause();
      }
      this.draw();
    }
    if (this.isPlaying) this.request = requestAnimationFrame(this.tick);
  };

  private seek(time: number) {
    const { journeys } = this;
    if (!journeys) return;
    this.isFresh = false;
    this.now = Math.min(journeys.finish, Math.max(journeys.start, time));
    this.draw();
    this.speak();
  }

  private zoom(factor: number) {
    const { journeys } = this;
    if (!journeys) return;
    const most = journeys.finish - journeys.start;
    this.span = Math.min(most, Math.max(Math.min(most, journeys.roundTrip / 1000, 1e6), this.span * factor));
    if (this.isFresh) this.now = Math.min(journeys.finish, journeys.start + this.span);
    this.draw();
  }

  private key(event: KeyboardEvent) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event;
    // Buttons and the selection use the space key themselves.
    const isFree = target === this.scrub || target === this.canvas;
    if (event.key === " " && isFree) this.toggle();
    else if (event.key === "+" || event.key === "=") this.zoom(1 / 1.5);
    else if (event.key === "-" || event.key === "−") this.zoom(1.5);
    else if ((event.key === "n" || event.key === "p") && target !== this.speeds)
      this.step(event.key === "n" ? 1 : -1);
    else if (event.key === "Escape" && this.selected >= 0) this.select(-1);
    else return;
    event.preventDefault();
  }

  /**
   * Selects the next or the previous packet, first the one at the present time, and announces it.
   */
  private step(by: number) {
    const { journeys } = this;
    if (!journeys || journeys.count === 0) return;
    const view = this.view();
    const first = between(journeys, view.top, view.now)[0];
    const next = this.selected < 0 ? first : this.selected + by;
    const packet = Math.min(journeys.count - 1, Math.max(0, next));
    if (this.isPlaying) this.pause();
    const begin = journeys.begin[packet]!;
    if (begin < view.top || begin > view.top + view.span) this.seek(begin + 0.3 * this.span);
    this.select(packet, true);
    this.draw();
    this.announce(detailsOf(journeys, packet).join(". "));
  }

  private press(event: PointerEvent) {
    this.scrub.focus({ preventScroll: true });
    event.preventDefault();
    this.drag = { y: event.clientY, now: this.view().top, isMoved: false };
    if (event.pointerType === "mouse") this.canvas.setPointerCapture(event.pointerId);
  }

  private move(event: PointerEvent) {
    const { drag, frame } = this;
    if (!frame) return;
    if (drag && event.pointerType === "mouse" && event.buttons === 1) {
      if (!drag.isMoved && Math.abs(event.clientY - drag.y) < 4) return;
      drag.isMoved = true;
      if (this.isPlaying) this.pause();
      // The diagram follows the pointer.
      const top = drag.now - ((event.clientY - drag.y) / frame.height) * this.span;
      this.seek(top + PLACE * this.span);
      return;
    }
    if (event.pointerType !== "mouse" || this.isPinned || this.isPlaying) return;
    this.select(this.nearest(event), false, event);
    this.draw();
  }

  private release(event: PointerEvent) {
    const { drag } = this;
    this.drag = undefined;
    if (!drag || drag.isMoved) return;
    const packet = this.nearest(event);
    this.select(packet, packet >= 0, event);
    if (this.isPlaying && packet >= 0) this.pause();
    this.draw();
    if (packet >= 0) this.announce(detailsOf(this.journeys!, packet).join(". "));
  }

  private leave() {
    this.drag = undefined;
    if (this.isPinned || this.selected < 0) return;
    this.select(-1);
    this.draw();
  }

  /** Returns the packet whose line is nearest to the pointer; -1 if none is near. */
  private nearest(event: PointerEvent): number {
    const { journeys, frame } = this;
    if (!journeys || !frame) return -1;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const view = this.view();
    const time = view.top + ((y - frame.top) / frame.height) * view.span;
    const slack = (REACH / frame.height) * view.span;
    const [from, to] = between(journeys, time - slack, time + slack);
    const width = journeys.nodes.length;
    const yOf = (at: number) => frame.top + ((at - view.top) / view.span) * frame.height;
    let [best, found] = [REACH, -1];
    for (let packet = from; packet < to; packet++) {
      if (!this.isFresh && journeys.begin[packet]! > view.now) continue;
      const reach = (a: number, start: number, b: number, end: number) => {
        const far = distance(x, y, a, yOf(start), b, yOf(end));
        if (far < best) [best, found] = [far, packet];
      };
      const at = packet * width;
      const last = eachHop(journeys, packet, (a, b) => {
        const bar = frame.bar(packet, a);
        const [came, left, arrived] = [
          journeys.time[at + a]!,
          journeys.leaves[at + a]!,
          journeys.time[at + b]!,
        ];
        if (left > came) reach(bar.x, came, bar.x, left);
        reach(frame.x[a]!, left, frame.x[b]!, arrived);
      });
      const step = journeys.back[packet] ? -1 : 1;
      if (journeys.lostAt[packet] === last) {
        const share = journeys.inQueue[packet] ? 0 : 0.5;
        const end = frame.x[last]! + share * (frame.x[last + step]! - frame.x[last]!);
        reach(frame.x[last]!, journeys.time[at + last]!, end, journeys.lost[packet]!);
      }
    }
    return found;
  }

  private select(packet: number, isPinned = false, event?: PointerEvent) {
    this.selected = packet;
    this.isPinned = isPinned;
    this.details.hidden = packet < 0;
    const { journeys, details } = this;
    if (packet < 0 || !journeys) return;
    const [title = "", ...lines] = detailsOf(journeys, packet);
    details.replaceChildren(element("strong", {}, title), ...lines.map((line) => element("span", {}, line)));
    const box = this.place.getBoundingClientRect();
    const { now, top, span } = this.view();
    const at = Math.min(now, journeys.end[packet]!) - top;
    const x = event ? event.clientX - box.left : box.width / 2;
    const y = event ? event.clientY - box.top : (at / span) * box.height;
    const left = x + 16 + details.offsetWidth > box.width ? x - 16 - details.offsetWidth : x + 16;
    details.style.left = `${Math.max(0, Math.min(left, box.width - details.offsetWidth))}px`;
    details.style.top = `${Math.max(0, Math.min(y + 12, box.height - details.offsetHeight))}px`;
  }

  private draw() {
    const { journeys, canvas } = this;
    if (!journeys) return;
    const width = this.place.clientWidth;
    const height = canvas.clientHeight;
    if (width === 0 || height === 0) return;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      this.frame = undefined;
    }
    const context = canvas.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.frame ??= layout(journeys, context, width, height);
    paint(context, journeys, this.frame, this.view(), getComputedStyle(this.root));
    const time = timeText(this.now, this.span);
    this.scrub.value = String(this.isFresh ? journeys.start : this.now);
    this.scrub.ariaValueText = this.isFresh ? timeText(journeys.start, this.span) : time;
    const passed = performance.now() - this.spoken;
    if (this.isPlaying && passed < SENTENCE_MS) return;
    this.spoken = performance.now();
    this.sentence.textContent = this.isFresh ? summaryOf(journeys) : sentenceAt(journeys, this.now);
  }

  private explain() {
    const { root, legend, journeys } = this;
    const kinds = kindsOf(journeys!);
    const names = { ...NAMES };
    if (!journeys!.isTcp) names.answer = "answer";
    names.wait = journeys!.waits ? "wait for a slot" : "wait in a queue";
    legend.replaceChildren(
      ...kinds.map((kind) =>
        element(
          "li",
          {},
          element("span", { className: `packets-swatch packets-${kind}`, ariaHidden: "true" }),
          names[kind],
        ),
      ),
    );
    root.dataset.kinds = kinds.join(" ");
  }

  /** Announces the sentence after a pause, but not while playing. */
  private speak() {
    clearTimeout(this.announcement);
    if (!this.journeys) return;
    this.announcement = setTimeout(() => {
      if (!this.isPlaying) this.live.textContent = this.sentence.textContent;
    }, ANNOUNCE_MS);
  }

  private announce(text: string) {
    clearTimeout(this.announcement);
    this.live.textContent = text;
  }
}

/** Returns the kinds of lines and marks in the diagram. */
function kindsOf(journeys: Journeys): Kind[] {
  const { kind, retransmitted, lost, count, nodes, time, leaves } = journeys;
  const found = new Set<Kind>();
  for (let packet = 0; packet < count; packet++) {
    found.add(retransmitted[packet] ? "repeat" : (["data", "answer", "control"] as const)[kind[packet]!]!);
    if (!Number.isNaN(lost[packet]!)) found.add("loss");
  }
  const isLong = (wait: number) => wait > journeys.roundTrip / 100;
  for (let at = 0; at < count * nodes.length; at++) if (isLong(leaves[at]! - time[at]!)) found.add("wait");
  if (journeys.requests.length > 0) found.add("request");
  if (journeys.plans.length > 0) found.add("plan");
  if (journeys.superframes) found.add("superframe");
  return (Object.keys(NAMES) as Kind[]).filter((one) => found.has(one));
}

/** Returns the distance of a point from a line. */
function distance(x: number, y: number, x1: number, y1: number, x2: number, y2: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const share = length > 0 ? Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / length)) : 0;
  return Math.hypot(x - x1 - share * dx, y - y1 - share * dy);
}
