// The frame of all views: who is logged in, and which view the address names.

import { useEffect, useState } from "react";
import { api, Refusal } from "./data/api";
import type { Who } from "./data/api.gen";
import { useLost, useReturns } from "./data/connection";
import { renewed, useEnded } from "./data/session";
import { link, usePlace } from "./data/state";
import { Notice, Title } from "./parts/basics";
import { AccountView } from "./views/account";
import { Comparison } from "./views/comparison";
import { Configurations } from "./views/configurations";
import { Editor } from "./views/editor";
import { Join, LogIn, LogInAgain } from "./views/entrance";
import { People } from "./views/people";
import { QueueView } from "./views/queue";
import { RunView } from "./views/run";
import { Runs } from "./views/runs";
import { Studies } from "./views/studies";

export function Application() {
  const [who, setWho] = useState<Who | null | undefined>();
  const [trouble, setTrouble] = useState("");
  const place = usePlace();
  const expired = useEnded();
  const returns = useReturns();
  const unknown = who === undefined || who === null;
  useEffect(() => {
    if (!unknown) return;
    api.get<Who>("/session").then(
      (found) => {
        setTrouble("");
        setWho(found);
      },
      (error: unknown) => {
        setWho(null);
        // That it does not answer is said below.
        setTrouble(error instanceof Refusal && ![0, 401].includes(error.status) ? error.message : "");
      },
    );
    // Only at the beginning, and when the test bed is there again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [returns]);
  const entered = (next: Who) => {
    // What waits was asked for by someone else, and is not to be done in the name of this user.
    if (who && who.name !== next.name) location.reload();
    else {
      setWho(next);
      renewed();
    }
  };
  const [first = "", second] = place.path;
  if (who === undefined) return <main className="narrow" aria-busy="true" />;
  if (who === null || first === "join") {
    return (
      <main className="narrow">
        <Connection />
        <Notice text={trouble} />
        {first === "join" ? <Join invitation={second ?? ""} done={setWho} /> : <LogIn done={entered} />}
      </main>
    );
  }
  return (
    <>
      <a className="skip" href="#main" onClick={(event) => skip(event)}>
        Skip to the content
      </a>
      <header className="top">
        <a className="brand" href="#/">
          bentpipe
        </a>
        <nav aria-label="Main">
          {VIEWS.filter(([, , level]) => level !== "administrator" || who.level === "administrator").map(
            ([path, label]) => (
              <a
                key={path}
                href={link(path ? [path] : [])}
                aria-current={first === path ? "page" : undefined}
              >
                {label}
              </a>
            ),
          )}
        </nav>
        <a className="who" href={link(["account"])} aria-current={first === "account" ? "page" : undefined}>
          {who.name} <span className="soft">({who.level})</span>
        </a>
      </header>
      <Connection />
      {expired && <LogInAgain who={who} done={entered} />}
      <main id="main" tabIndex={-1}>
        <View who={who} left={() => setWho(null)} />
      </main>
    </>
  );
}

/** Says that the test bed does not answer, and that it answers again. Always there, so that a screen reader hears of a change. */
function Connection() {
  const lost = useLost();
  const returns = useReturns();
  const [back, setBack] = useState(false);
  useEffect(() => {
    if (returns === 0) return;
    setBack(true);
    const timer = setTimeout(() => setBack(false), 8000);
    return () => clearTimeout(timer);
  }, [returns]);
  return (
    <div role="status" className="said">
      {lost && (
        <p className="notice error banner">
          The test bed does not answer. Check your network; what you typed stays here, and this page tries
          again until it answers.
        </p>
      )}
      {!lost && back && <p className="notice good banner">The test bed answers again.</p>}
    </div>
  );
}

const VIEWS: [string, string, string?][] = [
  ["", "Configurations"],
  ["runs", "Runs"],
  ["studies", "Studies"],
  ["queue", "Queue"],
  ["compare", "Compare"],
  ["people", "People", "administrator"],
];

function skip(event: { preventDefault: () => void }) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function View({ who, left }: { who: Who; left: () => void }) {
  const { path } = usePlace();
  const [first = "", second = ""] = path;
  switch (first) {
    case "":
      return <Configurations who={who} />;
    case "configuration":
      return <Editor key={second} id={second} who={who} />;
    case "runs":
      return second ? <RunView key={second} id={second} /> : <Runs />;
    case "studies":
      return <Studies who={who} />;
    case "queue":
      return <QueueView />;
    case "compare":
      return <Comparison />;
    case "people":
      return <People />;
    case "account":
      return <AccountView who={who} left={left} />;
    default:
      return (
        <>
          <Title>There is no such page</Title>
          <p>
            <a href="#/">To the configurations</a>
          </p>
        </>
      );
  }
}
