// Marks beside the numbers of a run: its fidelity, and changes by hand.

import { useId, useState } from "react";
import type { Fidelity } from "../data/api.gen";

/** The part of a run that its marks show. */
export interface Marked {
  fidelity: Fidelity | null;
  changed: number;
}

/** Pixels that the text of a mark takes at most. */
const WIDTH = 320;

/** A short label whose reason appears while the pointer is over it or it has the focus. Escape hides the reason. */
function Mark({ kind, label, reason }: { kind: string; label: string; reason: string }) {
  const id = useId();
  // Fixed to the window, since tables cut off what is beyond their edges.
  const [at, setAt] = useState<{ left: number; top: number } | null>(null);
  const show = (element: Element) => {
    const place = element.getBoundingClientRect();
    setAt({ left: Math.max(8, Math.min(place.left, window.innerWidth - WIDTH - 8)), top: place.bottom });
  };
  return (
    <span
      className={`mark ${kind}`}
      role="note"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the reason appears with the focus
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

const ABOUT: Record<Fidelity["verdict"], string> = {
  valid: "The emulation followed the scenario within its tolerances.",
  degraded: "The emulation missed a tolerance: compare its numbers with care.",
  void: "The emulation was too inaccurate: do not use its numbers.",
};

export function FidelityMark({ of }: { of: Fidelity | null }) {
  return of && <Mark kind={of.verdict} label={of.verdict} reason={`${ABOUT[of.verdict]} ${of.text}.`} />;
}

export function Marks({ run }: { run: Marked }) {
  const times = run.changed === 1 ? "One value was" : `${run.changed} values were`;
  return (
    <>
      <FidelityMark of={run.fidelity} />
      {run.changed > 0 && (
        <Mark
          kind="changed"
          label="changed by hand"
          reason={`${times} changed by hand while it ran. The tab scenario of the run lists them.`}
        />
      )}
    </>
  );
}

/** The marks of a run as a text, for legends and files; empty without any. */
export function markText(run: Marked): string {
  const found = [
    run.fidelity && run.fidelity.verdict !== "valid" ? run.fidelity.verdict : "",
    run.changed > 0 ? "changed by hand" : "",
  ];
  return found.filter(Boolean).join(", ");
}

const GRADES: Fidelity["verdict"][] = ["valid", "degraded", "void"];

/** The least accurate of several; null without any. */
export function worst(of: (Fidelity | null)[]): Fidelity | null {
  return of.reduce(
    (before, one) =>
      one && (!before || GRADES.indexOf(one.verdict) > GRADES.indexOf(before.verdict)) ? one : before,
    null,
  );
}
