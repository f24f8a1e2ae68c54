// The history of a draft: each state of its text and of the positions in its picture.

import { useCallback, useReducer } from "react";
import type { Positions } from "./draft";

export interface State {
  text: string;
  positions: Positions;
}

interface History {
  past: State[];
  now: State;
  future: State[];
  /** The time of the last change that can grow by further typing; 0 if there is none. */
  typed: number;
}

type Step =
  | { kind: "change"; next: Partial<State>; typing: boolean; at: number }
  | { kind: "undo" }
  | { kind: "redo" };

/** Typing without a longer pause is one step of the history. */
const PAUSE_MS = 1000;
const MAX_STEPS = 200;

/** Returns the history after a step. */
export function stepped(before: History, step: Step): History {
  const { past, now, future } = before;
  if (step.kind === "undo") {
    const last = past.at(-1);
    return last ? { past: past.slice(0, -1), now: last, future: [now, ...future], typed: 0 } : before;
  }
  if (step.kind === "redo") {
    const [next, ...rest] = future;
    return next ? { past: [...past, now], now: next, future: rest, typed: 0 } : before;
  }
  const next = { ...now, ...step.next };
  if (next.text === now.text && JSON.stringify(next.positions) === JSON.stringify(now.positions))
    return before;
  const continues = step.typing && before.typed > 0 && step.at - before.typed < PAUSE_MS;
  return {
    past: continues ? past : [...past, now].slice(-MAX_STEPS),
    now: next,
    future: [],
    typed: step.typing ? step.at : 0,
  };
}

/** The state of a draft with its history. */
export function useHistory(first: () => State) {
  const [history, step] = useReducer(stepped, null, () => ({ past: [], now: first(), future: [], typed: 0 }));
  const change = useCallback(
    (next: Partial<State>, typing = false) => step({ kind: "change", next, typing, at: Date.now() }),
    [],
  );
  return {
    ...history.now,
    change,
    undo: useCallback(() => step({ kind: "undo" }), []),
    redo: useCallback(() => step({ kind: "redo" }), []),
    /** The states to which undo and redo lead; undefined if there are none. */
    before: history.past.at(-1),
    after: history.future[0],
  };
}
