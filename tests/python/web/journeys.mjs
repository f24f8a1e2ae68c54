// Runs a request in the WebAssembly module and writes the journeys of a flow's packets:
//
//   node journeys.mjs MODULE.wasm REQUEST.json FLOW OUTPUT.json [TIME...]
//
// OUTPUT.json has the summary, the flows, the journeys with lists for arrays and null for missing values, and for each
// TIME in nanoseconds the numbers of packets and the sentence.
import { readFileSync, writeFileSync } from "node:fs";
import { Engine } from "../../../testbed/web/src/engine/module.js";
import { countsAt, journeysOf } from "../../../testbed/web/src/packets/journeys.js";
import { detailsOf, sentenceAt } from "../../../testbed/web/src/packets/texts.js";

const [, , module, request, flow, output, ...times] = process.argv;
const engine = await Engine.of(await WebAssembly.compile(readFileSync(module)));
engine.open(JSON.parse(readFileSync(request, "utf8")));
while (engine.advance(100_000) < 1);
const answer = engine.close();
const journeys = journeysOf(answer, flow);
const plain = (_, value) => {
  if (ArrayBuffer.isView(value)) return Array.from(value);
  return value instanceof Map ? Object.fromEntries(value) : value;
};
const at = times.map(Number).map((time) => ({ counts: countsAt(journeys, time), sentence: sentenceAt(journeys, time) }));
const details = Array.from({ length: journeys.count }, (_, packet) => detailsOf(journeys, packet));
const { summary, flows } = answer;
writeFileSync(output, JSON.stringify({ summary, flows, journeys, at, details }, plain));
