// Positions and values of keys in the text of a scenario, also while a line is incomplete.

import { type AST, getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import { isTable, type Table } from "./schema";

/** A path to a value: keys, and indices of tables in lists. */
export type Path = (string | number)[];

/** A key of the text, with its positions and those of its value. */
export interface Entry {
  path: Path;
  key: [number, number];
  value: [number, number];
}

export interface Parsed {
  entries: Entry[];
  /** The headers of tables, in the order of the text. */
  headers: { path: Path; from: number; to: number }[];
  values: Table;
}

/**
 * Parses a text. A text that is not TOML is parsed without the line at `position`, where the user
 * is probably typing; undefined if the rest is not TOML either.
 */
export function parsed(text: string, position: number): Parsed | undefined {
  const start = text.lastIndexOf("\n", position - 1) + 1;
  const next = text.indexOf("\n", position);
  const end = next < 0 ? text.length : next;
  for (const one of [text, text.slice(0, start) + " ".repeat(end - start) + text.slice(end)]) {
    try {
      return read(parseTOML(one));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}

function read(program: AST.TOMLProgram): Parsed {
  const entries: Entry[] = [];
  const headers: Parsed["headers"] = [];
  const add = (pair: AST.TOMLKeyValue, above: Path) => {
    const path = [...above, ...pair.key.keys.map(keyText)];
    entries.push({ path, key: pair.key.range, value: pair.value.range });
    inner(pair.value, path);
  };
  const inner = (value: AST.TOMLContentNode, path: Path) => {
    if (value.type === "TOMLInlineTable") for (const pair of value.body) add(pair, path);
    if (value.type === "TOMLArray")
      for (const [index, one] of value.elements.entries()) inner(one, [...path, index]);
  };
  for (const part of program.body[0].body) {
    if (part.type === "TOMLKeyValue") add(part, []);
    else {
      headers.push({ path: part.resolvedKey, from: part.key.range[0], to: part.range[1] });
      for (const pair of part.body) add(pair, part.resolvedKey);
    }
  }
  return { entries, headers, values: getStaticTOMLValue(program) as Table };
}

function keyText(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === "TOMLBare" ? key.name : key.value;
}

/** The path of the table to which a line at `position` belongs. */
export function tableAt(known: Parsed, position: number): Path {
  return known.headers.findLast((one) => one.from <= position)?.path ?? [];
}

/** The value at a path; undefined if there is none. */
export function valueAt(values: unknown, path: Path): unknown {
  let found = values;
  for (const key of path) {
    if (Array.isArray(found) && typeof key === "number") found = found[key];
    else if (isTable(found)) found = found[String(key)];
    else return undefined;
  }
  return found;
}

/**
 * The position of an entity in the text. In `named`, a table in a list is addressed by its name, as
 * in `["link", "sat"]`. Returns the position of the longest known beginning of the path. A node has
 * no table; its position is that of the first value with its name.
 */
export function positionOf(known: Parsed, named: string[]): number | undefined {
  if (named[0] === "node")
    return known.entries.find((one) => valueAt(known.values, one.path) === named[1])?.key[0];
  const path: Path = [];
  let values: unknown = known.values;
  for (const key of named) {
    const index = Array.isArray(values) ? values.findIndex((one) => isTable(one) && one.name === key) : -1;
    const part = index >= 0 ? index : key;
    values = valueAt(values, [part]);
    if (values === undefined) break;
    path.push(part);
  }
  for (let length = path.length; length > 0; length--) {
    const part = path.slice(0, length).join("\n");
    const header = known.headers.find((one) => one.path.join("\n") === part);
    const entry = known.entries.find((one) => one.path.join("\n") === part);
    const found = header?.from ?? entry?.key[0];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The place of the cursor within a line: the tables and keys around it. */
export interface LinePlace {
  kind: "header" | "key" | "value";
  /** The path below the table of the line. For a header, the complete path. */
  path: Path;
  /** The part of the key or value before the cursor. */
  typed: string;
}

/** Returns the place at the end of `before`, the part of a line before the cursor. */
export function placeIn(before: string): LinePlace | undefined {
  const header = /^\s*\[{1,2}\s*([^\]]*)$/.exec(before);
  if (header) {
    const keys = header[1]!.split(".");
    return { kind: "header", path: keys.slice(0, -1).map(unquoted), typed: keys.at(-1)!.trim() };
  }
  const stack: Path = [];
  let [path, start, kind]: [Path, number, "key" | "value"] = [[], 0, "key"];
  const frames: { path: Path; list: boolean; index: number }[] = [];
  for (let at = 0; at < before.length; at++) {
    const one = before[at]!;
    const frame = frames.at(-1);
    if (one === "#") return undefined;
    if (one === '"' || one === "'") {
      const end = before.indexOf(one, at + 1);
      if (end < 0) break;
      at = end;
    } else if (one === "=" && kind === "key") {
      path = [...stack, ...before.slice(start, at).split(".").map(unquoted)];
      [start, kind] = [at + 1, "value"];
    } else if (one === "{" || one === "[") {
      const inside = frame?.list ? [...stack, frame.index] : path;
      frames.push({ path: inside, list: one === "[", index: 0 });
      stack.splice(0, stack.length, ...inside);
      if (one === "[") path = inside;
      [start, kind] = [at + 1, one === "{" ? "key" : "value"];
    } else if (one === "}" || one === "]") {
      frames.pop();
      stack.splice(0, stack.length, ...(frames.at(-1)?.path ?? []));
      [start, kind] = [at + 1, "value"];
    } else if (one === "," && frame) {
      frame.index += 1;
      [start, kind] = [at + 1, frame.list ? "value" : "key"];
    }
  }
  const typed = before.slice(start).trimStart();
  if (kind === "value") return { kind, path: frames.at(-1)?.list ? [...path, 0] : path, typed };
  const keys = typed.split(".");
  return { kind, path: [...stack, ...keys.slice(0, -1).map(unquoted)], typed: keys.at(-1)! };
}

function unquoted(key: string): string {
  return key.trim().replace(/^(["'])(.*)\1$/, "$2");
}
