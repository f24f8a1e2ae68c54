// The time range of plots, as a form with start and end. The form is the alternative to dragging
// over a plot, for keyboards and pointers that cannot drag.

import { useEffect, useState } from "react";
import { useValue } from "../data/state";
import { Field } from "./basics";

/** The time range in the address, in seconds of the scenario (undefined: all), and a function that
 * sets it. */
export function useTimeRange(): [[number, number] | undefined, (part: [number, number] | undefined) => void] {
  const [time, set] = useValue("time");
  const [from, to] = time.split("-").map(Number);
  const part: [number, number] | undefined =
    from !== undefined && to !== undefined && from < to ? [from, to] : undefined;
  return [part, (next) => set(next ? next.map((one) => Math.max(0, one).toPrecision(6)).join("-") : "")];
}

export function TimeRangeForm() {
  const [part, choose] = useTimeRange();
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [wrong, setWrong] = useState("");
  const known = part?.join("-") ?? "";
  useEffect(() => {
    const [first = "", last = ""] = known.split("-");
    setFrom(first);
    setTo(last);
    setWrong("");
  }, [known]);
  return (
    <form
      className="row"
      aria-label="Time range"
      onSubmit={(event) => {
        event.preventDefault();
        const [first, last] = [Number(from || "0"), Number(to)];
        if (!to || !(first >= 0 && first < last))
          setWrong("The end must be a number of seconds greater than the start.");
        else choose([first, last]);
      }}
    >
      <Field label="Show from (s)">
        {(id) => (
          <input
            id={id}
            className="short"
            inputMode="decimal"
            value={from}
            onChange={(event) => setFrom(event.target.value)}
          />
        )}
      </Field>
      <Field label="to (s)" problem={wrong}>
        {(id, described) => (
          <input
            id={id}
            className="short"
            inputMode="decimal"
            aria-describedby={described}
            aria-invalid={wrong !== "" || undefined}
            value={to}
            onChange={(event) => setTo(event.target.value)}
          />
        )}
      </Field>
      <button type="submit">Show</button>
      <button type="button" disabled={!part} onClick={() => choose(undefined)}>
        All times
      </button>
    </form>
  );
}
