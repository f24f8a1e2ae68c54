// Log in, and create the account of an invitation.

import { useState, type FormEvent } from "react";
import { api } from "./api";
import type { Who } from "./api.gen";
import { Field, Notice, Title } from "./parts";
import { go, message } from "./state";

export function LogIn({ done }: { done: (who: Who) => void }) {
  return (
    <>
      <Title>bentpipe test bed</Title>
      <p className="soft">A satellite laboratory that a group shares. Log in with the account that you were invited to.</p>
      <Credentials button="Log in" send={(name, password) => api.post<Who>("/session", { name, password })} done={done} />
    </>
  );
}

export function Join({ invitation, done }: { invitation: string; done: (who: Who) => void }) {
  return (
    <>
      <Title>Create your account</Title>
      <p className="soft">This link works once. Choose a name, and a password of at least 10 characters.</p>
      <Credentials
        button="Create account"
        fresh
        send={(name, password) => api.post<Who>("/invitations/accept", { invitation, name, password })}
        done={(who) => {
          go([], {}, true);
          done(who);
        }}
      />
    </>
  );
}

function Credentials({
  button,
  send,
  done,
  fresh = false,
}: {
  button: string;
  fresh?: boolean;
  send: (name: string, password: string) => Promise<Who>;
  done: (who: Who) => void;
}) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError("");
    send(name, password).then(done, (refused: unknown) => {
      setError(message(refused));
      setBusy(false);
    });
  };
  return (
    <form onSubmit={submit} className="stack">
      <Field label="Name">
        {(id) => (
          <input id={id} value={name} onChange={(event) => setName(event.target.value)} autoComplete="username" required autoFocus />
        )}
      </Field>
      <Field label="Password">
        {(id) => (
          <input
            id={id}
            type="password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
            autoComplete={fresh ? "new-password" : "current-password"}
            minLength={fresh ? 10 : undefined}
            maxLength={256}
            required
          />
        )}
      </Field>
      <Notice text={error} />
      <button className="primary" disabled={busy}>
        {button}
      </button>
    </form>
  );
}
