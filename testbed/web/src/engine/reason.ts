// Messages about runs in the page.

import { problemText } from "../data/problem";
import type { Outcome } from "./client";

/** The reason why a run in the page gives no result; empty if it gives one. */
export function reasonOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case "refused": {
      const problem = outcome.problems[0];
      const text = problem ? `${problem.path}: ${problemText(problem)}` : outcome.text;
      return `The scenario cannot run. ${text}`;
    }
    case "declined": {
      const estimate = outcome.events / Math.max(outcome.fraction, 0.01);
      return (
        `The run needs about ${millions(estimate)} events; a page runs at most ${millions(outcome.limit)}.` +
        " Shorten the duration or lower the rates, or use bentpipe simulate."
      );
    }
    case "failed":
      return `The run failed: ${outcome.text}. Other settings can still be tried.`;
    default:
      return "";
  }
}

function millions(events: number): string {
  return `${Math.round(events / 1e6)} million`;
}
