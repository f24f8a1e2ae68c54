// The symbols of a network's parts, as drawings of 24 by 24 units.

import type { ReactNode } from "react";

const DRAWINGS: Record<string, ReactNode> = {
  host: (
    <>
      <rect x="3" y="4" width="18" height="12" rx="1.5" />
      <path d="M12 16v4M8 20h8" />
    </>
  ),
  router: (
    <>
      <ellipse cx="12" cy="8" rx="9" ry="4" />
      <path d="M3 8v8c0 2.2 4 4 9 4s9-1.8 9-4V8" />
      <path d="M8 8h8M14 6.5L16 8l-2 1.5" />
    </>
  ),
  proxy: (
    <>
      <rect x="3" y="6" width="18" height="12" rx="1.5" />
      <path d="M13 8l-4 5h3l-1 4 4-5h-3z" />
    </>
  ),
  gateway: (
    <>
      <path d="M5 4a10 10 0 0 0 12 12z" />
      <path d="M11 10l6-6M9 16l-2 5h6l-1-4" />
      <circle cx="17.5" cy="3.5" r="1.2" />
    </>
  ),
  satellite: (
    <>
      <rect x="9" y="9" width="6" height="6" rx="1" transform="rotate(45 12 12)" />
      <path d="M3.5 8.5l3-3 3.5 3.5-3 3zM14 15l3-3 3.5 3.5-3 3z" transform="rotate(0 12 12)" />
      <path d="M14 6a6 6 0 0 1 4 4M15 2.5A9.5 9.5 0 0 1 21.5 9" />
    </>
  ),
  wifi: (
    <>
      <path d="M3 10a13 13 0 0 1 18 0M6 13.5a8.5 8.5 0 0 1 12 0M9 17a4 4 0 0 1 6 0" />
      <circle cx="12" cy="20" r="1" />
    </>
  ),
  network: (
    <>
      <path d="M7 18a4 4 0 0 1 0-8 5.5 5.5 0 0 1 10.5-1A4.5 4.5 0 0 1 17 18z" />
    </>
  ),
  group: (
    <>
      <rect x="3" y="3" width="12" height="8" rx="1" />
      <path d="M18 7h3v8H9v-1M21 11" />
      <path d="M12 19h6" />
    </>
  ),
};

export function Icon({ kind, size = 22 }: { kind: string; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {DRAWINGS[kind] ?? DRAWINGS.network}
    </svg>
  );
}
