// The report of a run: headline numbers, the results of the flows with their predictions, and the
// main figures.

import { useMemo, useState } from "react";
import type { Fidelity, Group as GroupOfFlows, Outage, Results, Scenario } from "../data/api.gen";
import { deviation, MARKED_DEVIATION, percent } from "../data/deviation";
import { rateText, rounded, scaled } from "../data/format";
import { significant } from "../data/numbers";
import { useLoaded } from "../data/state";
import { quantitiesOf } from "../data/timeline";
import { Notice, ScrollRegion } from "./basics";
import { Calls } from "./calls";
import { Mark, type Marked, Marks } from "./marks";
import { type TileContent, Tiles } from "./tiles";
import { Timeline } from "./timeline";
import "./records.css";
import "./run_report.css";

type Flow = Results["flows"][number];

/** Largest number of rows in the table of flows. */
const MAX_FLOWS = 50;

export function RunReport({ run }: { run: Scenario }) {
  const { value, error } = useLoaded<Results>(`/runs/${run.id}/results`);
  const quantities = useMemo(() => quantitiesOf(value), [value]);
  if (error) return <Notice text={error} kind="plain" />;
  if (!value) return <p aria-busy="true">Loading…</p>;
  const flows = run.instrument !== "study";
  return (
    <>
      {flows && <Tiles label="Results" tiles={tilesOf(run, value)} />}
      <Outages of={value.outages} />
      {value.groups.map((one) => (
        <Group key={one.name} group={one} run={run} />
      ))}
      {flows && <Flows results={value} run={run} />}
      {flows && <Calls run={run.id} />}
      {quantities.length > 0 && (
        <Timeline
          runs={[{ id: run.id, name: "", title: run.name }]}
          quantities={quantities}
          title={`${run.name} ${run.number}`}
          compact
        />
      )}
      {run.state === "done" && <Document run={run} open={!flows} />}
    </>
  );
}

const numbers = (flows: Flow[], key: string) =>
  flows.map((one) => one[key]).filter((one): one is number => typeof one === "number");
const sum = (values: number[]) => values.reduce((total, one) => total + one, 0);

/** The smallest and the largest value as a text, or one value if they are equal. */
function rangeText(values: number[], factor: number, digits = 3): string {
  if (values.length === 0) return "–";
  const [least, most] = [Math.min(...values), Math.max(...values)].map((one) =>
    String(significant(one * factor, digits)),
  );
  return least === most ? least! : `${least} – ${most}`;
}

