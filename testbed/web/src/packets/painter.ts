/** Paints a space-time diagram on a canvas. */
import { BOLD, FOOTER, type Frame } from "./frame";
import { between, eachHop, type Journeys, positionAt } from "./journeys.js";

export type Kind =
  | "data"
  | "answer"
  | "control"
  | "repeat"
  | "loss"
  | "wait"
  | "request"
  | "plan"
  | "superframe";

/**
 * The visible time span from `top` and the present time, in nanoseconds. A fresh view has no
 * present time. `selected` is a packet or -1.
 */
export interface View {
  top: number;
  span: number;
  now: number;
  isFresh: boolean;
  selected: number;
}

/** The colours of packets.css. As registered properties, they have colours as computed values. */
const COLOURS = ["paper", "data", "answer", "control", "repeat", "loss", "request", "plan", "now"];
for (const name of COLOURS)
  CSS.registerProperty({
    name: `--packets-${name}`,
    syntax: "<color>",
    inherits: true,
    initialValue: "black",
  });

const FONT = "12px system-ui, sans-serif";
const SMALL = "11px system-ui, sans-serif";
/** Opacity of the times after the present one. */
const FAINT = 0.13;
/** Number of visible packets up to which lines have arrows. */
const ARROWS = 240;
/** Number of travelling packets above which their dots are small. */
const MANY = 60;
/** Factor of the widths of many lines, so that neighbours remain distinct. */
const DENSE = 0.7;
/**
 * Lines of one kind that are nearer to each other than this share a label; maximum height of such a
 * group.
 */
const NEAR = 13;
const GROUP = 110;
/** Minimum height of a band of lines that has its label inside. */
const BROAD = 15;
/** Maximum distance in pixels between the lines of a band without gaps. */
const SOLID = 1.6;
/** Place of a label along its line, as a fraction, so that labels of different kinds keep apart. */
const ALONG: Partial<Record<Kind, number>> = { answer: 0.38, request: 0.2, plan: 0.2 };
/** The order in which labels take their places. */
const ORDER: Kind[] = ["repeat", "data", "request", "plan", "control", "answer"];
/** Minimum width of a line with a label. */
const LABELLED = 150;

/** The shapes of a kind in the visible span. */
interface Shapes {
  lines: Path2D;
  heads: Path2D;
  bars: Path2D;
}

/** A label of a line, or of neighbouring lines of one kind. */
interface Label {
  kind: Kind;
  x1: number;
  x2: number;
  /** The heights at which the first and the last line start, and by which they fall. */
  first: number;
  last: number;
  fall: number;
  /** The first and the last packet, and the number of packets. */
  from: number;
  to: number;
  count: number;
  text: string;
}

export function paint(
  context: CanvasRenderingContext2D,
  journeys: Journeys,
  frame: Frame,
  view: View,
  style: CSSStyleDeclaration,
): void {
  const painter = new Painter(context, journeys, frame, view, style);
  painter.paint();
}

