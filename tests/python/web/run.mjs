// Runs a request in the WebAssembly module and writes the outcome for a comparison:
//
//   node run.mjs MODULE.wasm REQUEST.json FOLDER
//
// FOLDER gets answer.json, with the problems if the scenario was refused, keys.json with the keys of the answer by
// interface of answer.ts, and TABLE.COLUMN.bin with the values of each column of each trace (64-bit floats; `entity` as
// 32-bit indices).
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Engine, Refused } from "../../../testbed/web/src/engine/module.js";

const [, , module, request, folder] = process.argv;
const engine = await Engine.of(await WebAssembly.compile(readFileSync(module)));
const write = (name, content) => writeFileSync(join(folder, name), content);
try {
  engine.open(JSON.parse(readFileSync(request, "utf8")));
  while (engine.advance(100_000) < 1);
  const answer = engine.close();
  const [trace] = answer.traces;
  const parts = { Answer: answer, Summary: answer.summary, Trace: trace, Column: trace?.columns[0] };
  const keys = Object.entries(parts).map(([name, part]) => [name, Object.keys(part ?? {})]);
  write("keys.json", JSON.stringify(Object.fromEntries(keys)));
  for (const trace of answer.traces) {
    write(`${trace.table}.time.bin`, trace.time);
    write(`${trace.table}.entity.bin`, trace.entity);
    trace.columns.forEach((column, place) => write(`${trace.table}.${place}.bin`, column.values));
    trace.columns = trace.columns.map((column) => column.name);
    delete trace.time;
    delete trace.entity;
  }
  write("answer.json", JSON.stringify(answer));
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  write("answer.json", JSON.stringify({ text: error.message, problems: error.problems }));
}
