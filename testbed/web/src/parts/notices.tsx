// Notices about ended runs, at the corner of the window.

import { useState } from "react";
import { type RunNotice, useNotices } from "../data/notices";
import { link, usePlace } from "../data/state";
import "./notices.css";

/** Largest number of visible notices, and milliseconds after which one disappears. */
const MOST = 3;
const SHOWN_MS = 15_000;

export function Notices({ user }: { user: number }) {
  const [notices, setNotices] = useState<RunNotice[]>([]);
  const { path } = usePlace();
  const hide = (run: string) => setNotices((before) => before.filter((one) => one.run !== run));
  useNotices(user, (notice) => {
    // The page of the run shows its end itself.
    if (path[0] === "runs" && path[1] === notice.run) return;
    setNotices((before) => [notice, ...before.filter((one) => one.run !== notice.run)]);
    setTimeout(() => hide(notice.run), SHOWN_MS);
  });
  return (
    <div className="notices" role="status">
      {notices.slice(0, MOST).map((one) => (
        <div key={one.run} className={`toast ${one.state === "done" ? "good" : "bad"}`}>
          <span>
            <a href={link(["runs", one.run])} onClick={() => hide(one.run)}>
              {one.title}
            </a>{" "}
            <br />
            {one.state}
            {one.verdict && <span className={`mark ${one.verdict}`}>{one.verdict}</span>}
          </span>
          <button
            type="button"
            className="plain"
            aria-label={`Hide the notice about ${one.title}`}
            onClick={() => hide(one.run)}
          >
            ×
          </button>
        </div>
      ))}
      {notices.length > MOST && <p className="toast">{notices.length - MOST} more runs have ended.</p>}
    </div>
  );
}
