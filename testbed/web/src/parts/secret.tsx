// A secret to be copied, in a read-only field that selects its text on focus.

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
