/** An interactive figure of a page, as written by scripts/manual/tries.py. */

export interface Choice {
  label: string;
  overrides: string[];
}

/** A slider over values that override the value of `keys`. */
interface Values {
  label: string;
  keys: string[];
  values: number[];
  /** Unit of the values in overrides, such as `kB`; empty for numbers. */
  unit: string;
  /** Unit shown to the reader, and the factor to it. */
  show: { unit: string; factor: number };
}

export type Control = { name: string; label: string; start: number } & (Values | { choices: Choice[] });

export type Figure = {
  label: string;
  unit: string;
  /** Factor from the unit of the results to `unit`. */
  factor: number;
  min?: number;
  max?: number;
} & (
  | {
      trace: string | string[];
      entities?: string[];
      names?: string[];
      /** Seconds over which the increase of the column is drawn as a rate. */
      bin?: number;
      /** Seconds over which the values are averaged. */
      mean?: number;
      style?: "line" | "steps" | "dots";
    }
  | { table: string; over: string; rows?: string; style?: "line" | "steps" | "dots" }
  | { sweep: string }
  | { bars: string }
);

export interface Spec {
  name: string;
  toml: string;
  controls: Control[];
  each: Choice[];
  sweep: (Values & { log: boolean }) | null;
  figures: Figure[];
  say: string;
  otherwise: string;
  traces: string[];
  spacing_s: number;
}

/** Positions of the controls, in their order. */
export type Settings = number[];

const text = (value: number, unit: string) => (unit ? `${value} ${unit}` : String(value));

/** Returns the chosen value as shown to the reader. */
export function shown(control: Control, position: number): string {
  if ("choices" in control) return control.choices[position]!.label;
  return shownValue(control, control.values[position]!);
}

/** Returns a value of a slider or a sweep as shown to the reader. */
export function shownValue(slider: Values, value: number): string {
  return text(Number((value * slider.show.factor).toPrecision(6)), slider.show.unit);
}

/** Returns the overrides of a slider's value. */
export function at(slider: Values, value: number): string[] {
  return slider.keys.map((key) => `${key}=${text(value, slider.unit)}`);
}

export function overrides(spec: Spec, settings: Settings): string[] {
  return spec.controls.flatMap((control, place) => {
    const position = settings[place]!;
    if ("choices" in control) return control.choices[position]!.overrides;
    return at(control, control.values[position]!);
  });
}
