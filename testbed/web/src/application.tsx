// The frame of all views: who is logged in, and which view the address names.

import { useEffect, useState } from "react";
import { AccountView, People } from "./account";
import { api, onLogOut, Refusal } from "./api";
import type { Who } from "./api.gen";
import { Comparison } from "./comparison";
import { Configurations } from "./configurations";
import { Editor } from "./editor";
import { Join, LogIn } from "./entrance";
import { Notice } from "./parts";
import { RunView } from "./run";
import { QueueView, Runs } from "./runs";
import { link, usePlace } from "./state";
import { Studies } from "./studies";

export function Application() {
  const [who, setWho] = useState<Who | null | undefined>();
  const [trouble, setTrouble] = useState("");
  const place = usePlace();
  useEffect(() => {
    onLogOut(() => setWho(null));
    api.get<Who>("/session").then(setWho, (error: unknown) => {
      setWho(null);
      if (error instanceof Refusal && error.status !== 401) setTrouble(error.message);
    });
  }, []);
  const [first = "", second] = place.path;
  useEffect(() => {
    document.title = first ? `${first} – bentpipe test bed` : "bentpipe test bed";
  }, [first]);
  if (who === undefined) return <main className="narrow" aria-busy="true" />;
  if (who === null || first === "join") {
    return (
      <main className="narrow">
        <Notice text={trouble} />
        {first === "join" ? <Join invitation={second ?? ""} done={setWho} /> : <LogIn done={setWho} />}
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
          {VIEWS.filter(([, , level]) => level !== "administrator" || who.level === "administrator").map(([path, label]) => (
            <a key={path} href={link(path ? [path] : [])} aria-current={first === path ? "page" : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <a className="who" href={link(["account"])} aria-current={first === "account" ? "page" : undefined}>
          {who.name} <span className="soft">({who.level})</span>
        </a>
      </header>
      <main id="main" tabIndex={-1}>
        <View who={who} left={() => setWho(null)} />
      </main>
    </>
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
          <h1>There is no such page</h1>
          <p>
            <a href="#/">To the configurations</a>
          </p>
        </>
      );
  }
}
