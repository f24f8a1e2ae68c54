// Rows of marks above the panels of a timeline, one per kind. A mark shows its text while it has
// the pointer or the focus; arrow keys move between the marks of a row.

import { type KeyboardEvent, useRef, useState } from "react";
import type { TimelineMark } from "../data/api.gen";
import { significant } from "../data/numbers";
import { MARK_KINDS } from "../data/timeline";
import { markColour, useDark } from "./colours";

export interface RunMark extends TimelineMark {
  /** Name of the run; empty for a timeline of one run. */
  run: string;
}

/** The text of a mark with its time. */
function textOf(mark: RunMark): string {
  const until = mark.end === null ? "" : ` to ${significant(mark.end, 6)} s`;
  return `${mark.run ? `${mark.run}: ` : ""}${mark.label}, at ${significant(mark.start, 6)} s${until}`;
}

export function Lanes({
  marks,
  range,
  hidden,
  hide,
  point,
}: {
  marks: RunMark[];
  range: [number, number];
  /** The kinds that the panels do not show. */
  hidden: string[];
  hide: (hidden: string[]) => void;
  /** Called with the time of a mark that gets the pointer or the focus. */
  point: (at: number) => void;
}) {
  const dark = useDark();
  const [told, setTold] = useState<{ mark: RunMark; left: number } | null>(null);
  const kinds = MARK_KINDS.filter(({ kind }) => marks.some((one) => one.kind === kind));
  if (kinds.length === 0) return null;
  const [from, to] = range;
  const at = (time: number) => (100 * (Math.min(to, Math.max(from, time)) - from)) / (to - from);
  return (
    <section className="lanes" aria-label="Marks">
      {kinds.map(({ kind, label, short }) => {
        const of = marks.filter((one) => one.kind === kind);
        const shown = !hidden.includes(kind);
        const colour = markColour(kind, dark);
        const count = of.reduce((sum, one) => sum + one.count, 0);
        return (
          <div className="lane" key={kind}>
            <button
              type="button"
              className="lane-name"
              aria-pressed={shown}
              aria-label={`Show ${label} (${count}) in the panels`}
              title={`${count} ${label}`}
              onClick={() => hide(shown ? [...hidden, kind] : hidden.filter((one) => one !== kind))}
            >
              <span
                className="swatch"
                style={{ background: shown ? colour : "transparent", borderColor: colour }}
              />
              {short}
            </button>
            <Ticks
              key={`${of.length} ${from}`}
              marks={of}
              colour={colour}
              at={at}
              tell={(mark) => {
                setTold(mark && { mark, left: at(mark.start) });
                if (mark) point(mark.start);
              }}
            />
          </div>
        );
      })}
      {told && (
        <div
          className="lane-tip"
          style={told.left > 50 ? { right: `${100 - told.left}%` } : { left: `${told.left}%` }}
        >
          {textOf(told.mark)}
        </div>
      )}
    </section>
  );
}

/** The marks of a row. Only one mark at a time is in the order of the Tab key. */
function Ticks({
  marks,
  colour,
  at,
  tell,
}: {
  marks: RunMark[];
  colour: string;
  at: (time: number) => number;
  tell: (mark: RunMark | null) => void;
}) {
  const [active, setActive] = useState(0);
  const row = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -marks.length, End: marks.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(marks.length - 1, Math.max(0, active + step));
    setActive(next);
    (row.current?.children[next] as HTMLElement | undefined)?.focus();
  };
  return (
    <div className="ticks" ref={row}>
      {marks.map((mark, place) => {
        const left = at(mark.start);
        const width = mark.end === null ? 0 : at(mark.end) - left;
        return (
          <button
            type="button"
            // biome-ignore lint/suspicious/noArrayIndexKey: marks have no names
            key={place}
            tabIndex={place === active ? 0 : -1}
            aria-label={textOf(mark)}
            style={{ left: `${left}%`, width: width ? `max(5px, ${width}%)` : undefined }}
            className={width ? "band" : undefined}
            onKeyDown={move}
            onFocus={() => {
              setActive(place);
              tell(mark);
            }}
            onBlur={() => tell(null)}
            onMouseEnter={() => tell(mark)}
            onMouseLeave={() => tell(null)}
          >
            <span style={{ background: colour }} />
          </button>
        );
      })}
    </div>
  );
}
