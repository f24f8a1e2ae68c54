// The notes and tags of a run, and comments by those who may see it.

import { useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { Entry, Remark } from "../data/api.gen";
import { when } from "../data/format";
import { useLoaded } from "../data/state";
import { useUser } from "../data/user";
import { Field, Notice } from "./basics";
import { RunNotes } from "./run_notes";
import "./discussion.css";

export function Discussion({ run, changed }: { run: Entry; changed: () => void }) {
  const at = `/runs/${run.id}/comments`;
  const { value, error, reload } = useLoaded<Remark[]>(at);
  const { failure, perform } = useActions(reload);
  const [text, setText] = useState("");
  const [editing, setEditing] = useState(false);
  const guest = useUser()?.level === "guest";
  return (
    <div className="discussion">
      <div className="heading">
        <h2>Notes</h2>
        <span className="grow" />
        {run.mine && (
          <button type="button" onClick={() => setEditing(true)}>
            Edit notes and tags
          </button>
        )}
      </div>
      <p className="text">{run.notes || <span className="soft">No notes.</span>}</p>
      {run.tags.length > 0 && <p>Tags: {run.tags.join(", ")}</p>}
      {editing && <RunNotes run={run} onClose={() => setEditing(false)} saved={changed} />}
      <h2>Comments</h2>
      <Notice text={error || failure} />
      {value?.length === 0 && (
        <p className="soft">No comments yet. Everyone who can open this run can read them.</p>
      )}
      <ol>
        {value?.map((one) => (
          <li key={one.id}>
            <p>
              <strong>{one.user}</strong> <span className="soft">{when(one.at)}</span>{" "}
              {one.mine && (
                <button
                  type="button"
                  className="plain"
                  aria-label={`Remove the comment of ${one.user} of ${when(one.at)}`}
                  onClick={() => void perform(api.remove(`${at}/${one.id}`))}
                >
                  Remove
                </button>
              )}
            </p>
            <p className="text">{one.text}</p>
          </li>
        ))}
      </ol>
      {!guest && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void perform(api.post(at, { text }).then(() => setText("")));
          }}
        >
          <Field label="New comment">
            {(id) => (
              <textarea
                id={id}
                rows={3}
                maxLength={2000}
                required
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
            )}
          </Field>
          <p>
            <button type="submit" className="primary" disabled={!text.trim()}>
              Comment
            </button>
          </p>
        </form>
      )}
    </div>
  );
}
