// A button that opens a small panel with further actions.

import { type ReactNode, useEffect, useRef, useState } from "react";
import "./more.css";

/** A panel that closes with Escape, and when the focus or a click leaves it. */
export function More({ label, text = "⋯", children }: { label: string; text?: string; children: ReactNode }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  // Positioned relative to the window, because tables clip content beyond their edges.
  const [at, setAt] = useState<{ top: number; right: number }>();
  const close = () => {
    if (menu.current) menu.current.open = false;
  };
  useEffect(() => {
    if (!open) return;
    const scrolled = () => {
      if (menu.current) menu.current.open = false;
    };
    window.addEventListener("scroll", scrolled, { capture: true });
    return () => window.removeEventListener("scroll", scrolled, { capture: true });
  }, [open]);
  return (
    <details
      className="more"
      ref={menu}
      onBlur={(event) => {
        const to = event.relatedTarget;
        if (to && !event.currentTarget.contains(to)) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !menu.current?.open) return;
        close();
        menu.current.querySelector("summary")?.focus();
      }}
      onToggle={() => {
        setOpen(menu.current?.open ?? false);
        const place = menu.current?.getBoundingClientRect();
        if (place) setAt({ top: place.bottom, right: document.documentElement.clientWidth - place.right });
        if (!menu.current?.open) return;
        const outside = (event: PointerEvent) => {
          if (menu.current?.contains(event.target as Node)) return;
          close();
          document.removeEventListener("pointerdown", outside);
        };
        document.addEventListener("pointerdown", outside);
      }}
    >
      <summary className="button" aria-label={label}>
        {text}
      </summary>
      {open && (
        <div className="more-panel" style={at}>
          {children}
        </div>
      )}
    </details>
  );
}
