"""``report.html``: runs on one self-contained page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe._native import ScenarioError
from bentpipe.quantities import listed, number, span_text
from bentpipe.results.predictions import predict_run
from bentpipe.scenario.variation import labels_of

from . import counted, measured
from .templates import template

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.results.flows import FlowResult
    from bentpipe.results.runs import Run
    from bentpipe.scenario.variation import Variation

#: Maximum number of runs for small panels per run. The bars show more runs.
MAX_PANELS = 12


@dataclass(frozen=True)
class _Column:
    """A column of the table of flows: its heading, and the value of a flow as text. ``soft`` marks
    predictions."""

    heading: str
    unit: str
    text: Callable[[FlowResult], str]
    soft: bool = False


def _of(key: str, factor: float = 1.0) -> Callable[[FlowResult], str]:
    return lambda flow: _scaled(getattr(flow, key), factor)


#: The columns of the table of flows. A table omits columns that are unknown for all of its flows.
_COLUMNS: Final = (
    _Column("goodput", "kbit/s", _of("goodput", 1e-3)),
    _Column("predicted", "kbit/s", _of("predicted_goodput", 1e-3), soft=True),
    _Column("loss", "%", _of("loss", 100)),
    _Column("transfer", "s", _of("transfer")),
    _Column("predicted", "s", _of("predicted_transfer"), soft=True),
    _Column("transaction", "mean, ms", _of("transaction_mean", 1e3)),
    _Column("p95", "ms", _of("transaction_p95", 1e3)),
    _Column("started", "", _of("started")),
    _Column("finished", "", _of("finished")),
    _Column("unfinished", "", _of("unfinished")),
    _Column("MOS", "", _of("voice_mos")),
    _Column("lost or late", "%", _of("voice_loss")),
    _Column("mouth to ear", "ms", _of("voice_delay", 1e3)),
    _Column("start-up", "s", _of("video_startup")),
    _Column("stalls", "", _of("video_stalls")),
    _Column("stalled", "s", _of("video_stalled")),
    _Column("bit rate", "kbit/s", _of("video_bitrate", 1e-3)),
    _Column("RTT mean", "ms", _of("rtt_mean", 1e3)),
    _Column("RTT p95", "ms", _of("rtt_p95", 1e3)),
    _Column("predicted", "ms", _of("predicted_rtt", 1e3), soft=True),
    _Column("efficiency", "%", _of("efficiency", 100)),
    _Column("time-outs", "", _of("timeouts")),
    _Column("retransmissions", "", _of("retransmissions")),
)


@dataclass(frozen=True)
class _Flows:
    """A table of flows: its columns, and its rows of run, flow, ends and the texts of the
    columns."""

    columns: list[_Column]
    rows: list[tuple[str, str, str, list[str]]]


def _flow_table(results: Iterable[tuple[str, Iterable[FlowResult]]]) -> _Flows:
    flows = [(name, flow) for name, found in results for flow in found]
    columns = [column for column in _COLUMNS if any(column.text(flow) != "-" for _, flow in flows)]
    return _Flows(
        columns,
        [
            (name, flow.flow, f"{flow.source} → {flow.destination}", [one.text(flow) for one in columns])
            for name, flow in flows
        ],
    )


@dataclass(frozen=True)
class _Picture:
    caption: str
    svg: str


def write_report(
    runs: Sequence[Run], path: str | Path, variations: Sequence[Variation] = (), *, script: bool = True
) -> Path:
    """Writes the page about ``runs`` and returns its path. ``variations`` label the runs; the
    default labels are the names of their folders. ``script`` adds a script that enlarges parts of
    figures; without it, the page contains no code. Raises :class:`bentpipe.InputError` if a run
    cannot be read."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(runs, variations, script=script), encoding="utf-8")
    return path


def page(runs: Sequence[Run], variations: Sequence[Variation] = (), *, script: bool = True) -> str:
    """Returns the page as HTML."""
    from bentpipe.results.fidelity import fidelity_text
    from bentpipe.results.flows import flow_results, planned_results
    from bentpipe.results.groups import by_group
    from bentpipe.results.predictions import outages
    from bentpipe.results.programs import program_results

    named = _named(runs, variations)
    results = {
        name: flow_results(run) if run.has_flows else planned_results(run) for name, run in named.items()
    }
    first = runs[0]
    return template("page.html.j2").render(
        title=first.name if len({run.name for run in runs}) == 1 else "Comparison of runs",
        description=first.scenario.get("description", "") if len(runs) == 1 else "",
        several=len(runs) > 1,
        flows=_flow_table(results.items()),
        single=_flow_table((name, by_group(flows)[1]) for name, flows in results.items()),
        tables=_tables(results),
        measured=[(name, found) for name, run in named.items() if (found := measured.tables(run))],
        counted=[(name, tables) for name, run in named.items() if (tables := counted.tables(run))],
        worst=_worst(results),
        notes=_notes(named),
        outages=[(name, str(outage)) for name, run in named.items() for outage in outages(run)],
        legs=any(flow.leg is not None for flows in results.values() for flow in flows),
        failures=_failures(results),
        programs=[(name, program_results(run)) for name, run in named.items()],
        zoom=(resources.files("bentpipe.report") / "zoom.js").read_text(encoding="utf-8") if script else "",
        pictures=[
            _Picture(caption, _svg(figure, index))
            for index, (caption, figure) in enumerate(_figures(named, results))
        ],
        provenance=[(name, _provenance(run)) for name, run in named.items()],
        fidelity=[
            (name, run.fidelity["verdict"], fidelity_text(run)) for name, run in named.items() if run.fidelity
        ],
        incomplete=[
            (name, run.provenance.get("reason") or "killed, or still running", run.unfinished)
            for name, run in named.items()
            if not run.complete
        ],
        scenarios=[
            (name, (run.path / "scenario.toml").read_text(encoding="utf-8")) for name, run in named.items()
        ],
        path=str(first.path),
        shell=shlex.quote,
        change=_change(first),
        reads=_reads(first),
    )


