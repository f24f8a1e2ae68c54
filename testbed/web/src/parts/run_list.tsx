// The table of runs, sorted and filtered by the server, with actions on single and chosen runs.

import { type SortingState, useTable } from "@tanstack/react-table";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Entry, Total } from "../data/api.gen";
import { FINAL, message, type RunEvent, useEvents, useLoaded, usePlace, useValue } from "../data/state";
import { useUser } from "../data/user";
import { Notice, ScrollRegion } from "./basics";
import { RunActions } from "./run_actions";
import { CHOICES, columns, DEFAULT_COLUMNS, features, NUMBERS } from "./run_columns";
import { FILTERS, Filters, SavedViews } from "./run_filters";
import { RunNotes } from "./run_notes";
import { RunRows } from "./run_rows";
import "./cards.css";
import "./records.css";
import "./runs.css";

/** Number of runs of a page. */
const PAGE = 50;
const NONE: Entry[] = [];

/** The runs of a configuration (`of`) or of a launch (`batch`), or all runs visible to the user. */
export function RunList({ of, batch = "" }: { of?: string; batch?: string }) {
  // The address contains filters, order, columns and chosen runs, so that a link opens the same
  // list.
  const { values } = usePlace();
  const [sort, setSort] = useValue("sort", "-number");
  const [shown] = useValue("columns", DEFAULT_COLUMNS.join(","));
  const [picked, setPicked] = useValue("chosen");
  const [at, setAt] = useValue("page", "1");
  const [all, setAll] = useState(false);
  const [annotated, setAnnotated] = useState<Entry | null>(null);
  const [failure, setFailure] = useState("");
  const guest = useUser()?.level === "guest";
  const chosen = useMemo(() => picked.split(",").filter(Boolean), [picked]);
  const filter: Record<string, string> = {
    ...(batch && { batch }),
    ...(of && { configuration: of }),
    ...Object.fromEntries(FILTERS.flatMap((one) => (values.get(one) ? [[one, values.get(one)!]] : []))),
  };
  const filtered = FILTERS.some((one) => values.get(one));
  const wanted = new URLSearchParams(filter).toString();
  const conditions = useSettled(wanted);
  // A page is the first again after a change of the filters.
  const before = useRef(conditions);
  const page = before.current === conditions ? Math.max(1, Number(at) || 1) : 1;
  useEffect(() => {
    if (before.current !== conditions) {
      before.current = conditions;
      setAt("1");
      setAll(false);
    }
  }, [conditions, setAt]);
  const order = `sort=${sort.replace("-", "")}&descending=${sort.startsWith("-")}`;
  const loaded = useLoaded<Entry[]>(
    `/runs?${conditions}&${order}&limit=${PAGE}&offset=${(page - 1) * PAGE}`,
    {
      keep: true,
    },
  );
  // Rows of the previous filters cannot be chosen all at once.
  const busy = loaded.stale || wanted !== conditions;
  const counted = useLoaded<Total>(`/runs/total?${conditions}`, { keep: true });
  const reload = () => {
    loaded.reload();
    counted.reload();
  };
  const rows = useLive(loaded.value ?? NONE, reload);
  const total = counted.value?.total ?? rows.length;
  const sorting: SortingState = [{ id: sort.replace("-", ""), desc: sort.startsWith("-") }];
  const visibility = Object.fromEntries(CHOICES.map(([name]) => [name, shown.split(",").includes(name)]));
  const table = useTable({
    features,
    columns,
    data: rows,
    getRowId: (run) => run.id,
    manualSorting: true,
    enableSortingRemoval: false,
    state: {
      sorting,
      columnVisibility: visibility,
      rowSelection: Object.fromEntries(chosen.map((id) => [id, true])),
    },
    onSortingChange: (next) => {
      const first = (typeof next === "function" ? next(sorting) : next)[0];
      if (first) setSort(`${first.desc ? "-" : ""}${first.id}`);
    },
  });
  const choose = (ids: string[], wanted: boolean) => {
    setAll(false);
    const others = chosen.filter((one) => !ids.includes(one));
    setPicked((wanted ? [...others, ...ids] : others).join(","));
  };
  const perform = (work: Promise<unknown>) =>
    work.then(
      () => {
        setFailure("");
        reload();
      },
      (error: unknown) => setFailure(message(error)),
    );
  const ofPage = rows.map((one) => one.id);
  const everyOfPage = rows.length > 0 && ofPage.every((id) => chosen.includes(id));
  const first = (page - 1) * PAGE + 1;
  return (
    <>
      {!of && !batch && <SavedViews />}
      <Notice text={failure || loaded.error} />
      <Filters known={counted.value} />
      <RunActions
        chosen={chosen}
        matching={all ? filter : null}
        total={total}
        rows={rows}
        guest={guest}
        done={(removed) => {
          if (removed) setPicked("");
          if (removed) setAll(false);
          reload();
        }}
      />
      <p className="soft" role="status">
        {loaded.value &&
          counted.value &&
          (total === 0
            ? filtered
              ? "No matching runs."
              : "No runs yet. Open a configuration and launch it: its runs appear here."
            : `${total.toLocaleString("en")} ${total === 1 ? "run" : "runs"}`)}
        {everyOfPage && total > rows.length && !all && (
          <>
            {" "}
            <button type="button" className="plain" onClick={() => setAll(true)}>
              Choose all {total.toLocaleString("en")} matching runs
            </button>
          </>
        )}
      </p>
      {rows.length > 0 && (
        <ScrollRegion label="Runs">
          <table className="runs records" aria-busy={busy}>
            <thead>
              {table.getHeaderGroups().map((group) => (
                <tr key={group.id}>
                  <th className="choose">
                    <input
                      type="checkbox"
                      aria-label="Choose all runs of this page"
                      disabled={busy}
                      checked={everyOfPage}
                      onChange={(event) => choose(ofPage, event.target.checked)}
                    />
                  </th>
                  {group.headers.map((header) => {
                    const sorted = header.column.getIsSorted();
                    return (
                      <th
                        key={header.id}
                        className={
                          header.id === "number" ? "fixed" : NUMBERS.has(header.id) ? "number" : undefined
                        }
                        aria-sort={
                          sorted === "asc" ? "ascending" : sorted === "desc" ? "descending" : undefined
                        }
                      >
                        {header.column.getCanSort() ? (
                          <button
                            type="button"
                            className="sort"
                            onClick={header.column.getToggleSortingHandler()}
                          >
                            <table.FlexRender header={header} />
                            <span aria-hidden="true">
                              {sorted === "asc" ? "↑" : sorted === "desc" ? "↓" : ""}
                            </span>
                          </button>
                        ) : (
                          <table.FlexRender header={header} />
                        )}
                      </th>
                    );
                  })}
                  <th>
                    <span className="hidden">Actions</span>
                  </th>
                </tr>
              ))}
            </thead>
            <RunRows
              table={table}
              rows={table.getRowModel().rows}
              grouped={!batch && sort.endsWith("number")}
              all={all}
              choose={choose}
              perform={(work) => void perform(work)}
              annotate={setAnnotated}
            />
          </table>
        </ScrollRegion>
      )}
      {total > PAGE && (
        <nav className="row pages" aria-label="Pages of the list">
          <button type="button" disabled={page <= 1} onClick={() => setAt(String(page - 1))}>
            Previous
          </button>
          <span>
            {first.toLocaleString("en")} to {(first + rows.length - 1).toLocaleString("en")} of{" "}
            {total.toLocaleString("en")}
          </span>
          <button type="button" disabled={page * PAGE >= total} onClick={() => setAt(String(page + 1))}>
            Next
          </button>
        </nav>
      )}
      {annotated && <RunNotes run={annotated} onClose={() => setAnnotated(null)} saved={reload} />}
    </>
  );
}

/** The value that has not changed for a fifth of a second, so that typing sends few requests. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 200);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** The rows with the states and progress of later events. `reload` is called after the end of a
 * run, and for events of other runs, at most once per second. */
function useLive(rows: Entry[], reload: () => void): Entry[] {
  const [events, setEvents] = useState<Record<string, RunEvent>>({});
  const latest = useRef(reload);
  latest.current = reload;
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies(rows): newer rows replace the events
  useEffect(() => setEvents({}), [rows]);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );
  useEvents((event) => {
    if (event !== null && rows.some((one) => one.id === event.run)) {
      setEvents((before) => ({ ...before, [event.run]: event }));
      if (!FINAL.includes(event.state)) return;
    }
    timer.current ??= setTimeout(() => {
      timer.current = null;
      latest.current();
    }, 300);
  });
  return useMemo(
    () =>
      rows.map((one) => {
        const event = events[one.id];
        if (!event) return one;
        const state = event.state as Entry["state"];
        return { ...one, state, progress: event.progress, reason: event.reason };
      }),
    [rows, events],
  );
}
