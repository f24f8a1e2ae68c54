// The accounts of everyone, for administrators.

import { useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { Account, Invitation } from "../data/api.gen";
import { when } from "../data/format";
import { LEVELS } from "../data/levels";
import { useLoaded } from "../data/state";
import { Field, Notice, Title, Wide } from "../parts/basics";
import { Secret } from "../parts/secret";

export function People() {
  const { value, error, again } = useLoaded<Account[]>("/accounts");
  const [level, setLevel] = useState("user");
  const [invitation, setInvitation] = useState<Invitation | null>(null);
  const { trouble, told, act } = useActions(again);
  return (
    <>
      <Title>People</Title>
      <Notice text={error || trouble} />
      <Notice text={told} kind="good" />
      <section className="panel" aria-labelledby="invite">
        <h2 id="invite">Invite someone</h2>
        <div className="row">
          <Field
            label="Level"
            help="Guests look; users work on what is theirs; administrators see and change everything."
          >
            {(id, described) => (
              <select
                id={id}
                aria-describedby={described}
                value={level}
                onChange={(event) => setLevel(event.target.value)}
              >
                {LEVELS.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
            )}
          </Field>
          <button
            type="button"
            className="primary"
            onClick={() => void act(api.post<Invitation>("/invitations", { level }).then(setInvitation))}
          >
            Create a link
          </button>
        </div>
        {invitation && (
          <div className="notice good" role="status">
            <p>
              Give this link to one person: it creates one account of the level {invitation.level}, within a
              week.
            </p>
            <Secret label="Link" text={location.origin + invitation.link} />
          </div>
        )}
      </section>
      <Wide label="Accounts">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Level</th>
              <th>Since</th>
              <th>
                <span className="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {value?.map((one) => (
              <tr key={one.id}>
                <th scope="row">{one.name}</th>
                <td>
                  <Level
                    key={one.level}
                    of={one}
                    set={(next) =>
                      void act(
                        api.patch(`/accounts/${one.id}`, { level: next }),
                        `${one.name} has the level ${next} now.`,
                      )
                    }
                  />
                </td>
                <td>{when(one.created)}</td>
                <td className="actions">
                  <button
                    type="button"
                    aria-label={`Remove ${one.name}`}
                    onClick={() =>
                      confirm(`Remove ${one.name} with all configurations and runs?`) &&
                      void act(api.remove(`/accounts/${one.id}`), `${one.name} was removed.`)
                    }
                  >
                    Remove
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </>
  );
}

/** The level of an account, set by a button: the arrow keys go through the levels, each of which would be given for a moment. */
function Level({ of, set }: { of: Account; set: (level: string) => void }) {
  const [level, setLevel] = useState<string>(of.level);
  return (
    <>
      <select
        aria-label={`Level of ${of.name}`}
        value={level}
        onChange={(event) => setLevel(event.target.value)}
      >
        {LEVELS.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>{" "}
      <button
        type="button"
        disabled={level === of.level}
        onClick={() => set(level)}
        aria-label={`Set the level of ${of.name}`}
      >
        Set
      </button>
    </>
  );
}
