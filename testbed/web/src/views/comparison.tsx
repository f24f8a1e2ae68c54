// A comparison of runs with a baseline, which shows differences only.

import { Fragment, type ReactNode, useMemo, useState } from "react";
import type { Compared, Entry, Results } from "../data/api.gen";
import { percent } from "../data/deviation";
import { csv, rateText, rounded, save, scaled } from "../data/format";
import { go, useLoaded, usePlace } from "../data/state";
import { quantitiesOf } from "../data/timeline";
import { Field, Notice, ScrollRegion, Title } from "../parts/basics";
import { Marks, markText } from "../parts/marks";
import { type TileContent, Tiles } from "../parts/tiles";
import { Timeline } from "../parts/timeline";
import "../parts/records.css";
import "./comparison.css";

interface Difference {
  key: string;
  a: unknown;
  b: unknown;
  /** True for a key that was changed manually during a run. */
  by_hand?: boolean;
}
interface NumberDifference {
  flow: string;
  quantity: string;
  a: number | null;
  b: number | null;
  relative: number | null;
  /** Display unit ("1" for a plain number), and its size in the unit of the values. */
  unit: string;
  size: number;
}

const quantityOf = (one: NumberDifference) =>
  one.quantity.replaceAll("_", " ").replace(/^rtt\b/, "RTT") + (one.unit === "1" ? "" : `, ${one.unit}`);
const shown = (one: NumberDifference, value: number | null) =>
  typeof value === "number" ? value / one.size : value;

