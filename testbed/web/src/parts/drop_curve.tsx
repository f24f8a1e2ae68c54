// The drop probability of a RED queue over its average length. The thresholds and the probability
// can be dragged, or changed by the arrow keys.

import { type PointerEvent, useRef, useState } from "react";
import { significant } from "../data/numbers";
import { quantity, type Units, unitsOf } from "../data/quantities";
import { isTable, type Schema, type Table } from "../data/schema";
import "./drop_curve.css";

/** The key with the largest queue, for each kind of queue with a curve. */
const LIMITS: Record<string, string> = {
  red: "packets",
  "gentle-red": "packets",
  "red-bytes": "limit",
  wred: "packets",
};

export function hasDropCurve(kind: string): boolean {
  return kind in LIMITS;
}

/** A curve of the drawing. WRED has one per drop precedence, others have one with the name "". */
interface Curve {
  name: string;
  min: number;
  max: number;
  probability: number;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [360, 200, 44, 34, 28];

export function DropCurve({
  schema,
  root,
  value,
  change,
  disabled = false,
}: {
  schema: Schema;
  root: Schema;
  value: Table;
  change: (value: unknown) => void;
  disabled?: boolean;
}) {
  const kind = String(value.kind);
  const limitKey = LIMITS[kind]!;
  const units = unitsOf(schema.properties?.[limitKey] ?? {}, root);
  const inBytes = units.B !== undefined;
  const limit = numberOf(value[limitKey], units) ?? 100;
  const curves = curvesOf(kind, value, units, limit);
  // The scale stays while a handle is dragged.
  const [scale, setScale] = useState<{ x: number; y: number } | null>(null);
  const furthest = Math.max(...curves.map((one) => one.max));
  const highest = Math.max(...curves.map((one) => one.probability));
  const gentle = kind === "gentle-red";
  const { x: xMax, y: yMax } = scale ?? {
    x: Math.max(furthest * 1.2, Math.min(limit, furthest * (gentle ? 2.3 : 2))),
    y: Math.min(1, Math.max(0.05, significant(highest * 2, 1))),
  };
  const x = (queue: number) => LEFT + (queue / xMax) * (WIDTH - LEFT - 14);
  const y = (drops: number) => HEIGHT - BOTTOM - (drops / yMax) * (HEIGHT - BOTTOM - TOP);
  const step = inBytes ? 500 : 1;

  const set = (curve: Curve, key: keyof Omit<Curve, "name">, wanted: number) => {
    let next: unknown;
    if (key === "probability") next = significant(Math.min(1, Math.max(0, wanted)), 3);
    else {
      const [from, to] = key === "min" ? [step, curve.max - step] : [curve.min + step, limit];
      const within = Math.min(to, Math.max(from, Math.round(wanted / step) * step));
      next = inBytes ? inUnitOf(within, value[key], units) : within;
    }
    const part = curve.name ? value[curve.name] : value;
    const made = { ...(isTable(part) ? part : {}), [key]: next };
    change(curve.name ? { ...value, [curve.name]: made } : made);
  };

  return (
    <figure className="drop-curve">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`}>
        <title>Drop probability over the average queue</title>
        <g className="axes">
          <path d={`M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - 14}`} />
          <text x={LEFT - 6} y={y(yMax) + 4} className="end">
            {significant(yMax, 2)}
          </text>
          <text x={LEFT - 6} y={y(yMax / 2) + 4} className="end">
            {significant(yMax / 2, 2)}
          </text>
          <text x={LEFT - 6} y={y(0) + 4} className="end">
            0
          </text>
          <text x={WIDTH - 14} y={HEIGHT - 6} className="end">
            average queue → {axisText(xMax, inBytes)}
          </text>
          <text x={LEFT - 36} y={14}>
            drop probability
          </text>
        </g>
        {curves.map((one) => (
          <path key={one.name} className={`curve ${one.name}`} d={line(one, gentle, xMax, yMax, x, y)} />
        ))}
        {curves.flatMap((one) =>
          HANDLES.map(({ key, label }) => (
            <Handle
              key={`${one.name} ${key}`}
              className={one.name}
              label={[one.name, label].filter(Boolean).join(" ")}
              x={x(key === "min" ? one.min : one.max)}
              y={key === "probability" ? y(one.probability) : y(0)}
              upright={key === "probability"}
              value={one[key]}
              highest={key === "probability" ? 1 : key === "min" ? one.max : limit}
              text={key === "probability" ? String(one[key]) : axisText(one[key], inBytes)}
              step={key === "probability" ? 0.01 : step}
              disabled={disabled}
              start={() => setScale({ x: xMax, y: yMax })}
              end={() => setScale(null)}
              move={(at) =>
                key === "probability"
                  ? set(one, key, Math.min(yMax, ((HEIGHT - BOTTOM - at.y) / (HEIGHT - BOTTOM - TOP)) * yMax))
                  : set(one, key, ((at.x - LEFT) / (WIDTH - LEFT - 14)) * xMax)
              }
              set={(wanted) => set(one, key, wanted)}
            />
          )),
        )}
      </svg>
      <figcaption className="help">
        {curves.map((one) => (
          <span key={one.name}>
            {one.name && `${one.name}: `}no drops below {axisText(one.min, inBytes)}, up to{" "}
            {significant(100 * one.probability, 3)} % at {axisText(one.max, inBytes)}
            {gentle ? ", all at twice that. " : ", all above. "}
          </span>
        ))}
        {!disabled && "Drag the handles, or use the arrow keys."}
      </figcaption>
    </figure>
  );
}

const HANDLES = [
  { key: "min", label: "min threshold" },
  { key: "max", label: "max threshold" },
  { key: "probability", label: "probability at max" },
] as const;

function Handle({
  className,
  label,
  x,
  y,
  upright,
  value,
  highest,
  text,
  step,
  disabled,
  start,
  end,
  move,
  set,
}: {
  className: string;
  label: string;
  x: number;
  y: number;
  upright: boolean;
  value: number;
  highest: number;
  text: string;
  step: number;
  disabled: boolean;
  start: () => void;
  end: () => void;
  move: (at: { x: number; y: number }) => void;
  set: (value: number) => void;
}) {
  const dragged = useRef(false);
  const finish = () => {
    if (dragged.current) end();
    dragged.current = false;
  };
  const moved = (event: PointerEvent<SVGGElement>) => {
    if (!dragged.current) return;
    const box = event.currentTarget.ownerSVGElement!.getBoundingClientRect();
    move({
      x: ((event.clientX - box.left) / box.width) * WIDTH,
      y: ((event.clientY - box.top) / box.height) * HEIGHT,
    });
  };
  const steps: Record<string, number> = {
    ArrowUp: step,
    ArrowRight: step,
    ArrowDown: -step,
    ArrowLeft: -step,
    PageUp: 10 * step,
    PageDown: -10 * step,
  };
  return (
    <g
      className={`handle ${className}${upright ? " upright" : ""}`}
      role="slider"
      tabIndex={disabled ? -1 : 0}
      aria-label={label}
      aria-disabled={disabled}
      aria-valuemin={0}
      aria-valuemax={highest}
      aria-valuenow={value}
      aria-valuetext={text}
      aria-orientation={upright ? "vertical" : "horizontal"}
      onPointerDown={(event) => {
        if (disabled) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        dragged.current = true;
        start();
      }}
      onPointerMove={moved}
      onPointerUp={finish}
      onPointerCancel={finish}
      onKeyDown={(event) => {
        const by = steps[event.key];
        if (by === undefined || disabled) return;
        event.preventDefault();
        set(value + by);
      }}
    >
      <circle className="target" cx={x} cy={y} r={16} />
      <circle className="dot" cx={x} cy={y} r={7} />
    </g>
  );
}

function numberOf(value: unknown, units: Units): number | null {
  if (typeof value === "number") return value;
  return quantity(value, units)?.value ?? null;
}

/** A number of bytes as a quantity, in the unit of the former value. */
function inUnitOf(bytes: number, former: unknown, units: Units): string {
  const unit = quantity(former, units)?.unit ?? "kB";
  return `${significant(bytes / (units.B?.[unit] ?? 1), 4)} ${unit}`;
}

/** The curves of a queue. Unset thresholds have the defaults of tc-red: a quarter of the limit, and
 * a third of that. */
function curvesOf(kind: string, value: Table, units: Units, limit: number): Curve[] {
  const names = kind === "wred" ? ["green", "yellow", "red"] : [""];
  return names.map((name) => {
    const inner = name ? value[name] : value;
    const part = isTable(inner) ? inner : {};
    const max = numberOf(part.max, units) ?? limit / 4;
    return {
      name,
      max,
      min: numberOf(part.min, units) ?? max / 3,
      probability: numberOf(part.probability, units) ?? (kind === "red-bytes" ? 0.02 : 0.1),
    };
  });
}

function line(
  { min, max, probability }: Curve,
  gentle: boolean,
  xMax: number,
  yMax: number,
  x: (queue: number) => number,
  y: (drops: number) => number,
): string {
  // Above the drawing, the line continues along its upper edge.
  const end = gentle
    ? `L${x(max + (max * (yMax - probability)) / (1 - probability || 1))} ${y(yMax)}`
    : `V${y(yMax)}`;
  return `M${x(0)} ${y(0)}L${x(min)} ${y(0)}L${x(max)} ${y(probability)}${end}L${x(xMax)} ${y(yMax)}`;
}

function axisText(value: number, inBytes: boolean): string {
  if (!inBytes) return `${significant(value, 4)} packets`;
  return value >= 1000 ? `${significant(value / 1000, 4)} kB` : `${significant(value, 4)} B`;
}
