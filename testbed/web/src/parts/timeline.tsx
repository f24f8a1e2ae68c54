// The timeline of one or several runs: panels over one time axis with a linked cursor, rows of
// marks, zoom, and files of the visible range.

import { keepPreviousData, useQueries } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type uPlot from "uplot";
import type { Series, TimelineMark } from "../data/api.gen";
import { type Figure, savePng, svgOf } from "../data/figure";
import { save } from "../data/format";
import { significant } from "../data/numbers";
import { message, useValue } from "../data/state";
import {
  comparable,
  csvText,
  defaultPanels,
  divided,
  FREQUENT,
  MARK_KINDS,
  mainPanels,
  type PanelKind,
  panelOf,
  panelsOf,
  type TimelinePanel,
  titleOf,
  valuesText,
} from "../data/timeline";
import { Notice } from "./basics";
import { Choices } from "./choices";
import { dashOf, lineColour, markColour, useDark } from "./colours";
import { Lanes, type RunMark } from "./lanes";
import { AXIS_PX, RIGHT_PX, StackedPlot } from "./stacked_plot";
import { TimeRangeForm, useTimeRange } from "./time";
import "./timeline.css";

export interface TimelineRun {
  id: string;
  /** Name in legends of several runs, such as "#12"; empty for a single run. */
  name: string;
  /** Full name, for the legend of the runs. */
  title: string;
}

/** Delay after a change of the time range before data is loaded, in milliseconds. */
const DEBOUNCE_MS = 150;
/** Number of steps of the cursor's slider. */
const STEPS = 1000;

/** A list of names in the address, separated by commas. */
function useNames(name: string): [string[], (names: string[]) => void] {
  const [given, set] = useValue(name);
  const names = useMemo(() => given.split(",").filter(Boolean), [given]);
  return [names, useCallback((next: string[]) => set(next.join(",")), [set])];
}

