// Step 4: the preview, and the launch.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, Refusal } from "../../data/api";
import type { Entry, Full, Plan, Quota, SessionUser } from "../../data/api.gen";
import type { View } from "../../data/draft";
import { duration, rounded, scaled } from "../../data/format";
import { useInstruments } from "../../data/instruments";
import { significant } from "../../data/numbers";
import { requestId } from "../../data/request_id";
import { go, message, useLoaded } from "../../data/state";
import { Notice, ScrollRegion } from "../../parts/basics";
import { type TileContent, Tiles } from "../../parts/tiles";
import "../../parts/records.css";

export function Launch({
  view,
  text,
  applied,
  dirty,
  apply,
  mine,
  user,
}: {
  view: View | null;
  /** The TOML text of the draft. */
  text: string;
  applied: Full;
  dirty: boolean;
  apply: () => Promise<boolean>;
  mine: boolean;
  user: SessionUser;
}) {
  const [instruments] = useInstruments(applied.id, user);
  const [failure, setFailure] = useState("");
  const [busy, setBusy] = useState(false);
  const [paced, setPaced] = useState(false);
  const [pace, setPace] = useState("1");
  // The identifier prevents a second launch if the response to the first was lost.
  const lastLaunch = useRef({ wanted: "", once: "" });
  const once = (wanted: string) => {
    if (lastLaunch.current.wanted !== wanted) lastLaunch.current = { wanted, once: requestId() };
    return lastLaunch.current.once;
  };
  const campaign = Boolean(view?.campaign);
  const blocked = instruments.filter((one) => view && one in view.impossible);
  const runs = (view?.runs ?? 1) * instruments.length;
  const launch = async () => {
    setBusy(true);
    setFailure("");
    try {
      if (dirty && !(await apply())) return;
      const wanted = {
        configuration: applied.id,
        instruments,
        campaign,
        pace: paced && instruments.includes("simulate") ? Number(pace) : null,
      };
      const made = await api.post<Entry[]>("/runs", {
        ...wanted,
        once: once(JSON.stringify([wanted, view?.resolved])),
      });
      if (made.length === 1) go(["runs", made[0]!.id]);
      else go(["runs"], { batch: made[0]!.batch ?? "" });
    } catch (error) {
      setFailure(error instanceof Refusal ? error.message : message(error));
    } finally {
      setBusy(false);
    }
  };
  if (!view) return <p aria-busy="true">Loading…</p>;
  return (
    <section>
      <div className="row">
        {user.level !== "guest" && (
          <button
            type="button"
            className="primary"
            disabled={
              busy ||
              !view.valid ||
              view.cost.refused !== null ||
              instruments.length === 0 ||
              blocked.length > 0 ||
              (dirty && !mine)
            }
            onClick={() => void launch()}
          >
            {dirty ? "Apply and launch" : "Launch"}
          </button>
        )}
        {instruments.includes("simulate") && (
          <label className="check">
            <input type="checkbox" checked={paced} onChange={(event) => setPaced(event.target.checked)} />
            <span>
              slow down, to watch and change the run
              {paced && (
                <>
                  :{" "}
                  <input
                    className="short"
                    type="number"
                    min={0.001}
                    step="any"
                    value={pace}
                    aria-label="Pace (simulated seconds per second)"
                    onChange={(event) => setPace(event.target.value)}
                  />{" "}
                  simulated seconds per second
                </>
              )}
            </span>
          </label>
        )}
      </div>
      <Notice text={failure} />
      {view.valid && instruments.length > 0 && (
        <Cost view={view} text={text} instruments={instruments} runs={runs} />
      )}
      {!view.valid && <p>To launch this scenario, fix the problems listed above.</p>}
      {instruments.length === 0 && user.level !== "guest" && (
        <p>To launch this scenario, choose an instrument in step 3, Test.</p>
      )}
      {dirty && !mine && <p>Only the owner can apply changes. Fork this configuration to launch a copy.</p>}
      {user.level === "guest" && <p>Guests cannot launch runs. Ask an administrator for the level "user".</p>}
      {view.valid && (
        <>
          <Notice text={view.cost.refused ?? ""} />
          {view.cost.refused === null &&
            blocked.map((one) => (
              <Notice
                key={one}
                text={`${one} is unavailable: ${view.impossible[one]}. Choose another instrument in step 3, Test.`}
              />
            ))}
          {[...view.warnings, ...view.cautions].map((one) => (
            <Notice key={one} text={one} kind="plain" />
          ))}
          <Predictions of={view.predictions} />
          <details>
            <summary>Details of the scenario</summary>
            <ScrollRegion label="Summary of the scenario">
              <pre>{view.summary.join("\n")}</pre>
            </ScrollRegion>
          </details>
        </>
      )}
    </section>
  );
}

