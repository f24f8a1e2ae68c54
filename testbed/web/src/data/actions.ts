// Requests sent by the buttons of a view, and the messages about their outcome.

import { useState } from "react";
import { message } from "./state";

/** Requests that change data on the test bed.
 *
 * `act` waits for a request. After success, it sets `told` to a message and calls `again`, which
 * reloads the data of the view. After a refusal, it sets `trouble` to the reason. Each request
 * first clears both messages.
 */
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