const plural = (count: number, one: string) =>
  `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

function tilesOf(run: Scenario, { flows, complete }: Results): TileContent[] {
  const whole = flows.filter((one) => one.leg === null);
  const [goodputs, rtts, losses] = [
    numbers(whole, "goodput"),
    numbers(flows, "rtt_mean"),
    numbers(whole, "loss"),
  ];
  const mos = numbers(whole, "voice_mos");
  const [rate, unit] = rateText(sum(goodputs));
  const deviations = flows.flatMap((one) => deviationsOf(one)).filter((one) => one !== null);
  const different = deviations.filter((one) => Math.abs(one) > MARKED_DEVIATION).length;
  const tiles: TileContent[] = [];
  if (goodputs.length > 0)
    tiles.push({
      label: "Goodput",
      value: rate,
      unit,
      about:
        goodputs.length > 1
          ? `sum of ${goodputs.length} flows, each over its own time`
          : String(whole[0]?.flow ?? ""),
    });
  if (rtts.length > 0)
    tiles.push({
      label: "Round-trip time",
      value: rangeText(rtts, 1e3),
      unit: "ms",
      about: rtts.length > 1 ? `means of ${rtts.length} connections` : "mean",
    });
  if (losses.length > 0)
    tiles.push({
      label: "Packet loss",
      value: rangeText(losses, 100),
      unit: "%",
      about: `${plural(sum(numbers(whole, "retransmissions")), "retransmission")}, ${plural(sum(numbers(whole, "timeouts")), "time-out")}`,
    });
  if (mos.length > 0)
    tiles.push({
      label: "Call quality",
      value: rangeText(mos, 1),
      unit: "MOS",
      about: plural(mos.length, "call flow"),
    });
  if (deviations.length > 0)
    tiles.push({
      label: "Predictions",
      value: different === 0 ? "agree" : `${different} of ${deviations.length} differ`,
      about: `${different === 0 ? "all within" : "by more than"} ${100 * MARKED_DEVIATION} %`,
      tone: different === 0 ? "good" : "warn",
    });
  tiles.push(verdictOf(run, complete));
  return tiles;
}

const TONES = { valid: "good", degraded: "warn", void: "bad" } as const;

/** The verdict on a run: how far its numbers can be trusted. */
function verdictOf(
  { fidelity, changed }: { fidelity: Fidelity | null; changed: number },
  complete: boolean,
): TileContent {
  const label = "Verdict";
  if (!complete) return { label, value: "incomplete", about: "The run ended early.", tone: "bad" };
  if (fidelity)
    return { label, value: fidelity.verdict, about: fidelity.text, tone: TONES[fidelity.verdict] };
  if (changed > 0)
    return { label, value: "changed manually", about: plural(changed, "manual change"), tone: "warn" };
  return { label, value: "exact", about: "simulated as in the scenario", tone: "good" };
}

const deviationsOf = (one: Flow) => [
  deviation(one.goodput, one.predicted_goodput),
  deviation(one.rtt_mean, one.predicted_rtt),
  deviation(one.transfer, one.predicted_transfer),
];

/** The columns of the table: heading, key, factor, and the key of the prediction. */
const COLUMNS: { label: string; key: string; factor: number; predicted?: string }[] = [
  { label: "Goodput (kbit/s)", key: "goodput", factor: 1e-3, predicted: "predicted_goodput" },
  { label: "RTT, mean (ms)", key: "rtt_mean", factor: 1e3, predicted: "predicted_rtt" },
  { label: "RTT, 95 % (ms)", key: "rtt_p95", factor: 1e3 },
  { label: "Transfer (s)", key: "transfer", factor: 1, predicted: "predicted_transfer" },
  { label: "Transaction, mean (ms)", key: "transaction_mean", factor: 1e3 },
  { label: "Delay, mean (ms)", key: "delay_mean", factor: 1e3 },
  { label: "MOS", key: "voice_mos", factor: 1 },
  { label: "Start-up (s)", key: "video_startup", factor: 1 },
  { label: "Stalls", key: "video_stalls", factor: 1 },
  { label: "Stalled (s)", key: "video_stalled", factor: 1 },
  { label: "Bit rate (kbit/s)", key: "video_bitrate", factor: 1e-3 },
  { label: "Loss (%)", key: "loss", factor: 100 },
  { label: "Time-outs", key: "timeouts", factor: 1 },
  { label: "Retransmissions", key: "retransmissions", factor: 1 },
];

/** The name of a flow, without that of a leg. */
const nameOf = (one: Flow) => String(one.flow).split("@")[0]!;

function Flows({ results, run }: { results: Results; run: Marked }) {
  const { notes } = results;
  const order = [...new Set(results.flows.map(nameOf))];
  // Stable: the row of a flow is before those of its legs.
  const flows = results.flows.toSorted((a, b) => order.indexOf(nameOf(a)) - order.indexOf(nameOf(b)));
  const columns = COLUMNS.filter(({ key }) => numbers(flows, key).length > 0);
  return (
    <ScrollRegion label="Flows">
      <table className="records flows">
        <caption>
          Flows
          {flows.length > MAX_FLOWS && `: the first ${MAX_FLOWS} of ${flows.length}; the files contain all`}
          <Marks run={run} />
        </caption>
        <thead>
          <tr>
            <th>Flow</th>
            {columns.map(({ label, key, predicted }) => (
              <th key={key} className="number">
                {label}
                {predicted && <small className="soft">measured, predicted</small>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {flows.slice(0, MAX_FLOWS).map((one) => {
            const note = notes[nameOf(one)] ?? "";
            return (
              <tr key={String(one.flow)} className={one.leg === null ? undefined : "leg"}>
                <th scope="row">
                  {String(one.flow)}
                  <small className="soft">
                    {String(one.source)} → {String(one.destination)}
                  </small>
                </th>
                {columns.map(({ label, key, factor, predicted }) => (
                  <td
                    key={key}
                    data-label={label}
                    className={`number${typeof one[key] === "number" ? "" : " none"}`}
                  >
                    {scaled(one[key], factor)}
                    {predicted && (
                      <Predicted value={one[key]} predicted={one[predicted]} factor={factor} note={note} />
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** The prediction of a value, marked if the value deviates from it. */
function Predicted({
  value,
  predicted,
  factor,
  note,
}: {
  value: unknown;
  predicted: unknown;
  factor: number;
  note: string;
}) {
  const relative = deviation(value, predicted);
  if (relative === null) return null;
  const marked = Math.abs(relative) > MARKED_DEVIATION;
  return (
    <small className="soft predicted">
      {marked ? (
        <Mark
          kind="degraded"
          label={percent(relative)}
          reason={
            note
              ? `Differs from the prediction. The equations state: ${note}.`
              : "Differs from the prediction."
          }
        />
      ) : (
        <span>{percent(relative)}</span>
      )}{" "}
      {scaled(predicted, factor)}
    </small>
  );
}

/** The report as one document, which is loaded when the user opens it. `open` is true for a run
 * without another report. */
function Document({ run, open }: { run: Scenario; open: boolean }) {
  const [shown, show] = useState(open);
  const source = `/api/runs/${run.id}/report`;
  const content = (
    <>
      <p>
        <a href={source} target="_blank" rel="noreferrer">
          Open the report in a new tab
        </a>
      </p>
      {shown && <iframe className="report" title="Report of the run" src={source} sandbox="" />}
    </>
  );
  if (open) return content;
  return (
    <details className="document" onToggle={(event) => show(event.currentTarget.open)}>
      <summary>Full report with all figures, counters and provenance</summary>
      {content}
    </details>
  );
}

/** The outages of the run, shown before the numbers that they affect. */
function Outages({ of }: { of: Outage[] }) {
  if (of.length === 0) return null;
  return (
    <div className="notice plain">
      <strong id="outages">Outages</strong>
      <ul aria-labelledby="outages">
        {of.map((one) => (
          <li key={one.text}>{one.text}</li>
        ))}
      </ul>
    </div>
  );
}

/** The statistics in the table of a group, with their headings. */
const STATISTICS = [
  ["mean", "Mean"],
  ["p05", "5 %"],
  ["median", "Median"],
  ["p95", "95 %"],
  ["best", "Best"],
  ["worst", "Worst"],
] as const;

/** Statistics over the flows of a group, one row per quantity. */
function Group({ group, run }: { group: GroupOfFlows; run: Marked }) {
  return (
    <ScrollRegion label={`Group ${group.name}`}>
      <table>
        <caption>
          {group.name}: {group.flows} flows
          <Marks run={run} />
          {group.started !== null &&
            `, started ${group.started}, finished ${group.finished}, unfinished ${group.unfinished}`}
        </caption>
        <thead>
          <tr>
            <th>Quantity</th>
            <th>Flows</th>
            {STATISTICS.map(([key, label]) => (
              <th key={key}>{label}</th>
            ))}
            <th>Worst flow</th>
          </tr>
        </thead>
        <tbody>
          {group.statistics.map((one) => (
            <tr key={one.about}>
              <th scope="row">{one.about}</th>
              <td>{one.count}</td>
              {STATISTICS.map(([key]) => (
                <td key={key}>{rounded(one[key])}</td>
              ))}
              <td>{one.worst_flow}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
