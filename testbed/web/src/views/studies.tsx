// Studies, which are reproductions of published experiments: their papers, recorded verdicts and
// figures, and the launch of a reproduction.

import { useRef, useState } from "react";
import { api } from "../data/api";
import type { Claim, Entry, SessionUser, Study } from "../data/api.gen";
import { duration } from "../data/format";
import { requestId } from "../data/request_id";
import { go, link, message, useLoaded } from "../data/state";
import { Field, Notice, ScrollRegion, Title } from "../parts/basics";
import { Tiles } from "../parts/tiles";
import "../parts/cards.css";
import "../parts/records.css";
import "./studies.css";

const OUTCOMES: Claim["outcome"][] = ["holds", "known to differ", "differs", "not measured"];
const TONES: Record<Claim["outcome"], string> = {
  holds: "valid",
  "known to differ": "degraded",
  differs: "void",
  "not measured": "",
};

export function Studies({ user, id }: { user: SessionUser; id: string }) {
  const { value, error } = useLoaded<Study[]>("/studies");
  const study = value?.find((one) => one.name === id);
  if (study) return <StudyView key={study.name} study={study} user={user} />;
  return (
    <>
      <Title>Studies</Title>
      <p className="soft">
        Reproductions of published experiments, with a verdict on each claim of the paper. Open a study to see
        its claims and figures, or to reproduce it.
      </p>
      <Notice text={id && value ? `There is no study "${id}".` : error} />
      {value?.length === 0 && (
        <p>No studies: they are part of the repository, and this test bed was installed without it.</p>
      )}
      <ul className="cards studies" aria-label="Studies">
        {value?.map((one) => (
          <li key={one.name} className="card">
            {one.figures[0] && <img src={figureOf(one, one.figures[0])} alt="" loading="lazy" />}
            <div className="body">
              <h2>
                <a className="open" href={link(["studies", one.name])}>
                  {one.title}
                </a>
              </h2>
              <p className="about">{one.about}</p>
              <Outcomes of={one} />
              <p className="foot">
                <span>
                  {one.tests.length} tests, {one.figures.length} figures
                </span>
                <code>{one.name}</code>
              </p>
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

const figureOf = (study: Study, figure: string) =>
  `/api/studies/${study.name}/figures/${encodeURIComponent(figure)}`;
const claimsOf = ({ outcomes }: Study) => Object.values(outcomes).reduce((total, one) => total + one, 0);

/** The recorded outcomes of a study's claims, as a bar and as text. */
function Outcomes({ of }: { of: Study }) {
  const all = claimsOf(of);
  return (
    <div className="outcomes">
      <p>
        <strong>
          {of.outcomes.holds ?? 0} of {all} claims hold
        </strong>
        {(of.outcomes["known to differ"] ?? 0) > 0 && (
          <span className="soft">, {of.outcomes["known to differ"]} differ for a known cause</span>
        )}
      </p>
      <div className="outcome-bar" aria-hidden="true">
        {OUTCOMES.filter((one) => of.outcomes[one]).map((one) => (
          <span key={one} className={TONES[one]} style={{ flexGrow: of.outcomes[one] }} />
        ))}
      </div>
    </div>
  );
}

function StudyView({ study, user }: { study: Study; user: SessionUser }) {
  const { value, error } = useLoaded<Claim[]>(`/studies/${study.name}/claims`);
  const claims = (value ?? []).filter((one) => one.role === "claim");
  const all = claimsOf(study);
  const count = (outcome: Claim["outcome"]) => study.outcomes[outcome] ?? 0;
  return (
    <>
      <p className="back">
        <a href="#/studies">Studies</a>
      </p>
      <Title>{study.title}</Title>
      <p className="soft study-about">{study.about}</p>
      <Tiles
        label="Recorded verdicts"
        tiles={[
          {
            label: "Claims that hold",
            value: count("holds"),
            unit: `of ${all}`,
            about: "within the tolerance of the paper's value",
            tone: "good",
          },
          {
            label: "Known to differ",
            value: count("known to differ"),
            about: "an experiment confirmed the cause",
            tone: count("known to differ") ? "warn" : undefined,
          },
          {
            label: "Differ",
            value: count("differs"),
            about: "no experiment has confirmed a cause",
            tone: count("differs") ? "bad" : undefined,
          },
          {
            label: "Statements",
            value: value?.length ?? "…",
            about: "with variations, repeats and constructions",
          },
        ]}
      />
      <Reproduction study={study} user={user} />
      <h2>Claims of the paper</h2>
      <Notice text={error} />
      {study.tests.map(({ name, about }) => (
        <ClaimsOfTest
          key={name}
          test={name}
          about={about}
          claims={claims.filter((one) => one.test === name)}
          open={name === study.tests[0]?.name}
        />
      ))}
      <h2>Figures</h2>
      <div className="figures">
        {study.figures.map((one) => (
          <a key={one} href={figureOf(study, one)} target="_blank" rel="noreferrer">
            <img src={figureOf(study, one)} alt={captionOf(one)} loading="lazy" />
            <span>{captionOf(one)}</span>
          </a>
        ))}
      </div>
    </>
  );
}

/** The caption of a figure, from the name of its file, such as "Figure 6: RTT forward". */
function captionOf(file: string): string {
  const words = file.replace(/\.png$/, "");
  const numbered = /^(figure|table)-0*(\w+)-(.*)$/.exec(words);
  const text = (numbered?.[3] ?? words)
    .replaceAll("-", " ")
    .replace(/\b(ack|cra|mpe|rbdc|rtt|vbdc)\b/g, (one) => one.toUpperCase());
  return numbered ? `${numbered[1] === "table" ? "Table" : "Figure"} ${numbered[2]}: ${text}` : text;
}

function ClaimsOfTest({
  test,
  about,
  claims,
  open,
}: {
  test: string;
  about: string;
  claims: Claim[];
  /** True if the claims are visible at first. */
  open: boolean;
}) {
  const holding = claims.filter((one) => one.outcome === "holds").length;
  if (claims.length === 0) return null;
  return (
    <details className="claims" open={open}>
      <summary>
        <strong>{test}</strong> <span className="soft">{about}</span>{" "}
        <span className={`mark ${holding === claims.length ? "valid" : ""}`}>
          {holding} of {claims.length} hold
        </span>
      </summary>
      <ScrollRegion label={`Claims of ${test}`}>
        <table className="records">
          <thead>
            <tr>
              <th>Claim</th>
              <th>Source</th>
              <th className="number">Paper</th>
              <th className="number">Ours</th>
              <th>Verdict</th>
            </tr>
          </thead>
          <tbody>
            {claims.map((one) => (
              <tr key={one.id}>
                <th scope="row">
                  {one.text}
                  {one.unit && one.unit !== "1" && ` (${one.unit})`}
                </th>
                <td data-label="Source">{one.source}</td>
                <td data-label="Paper" className="number">
                  {one.paper}
                </td>
                <td data-label="Ours" className="number">
                  {one.ours}
                </td>
                <td data-label="Verdict" className="verdict">
                  <span className={`mark ${TONES[one.outcome]}`}>{one.outcome}</span>
                  {one.reason && <small className="soft">{one.reason}</small>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </details>
  );
}

/** The form that launches a test of a study, or the whole study. */
function Reproduction({ study, user }: { study: Study; user: SessionUser }) {
  const [test, setTest] = useState(study.tests[0]?.name ?? "");
  const [failure, setFailure] = useState("");
  // The identifier prevents a second launch if the response to the first was lost.
  const once = useRef(requestId());
  const launch = async () => {
    try {
      const made = await api.post<Entry>(`/studies/${study.name}/runs`, {
        test: test || null,
        once: once.current,
      });
      go(["runs", made.id]);
    } catch (error) {
      setFailure(message(error));
    }
  };
  const took = study.seconds[test];
  const reason = test ? study.tests.find((one) => one.name === test)?.impossible : study.impossible;
  return (
    <section className="panel" aria-label="Reproduction">
      <Notice text={failure} />
      <div className="row">
        <Field label={`Test of ${study.name}`}>
          {(id) => (
            <select
              id={id}
              value={test}
              onChange={(event) => {
                setTest(event.target.value);
                once.current = requestId();
              }}
            >
              {study.tests.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.about ? `${one.name}: ${one.about}` : one.name}
                </option>
              ))}
              <option value="">all tests</option>
            </select>
          )}
        </Field>
        {user.level !== "guest" && (
          <button
            type="button"
            className="primary"
            disabled={Boolean(reason)}
            onClick={() => void launch()}
            aria-label={`Reproduce ${study.name}`}
          >
            Reproduce
          </button>
        )}
      </div>
      <p className="help">
        {test
          ? "The report of the run judges each statement of this test."
          : "The report of the run judges each statement of the paper."}{" "}
        {took === undefined
          ? "It has not run on this test bed yet; a whole study can take long."
          : `Its last run on this test bed took ${duration(took)}.`}
      </p>
      {reason && <Notice text={`Unavailable: ${reason}.`} kind="plain" />}
    </section>
  );
}
