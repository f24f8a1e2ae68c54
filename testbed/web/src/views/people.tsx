// The administration of accounts and invitations.

import { useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { Account, Invitation } from "../data/api.gen";
import { when } from "../data/format";
import { LEVELS } from "../data/levels";
import { useLoaded } from "../data/state";
import { Field, Notice, ScrollRegion, Title } from "../parts/basics";
import { Secret } from "../parts/secret";

export function People() {
  const { value, error, reload } = useLoaded<Account[]>("/accounts");
  const [level, setLevel] = useState("user");
  const [invitation, setInvitation] = useState<Invitation | null>(null);
  const { failure, success, perform } = useActions(reload);
  return (
    <>
      <Title>People</Title>
      <Notice text={error || failure} />
      <Notice text={success} kind="good" />
      <section className="panel" aria-labelledby="invite">
        <h2 id="invite">Invite someone</h2>
        <div className="row">
          <Field
            label="Level"
            help="Guests can view shared items. Users can also create and change items of their own. Administrators can view and change everything."
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
            onClick={() => void perform(api.post<Invitation>("/invitations", { level }).then(setInvitation))}
          >
            Create an invitation
          </button>
        </div>
        {invitation && (
          <div className="notice good" role="status">
            <p>
              Send this link to one person. It creates one account with the level {invitation.level}, and
              expires after a week.
            </p>
            <Secret label="Link" text={location.origin + invitation.link} />
          </div>
        )}
      </section>
      <ScrollRegion label="Accounts">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Level</th>
              <th>Created</th>
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
                      void perform(
                        api.patch(`/accounts/${one.id}`, { level: next }),
                        `${one.name} now has the level ${next}.`,
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
                      confirm(`Remove ${one.name} with all of their configurations and runs?`) &&
                      void perform(api.remove(`/accounts/${one.id}`), `${one.name} was removed.`)
                    }
                  >
                    Remove
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </>
  );
}

/** The level of an account. A button sets the level, because arrow keys step through all levels of
 * the list. */
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
