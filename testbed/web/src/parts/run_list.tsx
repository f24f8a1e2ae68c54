// The list of runs, and the state of a run.

import { useCallback, useEffect, useState } from "react";
import { api } from "../data/api";
import type { Entry } from "../data/api.gen";
import { useReconnections } from "../data/connection";
import { duration, when } from "../data/format";
import { FINAL, go, link, message, useEvents, useValue } from "../data/state";
import { Field, Notice, Progress, ScrollRegion } from "./basics";
import { confirmed } from "./dialog";
import { Marks } from "./marks";

const STATES = ["queued", "running", ...FINAL];

/** The runs of a configuration (`of`) or of a launch (`batch`), or all runs visible to the user. */
export function RunList({ of, batch = "" }: { of?: string; batch?: string }) {
  // Filters are stored in the address, so that a link opens the same list.
  const [search, setSearch] = useValue("search");
  const [state, setState] = useValue("state");
  const [picked, setPicked] = useValue("chosen");
  const chosen = picked.split(",").filter(Boolean);
  const [rows, setRows] = useState<Entry[] | null>(null);
  const [more, setMore] = useState(false);
  const [failure, setFailure] = useState("");
  const query = new URLSearchParams({
    limit: "50",
    ...(search && { search }),
    ...(state && { state }),
    ...(batch && { batch }),
    ...(of && { configuration: of }),
  }).toString();
  const fetchRows = useCallback(
    () =>
      api.get<Entry[]>(`/runs?${query}`).then(
        (found) => {
          setFailure("");
          setRows(found);
          setMore(found.length === 50);
        },
        (error: unknown) => setFailure(message(error)),
      ),
    [query],
  );
  const reconnections = useReconnections();
  // biome-ignore lint/correctness/useExhaustiveDependencies(reconnections): reloads the list
  useEffect(() => {
    const timer = setTimeout(() => void fetchRows(), search ? 200 : 0);
    return () => clearTimeout(timer);
  }, [fetchRows, search, reconnections]);
  useEvents((event) => {
    if (event === null || !rows?.some((one) => one.id === event.run)) {
      void fetchRows();
      return;
    }
    setRows(
      rows.map((one) =>
        one.id === event.run ? { ...one, ...event, state: event.state as Entry["state"] } : one,
      ),
    );
    if (FINAL.includes(event.state)) void fetchRows();
  });
  const next = async () => {
    const last = rows?.at(-1);
    if (!last || !rows) return;
    try {
      const found = await api.get<Entry[]>(`/runs?${query}&before=${last.number}`);
      setFailure("");
      setRows([...rows, ...found]);
      setMore(found.length === 50);
    } catch (error) {
      setFailure(message(error));
    }
  };
  const perform = (work: Promise<unknown>) =>
    work.then(
      () => void fetchRows(),
      (error: unknown) => setFailure(message(error)),
    );
  return (
    <>
      <Notice text={failure} />
      <div className="row">
        <Field label="Search">
          {(id) => (
            <input id={id} type="search" value={search} onChange={(event) => setSearch(event.target.value)} />
          )}
        </Field>
        <Field label="State">
          {(id) => (
            <select id={id} value={state} onChange={(event) => setState(event.target.value)}>
              <option value="">all</option>
              {STATES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
        <button
          type="button"
          className="primary"
          disabled={chosen.length < 1}
          onClick={() => go(["compare"], { run: chosen.join(",") })}
        >
          Compare {chosen.length || ""}
        </button>
      </div>
      <p className="soft" role="status">
        {rows &&
          (rows.length === 0
            ? `${search || state ? "No matching runs" : "No runs yet"}.`
            : `${rows.length}${more ? " or more" : ""} ${rows.length === 1 ? "run" : "runs"}`)}
      </p>
      {rows && rows.length > 0 && (
        <ScrollRegion label="Runs">
          <table>
            <thead>
              <tr>
                <th>
                  <span className="hidden">Choose</span>
                </th>
                <th>Run</th>
                <th>Owner</th>
                <th>Instrument</th>
                <th>State</th>
                <th>Launched</th>
                <th>
                  <span className="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((one) => (
                <tr key={one.id}>
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`Choose run ${one.number}`}
                      disabled={one.state !== "done"}
                      checked={chosen.includes(one.id)}
                      onChange={(event) =>
                        setPicked(
                          (event.target.checked
                            ? [...chosen, one.id]
                            : chosen.filter((other) => other !== one.id)
                          ).join(","),
                        )
                      }
                    />
                  </td>
                  <th scope="row">
                    <a href={link(["runs", one.id])}>
                      {one.number} {one.name}
                    </a>
                    {one.label && <span className="soft"> {one.label}</span>}
                    {one.baseline && <span className="badge">baseline</span>}
                    <Marks run={one} />
                  </th>
                  <td>{one.owner}</td>
                  <td>{one.instrument}</td>
                  <td>
                    <State run={one} />
                  </td>
                  <td>{when(one.queued)}</td>
                  <td className="actions">
                    {one.mine && !FINAL.includes(one.state) && (
                      <button
                        type="button"
                        onClick={() => void perform(api.post(`/runs/${one.id}/cancel`))}
                        aria-label={`Cancel run ${one.number}`}
                      >
                        Cancel
                      </button>
                    )}
                    {one.mine && FINAL.includes(one.state) && (
                      <button
                        type="button"
                        onClick={() =>
                          void confirmed({
                            title: `Remove run ${one.number}?`,
                            about: "Its results are removed as well.",
                            action: "Remove",
                            destructive: true,
                          }).then((yes) => yes && void perform(api.remove(`/runs/${one.id}`)))
                        }
                        aria-label={`Remove run ${one.number}`}
                      >
                        Remove
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      {more && (
        <button type="button" onClick={() => void next()}>
          Load more
        </button>
      )}
    </>
  );
}

export function State({ run }: { run: Entry }) {
  if (run.state === "queued") {
    return (
      <>
        queued{run.position !== null && `, position ${run.position}`}
        {run.expected !== null && run.expected > 2 && (
          <span className="soft"> (starts in about {duration(run.expected)})</span>
        )}
      </>
    );
  }
  if (run.state === "running" || run.state === "leased")
    return <Progress value={run.progress} label={`Progress of run ${run.number}`} />;
  return <span className={`state ${run.state}`}>{run.state}</span>;
}
