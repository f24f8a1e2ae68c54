// The forms to log in and to accept an invitation.

import { type FormEvent, useEffect, useRef, useState } from "react";
import { api } from "../data/api";
import type { SessionUser } from "../data/api.gen";
import { go, message } from "../data/state";
import { Field, Notice, Title } from "../parts/basics";

export function LogIn({ done }: { done: (user: SessionUser) => void }) {
  return (
    <>
      <Title>bentpipe test bed</Title>
      <p className="soft">
        A shared laboratory for Internet traffic over satellites: draw a network, launch it on three clocks,
        and compare the results.
      </p>
      <Credentials
        button="Log in"
        send={(name, password) => api.post<SessionUser>("/session", { name, password })}
        done={done}
      />
    </>
  );
}

export function Join({ invitation, done }: { invitation: string; done: (user: SessionUser) => void }) {
  return (
    <>
      <Title>Create your account</Title>
      <p className="soft">
        This invitation can be used once. Choose a name and a password of at least 10 characters.
      </p>
      <Credentials
        button="Create account"
        fresh
        send={(name, password) =>
          api.post<SessionUser>("/invitations/accept", { invitation, name, password })
        }
        done={(user) => {
          go([], {}, true);
          done(user);
        }}
      />
    </>
  );
}

export function ResetPassword({ reset, done }: { reset: string; done: (user: SessionUser) => void }) {
  return (
    <>
      <Title>Set a new password</Title>
      <p className="soft">
        This link can be used once. All of your sessions and tokens end, and you are logged in here.
      </p>
      <Credentials
        button="Set password"
        fresh
        named={false}
        send={(_, password) => api.post<SessionUser>("/session/reset", { reset, password })}
        done={(user) => {
          go([], {}, true);
          done(user);
        }}
      />
    </>
  );
}

/** A dialog that asks for the password after the session has expired. The view behind it keeps its
 * state and input. */
export function LogInAgain({ user, done }: { user: SessionUser; done: (user: SessionUser) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(true);
  useEffect(() => {
    if (!open || dialog.current?.open) return;
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLInputElement>("input[type=password]")?.focus();
  }, [open]);
  return (
    <>
      {!open && (
        <p className="notice error banner" role="alert">
          Your session has expired. Your input is kept, and will be sent after you log in.{" "}
          <button type="button" onClick={() => setOpen(true)}>
            Log in again
          </button>
        </p>
      )}
      <dialog ref={dialog} aria-labelledby="again" onClose={() => setOpen(false)}>
        {open && (
          <>
            <h2 id="again">Log in again</h2>
            <p>Your session has expired. Your input is kept, and will be sent after you log in.</p>
            <Credentials
              button="Log in"
              as={user.name}
              send={(name, password) => api.post<SessionUser>("/session", { name, password })}
              done={(next) => {
                // Closing the dialog restores the previous focus.
                dialog.current?.close();
                done(next);
              }}
            />
          </>
        )}
      </dialog>
    </>
  );
}

function Credentials({
  button,
  send,
  done,
  fresh = false,
  named = true,
  as = "",
}: {
  button: string;
  fresh?: boolean;
  /** True if the form has the field "Name". */
  named?: boolean;
  /** Initial value of the field "Name". */
  as?: string;
  send: (name: string, password: string) => Promise<SessionUser>;
  done: (user: SessionUser) => void;
}) {
  const [name, setName] = useState(as);
  const [password, setPassword] = useState("");
  const [error, setError] = useState("");
  const busy = useRef(false);
  const first = useRef<HTMLInputElement>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // The button stays enabled, because a disabled button loses the focus.
    if (busy.current) return;
    busy.current = true;
    setError("");
    send(name, password).then(done, (refused: unknown) => {
      setError(message(refused));
      busy.current = false;
      first.current?.focus();
    });
  };
  return (
    <form onSubmit={submit} className="stack">
      {named && (
        <Field label="Name">
          {(id) => (
            <input
              id={id}
              ref={as ? undefined : first}
              value={name}
              aria-invalid={error !== ""}
              aria-describedby={error ? "refused" : undefined}
              onChange={(event) => setName(event.target.value)}
              autoComplete="username"
              required
              // biome-ignore lint/a11y/noAutofocus: this form is the only content of the view
              autoFocus={!as}
            />
          )}
        </Field>
      )}
      <Field label="Password" help={fresh ? "At least 10 characters." : undefined}>
        {(id, described) => (
          <input
            id={id}
            ref={as || !named ? first : undefined}
            type="password"
            aria-invalid={error !== ""}
            aria-describedby={[described, error && "refused"].filter(Boolean).join(" ") || undefined}
            value={password}
            onChange={(event) => setPassword(event.target.value)}
            autoComplete={fresh ? "new-password" : "current-password"}
            minLength={fresh ? 10 : undefined}
            maxLength={256}
            required
          />
        )}
      </Field>
      <Notice text={error} id="refused" />
      <button type="submit" className="primary">
        {button}
      </button>
    </form>
  );
}
