// The abilities of the laboratory: instruments, limits of the user's level, and machine.

import type { Laboratory } from "../data/api.gen";
import { duration, rounded } from "../data/format";
import { useLoaded } from "../data/state";
import { Notice, ScrollRegion, Title } from "../parts/basics";
import "./laboratory.css";

/** The limits, with labels and the formats of their values. */
const LIMITS: [string, string, (value: number) => string][] = [
  ["events", "Predicted events of a run", (value) => `${rounded(value / 1e6)} million`],
  ["seconds", "Real time of a run", duration],
  ["nodes", "Nodes of a scenario", (value) => value.toLocaleString("en")],
  ["memory", "Memory of a run", bytes],
  ["bytes", "Files of a run", bytes],
  ["queued", "Waiting and running runs", (value) => value.toLocaleString("en")],
  ["runs", "Stored runs", (value) => value.toLocaleString("en")],
  ["stored", "Files of all stored runs", bytes],
  ["configurations", "Configurations", (value) => value.toLocaleString("en")],
];

export function LaboratoryView() {
  const { value, error } = useLoaded<Laboratory>("/laboratory");
  return (
    <>
      <Title>What this laboratory can do</Title>
      <Notice text={error} />
      {value && (
        <>
          <p className="soft">
            bentpipe {value.version}. The test bed executes up to {value.slots}{" "}
            {value.slots === 1 ? "run" : "runs"} at a time.
          </p>
          <h2>Instruments</h2>
          <ul className="abilities">
            {value.instruments.map((one) => (
              <li key={one.name}>
                <h3>
                  {one.name}{" "}
                  <span className={`mark ${one.reason === null ? "valid" : "degraded"}`}>
                    {one.reason === null ? "available" : "unavailable"}
                  </span>
                </h3>
                <p>{one.about}</p>
                {one.reason !== null && <p className="soft">{one.reason}.</p>}
              </li>
            ))}
          </ul>
          <div className="columns">
            <section>
              <h2>Machine</h2>
              {value.findings.length === 0 ? (
                <p className="soft">The machine has not been examined yet. Reload in a few seconds.</p>
              ) : (
                <ScrollRegion label="Machine">
                  <table>
                    <thead>
                      <tr>
                        <th>Feature</th>
                        <th>State</th>
                        <th>Finding</th>
                      </tr>
                    </thead>
                    <tbody>
                      {value.findings.map((one) => (
                        <tr key={one.what}>
                          <th scope="row">
                            {one.what}
                            {one.needed && <span className="soft"> (needed in real time)</span>}
                          </th>
                          <td>
                            <span className={`mark ${MARKS[one.status]}`}>{one.status}</span>
                          </td>
                          <td className="text">{one.found}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </ScrollRegion>
              )}
            </section>
            <section>
              <h2>Limits of your level</h2>
              <ScrollRegion label="Limits of your level">
                <table>
                  <tbody>
                    {LIMITS.filter(([name]) => Number(value.limits[name]) > 0).map(
                      ([name, label, format]) => (
                        <tr key={name}>
                          <th scope="row">{label}</th>
                          <td>{format(Number(value.limits[name]))}</td>
                        </tr>
                      ),
                    )}
                  </tbody>
                </table>
              </ScrollRegion>
            </section>
          </div>
        </>
      )}
    </>
  );
}

const MARKS = { ok: "valid", limited: "degraded", missing: "void" };

function bytes(value: number): string {
  return value >= 1e9 ? `${rounded(value / 1e9)} GB` : `${rounded(value / 1e6)} MB`;
}
