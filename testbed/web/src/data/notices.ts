// Notices about the user's runs that have ended, in every tab of the page, and in the browser's
// notifications if the user has switched them on.

import { useEffect, useRef, useState } from "react";
import { FINAL, link, type RunEvent, useEvents } from "./state";

/** The notice that a run has ended. */
export interface RunNotice {
  run: string;
  title: string;
  state: string;
  verdict: string;
}

const KEY = "notifications";
const CHANNEL = "bentpipe notices";

/** True if the user has switched on the browser's notifications in this browser. */
export function notifies(): boolean {
  return (
    "Notification" in window && Notification.permission === "granted" && localStorage.getItem(KEY) === "on"
  );
}

/** Switches the browser's notifications on or off. Returns true if they are on. */
export async function setNotifies(on: boolean): Promise<boolean> {
  const granted = on && "Notification" in window && (await Notification.requestPermission()) === "granted";
  localStorage.setItem(KEY, granted ? "on" : "off");
  return granted;
}

/** Calls back for each run of the user (an account's number) that ends. */
export function useNotices(user: number, call: (notice: RunNotice) => void): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (!("BroadcastChannel" in window)) return;
    const channel = new BroadcastChannel(CHANNEL);
    channel.onmessage = (message: MessageEvent<RunNotice>) => latest.current(message.data);
    return () => channel.close();
  }, []);
  useFirstTab(user, (notice) => {
    latest.current(notice);
    if ("BroadcastChannel" in window) {
      const channel = new BroadcastChannel(CHANNEL);
      channel.postMessage(notice);
      channel.close();
    }
    if (notifies() && document.hidden) {
      const text = notice.verdict ? `${notice.state}, ${notice.verdict}` : notice.state;
      const shown = new Notification(notice.title, { body: text, tag: notice.run });
      shown.onclick = () => {
        window.focus();
        location.hash = link(["runs", notice.run]);
      };
    }
  });
}

/** Listens in one tab of the browser only, because browsers open few connections to a server. */
function useFirstTab(user: number, call: (notice: RunNotice) => void): void {
  const [first, setFirst] = useState(!("locks" in navigator));
  useEffect(() => {
    if (!("locks" in navigator)) return;
    let release = () => {};
    const aborted = new AbortController();
    navigator.locks
      .request(CHANNEL, { signal: aborted.signal }, () => {
        setFirst(true);
        return new Promise<void>((resolve) => {
          release = resolve;
        });
      })
      // Aborted when the user logs out in a tab that waits.
      .catch(() => undefined);
    return () => {
      aborted.abort();
      release();
    };
  }, []);
  useEvents((event) => {
    if (event !== null && event.owner === user && FINAL.includes(event.state)) call(noticeOf(event));
  }, first);
}

function noticeOf(event: RunEvent): RunNotice {
  const title = `Run ${event.number}: ${event.name}${event.label ? `, ${event.label}` : ""}`;
  return { run: event.run, title, state: event.state, verdict: event.verdict ?? "" };
}
