// Rounds numbers, and returns labels and positions of ticks along an axis.

/** Rounds a number to `digits` significant digits. */
export function significant(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}

/** Labels of the ticks of an axis, with enough digits to distinguish neighbouring ticks. The label
 * of a null tick is empty. */
export function tickTexts(ticks: (number | null)[]): string[] {
  const known = [...new Set(ticks.filter((one): one is number => one !== null))].sort((a, b) => a - b);
  const gap = Math.min(...known.slice(1).map((one, place) => one - known[place]!));
  const largest = Math.max(...known.map(Math.abs), 0);
  // A tenth of the smallest gap is the last digit; trailing zeros are omitted.
  const digits = Number.isFinite(gap) ? Math.ceil(-Math.log10(gap)) + 1 : 6;
  const small = largest > 0 && largest < 1e-4;
  return ticks.map((one) => {
    if (one === null) return "";
    if (one === 0) return "0";
    if (small || largest >= 1e9) return exponential(one, gap);
    return one.toLocaleString("en", { maximumFractionDigits: Math.min(20, Math.max(0, digits)) });
  });
}

function exponential(value: number, gap: number): string {
  const digits = Number.isFinite(gap) ? Math.ceil(Math.log10(Math.abs(value) / gap)) + 1 : 3;
  return value
    .toExponential(Math.min(12, Math.max(0, digits)))
    .replace(/\.?0+e/, "e")
    .replace("e+", "e");
}

/** Positions of the ticks of a logarithmic axis: 1, 2 and 5 times each power of ten, or only the
 * powers if the axis spans more than three decades. */
export function decades(min: number, max: number): number[] {
  const [first, last] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
  const steps = last - first <= 3 ? [1, 2, 5] : [1];
  const found: number[] = [];
  for (let power = first; power <= last; power++) {
    for (const step of steps) found.push(Number(`${step}e${power}`));
  }
  return found.filter((one) => one >= min * (1 - 1e-9) && one <= max * (1 + 1e-9));
}

/** Returns true if numbers suit a logarithmic axis: all are positive and they span two decades or
 * more. */
export function spansDecades(values: number[]): boolean {
  return values.length > 1 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) >= 99.9;
}
