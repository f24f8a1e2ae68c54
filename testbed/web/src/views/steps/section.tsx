// A section of a panel, whose heading names the thing and, in small, its key path.

import { type ReactNode, useId } from "react";

export function Section({
  title,
  path = "",
  folded,
  children,
}: {
  title: string;
  path?: string;
  /** True for a section that is closed at first. */
  folded?: boolean;
  children: ReactNode;
}) {
  const id = useId();
  const label = (
    <>
      {title} {path && <small className="key-path">{path}</small>}
    </>
  );
  if (folded) {
    return (
      <details className="thing">
        <summary>{label}</summary>
        {children}
      </details>
    );
  }
  return (
    <section className="thing" aria-labelledby={id}>
      <h3 id={id}>{label}</h3>
      {children}
    </section>
  );
}
