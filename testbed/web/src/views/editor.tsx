// The editor of a configuration, in five steps: system, connections, test, launch, report. Picture,
// forms and text are views of one draft. Apply saves the draft as the scenario of the
// configuration.

import { useCallback, useEffect, useRef, useState } from "react";
import { api, Refusal } from "../data/api";
import type { Draft, Full, SessionUser } from "../data/api.gen";
import type { Positions, View } from "../data/draft";
import { useHistory } from "../data/history";
import { copyInstruments } from "../data/instruments";
import { type Problem, problemText } from "../data/problem";
import type { Change } from "../data/schema";
import { go, link, message, useLoaded, usePlace } from "../data/state";
import { Notice, Title } from "../parts/basics";
import { confirmed } from "../parts/dialog";
import { flushInput, resetInput } from "../parts/panel";
import { PreviewPanel, usePreview } from "../parts/preview";
import { ProblemsOf } from "../parts/problems";
import { RunList } from "../parts/run_list";
import { SaveAs } from "../parts/save_as";
import { VaryOf } from "../parts/vary";
import { Connections } from "./steps/connections";
import { Launch } from "./steps/launch";
import { System } from "./steps/system";
import { TestStep } from "./steps/test";

const STEPS = [
  ["system", "System"],
  ["connections", "Connections"],
  ["test", "Test"],
  ["launch", "Launch"],
  ["report", "Report"],
] as const;

export function Editor({ id, user }: { id: string; user: SessionUser }) {
  const loaded = useLoaded<Full>(`/configurations/${id}`, { current: true });
  // Kept if a reload fails, because the user may be editing a draft.
  const [first, setFirst] = useState<Full>();
  useEffect(() => {
    if (loaded.value) setFirst((before) => before ?? loaded.value);
  }, [loaded.value]);
  if (first) return <Loaded first={first} user={user} />;
  if (loaded.error) {
    return (
      <>
        <Title>Configuration</Title>
        <Notice text={loaded.error} />
      </>
    );
  }
  return <p aria-busy="true">Loading…</p>;
}

/** The stored draft of a configuration. A draft survives a reload, until the tab is closed. */
function storedDraft(id: string): string | null {
  return sessionStorage.getItem(`draft ${id}`);
}