def _named(runs: Sequence[Run], variations: Sequence[Variation]) -> dict[str, Run]:
    if variations and all(variation.values for variation in variations):
        names = [" ".join(labels.values()) for labels in labels_of(variations)]
    else:
        names = [run.path.resolve().name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run.path) for run in runs]
    return dict(zip(names, runs, strict=False))


def _figures(
    runs: Mapping[str, Run], results: Mapping[str, Sequence[FlowResult]]
) -> list[tuple[str, Figure]]:
    from bentpipe import plots
    from bentpipe.errors import InputError
    from bentpipe.results.groups import by_group, classes_beside

    if len(runs) == 1:
        (run,) = runs.values()
        figures = []
        (flows,) = results.values()
        if by_group(flows)[0]:
            caption = (
                "Distributions over the flows of each group. Those of transactions and datagrams are over "
                "all transactions and datagrams of the group."
            )
            with suppress(InputError):
                figures.append((caption, plots.cdf(run)))
            if classes_beside(flows):
                with suppress(InputError):
                    figures.append(
                        ("Distribution over the flows of each traffic class.", plots.cdf(run, by="class"))
                    )
        figures += _of_constellation(run)
        if run.clock == "measured":
            caption = (
                "Delays of probes and of the datagrams of loads. One-way delays of probes are intervals, "
                "because two clocks cannot divide a round-trip time exactly. Loads with a longer delay than "
                "the probes have their own queue."
            )
            with suppress(InputError):
                figures.append((caption, plots.delays(run)))
        # Nothing was recorded or nothing happened, so this figure is omitted.
        with suppress(InputError):
            caption = (
                "All recorded quantities. Dashed lines: predicted. Throughput counts data delivered in "
                "order: after a retransmission, the data behind the gap is delivered at once, so the "
                "throughput can exceed the rate of the link."
            )
            figures.append((caption + _about_quantiles(results), plots.overview(run)))
        return figures
    about = _about_quantiles(results)
    summarised = (
        "Each run is shown by the medians over its flows."
        if sum(map(len, results.values())) > plots.MAX_ROWS
        else ""
    )
    figures = [(f"Flows of all runs. Diamonds: predicted values.{summarised}", plots.comparison(results))]
    traced = {name: run for name, run in runs.items() if run.traces}
    if 0 < len(traced) <= MAX_PANELS:
        if any(run.has_trace("delivery") or run.has_trace("datagram") for run in traced.values()):
            figures.append(
                (f"Throughput. Dashed lines: predicted.{about}", plots.side_by_side(traced, "throughput"))
            )
        if any(run.has_trace(what) for run in traced.values() for what in ("rtt", "round_trip")):
            caption = "Round-trip time. Dashed line: predicted mean. Shaded area: predicted range." + about
            figures.append((caption, plots.side_by_side(traced, "rtt")))
        if any(run.has_trace("dama") for run in traced.values()):
            figures.append(("Efficiency of the return link.", plots.efficiency(traced)))
    return figures


def _of_constellation(run: Run) -> list[tuple[str, Figure]]:
    """Returns the maps and the figures over time of a run's constellations."""
    from bentpipe import plots
    from bentpipe.errors import InputError
    from bentpipe.scenario.constellations import constellation

    figures: list[tuple[str, Figure]] = []
    for name, network in run.scenario.get("network", {}).items():
        if network["kind"] == "constellation":
            # A scenario of an older version may no longer be valid.
            with suppress(InputError, ScenarioError):
                course = plots.constellation_course(run, network=name)
                shown = plots.constellation_map(constellation(run.scenario, [0.0], network=name))
                figures.append((f"{name} at the start, with the paths of the flows.", shown))
                about = "Paths, computed at 240 times, and round-trip times as measured by the flows."
                figures.append((about, course))
    return figures


