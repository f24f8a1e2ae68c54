// The user's account: password, tokens and audit log.

import { type FormEvent, useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { AuditLine, Quota, SessionUser, Token } from "../data/api.gen";
import { when } from "../data/format";
import { notifies, setNotifies } from "../data/notices";
import { message, useLoaded } from "../data/state";
import { Field, Notice, ScrollRegion, Title } from "../parts/basics";
import { Quotas } from "../parts/quotas";
import { Secret } from "../parts/secret";

export function AccountView({ user, onLogOut }: { user: SessionUser; onLogOut: () => void }) {
  return (
    <div className="settings">
      <div className="heading">
        <Title>{user.name}</Title>
        <span className="badge">{user.level}</span>
        <span className="grow" />
        <button type="button" onClick={() => void api.remove("/session").then(onLogOut, onLogOut)}>
          Log out
        </button>
      </div>
      <div className="columns">
        <Limits />
        <Notifications />
        <Password />
        <Tokens />
      </div>
      <Audit />
    </div>
  );
}

function Limits() {
  const { value } = useLoaded<Quota[]>("/quotas");
  return (
    <section>
      <h2>Limits</h2>
      {value && <Quotas of={value} />}
    </section>
  );
}

/** The switch for notifications of the browser. */
function Notifications() {
  const [on, setOn] = useState(notifies);
  const [failure, setFailure] = useState("");
  const change = async (wanted: boolean) => {
    const now = await setNotifies(wanted);
    setOn(now);
    setFailure(
      wanted && !now ? "The browser does not permit notifications of this page. Change its settings." : "",
    );
  };
  return (
    <section>
      <h2>Notifications</h2>
      <label className="check">
        <input type="checkbox" checked={on} onChange={(event) => void change(event.target.checked)} />
        Show a notification of this browser when one of my runs ends and the page is in the background
      </label>
      <Notice text={failure} />
    </section>
  );
}

function Password() {
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [outcome, setOutcome] = useState<{ text: string; kind: "good" | "error" }>({
    text: "",
    kind: "good",
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    api.put("/session/password", { old, new: fresh }).then(
      () => {
        setOutcome({
          text: "Password changed. All your other sessions and tokens are now invalid.",
          kind: "good",
        });
        setOld("");
        setFresh("");
      },
      (error: unknown) => setOutcome({ text: message(error), kind: "error" }),
    );
  };
  return (
    <section>
      <h2>Password</h2>
      <form className="stack" onSubmit={submit}>
        <Field label="Old password">
          {(id) => (
            <input
              id={id}
              type="password"
              autoComplete="current-password"
              required
              value={old}
              onChange={(event) => setOld(event.target.value)}
            />
          )}
        </Field>
        <Field label="New password" help="At least 10 characters.">
          {(id, described) => (
            <input
              id={id}
              aria-describedby={described}
              type="password"
              autoComplete="new-password"
              minLength={10}
              maxLength={256}
              required
              value={fresh}
              onChange={(event) => setFresh(event.target.value)}
            />
          )}
        </Field>
        <button type="submit">Change the password</button>
        <Notice text={outcome.text} kind={outcome.kind} />
      </form>
    </section>
  );
}

function Tokens() {
  const { value, reload } = useLoaded<Token[]>("/tokens");
  const [name, setName] = useState("");
  const [scope, setScope] = useState("write");
  const [made, setMade] = useState<Token | null>(null);
  const { failure, perform } = useActions(reload);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void perform(
      api.post<Token>("/tokens", { name, scope }).then((token) => {
        setMade(token);
        setName("");
      }),
    );
  };
  return (
    <section>
      <h2>Tokens</h2>
      <p className="soft">
        Tokens authenticate <code>bentpipe lab</code> and your own programs. A token has your permissions.
      </p>
      <ul>
        {value?.map((one) => (
          <li key={one.id}>
            {one.name}{" "}
            <span className="soft">
              ({one.scope}, last used {when(one.used)})
            </span>{" "}
            <button
              type="button"
              onClick={() => void perform(api.remove(`/tokens/${one.id}`))}
              aria-label={`Remove token ${one.name}`}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      {made?.secret && (
        <div className="notice good" role="status">
          <Secret label="New token (copy it now; it is shown only once)" text={made.secret} />
        </div>
      )}
      <form className="row" onSubmit={submit}>
        <Field label="Name of the new token">
          {(id) => (
            <input
              id={id}
              value={name}
              maxLength={64}
              required
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label="Permission">
          {(id) => (
            <select id={id} value={scope} onChange={(event) => setScope(event.target.value)}>
              <option value="write">read and write</option>
              <option value="read">read only</option>
            </select>
          )}
        </Field>
        <button type="submit">Create</button>
      </form>
      <Notice text={failure} />
    </section>
  );
}

function Audit() {
  const { value } = useLoaded<AuditLine[]>("/audit");
  return (
    <section>
      <h2>Audit log</h2>
      <ScrollRegion label="Audit log">
        <table>
          <thead>
            <tr>
              <th>Time</th>
              <th>User</th>
              <th>Action</th>
              <th>Details</th>
            </tr>
          </thead>
          <tbody>
            {value?.map((one) => (
              <tr key={one.id}>
                <td>{when(one.at)}</td>
                <td>{one.user}</td>
                <td>{one.action}</td>
                <td className="text">{one.what}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}
