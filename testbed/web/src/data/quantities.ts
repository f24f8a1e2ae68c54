// Quantities with units. The schema lists the units of each kind of quantity, with their sizes.

import { significant } from "./numbers";
import { resolved, type Schema } from "./schema";

/** The units of a kind of quantity: for each base unit, units with their sizes in the base unit. */
export type Units = Record<string, Record<string, number>>;

export interface Quantity {
  number: number;
  unit: string;
  /** The base unit, and the value in it. */
  base: string;
  value: number;
}

/** The units allowed for the values of a key; empty if the values are not quantities. */
export function unitsOf(given: Schema, root: Schema): Units {
  const schema = resolved(given, root);
  if (schema.units) return schema.units;
  const parts = (schema.oneOf ?? schema.anyOf ?? []).map((one) => resolved(one, root));
  return parts.find((one) => one.units)?.units ?? {};
}

/** Parses a text such as "250 ms". Returns null if the text is not a quantity. */
export function quantity(text: unknown, units: Units): Quantity | null {
  if (typeof text !== "string") return null;
  const given = text.trim();
  for (const [base, sizes] of Object.entries(units)) {
    for (const [unit, size] of Object.entries(sizes)) {
      // "250 ms" also ends with "s", but the remainder "250 m" is not a number.
      const before = given.endsWith(unit) ? given.slice(0, -unit.length).trim() : "";
      const number = Number(before);
      if (before && Number.isFinite(number)) return { number, unit, base, value: number * size };
    }
  }
  return null;
}

/** Converts a quantity to another unit. Returns null if the units have different dimensions. */
export function inUnit(of: Quantity, unit: string, units: Units): number | null {
  const size = units[of.base]?.[unit];
  if (size === undefined) return null;
  // Twelve digits hide the rounding errors of the two conversions.
  return unit === of.unit ? of.number : significant(of.value / size, 12);
}
