// A simulation of the draft by the engine in this page, repeated while the draft is edited.

import { useEffect, useState } from "react";
import type { Problem } from "../data/problem";
import { message } from "../data/state";
import type { Answer } from "../engine/answer";
import { Client } from "../engine/client";
import { compiled } from "../engine/loading";
import { reasonOf } from "../engine/reason";
import EngineWorker from "../engine/worker?worker";
import { Notice, Progress } from "./basics";
import { FlowTable } from "./flow_table";

/** Pause in editing after which the draft is checked and run. */
const PAUSE_MS = 300;
/** The key under which the browser keeps that the preview is open. */
const OPEN = "preview";

export interface Preview {
  isOpen: boolean;
  setOpen: (open: boolean) => void;
  /** The problems of a text that the engine has refused. */
  problems: { text: string; found: Problem[] } | undefined;
  answer: Answer | undefined;
  /** The reason why there is no result; empty if there is one. */
  reason: string;
  /** Completed fraction of the current run. */
  fraction: number | undefined;
}

/**
 * Checks and runs a draft while the preview is open. The engine is loaded when the preview is first
 * opened.
 */
export function usePreview(text: string): Preview {
  const [isOpen, setOpen] = useState(() => localStorage.getItem(OPEN) === "open");
  const [client, setClient] = useState<Client>();
  const [problems, setProblems] = useState<Preview["problems"]>();
  const [answer, setAnswer] = useState<Answer>();
  const [reason, setReason] = useState("");
  const [fraction, setFraction] = useState<number>();
  useEffect(() => {
    localStorage.setItem(OPEN, isOpen ? "open" : "closed");
    if (!isOpen) return;
    let isCurrent = true;
    let made: Client | undefined;
    compiled().then(
      (module) => {
        if (!isCurrent) return;
        made = new Client(module, () => new EngineWorker());
        setClient(made);
      },
      (error: unknown) => setReason(message(error)),
    );
    return () => {
      isCurrent = false;
      made?.stop();
      setClient(undefined);
      setProblems(undefined);
    };
  }, [isOpen]);
  useEffect(() => {
    if (!client) return;
    let isCurrent = true;
    const timer = setTimeout(async () => {
      const request = { toml: text, name: "scenario" };
      const checked = await client.check(request);
      if (!isCurrent) return;
      if (checked.kind !== "checked") {
        if (checked.kind === "refused") setProblems({ text, found: checked.problems });
        setReason(reasonOf(checked));
        return;
      }
      setProblems({ text, found: [] });
      const run = { ...request, traces: [] };
      const outcome = await client.run(run, (done) => isCurrent && setFraction(done));
      if (!isCurrent) return;
      setFraction(undefined);
      setReason(reasonOf(outcome));
      if (outcome.kind === "answer") setAnswer(outcome.answer);
    }, PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
      client.cancel();
      setFraction(undefined);
    };
  }, [client, text]);
  return { isOpen, setOpen, problems, answer, reason, fraction };
}

export function PreviewPanel({ preview }: { preview: Preview }) {
  const { isOpen, setOpen, answer, reason, fraction } = preview;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Preview: simulate the draft in this page while you edit</summary>
      {isOpen && (
        <section aria-label="Preview">
          {fraction !== undefined && <Progress value={fraction} label="Progress of the preview" />}
          <Notice text={reason} kind="plain" />
          {answer && !reason && <FlowTable answer={answer} />}
          {!answer && !reason && <p className="soft">The engine is starting …</p>}
        </section>
      )}
    </details>
  );
}
