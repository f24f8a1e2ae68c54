// Runs a request in the WebAssembly module and writes the outcome for a comparison:
//
//   node run.mjs MODULE.wasm REQUEST.json FOLDER [check]
//
// With "check", FOLDER only gets check.json, the check of the scenario. Otherwise it also gets answer.json, with the
// problems if the scenario was refused, keys.json with the keys of the answer by interface of answer.ts, and
// TABLE.COLUMN.bin with the values of each column of each trace (64-bit floats; `entity` as 32-bit indices).
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Engine, Refused } from "../../../testbed/web/src/engine/module.js";

const [, , module, request, folder, only] = process.argv;
const engine = await Engine.of(await WebAssembly.compile(readFileSync(module)));
const write = (name, content) => writeFileSync(join(folder, name), content);
try {
  const given = JSON.parse(readFileSync(request, "utf8"));
  const checked = engine.check(given);
  write("check.json", JSON.stringify(checked));
  if (only === "check") process.exit();
  engine.open(given);
  while (engine.advance(100_000) < 1);
  const answer = engine.close();
  const [trace] = answer.traces;
  const parts = { Answer: answer, Summary: answer.summary, Trace: trace, Column: trace?.columns[0], Checked: checked };
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
