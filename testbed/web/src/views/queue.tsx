// The queue of runs of all users.

import { useEffect } from "react";
import type { Queue } from "../data/api.gen";
import { link, useEvents, useLoaded } from "../data/state";
import { Notice, ScrollRegion, Title } from "../parts/basics";
import { Reservations } from "../parts/reservations";
import { State } from "../parts/run_state";
import { Tiles } from "../parts/tiles";
import "../parts/records.css";

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
          <Tiles
            label="Load of the test bed"
            tiles={[
              { label: "Running", value: value.running, unit: `of ${value.slots}`, about: "at a time" },
              { label: "Waiting", value: value.waiting, about: "users take turns" },
              {
                label: "Emulation in real time",
                value: value.real_time ? "enabled" : "disabled",
                about: value.real_time ? "runs alone" : "on this test bed",
              },
            ]}
          />
          {value.entries.length > 0 && (
            <ScrollRegion label="Runs in the queue">
              <table className="records">
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
                      <td className="none">{one.position ?? "–"}</td>
                      <th scope="row">
                        {one.id ? (
                          <a href={link(["runs", one.id])}>{`${one.number} ${one.name}`}</a>
                        ) : (
                          one.name
                        )}
                      </th>
                      <td data-label="Owner">{one.owner || "–"}</td>
                      <td data-label="Instrument">{one.instrument}</td>
                      <td data-label="State">
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
