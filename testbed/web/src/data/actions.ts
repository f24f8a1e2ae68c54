// What a view's buttons do: a request, what became of it, and what the view shows of it.

import { useState } from "react";
import { message } from "./state";

/** Requests that change something. `act` waits for one and then calls `again`, which loads the view's data: `told` is then what
 * was to be said, or `trouble` why the request was refused. Each request clears both. */
export function useActions(again: () => void): {
  trouble: string;
  told: string;
  act: (work: Promise<unknown>, said?: string) => Promise<void>;
} {
  const [trouble, setTrouble] = useState("");
  const [told, setTold] = useState("");
  const act = (work: Promise<unknown>, said = "") => {
    setTrouble("");
    setTold("");
    return work.then(
      () => {
        setTold(said);
        again();
      },
      (refused: unknown) => setTrouble(message(refused)),
    );
  };
  return { trouble, told, act };
}