export function Timeline({
  runs,
  quantities,
  title,
  compact = false,
}: {
  runs: TimelineRun[];
  quantities: string[];
  title: string;
  /** True for a summary, which has the main panels and no tools. */
  compact?: boolean;
}) {
  const known = useMemo(() => panelsOf(quantities), [quantities]);
  const several = runs.length > 1;
  const grid = compact || several;
  const [given, setGiven] = useValue("show");
  const wanted = given.split(",");
  const standard = defaultPanels(known);
  const kinds =
    compact || (several && !given)
      ? mainPanels(known)
      : known.filter((one) => (given ? wanted : standard).includes(one.name));
  const [only, setOnly] = useNames("only");
  const [logs, setLogs] = useNames("log");
  const [hidden, setHidden] = useNames("hide");
  const [part, choose] = useTimeRange();
  const { series, marks, failure, loading } = useSeries(runs, kinds, part);
  const names = namesOf(series);
  const all = kinds.flatMap((kind) => {
    const loaded = runs.map(({ name }, place) => ({ name, series: series[place] ?? {} }));
    const panel = panelOf(kind, loaded, names, only);
    return logs.includes(kind.name) ? [panel] : divided(panel, several);
  });
  const panels = several && only.length === 0 ? comparable(all) : all;
  const whole = useWhole(panels, part);
  const range = part ?? whole;
  const bounded = useCallback(
    (next: [number, number] | undefined) => {
      if (!next) return choose(undefined);
      const [from, to] = [Math.max(0, next[0]), Math.min(Math.max(whole[1], next[0]), next[1])];
      if (to - from < 1e-6) return;
      choose(from <= 0 && to >= whole[1] ? undefined : [from, to]);
    },
    [choose, whole],
  );
  const plots = useRef(new Map<string, uPlot>());
  const register = useCallback((name: string, plot: uPlot | null) => {
    if (plot) plots.current.set(name, plot);
    else plots.current.delete(name);
  }, []);
  const point = useCallback((at: number) => {
    for (const plot of plots.current.values())
      plot.setCursor({ left: plot.valToPos(at, "x"), top: plot.over.clientHeight / 2 });
  }, []);
  const visible = marks.filter((one) => !hidden.includes(one.kind));
  const filled = panels.filter((one) => one.lines.length > 0);
  const omitted = panels.reduce((most, one) => Math.max(most, one.omitted), 0);
  const figure = (): Figure => figureOf(title, filled, range, logs, visible);
  const file = title.replace(/[^\w-]+/g, "-");
  return (
    <section className="timeline" aria-label="Timeline" aria-busy={loading}>
      {!compact && (
        <>
          <div className="timeline-tools">
            <TimeRangeForm />
            <Zoom range={range} zoom={bounded} all={part === undefined} />
            <span className="grow" />
            <div className="row">
              <button
                type="button"
                aria-label="PNG of the visible range"
                disabled={filled.length === 0}
                onClick={() => void savePng(`${file}.png`, svgOf(figure()))}
              >
                PNG
              </button>
              <button
                type="button"
                aria-label="SVG of the visible range"
                disabled={filled.length === 0}
                onClick={() => save(`${file}.svg`, svgOf(figure()))}
              >
                SVG
              </button>
              <button
                type="button"
                aria-label="CSV of the visible range"
                disabled={filled.length === 0}
                onClick={() => save(`${file}.csv`, csvText(filled, range))}
              >
                CSV
              </button>
            </div>
          </div>
          <div className="timeline-choices">
            <Choices
              title="Panels"
              legend="Panels to show"
              names={known.map((one) => one.name)}
              chosen={kinds.map((one) => one.name)}
              choose={(next) => setGiven(next.join(",") || "none")}
            />
            {names.length > 1 && (
              <Choices
                title="Lines"
                legend="Flows, links and terminals to show"
                names={names}
                chosen={only}
                choose={setOnly}
              />
            )}
            <Choices
              title="Logarithmic axes"
              legend="Panels with a logarithmic axis"
              names={kinds.map((one) => one.name)}
              chosen={logs}
              choose={setLogs}
            />
          </div>
        </>
      )}
      {several && <RunLegend runs={runs} />}
      <Notice text={failure} kind="plain" />
      {!compact && !several && (
        <Lanes marks={marks} range={range} hidden={hidden} hide={setHidden} point={point} />
      )}
      <div className={grid ? "panel-grid" : undefined}>
        {filled.map((panel, place) => (
          <StackedPlot
            key={titleOf(panel)}
            panel={panel}
            range={range}
            log={logs.includes(panel.name)}
            marks={visible}
            choose={bounded}
            group={title}
            last={grid || place === filled.length - 1}
            register={register}
          />
        ))}
      </div>
      {!compact && filled.length > 0 && <Cursor panels={filled} range={range} point={point} />}
      {filled.length === 0 && !loading && <p className="soft">Choose panels to show.</p>}
      {!compact && (
        <p className="soft small">
          {filled.some((one) => one.thinned) &&
            "The lines show the extremes of each interval; a shorter time range shows every sample. "}
          {omitted > 0 && `Panels show the lines with the greatest values; "Lines" chooses others. `}
          Drag over a panel to zoom, double-click for all times, or turn the wheel with Ctrl.
        </p>
      )}
    </section>
  );
}

/** The colours of the runs, with their full names. */
function RunLegend({ runs }: { runs: TimelineRun[] }) {
  const dark = useDark();
  return (
    <ul className="timeline-runs" aria-label="Runs">
      {runs.map(({ id, name, title }, place) => (
        <li key={id}>
          <span style={{ borderColor: lineColour(place, dark) }} />
          {name} {title}
        </li>
      ))}
    </ul>
  );
}

/** Loads the series of each run by quantity, and the marks, of a time range. The previous values
 * stay visible until the new ones arrive. */