def _about_quantiles(results: Mapping[str, Sequence[FlowResult]]) -> str:
    from bentpipe import plots

    if max(map(len, results.values()), default=0) <= plots.MAX_LINES:
        return ""
    return (
        f" A panel of more than {plots.MAX_LINES} flows, terminals or links shows their median and the "
        "range from the 10th to the 90th percentile; the lighter range contains all of them. Predictions "
        "are then also medians."
    )


def _svg(figure: Figure, index: int) -> str:
    from bentpipe.plots import to_svg

    return to_svg(figure, f"figure{index}")


def _scaled(value: float | None, factor: float) -> str:
    return number(None if value is None else value * factor)


def _change(run: Run) -> str:
    """Returns an example of a change to a run: the congestion control of its first TCP flow, or the
    seed."""
    for flow in run.scenario.get("flow", []):
        congestion = flow["transport"].get("congestion")
        if congestion is not None:
            return f"flow.{flow['name']}.transport.congestion={'vegas' if congestion != 'vegas' else 'reno'}"
    return f"seed={run.provenance.get('seed', 1) + 1}"


def _reads(run: Run) -> str:
    """Returns an example of Python that reads a run: one of its traces, or its flows."""
    trace = "cwnd" if run.has_trace("cwnd") else next(iter(run.traces), None)
    return "run.flows" if trace is None else f'run.trace("{trace}")'


def _notes(runs: Mapping[str, Run]) -> list[str]:
    """Returns the distinct notes on the predictions, each with its flows and groups."""
    flows: dict[str, dict[str, None]] = {}
    for run in runs.values():
        for prediction in predict_run(run).values():
            if prediction.note:
                flows.setdefault(prediction.note, {})[prediction.group or prediction.flow] = None
    return [f"{listed(list(names))}: {note}" for note, names in flows.items()]


def _failures(results: Mapping[str, Sequence[FlowResult]]) -> list[str]:
    """Returns the distinct reasons of failed connections, each with its flows."""
    flows: dict[str, list[str]] = {}
    for found in results.values():
        for flow in found:
            if flow.failure is not None:
                flows.setdefault(flow.failure, []).append(flow.flow)
    return [f"{listed(names)}: {reason}" for reason, names in flows.items()]


def _tables(results: Mapping[str, Sequence[FlowResult]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Returns the non-empty tables of groups and of traffic classes. Classes of one flow each are
    omitted, since the table of flows has the same values."""
    from bentpipe.results.groups import by_class, by_group

    groups = {name: by_group(flows)[0] for name, flows in results.items()}
    classes = {name: by_class(flows) for name, flows in results.items()}
    if all(len(flows) == 1 for found in classes.values() for flows in found.values()):
        classes = {}
    tables = [("group", _summaries(groups)), ("traffic class", _summaries(classes))]
    return [(heading, rows) for heading, rows in tables if rows]


def _worst(results: Mapping[str, Sequence[FlowResult]]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Returns the nodes with the worst goodput in each run with groups, as text."""
    from bentpipe.results.groups import by_group, worst_ends

    ends = {name: worst_ends(flows) for name, flows in results.items() if by_group(flows)[0]}
    return [
        (name, [(end, f"{100 * share:.0f} %") for end, share in worst])
        for name, worst in ends.items()
        if worst
    ]


def _summaries(found: Mapping[str, Mapping[str, Sequence[FlowResult]]]) -> list[dict[str, Any]]:
    """Returns the groups of each run, a row per quantity, with numbers as text."""
    from bentpipe.results.groups import summarise

    summaries = [
        (run, summarise(name, flows)) for run, groups in found.items() for name, flows in groups.items()
    ]
    return [
        {
            "run": run,
            "name": group.name,
            "flows": group.flows,
            "tasks": group.tasks,
            "rows": [
                {
                    "about": one.about,
                    "count": one.count,
                    "numbers": [
                        number(value)
                        for value in (one.mean, one.p05, one.median, one.p95, one.best, one.worst)
                    ],
                    "best": one.best_flow,
                    "worst": one.worst_flow,
                }
                for one in group.statistics
            ],
        }
        for run, group in summaries
    ]


def _provenance(run: Run) -> list[tuple[str, str]]:
    known: dict[str, Any] = run.provenance
    host = known.get("host") or {}
    facts = {
        "bentpipe": " ".join(filter(None, [known.get("bentpipe"), known.get("commit")])),
        "instrument": known.get("instrument"),
        "seed, run": f"{known.get('seed')}, {known.get('run')}",
        "status": known.get("status"),
        "simulated time": span_text(known.get("simulated_seconds")),
        "wall-clock time": span_text(known.get("wall_seconds")),
        "events": known.get("events"),
        "started": known.get("started"),
        "command": " ".join(known.get("command") or []),
        "machine": ", ".join(
            filter(None, [host.get("system"), host.get("kernel"), host.get("architecture")])
        ),
        "folder": str(run.path),
    }
    return [(name, str(value)) for name, value in facts.items() if value not in (None, "", "-")]
