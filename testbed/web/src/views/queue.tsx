// The queue of runs of all users.

import { useEffect } from "react";
import type { Queue } from "../data/api.gen";
import { link, useEvents, useLoaded } from "../data/state";
import { Notice, ScrollRegion, Title } from "../parts/basics";
import { Reservations } from "../parts/reservations";
import { State } from "../parts/run_state";

export function QueueView() {
  const { value, error, reload } = useLoaded<Queue>("/queue");
  useEvents(() => reload());
  useEffect(() => {
    const timer = setInterval(reload, 5000);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <>
      <Title>Queue</Title>
      <Notice text={error} />
      {value && (
        <>
          <p>
            {value.running} running, {value.waiting} waiting. The test bed executes up to {value.slots}{" "}
            {value.slots === 1 ? "run" : "runs"} at a time, and users take turns.{" "}
            {value.real_time
              ? "An emulation in real time runs alone."
              : "Emulation in real time is disabled."}
          </p>
          {value.entries.length > 0 && (
            <ScrollRegion label="Runs in the queue">
              <table>
                <thead>
                  <tr>
                    <th>Position</th>
                    <th>Run</th>
                    <th>Owner</th>
                    <th>Instrument</th>
                    <th>State</th>
                  </tr>
                </thead>
                <tbody>
                  {value.entries.map((one) => (
                    <tr key={one.number}>
                      <td>{one.position ?? "–"}</td>
                      <th scope="row">
                        {one.id ? (
                          <a href={link(["runs", one.id])}>{`${one.number} ${one.name}`}</a>
                        ) : (
                          one.name
                        )}
                      </th>
                      <td>{one.owner || "–"}</td>
                      <td>{one.instrument}</td>
                      <td>
                        <State run={one} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollRegion>
          )}
          {value.real_time && <Reservations />}
        </>
      )}
    </>
  );
}
