// Studies, which are reproductions of published experiments.

import { useRef, useState } from "react";
import { api } from "../data/api";
import type { Entry, SessionUser, Study } from "../data/api.gen";
import { requestId } from "../data/request_id";
import { go, message, useLoaded } from "../data/state";
import { Field, Notice, Title } from "../parts/basics";

export function Studies({ user }: { user: SessionUser }) {
  const { value, error } = useLoaded<Study[]>("/studies");
  return (
    <>
      <Title>Studies</Title>
      <p className="soft">
        Reproductions of published experiments, with a verdict on each statement of the paper. A whole study
        can take long; a single test is faster.
      </p>
      <Notice text={error} />
      {value?.length === 0 && (
        <p>No studies: they are part of the repository, and this test bed was installed without it.</p>
      )}
      {value?.map((one) => (
        <StudyPanel key={one.name} study={one} user={user} />
      ))}
    </>
  );
}

function StudyPanel({ study, user }: { study: Study; user: SessionUser }) {
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
  const reason = test ? study.tests.find((one) => one.name === test)?.impossible : study.impossible;
  return (
    <section className="panel" aria-label={study.title}>
      <h2>{study.title}</h2>
      <p className="soft">{study.about}</p>
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
            disabled={Boolean(reason)}
            onClick={() => void launch()}
            aria-label={`Reproduce ${study.name}`}
          >
            Reproduce
          </button>
        )}
      </div>
      {reason && <Notice text={`Unavailable: ${reason}.`} kind="plain" />}
    </section>
  );
}
