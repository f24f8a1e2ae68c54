// Messages about runs in the page.

import { rounded } from "../data/format";
import type { Outcome } from "../engine/client";

/** The reason why a run in the page gives no result; empty if it gives one. */
export function reasonOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case "refused":
      return outcome.text;
    case "declined":
      return tooLarge(outcome);
    case "failed":
      return `The run failed: ${outcome.text}`;
    default:
      return "";
  }
}

/** The message about a run that is too large for a page, with an estimate of its size. */
function tooLarge({ events, fraction, limit }: Extract<Outcome, { kind: "declined" }>): string {
  const estimate = fraction > 0 ? `about ${rounded(events / fraction)} events` : "more events";
  return `The run takes ${estimate}; a page runs at most ${rounded(limit)}. Shorten the duration or lower the rates.`;
}