/** The cost of the launch: its runs, their expected time, and the places that they take. */
function Cost({
  view,
  text,
  instruments,
  runs,
}: {
  view: View;
  text: string;
  instruments: string[];
  runs: number;
}) {
  const plan = useQuery({
    queryKey: ["points", text, instruments],
    queryFn: () => api.computed<Plan>("/drafts/points", { text, instruments }),
    placeholderData: keepPreviousData,
  }).data;
  const queued = useLoaded<Quota[]>("/quotas").value?.find((one) => one.name === "queued");
  const points = view.runs > 1 && plan ? plan.count : 1;
  const free = queued ? queued.limit - queued.used : null;
  const tiles: TileContent[] = [
    {
      label: "Runs",
      value: runs.toLocaleString("en"),
      about: [
        points > 1 && `${points} points`,
        plan && plan.replications > 1 && `${plan.replications} replications`,
        instruments.join(", "),
      ]
        .filter(Boolean)
        .join(" × "),
    },
    {
      label: "Expected time",
      value: plan?.seconds ? duration(plan.seconds) : "…",
      about: runs > 1 ? "all runs, one after the other" : "after the start of the run",
    },
    {
      label: "Scenario",
      value: duration(view.cost.seconds),
      about: `about ${count(view.cost.events)} events${runs > 1 ? " per run" : ""}`,
    },
  ];
  if (queued && free !== null)
    tiles.push({
      label: "Places in the queue",
      value: `${runs} of ${free}`,
      about:
        runs > free
          ? `the launch exceeds your ${free} free places`
          : `free places; ${queued.used} of ${queued.limit} are in use`,
      tone: runs > free ? "bad" : undefined,
    });
  return <Tiles label="Cost of the launch" tiles={tiles} />;
}

/** A large number with a word, such as "318 thousand". */
function count(value: number): string {
  const [size, word] =
    value >= 1e9 ? [1e9, " billion"] : value >= 1e6 ? [1e6, " million"] : [1e3, " thousand"];
  return value < 1e3 ? rounded(value) : `${significant(value / size, 3)}${word}`;
}

/** The prediction of the equations for each flow, with its notes. */
function Predictions({ of }: { of: View["predictions"] }) {
  if (of.length === 0) return null;
  return (
    <ScrollRegion label="Predictions">
      <table className="records predictions">
        <caption>Predicted by the equations</caption>
        <thead>
          <tr>
            <th>Flow</th>
            <th className="number">Goodput (kbit/s)</th>
            <th className="number">Round trip, mean (ms)</th>
            <th>Limited by</th>
            <th>Notes</th>
          </tr>
        </thead>
        <tbody>
          {of.map((one) => (
            <tr key={one.flow}>
              <th scope="row">{one.flow}</th>
              <td data-label="Goodput (kbit/s)" className="number">
                {scaled(one.prediction?.goodput_bit_s, 1e-3)}
              </td>
              <td data-label="Round trip, mean (ms)" className="number">
                {scaled(one.prediction?.round_trip.mean_s, 1e3)}
              </td>
              <td data-label="Limited by">{one.prediction?.limited_by ?? "–"}</td>
              <td className={`text wide${one.note ? "" : " none"}`}>
                {one.note && (
                  <ul className="notes">
                    {one.note.split("; ").map((note) => (
                      <li key={note}>{note}</li>
                    ))}
                  </ul>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
