// Actions on the chosen runs of the table: comparison, download, tags, sharing, cancellation and
// removal.

import { useState } from "react";
import { api } from "../data/api";
import type { BulkChanged, Entry } from "../data/api.gen";
import { FINAL, go, message } from "../data/state";
import { Notice } from "./basics";
import { ask, confirmed } from "./dialog";
import { Sharing } from "./sharing";

/** Largest number of runs of a download, and of a comparison. */
const MAX_DOWNLOADED = 200;
const MAX_COMPARED = 12;

/** The bar of actions on chosen runs. `chosen` are ids; `matching` is the filter whose runs are all
 * chosen, instead. `rows` are the visible runs. */
export function RunActions({
  chosen,
  matching,
  total,
  rows,
  guest,
  done,
}: {
  chosen: string[];
  matching: Record<string, string> | null;
  total: number;
  rows: Entry[];
  guest: boolean;
  done: (removed: boolean) => void;
}) {
  const [failure, setFailure] = useState("");
  const [success, setSuccess] = useState("");
  const count = matching ? total : chosen.length;
  const visible = rows.filter((one) => chosen.includes(one.id));
  const unfinished = visible.some((one) => one.state !== "done");
  const what = count === 1 ? "1 run" : `${count.toLocaleString("en")} runs`;
  const perform = async (action: string, verb: string, more: object = {}) => {
    setFailure("");
    setSuccess("");
    try {
      const body = matching ? { action, matching, ...more } : { action, runs: chosen, ...more };
      const { changed, skipped } = await api.post<BulkChanged>("/runs/bulk", body);
      const runs = changed === 1 ? "1 run" : `${changed} runs`;
      const others = skipped
        ? ` ${skipped} ${skipped === 1 ? "was" : "were"} left as they are: they belong to other users, or their state does not permit it.`
        : "";
      setSuccess(`${runs} ${verb}.${others}`);
      done(action === "remove");
    } catch (error) {
      setFailure(message(error));
    }
  };
  const cancel = async () => {
    const about = "Waiting and running runs end.";
    const question = { title: `Cancel ${what}?`, about, action: "Cancel runs", destructive: true };
    if (await confirmed(question)) await perform("cancel", "cancelled");
  };
  const remove = async () => {
    const about = "Their results are removed as well.";
    const question = { title: `Remove ${what}?`, about, action: "Remove runs", destructive: true };
    if (await confirmed(question)) await perform("remove", "removed");
  };
  const tag = async (action: "tag" | "untag") => {
    const name = await ask({
      title: action === "tag" ? `Tag ${what}` : `Remove a tag from ${what}`,
      about: "A tag is one word, such as figure-17.",
      action: action === "tag" ? "Tag" : "Remove",
      field: { label: "Tag", value: "", maxLength: 30 },
    });
    if (name)
      await perform(action, action === "tag" ? `tagged ${name}` : `lost the tag ${name}`, { tag: name });
  };
  const share = async (to: string) => {
    if (to === "nobody") await perform("stop sharing", "are private again");
    else if (to === "everybody") await perform("share", "shared with everybody");
    else await perform("share", "shared with the course", { course: Number(to) });
  };
  return (
    <>
      <Notice text={failure} />
      <Notice text={success} kind="good" />
      {count > 0 && (
        <section className="bulk" aria-label="Chosen runs">
          <strong>{what}</strong>
          <button
            type="button"
            className="primary"
            disabled={matching !== null || chosen.length > MAX_COMPARED || unfinished}
            title={
              unfinished ? "Only runs that are done can be compared" : `Compares up to ${MAX_COMPARED} runs`
            }
            onClick={() => go(["compare"], { run: chosen.join(",") })}
          >
            Compare
          </button>
          {matching === null && chosen.length <= MAX_DOWNLOADED && (
            <a
              className="button"
              href={`/api/runs/zip?${chosen.map((id) => `run=${id}`).join("&")}`}
              download
            >
              Download ZIP
            </a>
          )}
          {!guest && (
            <>
              <button type="button" onClick={() => void tag("tag")}>
                Tag…
              </button>
              <button type="button" onClick={() => void tag("untag")}>
                Untag…
              </button>
              <Sharing name="chosen runs" share={(to) => void share(to)} />
              {(matching !== null || visible.some((one) => !FINAL.includes(one.state))) && (
                <button type="button" onClick={() => void cancel()}>
                  Cancel
                </button>
              )}
              <button type="button" onClick={() => void remove()}>
                Remove
              </button>
            </>
          )}
        </section>
      )}
    </>
  );
}
