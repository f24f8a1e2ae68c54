// The dialog for the notes and tags of a run.

import { useState } from "react";
import { api } from "../data/api";
import type { Entry } from "../data/api.gen";
import { message } from "../data/state";
import { Field, Notice } from "./basics";
import { Modal } from "./dialog";

export function RunNotes({ run, onClose, saved }: { run: Entry; onClose: () => void; saved: () => void }) {
  const [tags, setTags] = useState(run.tags.join(" "));
  const [notes, setNotes] = useState(run.notes);
  const [failure, setFailure] = useState("");
  const save = async () => {
    try {
      await api.patch(`/runs/${run.id}`, { notes, tags: tags.split(/[\s,]+/).filter(Boolean) });
      saved();
      onClose();
    } catch (error) {
      setFailure(message(error));
    }
  };
  return (
    <Modal title={`Notes and tags of run ${run.number}`} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Notice text={failure} />
        <Field label="Tags" help="Up to 12 words, separated by spaces, such as figure-17.">
          {(id, described) => (
            <input
              id={id}
              aria-describedby={described}
              value={tags}
              onChange={(event) => setTags(event.target.value)}
            />
          )}
        </Field>
        <Field label="Notes">
          {(id) => (
            <textarea
              id={id}
              rows={6}
              maxLength={5000}
              value={notes}
              onChange={(event) => setNotes(event.target.value)}
            />
          )}
        </Field>
        <div className="row">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary">
            Save
          </button>
        </div>
      </form>
    </Modal>
  );
}