class Painter {
  private readonly ink: string;
  private readonly paper: string;
  private readonly shapes = new Map<Kind, Shapes>();
  private readonly labels: Label[] = [];
  /** The last label of each kind, direction and hop. */
  private readonly open = new Map<string, Label>();
  private readonly from: number;
  private readonly to: number;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly journeys: Journeys,
    private readonly frame: Frame,
    private readonly view: View,
    private readonly style: CSSStyleDeclaration,
  ) {
    this.ink = style.color;
    this.paper = this.colour("paper");
    [this.from, this.to] = between(journeys, view.top, view.top + view.span);
  }

  private colour(name: Kind | "paper" | "now"): string {
    return this.style.getPropertyValue(`--packets-${name}`) || this.style.color;
  }

  private y(time: number): number {
    const { frame, view } = this;
    return frame.top + ((time - view.top) / view.span) * frame.height;
  }

  private shapesOf(kind: Kind): Shapes {
    let shapes = this.shapes.get(kind);
    if (!shapes) {
      shapes = { lines: new Path2D(), heads: new Path2D(), bars: new Path2D() };
      this.shapes.set(kind, shapes);
    }
    return shapes;
  }

  kindOf(packet: number): Kind {
    const { journeys } = this;
    if (journeys.retransmitted[packet]) return "repeat";
    return (["data", "answer", "control"] as const)[journeys.kind[packet]!]!;
  }

  paint() {
    const { context, frame, view } = this;
    context.clearRect(0, 0, frame.width, frame.top + frame.height + FOOTER);
    this.grid();
    this.collect();
    const bottom = frame.top + frame.height;
    const now = view.isFresh ? bottom : Math.max(frame.top, Math.min(bottom, this.y(view.now)));
    if (now < bottom) this.clipped(now, bottom, FAINT);
    this.clipped(frame.top, now, 1);
    this.nodes();
    this.write(now);
    if (!view.isFresh) {
      this.present(now);
      this.travellers(now);
    }
    if (view.selected >= 0) this.highlight(view.selected);
  }

  /** Paints the shapes between two heights. */
  private clipped(top: number, bottom: number, alpha: number) {
    const { context, frame } = this;
    context.save();
    context.beginPath();
    context.rect(0, top, frame.width, bottom - top);
    context.clip();
    context.globalAlpha = alpha;
    this.stroke();
    context.restore();
  }

  private grid() {
    const { context, frame, view, ink } = this;
    context.font = FONT;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const step = niceStep((view.span * 52) / frame.height);
    const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / 1e9) + 1e-9)));
    context.fillStyle = ink;
    context.strokeStyle = ink;
    context.lineWidth = 1;
    for (let tick = Math.ceil(view.top / step) * step; tick <= view.top + view.span; tick += step) {
      const y = Math.round(this.y(tick)) + 0.5;
      context.globalAlpha = 0.1;
      context.beginPath();
      context.moveTo(frame.left, y);
      context.lineTo(frame.right, y);
      context.stroke();
      context.globalAlpha = 0.75;
      context.fillText(`${(tick / 1e9).toFixed(digits)} s`, frame.left - 14, y);
    }
    context.globalAlpha = 1;
  }

  /** Paints the lines and names of the nodes, and the starts of superframes. */
  private nodes() {
    const { context, frame, journeys, ink } = this;
    const bottom = frame.top + frame.height;
    context.strokeStyle = ink;
    context.fillStyle = ink;
    context.font = BOLD;
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    let free = 0;
    journeys.nodes.forEach((name, place) => {
      const x = frame.x[place]!;
      context.globalAlpha = 0.85;
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(x, frame.top - 4);
      context.lineTo(x, bottom);
      context.stroke();
      context.globalAlpha = 1;
      const half = context.measureText(name).width / 2;
      const at = Math.max(half + 2, Math.min(frame.right - half - 2, x));
      // Names that would overlap are left out; the description of the diagram has them all.
      if (at - half < free) return;
      context.fillText(name, at, frame.top - 12);
      free = at + half + 6;
    });
    this.superframes();
  }

  private superframes() {
    const { context, frame, view, journeys } = this;
    const { superframes } = journeys;
    if (!superframes || (superframes.length / view.span) * frame.height < 4) return;
    const { place, start, length } = superframes;
    const x = frame.x[place]!;
    const first = Math.ceil((view.top - start) / length);
    context.globalAlpha = 0.7;
    context.lineWidth = 1;
    context.beginPath();
    for (let time = start + first * length; time <= view.top + view.span; time += length) {
      const y = Math.round(this.y(time)) + 0.5;
      context.moveTo(x, y);
      context.lineTo(x + 7, y);
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Collects the shapes of the visible packets and messages. */
  private collect() {
    const { journeys, frame, view } = this;
    const { nodes, time, leaves, back, lostAt } = journeys;
    const width = nodes.length;
    const visible = this.to - this.from;
    const hasHeads = visible <= ARROWS;
    // Lines that cover the same pixels are painted once.
    const painted = new Map<string, number>();
    const least = view.span / frame.height / 2;
    const isNew = (key: string, start: number, end: number) => {
      if (visible < 3000) return true;
      const place = Math.round(start / least) * 1e6 + Math.round((end - start) / least);
      if (painted.get(key) === place) return false;
      painted.set(key, place);
      return true;
    };
    for (let packet = this.from; packet < this.to; packet++) {
      if (journeys.end[packet]! < view.top) continue;
      const kind = this.kindOf(packet);
      const shapes = this.shapesOf(kind);
      const at = packet * width;
      let longest: [x1: number, y1: number, x2: number, y2: number] = [0, 0, 0, 0];
      const last = eachHop(journeys, packet, (a, b) => {
        const [came, left, arrived] = [time[at + a]!, leaves[at + a]!, time[at + b]!];
        const isTall = left - came > 3 * least;
        if (isTall && isNew(`bar ${a} ${back[packet]}`, came, left)) {
          const bar = frame.bar(packet, a);
          shapes.bars.rect(
            bar.x - bar.width / 2,
            this.y(came),
            bar.width,
            Math.max(1, this.y(left) - this.y(came)),
          );
        }
        if (!isNew(`${kind} ${a} ${b}`, left, arrived)) return;
        const [x1, y1, x2, y2] = [frame.x[a]!, this.y(left), frame.x[b]!, this.y(arrived)];
        shapes.lines.moveTo(x1, y1);
        shapes.lines.lineTo(x2, y2);
        if (hasHeads) head(shapes.heads, x1, y1, x2, y2);
        if (Math.abs(x2 - x1) > Math.abs(longest[2] - longest[0])) longest = [x1, y1, x2, y2];
      });
      const step = back[packet] ? -1 : 1;
      if (lostAt[packet] === last) this.loss(packet, last, step, kind);
      else if (nodes[last + step] !== undefined && journeys.end[packet] === journeys.finish)
        this.unfinished(packet, last, step, kind);
      this.group(kind, longest, packet);
    }
    this.messages();
  }

  private loss(packet: number, place: number, step: number, kind: Kind) {
    const { journeys, frame } = this;
    const start = journeys.time[packet * journeys.nodes.length + place]!;
    const [x1, y1, y2] = [frame.x[place]!, this.y(start), this.y(journeys.lost[packet]!)];
    const x2 = journeys.inQueue[packet] ? x1 + step * 9 : (x1 + frame.x[place + step]!) / 2;
    if (!journeys.inQueue[packet]) {
      const { lines } = this.shapesOf(kind);
      lines.moveTo(x1, y1);
      lines.lineTo(x2, y2);
    }
    const { lines } = this.shapesOf("loss");
    for (const [dx, dy] of [
      [5, 5],
      [5, -5],
    ] as const) {
      lines.moveTo(x2 - dx, y2 - dy);
      lines.lineTo(x2 + dx, y2 + dy);
    }
  }

  /** A packet that is on its way at the end of the run. */
  private unfinished(packet: number, place: number, step: number, kind: Kind) {
    const { journeys, frame } = this;
    const start = journeys.time[packet * journeys.nodes.length + place]!;
    const needs = Math.max(1, journeys.missing[packet]!);
    if (Number.isNaN(needs)) return;
    const share = Math.min(1, (journeys.finish - start) / needs);
    const [x1, x2] = [frame.x[place]!, frame.x[place + step]!];
    const { lines } = this.shapesOf(kind);
    lines.moveTo(x1, this.y(start));
    lines.lineTo(x1 + share * (x2 - x1), this.y(start + share * needs));
  }

  /** Adds the line of a packet to the label of its neighbours, or gives it a label of its own. */
  private group(kind: Kind, [x1, y1, x2, y2]: [number, number, number, number], packet: number) {
    if (Math.abs(x2 - x1) < LABELLED) return;
    const key = `${kind} ${x1} ${x2}`;
    const open = this.open.get(key);
    if (open && y1 - open.last < NEAR) {
      open.last = y1;
      open.to = packet;
      open.count += 1;
      return;
    }
    this.open.set(key, this.label(kind, [x1, y1, x2, y2], packet));
  }

  /** Adds a label to a line. Without a text, the label states the packets from `packet` on. */
  private label(kind: Kind, [x1, y1, x2, y2]: [number, number, number, number], packet: number, text = "") {
    const made = {
      kind,
      x1,
      x2,
      first: y1,
      last: y1,
      fall: y2 - y1,
      from: packet,
      to: packet,
      count: 1,
      text,
    };
    this.labels.push(made);
    return made;
  }

  private textOf({ kind, from, to, count, text }: Label): string {
    const { journeys } = this;
    if (text) return text;
    if (kind === "repeat" && count > 1) return `${count} retransmissions`;
    const start = journeys.sequence[from]!;
    const end = journeys.sequence[to]! + journeys.payload[to]! - 1;
    if (!journeys.isTcp) return count === 1 ? `${journeys.number[from]}` : `${count} packets`;
    if (journeys.payload[from]! > 0)
      return count === 1 ? `${start} – ${end}` : `${count} segments: ${start} – ${end}`;
    if (kind === "control" && journeys.flags[from]! & 2) return journeys.back[from] ? "SYN, ACK" : "SYN";
    if (kind === "control") return "FIN";
    const last = journeys.acknowledgment[to];
    const first = journeys.acknowledgment[from];
    if (count === 1) return `ACK ${last}`;
    return first === last ? `${count} ACKs: ${last}` : `${count} ACKs: ${first} – ${last}`;
  }

  private messages() {
    const { journeys, frame, view } = this;
    for (const kind of ["request", "plan"] as const) {
      for (const message of kind === "request" ? journeys.requests : journeys.plans) {
        if (message.received < view.top || message.sent > view.top + view.span) continue;
        const ends = [frame.x[message.terminal]!, frame.x[message.gateway]!] as const;
        const [x1, x2] = kind === "request" ? ends : [ends[1], ends[0]];
        const [y1, y2] = [this.y(message.sent), this.y(message.received)];
        const shapes = this.shapesOf(kind);
        shapes.lines.moveTo(x1, y1);
        shapes.lines.lineTo(x2, y2);
        head(shapes.heads, x1, y1, x2, y2);
        if (Math.abs(x2 - x1) < LABELLED) continue;
        const slots = message.slots === 1 ? "1 slot" : `${message.slots} slots`;
        const text = Number.isNaN(message.slots) ? kind : `${kind}: ${slots}`;
        this.label(kind, [x1, y1, x2, y2], -1, text);
      }
    }
  }

  private stroke() {
    const { context } = this;
    const alpha = context.globalAlpha;
    for (const kind of ["control", "answer", "data", "repeat", "request", "plan", "loss"] as const) {
      const shapes = this.shapes.get(kind);
      if (!shapes) continue;
      const colour = this.colour(kind);
      context.strokeStyle = colour;
      context.fillStyle = colour;
      context.globalAlpha = alpha * 0.65;
      context.fill(shapes.bars);
      context.globalAlpha = alpha;
      context.lineWidth = WIDTHS[kind] * (this.to - this.from > ARROWS ? DENSE : 1);
      context.setLineDash(kind === "request" ? [7, 4] : kind === "plan" ? [2, 3] : []);
      context.stroke(shapes.lines);
      context.setLineDash([]);
      context.fill(shapes.heads);
    }
  }

  /** Writes the labels above a height. */
  private write(now: number) {
    const { context, frame } = this;
    context.font = SMALL;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    const bottom = frame.top + frame.height;
    const written: { x: number; y: number; half: number }[] = [];
    // Data first; the other labels fill the gaps.
    for (const label of this.labels.toSorted(
      (one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind),
    )) {
      if (label.last - label.first > GROUP) continue;
      const text = this.textOf(label);
      const half = context.measureText(text).width / 2;
      const [low, high] = [Math.min(label.x1, label.x2) + half + 6, Math.max(label.x1, label.x2) - half - 6];
      if (low > high) continue;
      const wanted = label.x1 + (ALONG[label.kind] ?? 0.5) * (label.x2 - label.x1);
      const x = Math.max(low, Math.min(high, wanted));
      // In a broad band, and above a line.
      const height = label.last - label.first;
      const isBroad = height > BROAD;
      // Lines with gaps between them would cross a text without a background.
      const isSolid = isBroad && height / (label.count - 1) < SOLID;
      const start = isBroad ? (label.first + label.last) / 2 : label.first;
      const y = start + ((x - label.x1) / (label.x2 - label.x1)) * label.fall;
      if (y < frame.top + 8 || y > Math.min(now - 8, bottom - 2)) continue;
      if (written.some((one) => Math.abs(one.y - y) < NEAR && Math.abs(one.x - x) < one.half + half))
        continue;
      written.push({ x, y, half });
      context.save();
      context.translate(x, y);
      context.rotate(Math.atan(label.fall / (label.x2 - label.x1)));
      context.fillStyle = isSolid ? this.paper : this.colour(label.kind);
      if (!isSolid) {
        context.lineWidth = 3;
        context.lineJoin = "round";
        context.strokeStyle = this.paper;
        context.strokeText(text, 0, -2);
      }
      context.fillText(text, 0, isBroad ? 6 : -2);
      context.restore();
    }
  }

  /** Paints the line of the present time. */
  private present(y: number) {
    const { context, frame } = this;
    context.strokeStyle = this.colour("now");
    context.globalAlpha = 0.8;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(frame.left - 4, Math.round(y) + 0.5);
    context.lineTo(frame.right, Math.round(y) + 0.5);
    context.stroke();
    context.globalAlpha = 1;
    context.fillStyle = this.colour("now");
    context.beginPath();
    context.moveTo(frame.left - 3, y);
    context.lineTo(frame.left - 11, y - 6);
    context.lineTo(frame.left - 11, y + 6);
    context.fill();
  }

  /** Paints the packets and messages that travel at the present time as dots. */
  private travellers(y: number) {
    const { context, journeys, frame, view } = this;
    const [from, to] = between(journeys, view.now, view.now);
    const dots = new Map<Kind, Path2D>();
    const add = (kind: Kind, x: number, radius: number) => {
      let path = dots.get(kind);
      if (!path) {
        path = new Path2D();
        dots.set(kind, path);
      }
      path.moveTo(x + radius, y);
      path.arc(x, y, radius, 0, 2 * Math.PI);
    };
    for (let packet = from; packet < to; packet++) {
      const position = positionAt(journeys, packet, view.now);
      if (!position || position.isWaiting) continue;
      const [a, b] = [frame.x[position.from]!, frame.x[position.to]!];
      const kind = this.kindOf(packet);
      const isData = kind === "data" || kind === "repeat";
      add(kind, a + position.share * (b - a), to - from > MANY ? 2.5 : isData ? 4.5 : 3.5);
    }
    for (const kind of ["request", "plan"] as const) {
      for (const { sent, received, terminal, gateway } of kind === "request"
        ? journeys.requests
        : journeys.plans) {
        if (view.now < sent || view.now >= received) continue;
        const ends = [frame.x[terminal]!, frame.x[gateway]!] as const;
        const [a, b] = kind === "request" ? ends : [ends[1], ends[0]];
        add(kind, a + ((view.now - sent) / (received - sent)) * (b - a), 3.5);
      }
    }
    context.lineWidth = 3;
    context.strokeStyle = this.paper;
    for (const [kind, path] of dots) {
      context.fillStyle = this.colour(kind);
      context.stroke(path);
      context.fill(path);
    }
  }

  private highlight(packet: number) {
    const { context, journeys, frame } = this;
    const at = packet * journeys.nodes.length;
    context.save();
    context.beginPath();
    context.rect(0, frame.top, frame.width, frame.height);
    context.clip();
    const path = new Path2D();
    eachHop(journeys, packet, (a, b) => {
      const [came, left] = [journeys.time[at + a]!, journeys.leaves[at + a]!];
      const bar = frame.bar(packet, a);
      if (this.y(left) - this.y(came) > 1) path.rect(bar.x - 1, this.y(came), 2, this.y(left) - this.y(came));
      path.moveTo(frame.x[a]!, this.y(left));
      path.lineTo(frame.x[b]!, this.y(journeys.time[at + b]!));
    });
    context.lineWidth = 7;
    context.globalAlpha = 0.35;
    context.strokeStyle = this.colour(this.kindOf(packet));
    context.stroke(path);
    context.lineWidth = 3;
    context.globalAlpha = 1;
    context.stroke(path);
    context.restore();
  }
}

const WIDTHS: Record<Exclude<Kind, "wait" | "superframe">, number> = {
  data: 1.6,
  answer: 1.2,
  control: 1.2,
  repeat: 2.2,
  loss: 2.6,
  request: 1.6,
  plan: 1.6,
};

/** Adds an arrow head at the end of a line. */
function head(path: Path2D, x1: number, y1: number, x2: number, y2: number) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 24) return;
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  path.moveTo(x2, y2);
  path.lineTo(x2 - 8 * dx + 3 * dy, y2 - 8 * dy - 3 * dx);
  path.lineTo(x2 - 8 * dx - 3 * dy, y2 - 8 * dy + 3 * dx);
  path.closePath();
}

/** Returns the smallest of 1, 2 and 5 times a power of ten that is at least `least`. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((digit) => digit * power >= least * (1 - 1e-9)) ?? 10) * power;
}
