// Marks next to the numbers of a run: its fidelity, and manual changes.

import { useId, useState } from "react";
import type { Fidelity } from "../data/api.gen";

/** The properties of a run that its marks show. */
export interface Marked {
  fidelity: Fidelity | null;
  changed: number;
}

/** Largest width of a tooltip, in pixels. */
const MAX_WIDTH = 320;

/** A short label with a tooltip, which appears while the label has the pointer or the focus. Escape
 * hides the tooltip. */
export function Mark({ kind, label, reason }: { kind: string; label: string; reason: string }) {
  const id = useId();
  // Positioned relative to the window, because tables clip content beyond their edges.
  const [at, setAt] = useState<{ left: number; top: number } | null>(null);
  const show = (element: Element) => {
    const place = element.getBoundingClientRect();
    setAt({ left: Math.max(8, Math.min(place.left, window.innerWidth - MAX_WIDTH - 8)), top: place.bottom });
  };
  return (
    <span
      className={`mark ${kind}`}
      role="note"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the tooltip appears with the focus
      tabIndex={0}
      aria-label={label}
      aria-describedby={id}
      onMouseEnter={(event) => show(event.currentTarget)}
      onMouseLeave={() => setAt(null)}
      onFocus={(event) => show(event.currentTarget)}
      onBlur={() => setAt(null)}
      onKeyDown={(event) => event.key === "Escape" && setAt(null)}
    >
      {label}
      <span id={id} role="tooltip" className={at ? "tip" : "hidden"} style={at ?? undefined}>
        {reason}
      </span>
    </span>
  );
}

const VERDICT_TEXTS: Record<Fidelity["verdict"], string> = {
  valid: "The emulation followed the scenario within its tolerances.",
  degraded: "The emulation exceeded a tolerance: interpret its numbers with caution.",
  void: "The emulation was too inaccurate: do not use its numbers.",
};

export function FidelityMark({ of }: { of: Fidelity | null }) {
  return (
    of && <Mark kind={of.verdict} label={of.verdict} reason={`${VERDICT_TEXTS[of.verdict]} ${of.text}.`} />
  );
}

export function Marks({ run }: { run: Marked }) {
  const count = run.changed === 1 ? "1 manual change" : `${run.changed} manual changes`;
  return (
    <>
      <FidelityMark of={run.fidelity} />
      {run.changed > 0 && (
        <Mark
          kind="changed"
          label="changed manually"
          reason={`${count} during the run, listed in the tab "scenario" of the run.`}
        />
      )}
    </>
  );
}

/** The marks of a run as text, for legends and files; empty for a run without marks. */
export function markText(run: Marked): string {
  const found = [
    run.fidelity && run.fidelity.verdict !== "valid" ? run.fidelity.verdict : "",
    run.changed > 0 ? "changed manually" : "",
  ];
  return found.filter(Boolean).join(", ");
}

const GRADES: Fidelity["verdict"][] = ["valid", "degraded", "void"];

/** The lowest of several fidelities; null if there is none. */
export function lowestFidelity(of: (Fidelity | null)[]): Fidelity | null {
  return of.reduce(
    (before, one) =>
      one && (!before || GRADES.indexOf(one.verdict) > GRADES.indexOf(before.verdict)) ? one : before,
    null,
  );
}