function useSeries(runs: TimelineRun[], kinds: PanelKind[], part: [number, number] | undefined) {
  const [within, setWithin] = useState(part ? `?from=${part[0]}&to=${part[1]}` : "");
  const next = part ? `?from=${part[0]}&to=${part[1]}` : "";
  useEffect(() => {
    const timer = setTimeout(() => setWithin(next), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [next]);
  const quantities = [...new Set(kinds.flatMap(({ shown }) => shown.map((one) => one.quantity)))];
  const paths = runs.flatMap(({ id }) =>
    quantities.map((quantity) => `/runs/${id}/series/${quantity}${within}`),
  );
  // The data of a run that has ended does not change.
  const options = { staleTime: Number.POSITIVE_INFINITY, placeholderData: keepPreviousData };
  const loaded = useQueries({ queries: paths.map((path) => ({ queryKey: [path], ...options })) });
  const marked = useQueries({
    queries: runs.map(({ id }) => ({ queryKey: [`/runs/${id}/marks${within}`], ...options })),
  });
  const series = runs.map((_, run) =>
    Object.fromEntries(
      quantities.map((quantity, place) => [
        quantity,
        loaded[run * quantities.length + place]?.data as Series | undefined,
      ]),
    ),
  );
  const marks: RunMark[] = runs.flatMap(({ name }, place) =>
    ((marked[place]?.data ?? []) as TimelineMark[]).map((one) => ({
      ...one,
      run: runs.length > 1 ? name : "",
    })),
  );
  const error = [...loaded, ...marked].find((one) => one.error)?.error;
  return {
    series,
    marks,
    failure: error ? message(error) : "",
    loading: loaded.some((one) => one.isPending),
  };
}

/** The names of all flows, links and terminals of the series, in order of appearance. */
function namesOf(series: Record<string, Series | undefined>[]): string[] {
  const names = series.flatMap((of) =>
    Object.values(of).flatMap((one) => one?.lines.map((line) => line.name) ?? []),
  );
  return [...new Set(names)];
}

/** The time range of the whole runs. While a part is visible, it is the last known range. */
function useWhole(panels: TimelinePanel[], part: [number, number] | undefined): [number, number] {
  const known = useRef<[number, number]>([0, 1]);
  const end = Math.max(0, ...panels.flatMap(({ lines }) => lines.map((line) => line.time.at(-1) ?? 0)));
  const to = part ? Math.max(known.current[1], end, part[1]) : end || known.current[1];
  if (known.current[1] !== to) known.current = [0, to];
  return known.current;
}

function Zoom({
  range: [from, to],
  zoom,
  all,
}: {
  range: [number, number];
  zoom: (range: [number, number]) => void;
  all: boolean;
}) {
  const [middle, half] = [(from + to) / 2, (to - from) / 2];
  const buttons: [string, string, [number, number], boolean][] = [
    ["◀", "Earlier", from > half ? [from - half, to - half] : [0, 2 * half], all],
    ["−", "Zoom out", [middle - 2 * half, middle + 2 * half], all],
    ["+", "Zoom in", [middle - half / 2, middle + half / 2], false],
    ["▶", "Later", [from + half, to + half], all],
  ];
  return (
    <div className="row zoom">
      {buttons.map(([sign, label, next, disabled]) => (
        <button
          key={label}
          type="button"
          aria-label={label}
          title={label}
          disabled={disabled}
          onClick={() => zoom(next)}
        >
          {sign}
        </button>
      ))}
    </div>
  );
}

/** A slider that moves the cursor of all panels, for the keyboard and for touch. Screen readers
 * hear the values at the cursor. */
function Cursor({
  panels,
  range: [from, to],
  point,
}: {
  panels: TimelinePanel[];
  range: [number, number];
  point: (at: number) => void;
}) {
  const [step, setStep] = useState(0);
  const at = from + ((to - from) * step) / STEPS;
  return (
    <div className="cursor-slider">
      <input
        type="range"
        aria-label="Cursor"
        min={0}
        max={STEPS}
        value={step}
        aria-valuetext={valuesText(panels, at)}
        style={{ marginLeft: AXIS_PX, marginRight: RIGHT_PX }}
        onFocus={() => point(at)}
        onChange={(event) => {
          const next = Number(event.target.value);
          setStep(next);
          point(from + ((to - from) * next) / STEPS);
        }}
      />
    </div>
  );
}

/** The figure of the visible range, for files. */
function figureOf(
  title: string,
  panels: TimelinePanel[],
  range: [number, number],
  logs: string[],
  marks: RunMark[],
): Figure {
  const label = Object.fromEntries(MARK_KINDS.map((one) => [one.kind, one.label]));
  return {
    title: `${title}, ${significant(range[0], 6)} to ${significant(range[1], 6)} s`,
    xTitle: "time (s)",
    x: range,
    panels: panels.map((panel) => ({
      title: titleOf(panel),
      log: logs.includes(panel.name),
      lines: panel.lines.map((line) => ({
        label: line.label || panel.name,
        colour: lineColour(line.colour),
        dash: dashOf(line.dash),
        x: line.time,
        y: line.value,
      })),
    })),
    marks: marks
      .filter((one) => !FREQUENT.includes(one.kind))
      .map((one) => ({ ...one, label: `${label[one.kind]}: ${one.label}`, colour: markColour(one.kind) })),
  };
}
