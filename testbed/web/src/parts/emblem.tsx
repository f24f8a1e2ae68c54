// The emblem of the product: a satellite that relays between two ground stations.

import "./emblem.css";

export function Emblem() {
  return (
    <svg className="emblem" viewBox="0 0 320 150" aria-hidden="true">
      <path className="earth" d="M-10 150Q160 84 330 150Z" />
      <path className="beam" d="M52 121L160 34L268 121" />
      <g className="station">
        <path d="M40 112a14 14 0 0 0 22 12zM50 119l-6 14h14z" />
        <path d="M280 112a14 14 0 0 1-22 12zM270 119l6 14h-14z" />
      </g>
      <g className="satellite" transform="translate(160 30)">
        <rect x="-44" y="-8" width="30" height="16" />
        <rect x="14" y="-8" width="30" height="16" />
        <path d="M-34-8v16M-24-8v16M24-8v16M34-8v16M-14 0h4M10 0h4" />
        <rect className="body" x="-10" y="-13" width="20" height="26" rx="2" />
      </g>
    </svg>
  );
}
