// The field of a quantity: a number, and its unit as a choice. A text with a unit may also be typed
// into the field of the number.

import { useRef, useState } from "react";
import { inUnit, quantity, type Units } from "../data/quantities";

interface Given {
  id: string;
  label: string;
  units: Units;
  value: unknown;
  change: (value: unknown) => void;
  disabled?: boolean;
  required: boolean;
  example: string;
  /** Another quantity, whose unit is proposed if it fits. */
  near: string;
  "aria-describedby"?: string;
  "aria-invalid"?: boolean;
}

export function QuantityField({
  id,
  label,
  units,
  value,
  change,
  disabled,
  required,
  example,
  near,
  ...aria
}: Given) {
  // The text as typed, until the field loses the focus.
  const [typed, setTyped] = useState<string | null>(null);
  const last = useRef("");
  const [, redraw] = useState("");
  const listed = Object.values(units).flatMap((sizes) =>
    Object.keys(sizes).sort((a, b) => sizes[a]! - sizes[b]!),
  );
  const known = quantity(value, units);
  const text = value === undefined || value === null ? "" : String(value);
  if (known) last.current = known.unit;
  const unit =
    known?.unit ?? (last.current || (quantity(near, units) ?? quantity(example, units))?.unit || listed[0]!);
  const written = (given: string) => {
    if (given.trim() === "") return undefined;
    return Number.isFinite(Number(given)) ? `${given.trim()} ${unit}` : given;
  };
  return (
    <div className="quantity">
      <input
        {...aria}
        id={id}
        type="text"
        inputMode="decimal"
        disabled={disabled}
        value={typed ?? (known ? String(known.number) : text)}
        placeholder={[required ? "" : "not set", example && `such as ${example}`].filter(Boolean).join(", ")}
        onChange={(event) => {
          setTyped(event.target.value);
          change(written(event.target.value));
        }}
        onBlur={() => setTyped(null)}
      />
      <select
        aria-label={`Unit of ${label}`}
        disabled={disabled}
        value={unit}
        onChange={(event) => {
          last.current = event.target.value;
          redraw(last.current);
          setTyped(null);
          // The number stays, because users choose the unit of a number that they have typed.
          const number = known?.number ?? Number(text || Number.NaN);
          if (Number.isFinite(number)) change(`${number} ${last.current}`);
        }}
      >
        {listed.map((one) => (
          <option key={one} title={known ? equivalent(known, one, units) : undefined}>
            {one}
          </option>
        ))}
      </select>
    </div>
  );
}

/** The value in another unit, as a hint at its choice. */
function equivalent(known: NonNullable<ReturnType<typeof quantity>>, unit: string, units: Units) {
  const number = inUnit(known, unit, units);
  return number === null ? undefined : `now ${number} ${unit}`;
}
