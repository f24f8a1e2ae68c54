// A text to be copied, once: in a field, so that the keyboard can select it.

import { Field } from "./basics";

export function Secret({ label, text }: { label: string; text: string }) {
  return (
    <Field label={label}>
      {(id) => (
        <input id={id} className="secret" readOnly value={text} onFocus={(event) => event.target.select()} />
      )}
    </Field>
  );
}