function Loaded({ first, user }: { first: Full; user: SessionUser }) {
  const [applied, setApplied] = useState(first);
  const draft = useHistory(() => ({
    text: first.mine ? (storedDraft(first.id) ?? first.text) : first.text,
    positions: first.positions as Positions,
  }));
  const { text, change } = draft;
  const setText = useCallback((next: string) => change({ text: next }), [change]);
  const [view, setView] = useState<View | null>(null);
  const [good, setGood] = useState<View | null>(null);
  const [failure, setFailure] = useState("");
  const [analysisFailure, setAnalysisFailure] = useState("");
  const [success, setSuccess] = useState("");
  const { path, values } = usePlace();
  const step = path[2] ?? "system";
  const dirty = text !== applied.text;
  const mine = applied.mine && user.level !== "guest";
  const latest = useRef(text);
  latest.current = text;
  const preview = usePreview(text);
  // The engine in the page answers before the server, but knows no limits of the test bed.
  const ofServer = view && !view.valid ? view.problems : NONE;
  const problems = preview.problems?.text === text ? preview.problems.found : ofServer;

  useEffect(() => {
    if (dirty) sessionStorage.setItem(`draft ${applied.id}`, text);
    else sessionStorage.removeItem(`draft ${applied.id}`);
  }, [dirty, text, applied.id]);

  // biome-ignore lint/correctness/useExhaustiveDependencies(view): only the text is analysed
  useEffect(() => {
    const timer = setTimeout(
      () => {
        api.computed<View>("/drafts/view", { text }).then(
          (found) => {
            if (latest.current !== text) return;
            setAnalysisFailure("");
            setView(found);
            if (found.valid) setGood(found);
          },
          (error: unknown) => latest.current === text && setAnalysisFailure(message(error)),
        );
      },
      view === null ? 0 : 250,
    );
    return () => clearTimeout(timer);
  }, [text]);

  // Edits run one at a time, each on the text that the previous edit returned, so that none is lost
  // if the test bed is slow.
  const turn = useRef<Promise<unknown>>(Promise.resolve());
  const edit = useCallback(
    (edits: Change[]): Promise<boolean> => {
      const made = async (): Promise<boolean> => {
        if (edits.length === 0) return true;
        try {
          for (;;) {
            const before = latest.current;
            const next = await api.computed<Draft>("/drafts/edit", { text: before, edits });
            // The user typed into the text in the meantime: repeat the edit with the current text.
            if (latest.current !== before) continue;
            latest.current = next.text;
            // Stored here as well, in case the user has left this view.
            sessionStorage.setItem(`draft ${first.id}`, next.text);
            setText(next.text);
            setFailure("");
            return true;
          }
        } catch (error) {
          setFailure(message(error));
          return false;
        }
      };
      const result = turn.current.then(made);
      turn.current = result;
      return result;
    },
    [first.id, setText],
  );

  const version = useRef(first.version);
  version.current = Math.max(version.current, applied.version);
  const store = async (changed: object, confirmation: string) => {
    try {
      const now = await api.put<Full>(`/configurations/${applied.id}`, {
        version: version.current,
        ...changed,
      });
      version.current = now.version;
      setApplied(now);
      setFailure("");
      setSuccess(confirmation);
      return true;
    } catch (error) {
      setFailure(message(error));
      if (error instanceof Refusal && error.status === 409) await resolveConflict(message(error));
      return false;
    }
  };
  /** Handles a version conflict, after another window has applied another text. Both texts are
   * kept, and the user chooses one. */
  const resolveConflict = async (reason: string) => {
    const now = await api.get<Full>(`/configurations/${applied.id}`).catch(() => null);
    if (now === null || now.version === applied.version) return;
    setApplied(now);
    setFailure(
      `${reason.replace("; load it again", "")}. Nothing was overwritten, and your changes are kept: Apply replaces the other version with yours, Discard changes loads the other version.`,
    );
  };
  // Positions are stored at once, and one at a time because each has a new version.
  const storing = useRef<Promise<unknown>>(Promise.resolve());
  const place = (positions: Positions) => {
    storing.current = storing.current.then(() => store({ positions }, ""));
  };
  const current = useRef(draft);
  current.current = draft;
  /** Undoes or repeats a step, after the input that waits for a pause in typing. */
  const travel = async (back: boolean) => {
    // Fields show the text that is typed until they lose the focus.
    const focused = document.activeElement;
    if (focused instanceof HTMLInputElement) {
      focused.blur();
      focused.focus();
    }
    flushInput();
    await turn.current;
    // Waits until the last edit is part of the history.
    await new Promise((done) => setTimeout(done));
    const { before, after, positions, undo, redo } = current.current;
    const target = back ? before : after;
    if (!target) return;
    if (back) undo();
    else redo();
    resetInput();
    if (target.positions !== positions) place(target.positions);
  };
  const keys = useRef(travel);
  keys.current = travel;
  useEffect(() => {
    if (!mine) return;
    const pressed = (event: KeyboardEvent) => {
      const key = event.key.toLowerCase();
      if (!(event.ctrlKey || event.metaKey) || event.altKey || (key !== "z" && key !== "y")) return;
      if (event.target instanceof Element && event.target.closest("dialog")) return;
      event.preventDefault();
      void keys.current(key === "z" && !event.shiftKey);
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [mine]);
  /** Returns the text of the draft with the input that waits for a pause in typing. */
  const typed = async () => {
    flushInput();
    await turn.current;
    return latest.current;
  };
  const apply = async () => store({ text: await typed() }, "Applied.");
  const reset = async () => {
    const question = {
      title: "Reset the configuration?",
      about: "Restores the first saved scenario of this configuration.",
      action: "Reset",
      destructive: true,
    };
    if (!(await confirmed(question))) return;
    try {
      const made = await api.post<Full>(`/configurations/${applied.id}/reset`);
      setApplied(made);
      setText(made.text);
    } catch (error) {
      setFailure(message(error));
    }
  };

  const vary = (key: string) => go(["configuration", applied.id, "test"], { vary: key });
  /** Removes the draft, after it was saved as another configuration. */
  const forget = () => {
    setText(applied.text);
    sessionStorage.removeItem(`draft ${applied.id}`);
  };

  return (
    <>
      <div className="heading">
        <Title part={STEPS.find(([name]) => name === step)?.[1]}>{applied.name}</Title>
        {!applied.mine && <span className="badge">shared by {applied.owner}</span>}
        {dirty && (
          <span className="badge warn" role="status">
            unapplied changes
          </span>
        )}
        <span className="grow" />
        {user.level !== "guest" && (
          <SaveAs
            name={applied.name}
            latest={typed}
            positions={draft.positions}
            saved={(id) => {
              copyInstruments(applied.id, id);
              forget();
            }}
          />
        )}
        {mine && (
          <>
            <button
              type="button"
              onClick={() => void travel(true)}
              disabled={!draft.before}
              title="Undo (Ctrl+Z)"
            >
              Undo
            </button>
            <button
              type="button"
              onClick={() => void travel(false)}
              disabled={!draft.after}
              title="Redo (Ctrl+Shift+Z)"
            >
              Redo
            </button>
            <button type="button" onClick={() => void reset()}>
              Reset
            </button>
            <button
              type="button"
              onClick={() =>
                void confirmed({
                  title: "Discard all unapplied changes?",
                  action: "Discard",
                  destructive: true,
                }).then((yes) => yes && setText(applied.text))
              }
              disabled={!dirty}
            >
              Discard changes
            </button>
            <button type="button" className="primary" onClick={() => void apply()} disabled={!dirty}>
              Apply
            </button>
          </>
        )}
      </div>
      <nav className="steps" aria-label="Steps">
        <ol>
          {STEPS.map(([name, label], place) => (
            <li key={name}>
              <a
                href={link(["configuration", applied.id, name])}
                aria-current={step === name ? "step" : undefined}
              >
                {place + 1} {label}
              </a>
            </li>
          ))}
        </ol>
      </nav>
      <Notice text={failure || analysisFailure} />
      {!dirty && <Notice text={success} kind="good" />}
      <Problems problems={problems} id={applied.id} />
      <VaryOf value={mine ? vary : null}>
        <ProblemsOf value={problems}>
          {step === "system" && (
            <System
              view={good}
              stale={view !== null && !view.valid}
              problems={problems}
              text={text}
              setText={mine ? (next) => change({ text: next }, true) : undefined}
              edit={mine ? edit : undefined}
              positions={draft.positions}
              move={
                mine
                  ? (positions) => {
                      change({ positions });
                      place(positions);
                    }
                  : undefined
              }
              chosen={values.get("of") ?? ""}
              choose={(of) => go(["configuration", applied.id, "system"], { of: of.join(".") }, true)}
            />
          )}
          {step === "connections" && (
            <Connections
              view={good}
              edit={mine ? edit : undefined}
              chosen={values.get("of") ?? ""}
              choose={(of) => go(["configuration", applied.id, "connections"], { of: of.join(".") }, true)}
            />
          )}
          {step === "test" && (
            <TestStep
              text={text}
              view={good}
              impossible={view?.impossible ?? {}}
              edit={mine ? edit : undefined}
              id={applied.id}
              user={user}
            />
          )}
          {step === "launch" && (
            <Launch
              view={view}
              text={text}
              applied={applied}
              dirty={dirty}
              apply={apply}
              mine={mine}
              user={user}
            />
          )}
          {!STEPS.some(([name]) => name === step) && (
            <Notice text={`Page not found: a configuration has no step "${step}".`} />
          )}
          {["system", "connections", "test"].includes(step) && <PreviewPanel preview={preview} />}
          {step === "report" && (
            <section>
              <h2>Runs of this configuration</h2>
              <RunList of={applied.id} />
            </section>
          )}
        </ProblemsOf>
      </VaryOf>
    </>
  );
}

const NONE: View["problems"] = [];

/** Matches key paths inside those parts of a scenario that have a panel. The match is the path of
 * the part. */
const PANELS = /^(link|multilink|proxy|service|flow|network|edge)\.[^.]+/;

function Problems({ problems, id }: { problems: Problem[]; id: string }) {
  if (problems.length === 0) return null;
  return (
    <div className="notice error" role="alert">
      <strong>The scenario is not valid:</strong>
      <ul>
        {problems.slice(0, 8).map((one) => (
          <li key={`${one.line} ${one.path} ${one.message}`}>
            {one.line !== null && (
              <>
                line {one.line}
                {one.path && ", "}
              </>
            )}
            {one.path && <KeyLink path={one.path} id={id} />}
            {(one.path || one.line !== null) && ": "}
            {problemText(one)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The path of a key, as a link to the form that contains the key. */
function KeyLink({ path, id }: { path: string; id: string }) {
  if (path.startsWith("campaign.")) {
    return (
      <a href={link(["configuration", id, "test"])}>
        <code>{path}</code>
      </a>
    );
  }
  const of = PANELS.exec(path)?.[0];
  if (!of) return <code>{path}</code>;
  return (
    <a href={link(["configuration", id, "system"], { of })}>
      <code>{path}</code>
    </a>
  );
}
