// Questions to the user, in the browser's modal dialog, which keeps the focus and ends with Escape.

import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useSyncExternalStore } from "react";
import "./dialog.css";

interface Question {
  title: string;
  /** An explanation under the title. */
  about?: string;
  /** Text of the button that answers. */
  action: string;
  /** Marks an action that removes something. */
  destructive?: boolean;
  /** A value to enter. Without a label, the answer is yes or no. */
  field?: { label: string; value: string; maxLength?: number; optional?: boolean };
}
interface Asked extends Question {
  answer: (value: string | null) => void;
}

let asked: Asked | null = null;
const listeners = new Set<() => void>();

function show(next: Asked | null): void {
  asked?.answer(null);
  asked = next;
  for (const call of listeners) call();
}

/** Asks for a value. Resolves to null if the user cancels. */
export function ask(question: Question & { field: object }): Promise<string | null> {
  return new Promise((answer) => show({ ...question, answer }));
}

/** Asks for a confirmation. Resolves to false if the user cancels. */
export async function confirmed(question: Omit<Question, "field">): Promise<boolean> {
  return (await new Promise<string | null>((answer) => show({ ...question, answer }))) !== null;
}

/** Shows the question that waits for an answer. The page contains this component once. */
export function Dialogs() {
  const question = useSyncExternalStore(
    (call) => {
      listeners.add(call);
      return () => listeners.delete(call);
    },
    () => asked,
  );
  if (!question) return null;
  const { answer, field } = question;
  const close = (value: string | null) => {
    answer(value);
    asked = null;
    for (const call of listeners) call();
  };
  return (
    <Modal title={question.title} onClose={() => close(null)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const value = new FormData(event.currentTarget).get("value");
          close(field ? String(value).trim() : "");
        }}
      >
        {question.about && <p>{question.about}</p>}
        {field && <AskedField {...field} />}
        <div className="row">
          <button type="button" onClick={() => close(null)}>
            Cancel
          </button>
          <button
            type="submit"
            className={question.destructive ? "destructive" : "primary"}
            data-first={!field || undefined}
          >
            {question.action}
          </button>
        </div>
      </form>
    </Modal>
  );
}

function AskedField({ label, value, maxLength = 120, optional = false }: NonNullable<Question["field"]>) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        ref={input}
        name="value"
        defaultValue={value}
        maxLength={maxLength}
        required={!optional}
      />
    </div>
  );
}

/** A modal dialog with a title. The focus starts at the element with the attribute `data-first`, or
 * else at the first field. Escape and the button with the cross call `onClose`. */
export function Modal({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  // Closed before its removal, so that the focus returns to the element that had it.
  useLayoutEffect(() => {
    const shown = dialog.current!;
    shown.showModal();
    shown.querySelector<HTMLElement>("[data-first], input, select, textarea")?.focus();
    return () => shown.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="modal"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div className="heading">
        <h2 id={id}>{title}</h2>
        <span className="grow" />
        <button type="button" className="plain" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </div>
      {children}
    </dialog>
  );
}