export function Comparison() {
  const { values } = usePlace();
  const runs = (values.get("run") ?? "").split(",").filter(Boolean);
  const baseline = values.get("baseline") ?? "";
  const listed = useLoaded<Entry[]>("/runs?limit=200&state=done").value;
  const query = new URLSearchParams([
    ...runs.map((one) => ["run", one]),
    ...(baseline ? [["baseline", baseline]] : []),
  ] as [string, string][]);
  const { value, error } = useLoaded<Compared>(runs.length > 0 ? `/comparison?${query.toString()}` : "");
  const [added, setAdded] = useState("");
  const results = useLoaded<Results>(value ? `/runs/${value.baseline}/results` : "").value;
  const quantities = useMemo(() => quantitiesOf(results), [results]);
  const to = (next: string[], from = baseline) =>
    go(["compare"], { ...Object.fromEntries(values), run: next.join(","), baseline: from }, true);
  const entry = (id: string) => [...(value?.runs ?? []), ...(listed ?? [])].find((one) => one.id === id);
  const name = (id: string) => {
    const found = entry(id);
    return found ? `${found.number} ${found.name}${found.label ? ` (${found.label})` : ""}` : id;
  };
  /** The name of a run with its marks as text, for legends and files. */
  const marked = (id: string) => {
    const found = entry(id);
    const marks = found ? markText(found) : "";
    return marks ? `${name(id)} [${marks}]` : name(id);
  };
  const plotted = value
    ? [value.baseline, ...value.others.map((one) => String(one.run))].map((id) => ({
        id,
        name: `#${entry(id)?.number ?? id}`,
        title: marked(id).replace(/^\d+ /, ""),
      }))
    : [];
  return (
    <>
      <Title>Compare</Title>
      <div className="row">
        <Field label="Add a run">
          {(id) => (
            <select id={id} value={added} onChange={(event) => setAdded(event.target.value)}>
              <option value="">choose…</option>
              {listed
                ?.filter((one) => !runs.includes(one.id))
                .map((one) => (
                  <option key={one.id} value={one.id}>
                    {name(one.id)}
                  </option>
                ))}
            </select>
          )}
        </Field>
        {/* Added by a button, because arrow keys step through all options of the list. */}
        <button
          type="button"
          disabled={!added || runs.includes(added)}
          onClick={() => {
            to([...runs, added]);
            setAdded("");
          }}
        >
          Add
        </button>
        {runs.length > 0 && (
          <Field
            label="Baseline"
            help={value?.pinned ? "Your pinned run. Choose another run here to use it instead." : undefined}
          >
            {(id, described) => (
              <select
                id={id}
                aria-describedby={described}
                value={value?.baseline ?? ""}
                onChange={(event) => to(runs, event.target.value)}
              >
                {[...new Set([...(value ? [value.baseline] : []), ...runs])].map((one) => (
                  <option key={one} value={one}>
                    {marked(one)}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        {value && value.others.length > 0 && (
          <>
            <button
              type="button"
              onClick={() =>
                save(
                  "comparison.csv",
                  csv([["run", "flow", "quantity", "baseline", "value"], ...rows(value, marked)]),
                )
              }
            >
              CSV
            </button>
            <button type="button" onClick={() => save("comparison.tex", latex(value, marked))}>
              LaTeX
            </button>
          </>
        )}
      </div>
      <Notice text={error} />
      {runs.length === 0 && <p className="soft">Choose runs to compare, here or in the list of runs.</p>}
      {value && value.others.length === 0 && (
        <p className="soft">Only the baseline is chosen. Add another run.</p>
      )}
      {value?.others.map((one) => (
        <section key={String(one.run)}>
          <div className="heading">
            <h2>{name(String(one.run))}</h2>
            {entry(String(one.run)) && <Marks run={entry(String(one.run))!} />}
            <button
              type="button"
              onClick={() => to(runs.filter((other) => other !== one.run))}
              aria-label={`Remove ${name(String(one.run))} from the comparison`}
            >
              Remove
            </button>
          </div>
          {entry(value.baseline) && entry(String(one.run)) && (
            <Headline baseline={entry(value.baseline)!} run={entry(String(one.run))!} />
          )}
          <Differences
            name={name(String(one.run))}
            marks={marksOf(value, String(one.run))}
            scenario={one.scenario as Difference[]}
            flows={one.flows as NumberDifference[]}
            missing={one.missing as string[]}
          />
        </section>
      ))}
      {value && <SplitFlows of={value.others.flatMap((one) => one.missing as string[])} />}
      {plotted.length > 1 && quantities.length > 0 && (
        <Timeline runs={plotted} quantities={quantities} title="Comparison" />
      )}
    </>
  );
}

/** A note on flows that a proxy splits in one of two runs. Only that run has legs, "FLOW@NODE". */
function SplitFlows({ of }: { of: string[] }) {
  const names = [...new Set(of.flatMap((one) => (one.includes("@") ? [one.split("@")[0]] : [])))];
  if (names.length === 0) return null;
  return (
    <p className="soft">
      A proxy splits {names.join(", ")} in one of the runs. There, the RTT is that of the first leg, and in
      the other run that of the whole path.
    </p>
  );
}

/** The marks of the baseline and of another run, for the columns of their numbers. */
function marksOf(value: Compared, run: string): [ReactNode, ReactNode] {
  const of = (id: string) => {
    const found = value.runs.find((one) => one.id === id);
    return found && <Marks run={found} />;
  };
  return [of(value.baseline), of(run)];
}

/** Smallest relative difference in the table; smaller differences would be displayed as 0.0 %. */
const MIN_RELATIVE_DIFFERENCE = 0.0005;

function Differences({
  name,
  marks,
  scenario,
  flows,
  missing,
}: {
  name: string;
  marks: [ReactNode, ReactNode];
  scenario: Difference[];
  flows: NumberDifference[];
  missing: string[];
}) {
  const differing = flows.filter((one) => one.a !== one.b);
  // Numbers that only one of the runs has cannot be compared, so they are listed below the table.
  const comparable = differing.filter((one) => one.a !== null && one.b !== null);
  const visible = comparable.filter(
    (one) => one.relative === null || Math.abs(one.relative) >= MIN_RELATIVE_DIFFERENCE,
  );
  const small = comparable.length - visible.length;
  const single = differing.filter((one) => one.a === null || one.b === null);
  return (
    <div className="side-by-side compared">
      <ScrollRegion label={`Scenario of ${name}`}>
        <table className="records">
          <caption>Differences in the scenario</caption>
          <thead>
            <tr>
              <th>Key</th>
              <th>Baseline</th>
              <th>This run</th>
            </tr>
          </thead>
          <tbody>
            {scenario.map((one) => (
              <tr key={one.key}>
                <th scope="row">
                  <code>{one.key}</code>
                  {one.by_hand && <span className="badge">manual</span>}
                </th>
                <td data-label="Baseline">{keyText(one.a)}</td>
                <td data-label="This run">{keyText(one.b)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {scenario.length === 0 && <p className="soft">None.</p>}
      </ScrollRegion>
      <ScrollRegion label={`Results of ${name}`}>
        <table className="differences">
          <caption>Differences in the results</caption>
          <thead>
            <tr>
              <th>Quantity</th>
              <th className="number">Baseline {marks[0]}</th>
              <th className="number">This run {marks[1]}</th>
              <th className="number">Difference</th>
            </tr>
          </thead>
          <tbody>
            {visible.map((one, place) => (
              <Fragment key={`${one.flow} ${one.quantity}`}>
                {visible[place - 1]?.flow !== one.flow && (
                  <tr className="of-flow">
                    <th scope="rowgroup" colSpan={4}>
                      {one.flow}
                    </th>
                  </tr>
                )}
                <tr>
                  <th scope="row">{quantityOf(one)}</th>
                  <td className="number">{rounded(shown(one, one.a))}</td>
                  <td className="number">{rounded(shown(one, one.b))}</td>
                  <td className="number">
                    <Change of={one} />
                  </td>
                </tr>
              </Fragment>
            ))}
          </tbody>
        </table>
        {differing.length === 0 && flows.length > 0 && (
          <p className="soft">None: all numbers of all flows are equal.</p>
        )}
        {small > 0 && (
          <p className="soft">
            {small === 1 ? "One number differs" : `${small} numbers differ`} by less than 0.05 %. The CSV file
            contains all differences.
          </p>
        )}
        {single.length > 0 && (
          <p className="soft">
            Only one of the two runs has these numbers:{" "}
            {single
              .map((one) => `${one.flow} ${quantityOf(one)} (${rounded(shown(one, one.a ?? one.b))})`)
              .join("; ")}
            .
          </p>
        )}
        {missing.length > 0 && <p>Only in one of the two runs: {missing.join(", ")}</p>}
      </ScrollRegion>
    </div>
  );
}

/** The value of a key, which a scenario without the key takes from its defaults. */
function keyText(value: unknown): ReactNode {
  return value === null || value === undefined ? <span className="soft">default</span> : rounded(value);
}

/** Quantities of which a larger value is better, and those of which a smaller value is better. */
const HIGHER = /^(goodput|efficiency|voice_mos|finished|video_bitrate)$/;
const LOWER =
  /^(loss|delay|rtt|transaction|transfer|completed|retransmissions|timeouts|voice_loss|voice_delay|unfinished|post_dial_delay|answer_delay|video_startup|video_stalls|video_stalled)(_mean|_p95)?$/;

/** A relative difference, coloured and marked by an arrow if it is an improvement or not. */
function Change({ of }: { of: NumberDifference }) {
  if (of.relative === null) return <>–</>;
  const better = HIGHER.test(of.quantity)
    ? of.relative > 0
    : LOWER.test(of.quantity)
      ? of.relative < 0
      : null;
  return (
    <span
      className={better === null ? undefined : `change ${better ? "better" : "worse"}`}
      title={better === null ? undefined : better ? "better" : "worse"}
    >
      {of.relative > 0 ? "▲" : "▼"} {`${of.relative > 0 ? "+" : ""}${(100 * of.relative).toFixed(1)} %`}
    </span>
  );
}

/** The totals of a run that the headline compares. `higher` is true if a larger value is better. */
const TOTALS: {
  label: string;
  key: "goodput" | "delay" | "timeouts" | "mos";
  higher: boolean;
  text: (value: number) => string;
}[] = [
  {
    label: "Goodput, sum of the flows",
    key: "goodput",
    higher: true,
    text: (one) => rateText(one).join(" "),
  },
  { label: "One-way delay, mean", key: "delay", higher: false, text: (one) => `${scaled(one, 1e3)} ms` },
  { label: "Time-outs", key: "timeouts", higher: false, text: rounded },
  { label: "Call quality", key: "mos", higher: true, text: (one) => `MOS ${rounded(one)}` },
];

/** The totals of a run, compared with those of the baseline. */
function Headline({ baseline, run }: { baseline: Entry; run: Entry }) {
  const tiles = TOTALS.flatMap(({ label, key, higher, text }): TileContent[] => {
    const [before, now] = [baseline[key] ?? null, run[key] ?? null];
    if (before === null || now === null) return [];
    const value = text(now);
    if (before === now) return [{ label, value, about: "as in the baseline" }];
    const change = before === 0 ? "" : `${percent(now / before - 1)}, `;
    const tone = higher === now > before ? "good" : "bad";
    return [{ label, value, about: `${change}baseline ${text(before)}`, tone }];
  });
  return <Tiles label={`Totals of run ${run.number}`} tiles={tiles} />;
}

type Row = [string, string, string, string, string];

function rows(value: Compared, name: (id: string) => string): Row[] {
  return value.others.flatMap((one) =>
    (one.flows as NumberDifference[]).map(
      (each): Row => [
        name(String(one.run)),
        each.flow,
        quantityOf(each),
        String(shown(each, each.a) ?? ""),
        String(shown(each, each.b) ?? ""),
      ],
    ),
  );
}

function latex(value: Compared, name: (id: string) => string): string {
  const special: Record<string, string> = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
  };
  const cell = (text: string) => text.replace(/[\\~^]|[&%$#_{}]/g, (one) => special[one] ?? `\\${one}`);
  const body = rows(value, name).map(
    (row) =>
      `${row.map((one) => cell(one === "" || Number.isNaN(Number(one)) ? one : rounded(Number(one)))).join(" & ")} \\\\`,
  );
  return [
    "\\begin{tabular}{lllrr}",
    "\\hline",
    "run & flow & quantity & baseline & value \\\\",
    "\\hline",
    ...body,
    "\\hline",
    "\\end{tabular}",
    "",
  ].join("\n");
}
