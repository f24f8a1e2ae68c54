// The frame around all views: session, navigation, and the view at the page's address.

import { Suspense, useEffect, useState } from "react";
import { api, Refusal } from "./data/api";
import type { SessionUser } from "./data/api.gen";
import { cache } from "./data/cache";
import { useDisconnected, useReconnections } from "./data/connection";
import { resumeRequests, useSessionExpired } from "./data/session";
import { link, usePlace } from "./data/state";
import { CurrentUser } from "./data/user";
import { Notice } from "./parts/basics";
import { Emblem } from "./parts/emblem";
import { NotFound } from "./parts/not_found";
import { Notices } from "./parts/notices";
import { mayOpen, VIEWS, viewAt } from "./views";
import { Join, LogIn, LogInAgain, ResetPassword } from "./views/login";

export function Application() {
  const [user, setUser] = useState<SessionUser | null | undefined>();
  const [failure, setFailure] = useState("");
  const place = usePlace();
  const expired = useSessionExpired();
  const reconnections = useReconnections();
  const unknown = user === undefined || user === null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only at start and after reconnection
  useEffect(() => {
    if (!unknown) return;
    api.get<SessionUser>("/session").then(
      (found) => {
        setFailure("");
        setUser(found);
      },
      (error: unknown) => {
        setUser(null);
        // Connection reports a lost connection, and LogIn replaces a missing session.
        setFailure(error instanceof Refusal && ![0, 401].includes(error.status) ? error.message : "");
      },
    );
  }, [reconnections]);
  const entered = (next: SessionUser) => {
    // Waiting requests belong to the previous user; another user must not send them.
    if (user && user.name !== next.name) location.reload();
    else {
      setUser(next);
      resumeRequests();
    }
  };
  const [first = "", second] = place.path;
  if (user === undefined) return <main className="narrow" aria-busy="true" />;
  if (user === null || first === "join" || first === "reset") {
    return (
      <main className="narrow">
        <Connection />
        <div className="entrance">
          <Emblem />
          <div className="body">
            <Notice text={failure} />
            {first === "join" ? (
              <Join invitation={second ?? ""} done={setUser} />
            ) : first === "reset" ? (
              <ResetPassword reset={second ?? ""} done={setUser} />
            ) : (
              <LogIn done={entered} />
            )}
          </div>
        </div>
      </main>
    );
  }
  return (
    <CurrentUser value={user}>
      {/* biome-ignore lint/a11y/useValidAnchor: the click handler moves the focus */}
      <a className="skip" href="#main" onClick={(event) => skip(event)}>
        Skip to content
      </a>
      <header className="top">
        <a className="brand" href="#/">
          bentpipe
        </a>
        <nav aria-label="Main">
          {VIEWS.filter((one) => one.label && mayOpen(user, one)).map(({ path, label }) => (
            <a
              key={path}
              href={link(path ? [path] : [])}
              aria-current={first === path || (path === "" && first === "configuration") ? "page" : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
        <a href={link(["account"])} aria-current={first === "account" ? "page" : undefined}>
          {user.name} <span className="soft">({user.level})</span>
        </a>
      </header>
      <Connection />
      {expired && <LogInAgain user={user} done={entered} />}
      <Notices user={user.id} />
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<p aria-busy="true" />}>
          <CurrentView
            user={user}
            onLogOut={() => {
              cache.clear();
              setUser(null);
            }}
          />
        </Suspense>
      </main>
    </CurrentUser>
  );
}

/** A status line about the connection to the test bed. Always rendered, so that screen readers
 * announce changes. */
function Connection() {
  const disconnected = useDisconnected();
  const reconnections = useReconnections();
  const [restored, setRestored] = useState(false);
  useEffect(() => {
    if (reconnections === 0) return;
    setRestored(true);
    const timer = setTimeout(() => setRestored(false), 8000);
    return () => clearTimeout(timer);
  }, [reconnections]);
  return (
    <div role="status" className="connection">
      {disconnected && (
        <p className="notice error banner">
          The test bed does not respond. Check your network connection. Your input is kept, and this page
          reconnects automatically.
        </p>
      )}
      {!disconnected && restored && (
        <p className="notice good banner">The connection to the test bed is restored.</p>
      )}
    </div>
  );
}

function skip(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function CurrentView({ user, onLogOut }: { user: SessionUser; onLogOut: () => void }) {
  const found = viewAt(usePlace().path);
  if (!found) return <NotFound />;
  const { view, id } = found;
  if (!mayOpen(user, view)) {
    return (
      <NotFound title={view.label ?? view.path} reason={`This page requires the level "${view.level}".`} />
    );
  }
  return <view.component key={id} user={user} id={id} onLogOut={onLogOut} />;
}
