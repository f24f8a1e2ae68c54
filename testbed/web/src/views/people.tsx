// The administration of accounts and invitations.

import { useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { Account, Invitation, Pending, ResetLink } from "../data/api.gen";
import { when } from "../data/format";
import { LEVELS } from "../data/levels";
import { useLoaded } from "../data/state";
import { Field, Notice, ScrollRegion, Title } from "../parts/basics";
import { confirmed } from "../parts/dialog";
import { More } from "../parts/more";
import { Quotas } from "../parts/quotas";
import { Secret } from "../parts/secret";
import "../parts/records.css";

export function People() {
  const { value, error, reload } = useLoaded<Account[]>("/accounts");
  const [level, setLevel] = useState("user");
  const [invitation, setInvitation] = useState<Invitation | null>(null);
  const pending = useLoaded<Pending[]>("/invitations");
  const [reset, setReset] = useState<ResetLink | null>(null);
  const { failure, success, perform } = useActions(() => {
    reload();
    pending.reload();
  });
  return (
    <div className="settings">
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
      {reset && (
        <div className="notice good" role="status">
          <p>
            Send this link to {reset.name}. It sets a new password once, and expires after a day. Until then,
            the old password stays valid.
          </p>
          <Secret label="Link" text={location.origin + reset.link} />
        </div>
      )}
      <ScrollRegion label="Accounts">
        <table className="records">
          <thead>
            <tr>
              <th>Name</th>
              <th>Level</th>
              <th>Created</th>
              <th>Waiting runs and files</th>
              <th>
                <span className="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {value?.map((one) => (
              <tr key={one.id}>
                <th scope="row">
                  {one.name}
                  {!one.active && <span className="soft"> (inactive)</span>}
                </th>
                <td data-label="Level">
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
                <td data-label="Created">{when(one.created)}</td>
                <td data-label="Waiting runs and files" className="wide">
                  <Quotas of={one.quotas ?? []} names={["queued", "stored"]} />
                </td>
                <td className="actions">
                  <More label={`Actions of ${one.name}`}>
                    <button
                      type="button"
                      aria-label={`Reset the password of ${one.name}`}
                      onClick={() =>
                        void perform(api.post<ResetLink>(`/accounts/${one.id}/reset`, {}).then(setReset))
                      }
                    >
                      Reset password
                    </button>
                    <button
                      type="button"
                      aria-label={`${one.active ? "Deactivate" : "Activate"} ${one.name}`}
                      onClick={() =>
                        void perform(
                          api.patch(`/accounts/${one.id}`, { active: !one.active }),
                          one.active
                            ? `${one.name} can no longer log in. The configurations and runs remain.`
                            : `${one.name} can log in again.`,
                        )
                      }
                    >
                      {one.active ? "Deactivate" : "Activate"}
                    </button>
                    <button
                      type="button"
                      aria-label={`Remove ${one.name}`}
                      onClick={() =>
                        void confirmed({
                          title: `Remove ${one.name}?`,
                          about: "All of their configurations and runs are removed as well.",
                          action: "Remove",
                          destructive: true,
                        }).then(
                          (yes) =>
                            yes &&
                            void perform(api.remove(`/accounts/${one.id}`), `${one.name} was removed.`),
                        )
                      }
                    >
                      Remove
                    </button>
                  </More>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <Links links={pending.value ?? []} perform={perform} />
    </div>
  );
}

/** The links that have not been used, which an administrator can revoke. */
function Links({
  links,
  perform,
}: {
  links: Pending[];
  perform: (action: Promise<unknown>, success?: string) => Promise<void>;
}) {
  return (
    <section aria-labelledby="links">
      <h2 id="links">Unused links</h2>
      {links.length === 0 ? (
        <p className="soft">There are none.</p>
      ) : (
        <ScrollRegion label="Unused links">
          <table>
            <thead>
              <tr>
                <th>Purpose</th>
                <th>Created by</th>
                <th>Expires</th>
                <th>
                  <span className="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {links.map((one) => {
                const purpose = one.resets
                  ? `Password of ${one.resets}`
                  : `Invitation with the level ${one.level}`;
                return (
                  <tr key={one.id}>
                    <th scope="row">{purpose}</th>
                    <td>{one.by}</td>
                    <td>{when(one.expires)}</td>
                    <td className="actions">
                      <button
                        type="button"
                        aria-label={`Revoke: ${purpose}`}
                        onClick={() =>
                          void perform(api.remove(`/invitations/${one.id}`), "The link is no longer valid.")
                        }
                      >
                        Revoke
                      </button>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </section>
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
