// The results of the flows of a run, with those of another run.

import { rounded } from "../data/format";
import type { Answer, Row } from "../engine/answer";
import { ScrollRegion } from "./basics";

/** The columns of `flows.parquet` that the first table shows, in the order of the table. */
const COLUMNS: { name: string; label: string; factor: number }[] = [
  { name: "goodput", label: "goodput (Mbit/s)", factor: 1e-6 },
  { name: "loss", label: "loss (%)", factor: 100 },
  { name: "rtt_mean", label: "mean RTT (ms)", factor: 1e3 },
  { name: "rtt_p95", label: "95 % RTT (ms)", factor: 1e3 },
  { name: "retransmissions", label: "retransmitted segments", factor: 1 },
  { name: "timeouts", label: "time-outs", factor: 1 },
  { name: "delay_mean", label: "mean delay (ms)", factor: 1e3 },
  { name: "delay_p95", label: "95 % delay (ms)", factor: 1e3 },
  { name: "transactions", label: "transactions", factor: 1 },
  { name: "transaction_mean", label: "mean transaction (s)", factor: 1 },
  { name: "completed", label: "completed (s)", factor: 1 },
  { name: "voice_mos", label: "MOS", factor: 1 },
  { name: "video_startup", label: "start-up (s)", factor: 1 },
  { name: "video_stalls", label: "stalls", factor: 1 },
  { name: "video_stalled", label: "stalled (s)", factor: 1 },
  { name: "video_bitrate", label: "bit rate (kbit/s)", factor: 1e-3 },
  { name: "delivered_bytes", label: "delivered (MB)", factor: 1e-6 },
];

export function FlowTable({ answer, before: other }: { answer: Answer; before?: Answer }) {
  const columns = COLUMNS.filter(({ name }) => answer.flows.some((row) => typeof row[name] === "number"));
  const before = new Map(other?.flows.map((row) => [row.flow, row]));
  return (
    <>
      <ScrollRegion label="Results of the flows">
        <table>
          <thead>
            <tr>
              <th scope="col">flow</th>
              {columns.map(({ name, label }) => (
                <th scope="col" key={name}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {answer.flows.slice(0, MAX_ROWS).map((row) => (
              <tr key={String(row.flow)}>
                <th scope="row">{row.flow}</th>
                {columns.map((column) => (
                  <Cell key={column.name} {...column} row={row} before={before.get(row.flow!)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <Omitted rows={answer.flows} />
    </>
  );
}

/** Maximum number of rows of a table in a page. */
export const MAX_ROWS = 50;

export function Omitted({ rows }: { rows: Row[] }) {
  const more = rows.length - MAX_ROWS;
  return more > 0 ? <p className="soft">{more} more rows are not shown.</p> : null;
}

function Cell({
  name,
  factor,
  row,
  before,
}: {
  name: string;
  factor: number;
  row: Row;
  before: Row | undefined;
}) {
  const text = (given: Row) => {
    const value = given[name];
    return typeof value === "number" ? rounded(value * factor) : "–";
  };
  return (
    <td>
      {text(row)}
      {before && <small>{text(before)}</small>}
    </td>
  );
}
