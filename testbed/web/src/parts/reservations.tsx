// The calendar of the real clock: reservations of the machine for runs in real time.

import { type FormEvent, useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { ReservedSpan } from "../data/api.gen";
import { when } from "../data/format";
import { useLoaded } from "../data/state";
import { useUser } from "../data/user";
import { Field, Notice, ScrollRegion } from "./basics";
import "./reservations.css";

const DAY_MS = 86_400_000;

export function Reservations() {
  const { value, error, reload } = useLoaded<ReservedSpan[]>("/reservations");
  const { failure, success, perform } = useActions(reload);
  const guest = useUser()?.level === "guest";
  return (
    <section aria-labelledby="reservations">
      <h2 id="reservations">Reservations of the real clock</h2>
      <p className="soft">
        During a reservation, only emulations in real time of its owner start. Simulations and runs in virtual
        time are not affected.
      </p>
      <Notice text={error || failure} />
      <Notice text={success} kind="good" />
      {!guest && (
        <Reserve
          reserve={(span) => void perform(api.post("/reservations", span), "The machine is reserved.")}
        />
      )}
      {value && <Week reservations={value} />}
      {value?.length === 0 && <p className="soft">No reservations.</p>}
      <ul>
        {value?.map((one) => (
          <li key={one.id}>
            {when(one.starts)} to {when(one.ends)}: <strong>{one.user}</strong> {one.note}{" "}
            {one.mine && (
              <button
                type="button"
                className="plain"
                aria-label={`Remove the reservation of ${one.user} at ${when(one.starts)}`}
                onClick={() =>
                  void perform(api.remove(`/reservations/${one.id}`), "The reservation was removed.")
                }
              >
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Reserve({ reserve }: { reserve: (span: { starts: number; ends: number; note: string }) => void }) {
  const [starts, setStarts] = useState(() => localTime(nextHour()));
  const [minutes, setMinutes] = useState("60");
  const [note, setNote] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const first = new Date(starts).getTime() / 1000;
    reserve({ starts: first, ends: first + 60 * Number(minutes), note });
  };
  return (
    <form className="row" onSubmit={submit}>
      <Field label="Start">
        {(id) => (
          <input
            id={id}
            type="datetime-local"
            required
            value={starts}
            onChange={(event) => setStarts(event.target.value)}
          />
        )}
      </Field>
      <Field label="Length (minutes)">
        {(id) => (
          <input
            id={id}
            type="number"
            min={5}
            max={720}
            required
            value={minutes}
            onChange={(event) => setMinutes(event.target.value)}
          />
        )}
      </Field>
      <Field label="Purpose">
        {(id) => (
          <input id={id} maxLength={200} value={note} onChange={(event) => setNote(event.target.value)} />
        )}
      </Field>
      <button type="submit">Reserve</button>
    </form>
  );
}

/** A week with a column per day. The list below has the same contents for screen readers. */
function Week({ reservations }: { reservations: ReservedSpan[] }) {
  const [week, setWeek] = useState(0);
  const today = new Date().setHours(0, 0, 0, 0);
  // Noon of a day plus whole days is the same local day, also when the clocks change.
  const days = Array.from({ length: 7 }, (_, day) =>
    new Date(today + DAY_MS / 2 + (7 * week + day) * DAY_MS).setHours(0, 0, 0, 0),
  );
  return (
    <>
      <div className="row week-of">
        <button type="button" disabled={week === 0} onClick={() => setWeek(week - 1)}>
          Previous week
        </button>
        <button type="button" onClick={() => setWeek(week + 1)}>
          Next week
        </button>
      </div>
      <ScrollRegion label="Week">
        <div className="week" aria-hidden="true">
          {days.map((day) => (
            <div key={day} className="day">
              <div className="date">
                {new Date(day).toLocaleDateString([], { weekday: "short", day: "numeric", month: "short" })}
              </div>
              <div className="hours">
                {[0, 6, 12, 18].map((hour) => (
                  <span key={hour} className="hour" style={{ top: `${(hour / 24) * 100}%` }}>
                    {hour}:00
                  </span>
                ))}
                {reservations.flatMap((one) => {
                  const first = Math.max(0, (1000 * one.starts - day) / DAY_MS);
                  const last = Math.min(1, (1000 * one.ends - day) / DAY_MS);
                  if (last <= first) return [];
                  const place = { top: `${100 * first}%`, height: `${100 * (last - first)}%` };
                  return (
                    <span key={one.id} className={`span${one.mine ? " mine" : ""}`} style={place}>
                      {one.user}
                    </span>
                  );
                })}
              </div>
            </div>
          ))}
        </div>
      </ScrollRegion>
    </>
  );
}

function nextHour(): Date {
  return new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000);
}

/** A time in the format of an input of the browser, in local time. */
function localTime(at: Date): string {
  return new Date(at.getTime() - 60_000 * at.getTimezoneOffset()).toISOString().slice(0, 16);
}
