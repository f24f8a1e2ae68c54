// Formats times, numbers and tables as text, and saves texts as files.

import { element } from "./element";
import { significant } from "./numbers";

export function when(seconds: number | null | undefined): string {
  return seconds
    ? new Date(seconds * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "medium" })
    : "–";
}

export function duration(seconds: number): string {
  if (seconds < 1) return "less than a second";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function rounded(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") {
    if (typeof value === "string" || typeof value === "boolean") return String(value);
    const text = JSON.stringify(value);
    return text.length > 60 ? `${text.slice(0, 60)}…` : text;
  }
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6) return value.toExponential(3);
  return String(significant(value, 4));
}

/** Formats a number after multiplication by `factor`, for display in another unit. */
export function scaled(value: unknown, factor: number): string {
  return typeof value === "number" ? rounded(value * factor) : "–";
}

export function csv(rows: (string | number)[][]): string {
  // A spreadsheet would evaluate cells that begin like a formula.
  const cell = (given: string | number) => {
    const text = String(given);
    return `"${(/^[=+@\t-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

export function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  element("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** A rate in bit/s as a number and its unit. */
export function rateText(bit_s: number): [string, string] {
  const [size, unit] = bit_s >= 1e9 ? [1e9, "Gbit/s"] : bit_s >= 1e6 ? [1e6, "Mbit/s"] : [1e3, "kbit/s"];
  return [String(significant(bit_s / size, 3)), unit];
}
