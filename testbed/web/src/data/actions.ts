// Requests sent by the buttons of a view, and the messages about their outcome.

import { useState } from "react";
import { message } from "./state";

/** Requests that change data on the test bed.
 *
 * `perform` waits for a request. After success, it sets `success` to a message and calls `reload`,
 * which reloads the data of the view. After a refusal, it sets `failure` to the reason. Each
 * request first clears both messages.
 */
export function useActions(reload: () => void): {
  failure: string;
  success: string;
  perform: (work: Promise<unknown>, confirmation?: string) => Promise<void>;
} {
  const [failure, setFailure] = useState("");
  const [success, setSuccess] = useState("");
  const perform = (work: Promise<unknown>, confirmation = "") => {
    setFailure("");
    setSuccess("");
    return work.then(
      () => {
        setSuccess(confirmation);
        reload();
      },
      (refused: unknown) => setFailure(message(refused)),
    );
  };
  return { failure, success, perform };
}
