// Headline numbers, each with a label and a short explanation.

import type { ReactNode } from "react";
import "./tiles.css";

export interface TileContent {
  label: string;
  value: ReactNode;
  unit?: string;
  about?: ReactNode;
  /** Colour of the value (default: none). */
  tone?: "good" | "warn" | "bad" | undefined;
}

export function Tiles({ label, tiles }: { label: string; tiles: TileContent[] }) {
  return (
    <ul className="tiles" aria-label={label}>
      {tiles.map((one) => (
        <li key={one.label} className={one.tone}>
          <span className="tile-label">{one.label}</span>
          <span className="tile-value">
            {one.value}
            {one.unit && <small> {one.unit}</small>}
          </span>
          {one.about && <span className="tile-about">{one.about}</span>}
        </li>
      ))}
    </ul>
  );
}
