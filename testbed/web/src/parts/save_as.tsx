// The button that saves the draft of the editor as another configuration.

import { useState } from "react";
import { saveCopy } from "../data/copies";
import { go, message } from "../data/state";
import { Notice } from "./basics";
import { ask } from "./dialog";

/** `latest` returns the text of the draft with all input, and `saved` is called with the new
 * configuration before it opens. */
export function SaveAs({
  name,
  latest,
  positions,
  saved,
}: {
  name: string;
  latest: () => Promise<string>;
  positions: unknown;
  saved: (id: string) => void;
}) {
  const [failure, setFailure] = useState("");
  const save = async () => {
    const wanted = await ask({
      title: "Save as",
      about: `Saves the scenario with its changes as another configuration. "${name}" stays as it was last applied.`,
      action: "Save",
      field: { label: "Name", value: `personal ${name}` },
    });
    if (!wanted) return;
    try {
      const made = await saveCopy(wanted, await latest(), positions);
      setFailure("");
      saved(made.id);
      go(["configuration", made.id]);
    } catch (error) {
      setFailure(message(error));
    }
  };
  return (
    <>
      <Notice text={failure} />
      <button type="button" onClick={() => void save()}>
        Save as…
      </button>
    </>
  );
}
