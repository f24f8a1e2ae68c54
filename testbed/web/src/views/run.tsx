// A run: live plots while it is in progress, then its report, plots, files and scenario.

import { useEffect, useMemo, useState } from "react";
import { useActions } from "../data/actions";
import { api } from "../data/api";
import type { Changed, Entry, File, Results, Scenario } from "../data/api.gen";
import { rounded, when } from "../data/format";
import { FINAL, go, link, message, useEvents, useLoaded, usePlace } from "../data/state";
import { quantitiesOf } from "../data/timeline";
import { Notice, ScrollRegion, Title } from "../parts/basics";
import { ManualChanges } from "../parts/controls";
import { Discussion } from "../parts/discussion";
import { Live } from "../parts/live";
import { Marks } from "../parts/marks";
import { NotFound } from "../parts/not_found";
import { Replay } from "../parts/replay";
import { RunReport } from "../parts/run_report";
import { State } from "../parts/run_state";
import { Timeline } from "../parts/timeline";

const TABS = ["report", "timeline", "picture", "files", "scenario", "notes"] as const;

export function RunView({ id }: { id: string }) {
  const loaded = useLoaded<Scenario>(`/runs/${id}`);
  const { failure, success, perform } = useActions(loaded.reload);
  const { path } = usePlace();
  const tab = path[2] ?? "report";
  const known = TABS.some((one) => one === tab);
  useEvents((event) => {
    if (event === null || event.run === id) loaded.reload();
  });
  const [last, setLast] = useState<Scenario>();
  useEffect(() => {
    if (loaded.value) setLast(loaded.value);
  }, [loaded.value]);
  const run = loaded.value ?? last;
  // If a reload fails, for example without connection, the last known state stays visible.
  if (loaded.error && !run) {
    return (
      <>
        <Title>Run</Title>
        <Notice text={loaded.error} />
      </>
    );
  }
  if (!run) return <p aria-busy="true">Loading…</p>;
  if (!known) return <NotFound reason={`A run has no page "${tab}"; it has ${TABS.join(", ")}.`} />;
  const ended = FINAL.includes(run.state);
  return (
    <>
      <div className="heading">
        <Title part={ended ? tab : run.state}>
          Run {run.number}: {run.name}
        </Title>
        {run.baseline && <span className="badge">baseline</span>}
        <Marks run={run} />
        <span className="grow" />
        {run.mine && !ended && (
          <button type="button" onClick={() => void perform(api.post(`/runs/${id}/cancel`))}>
            Cancel
          </button>
        )}
        {run.mine && run.state === "done" && (
          <>
            <button
              type="button"
              onClick={() => void perform(api.patch(`/runs/${id}`, { baseline: !run.baseline }))}
            >
              {run.baseline ? "Unpin baseline" : "Pin as baseline"}
            </button>
            <button
              type="button"
              onClick={() =>
                void perform(
                  api.patch(`/runs/${id}`, { shared: !run.shared }),
                  run.shared
                    ? "No longer shared: only you and administrators can open this run."
                    : "Shared: everyone with an account on this test bed can open this run by the address of this page.",
                )
              }
            >
              {run.shared ? "Stop sharing" : "Share"}
            </button>
            <a className="button" href={link(["compare"], { run: id })}>
              Compare
            </a>
          </>
        )}
      </div>
      <Notice text={failure} />
      <Notice text={success} kind="good" />
      <p role="status">
        {run.label && <>{run.label}. </>}
        {run.instrument} by {run.owner}, launched {when(run.queued)}:{" "}
        {run.state === "queued" ? (
          <State run={run as Entry} />
        ) : (
          <span className={`state ${run.state}`}>{ended ? run.state : "running"}</span>
        )}
        {run.reason && <> – {run.reason}</>}
        {run.configuration && (
          <>
            {". "}
            <a href={link(["configuration", run.configuration, "system"])}>Configuration of this run</a>
          </>
        )}
      </p>
      {!ended && <Live run={run} />}
      {run.batch && (
        <p>
          Part of a launch of several runs: <a href={link(["runs"], { batch: run.batch })}>all runs</a>,{" "}
          <a href={link(["runs"], { batch: run.batch, part: "means" })}>means</a>
        </p>
      )}
      {ended && (
        <>
          <nav className="tabs" aria-label="Results">
            {TABS.filter(
              (one) => run.instrument !== "study" || ["report", "files", "notes"].includes(one),
            ).map((one) => (
              <a key={one} href={link(["runs", id, one])} aria-current={tab === one ? "page" : undefined}>
                {one}
              </a>
            ))}
          </nav>
          {tab === "report" && <RunReport run={run} />}
          {tab === "timeline" && <TimelineTab run={run} />}
          {tab === "picture" && <PictureTab run={run} />}
          {tab === "files" && <Files id={id} />}
          {tab === "scenario" && <ScenarioTab run={run} />}
          {tab === "notes" && <Discussion run={run} changed={loaded.reload} />}
        </>
      )}
    </>
  );
}

function TimelineTab({ run }: { run: Entry }) {
  const { value, error } = useLoaded<Results>(`/runs/${run.id}/results`);
  const quantities = useMemo(() => quantitiesOf(value), [value]);
  if (error) return <Notice text={error} />;
  if (!value) return <p aria-busy="true">Loading…</p>;
  return (
    <>
      <Marks run={run} />
      <Timeline
        runs={[{ id: run.id, name: "", title: run.name }]}
        quantities={quantities}
        title={`${run.name} ${run.number}`}
      />
    </>
  );
}

function PictureTab({ run }: { run: Scenario }) {
  const { value, error } = useLoaded<Results>(`/runs/${run.id}/results`);
  const quantities = useMemo(() => quantitiesOf(value), [value]);
  if (error) return <Notice text={error} />;
  if (!value) return <p aria-busy="true">Loading…</p>;
  return <Replay run={run} quantities={quantities} />;
}

/** The resolved scenario of the run, and a button that opens it as a configuration with the manual
 * changes at their times. */
function ScenarioTab({ run }: { run: Scenario }) {
  const { value } = useLoaded<Changed[]>(`/runs/${run.id}/changes`);
  const [failure, setFailure] = useState("");
  const open = async () => {
    try {
      const { id } = await api.post<{ id: string }>(`/runs/${run.id}/configuration`, {
        name: `${run.name} (run ${run.number})`,
      });
      go(["configuration", id]);
    } catch (error) {
      setFailure(message(error));
    }
  };
  return (
    <>
      <Notice text={failure} />
      <p>
        <button type="button" onClick={() => void open()}>
          Open as a configuration
        </button>{" "}
        <span className="soft">
          The configuration includes all manual changes, so a launch repeats this run.
        </span>
      </p>
      <ManualChanges changes={value ?? []} />
      <ScrollRegion label="Resolved scenario">
        <pre>{run.scenario}</pre>
      </ScrollRegion>
    </>
  );
}

function Files({ id }: { id: string }) {
  const { value, error } = useLoaded<File[]>(`/runs/${id}/files`);
  return (
    <>
      <Notice text={error} />
      <p className="soft">
        All files of the run. Traces and tables are Parquet files; recorded packets are pcapng files for
        Wireshark.
      </p>
      <ul>
        {value?.map((one) => (
          <li key={one.path}>
            <a href={`/api/runs/${id}/files/${one.path}`} download>
              {one.path}
            </a>{" "}
            <span className="soft">{rounded(one.bytes / 1000)} kB</span>
          </li>
        ))}
      </ul>
    </>
  );
}
