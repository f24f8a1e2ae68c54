// Measured values, compared with the predictions of the equations.

/** Smallest relative deviation from a prediction that is marked. */
export const MARKED_DEVIATION = 0.2;

/** The relative deviation of a value from its prediction; null if either is missing. */
export function deviation(value: unknown, predicted: unknown): number | null {
  if (typeof value !== "number" || typeof predicted !== "number" || predicted === 0) return null;
  return value / predicted - 1;
}

/** A relative difference as a text with its sign, such as "+12 %". */
export function percent(relative: number): string {
  const size = Math.abs(100 * relative);
  const digits = size < 10 ? size.toFixed(1) : size.toFixed(0);
  return Number(digits) === 0 ? "0 %" : `${relative < 0 ? "−" : "+"}${digits} %`;
}
