// The calls of a run: their quality, and players for the spoken and the heard speech.

import { useState } from "react";
import type { Call } from "../data/api.gen";
import { rounded } from "../data/format";
import { useLoaded } from "../data/state";
import { Field } from "./basics";
import "./calls.css";

/** The score of the E-model above which most users are satisfied (ITU-T G.107, annex B). */
const GOOD_MOS = 4.03;
/** The score below which nearly all users are dissatisfied. */
const BAD_MOS = 3.1;

export function Calls({ run }: { run: string }) {
  const found = useLoaded<Call[]>(`/runs/${run}/calls`).value;
  const [chosen, choose] = useState("");
  if (!found || found.length === 0) return null;
  const call = found.find((one) => one.name === chosen) ?? found[0]!;
  return (
    <section className="calls" aria-label="Calls">
      <h2>Listen to a call</h2>
      <div className="row">
        <Field label="Call" help="NAME is heard by the callee, NAME.reverse by the caller.">
          {(id, described) => (
            <select
              id={id}
              aria-describedby={described}
              value={call.name}
              onChange={(event) => choose(event.target.value)}
            >
              {found.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name}
                  {one.mos !== null && ` (MOS ${one.mos.toFixed(2)})`}
                </option>
              ))}
            </select>
          )}
        </Field>
        <p className="score">
          <strong className={grade(call.mos)}>MOS {call.mos === null ? "–" : call.mos.toFixed(2)}</strong>
          <span className="soft">
            {call.codec}, {rounded(call.loss)} % of the packets lost or late
          </span>
        </p>
      </div>
      <div className="players">
        <Player run={run} call={call.name} label="Heard" />
        <Player run={run} call={call.name} label="Spoken" spoken />
      </div>
      <p className="soft">
        The first minute of the call: two sentences, repeated, through the codec, with the losses and late
        packets of the run. The MOS of the E-model includes the delay, which a recording cannot show.
      </p>
    </section>
  );
}

function grade(mos: number | null): string {
  if (mos === null) return "";
  return mos >= GOOD_MOS ? "good" : mos < BAD_MOS ? "bad" : "fair";
}

function Player({
  run,
  call,
  label,
  spoken = false,
}: {
  run: string;
  call: string;
  label: string;
  spoken?: boolean;
}) {
  const source = `/api/runs/${run}/speech/${encodeURIComponent(call)}${spoken ? "?spoken=true" : ""}`;
  const [failure, setFailure] = useState("");
  return (
    <figure key={source}>
      <figcaption>{label}</figcaption>
      {/* biome-ignore lint/a11y/useMediaCaption: the sentences are the same in all calls */}
      <audio
        controls
        preload="none"
        aria-label={`${label} speech of ${call}`}
        src={source}
        onLoadStart={() => setFailure("")}
        onError={() =>
          // The element does not tell the reason, so the request is repeated.
          void fetch(source)
            .then((answer) => answer.json() as Promise<{ detail?: string }>)
            .then(({ detail }) => setFailure(detail ?? ""))
            .catch(() => setFailure("The speech could not be loaded."))
        }
      />
      {failure && <p className="field-error">{failure}</p>}
    </figure>
  );
}
