// Small components shared by several views.

import { type ReactNode, useEffect, useId, useRef } from "react";
import { FieldError } from "./problems";

export function Notice({
  text,
  kind = "error",
  id,
}: {
  text: string;
  kind?: "error" | "good" | "plain";
  id?: string;
}) {
  if (!text) return null;
  return (
    <p id={id} className={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
      {text}
    </p>
  );
}

export function Field({
  label,
  children,
  help,
  problem = "",
}: {
  label: string;
  help?: string;
  /** Error message about the value. */
  problem?: string;
  children: (id: string, described: string | undefined) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id, [problem && `${id}-error`, help && `${id}-help`].filter(Boolean).join(" ") || undefined)}
      <FieldError id={`${id}-error`} text={problem} />
      {help && (
        <p className="help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}

/** A scrollable region for content that may be wider than the window, such as a table. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls focusable elements only
    <section className="scroll-region" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

const PAGE = "bentpipe test bed";

/** The heading of a view, which gets the focus when the view opens, so that screen readers announce
 * it. The title of the document consists of `part`, such as the open tab, and the heading. */
export function Title({ children, part = "" }: { children: ReactNode; part?: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const has = document.activeElement;
    // A form of the view may already have taken the focus.
    if (has === document.body || has?.closest("header")) heading.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    const about = heading.current?.textContent ?? "";
    document.title = [part, about === PAGE ? "" : about, PAGE].filter(Boolean).join(" – ");
  });
  return (
    <h1 tabIndex={-1} ref={heading}>
      {children}
    </h1>
  );
}

export function Progress({ value, label }: { value: number; label: string }) {
  return (
    <progress max={1} value={value} aria-label={label}>
      {Math.round(100 * value)} %
    </progress>
  );
}
