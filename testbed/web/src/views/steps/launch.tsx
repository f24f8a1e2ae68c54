// Step 4: the preview, and the launch.

import { useRef, useState } from "react";
import { api, Refusal } from "../../data/api";
import type { Entry, Full, SessionUser } from "../../data/api.gen";
import type { View } from "../../data/draft";
import { duration, rounded, scaled } from "../../data/format";
import { useInstruments } from "../../data/instruments";
import { requestId } from "../../data/request_id";
import { go, message } from "../../data/state";
import { Notice, ScrollRegion } from "../../parts/basics";

export function Launch({
  view,
  applied,
  dirty,
  apply,
  mine,
  user,
}: {
  view: View | null;
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
        <span className="soft">
          {instruments.join(", ")}
          {campaign ? " – the campaign, " : ": "}
          {runs} {runs === 1 ? "run" : "runs"}
        </span>
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
          <h2>Preview</h2>
          <p>
            About {rounded(view.cost.events)} events for {duration(view.cost.seconds)} of the scenario
            {runs > 1 && `, in each of the ${runs} runs`}.
          </p>
          {view.predictions.length > 0 && (
            <ScrollRegion label="Predictions">
              <table>
                <caption>Predicted by the equations</caption>
                <thead>
                  <tr>
                    <th>Flow</th>
                    <th className="number">Goodput (kbit/s)</th>
                    <th className="number">Round trip, mean (ms)</th>
                    <th>Limited by</th>
                  </tr>
                </thead>
                <tbody>
                  {view.predictions.map((one) => (
                    <tr key={one.flow}>
                      <th scope="row">{one.flow}</th>
                      <td className="number">{scaled(one.prediction?.goodput_bit_s, 1e-3)}</td>
                      <td className="number">{scaled(one.prediction?.round_trip.mean_s, 1e3)}</td>
                      <td>{one.prediction?.limited_by ?? "–"}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollRegion>
          )}
          {view.predictions
            .filter((one) => one.note)
            .map((one) => (
              <div key={one.flow}>
                <strong>{one.flow}</strong>
                <ul className="notes">
                  {one.note.split("; ").map((note) => (
                    <li key={note}>{note}</li>
                  ))}
                </ul>
              </div>
            ))}
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
