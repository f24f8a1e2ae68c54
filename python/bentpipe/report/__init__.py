"""``report.html``: runs on one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.prediction import predict_run
from bentpipe.quantities import number, span_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.results import FlowResult
    from bentpipe.runs import Run
    from bentpipe.variation import Variation

#: With more runs than this the report omits the small panels per run; the bars show more.
MOST_PANELS = 12


@dataclass(frozen=True)
class _Picture:
    caption: str
    svg: str


def write_report(runs: Sequence[Run], path: str | Path, variations: Sequence[Variation] = ()) -> Path:
    """Write the page about ``runs`` and return its path. ``variations`` label the runs; without them, the names of
    their folders do. Raises :class:`bentpipe.InputError` if a run cannot be read."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(runs, variations), encoding="utf-8")
    return path


def page(runs: Sequence[Run], variations: Sequence[Variation] = ()) -> str:
    """Returns the page as HTML."""
    import jinja2

    from bentpipe.fidelity import fidelity_text
    from bentpipe.results import MOST_FLOWS, flow_results

    named = _named(runs, variations)
    results = {name: flow_results(run) for name, run in named.items()}
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bentpipe.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    first = runs[0]
    return environment.get_template("page.html.j2").render(
        title=first.name if len({run.name for run in runs}) == 1 else "Comparison of runs",
        description=first.scenario.get("description", "") if len(runs) == 1 else "",
        several=len(runs) > 1,
        rows=[_row(name, flow) for name, flows in results.items() for flow in flows],
        summaries=[
            (name, len(flows), _summary(flows)) for name, flows in results.items() if len(flows) > MOST_FLOWS
        ],
        notes=_notes(named),
        pictures=[
            _Picture(caption, _svg(figure, index))
            for index, (caption, figure) in enumerate(_figures(named, results))
        ],
        provenance=[(name, _provenance(run)) for name, run in named.items()],
        fidelity=[
            (name, run.fidelity["verdict"], fidelity_text(run)) for name, run in named.items() if run.fidelity
        ],
        incomplete=[
            (name, run.provenance.get("reason") or "killed")
            for name, run in named.items()
            if not run.complete
        ],
        scenarios=[
            (name, (run.path / "scenario.toml").read_text(encoding="utf-8")) for name, run in named.items()
        ],
        paths={name: str(run.path) for name, run in named.items()},
        change=_change(first),
    )


def _named(runs: Sequence[Run], variations: Sequence[Variation]) -> dict[str, Run]:
    if variations and all(variation.values for variation in variations):
        names = [variation.label for variation in variations]
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

    if len(runs) == 1:
        (run,) = runs.values()
        try:
            caption = "Everything that was recorded. Dashed: predicted."
            return [(caption + _about_quantiles(results), plots.overview(run))]
        except InputError:
            # Nothing was recorded, or nothing happened.
            return []
    about = _about_quantiles(results)
    summarised = (
        " Of each run, the medians over its flows."
        if sum(map(len, results.values())) > plots.MOST_ROWS
        else ""
    )
    figures = [(f"Flows of all runs. Diamonds: predicted.{summarised}", plots.comparison(results))]
    traced = {name: run for name, run in runs.items() if run.traces}
    if 0 < len(traced) <= MOST_PANELS:
        if any(run.has_trace("delivery") or run.has_trace("datagram") for run in traced.values()):
            figures.append(
                (f"Throughput. Dashed: predicted.{about}", plots.side_by_side(traced, "throughput"))
            )
        if any(run.has_trace("rtt") for run in traced.values()):
            caption = (
                "Round-trip time. Dashed: predicted mean; shaded: from the least to the greatest predicted."
                + about
            )
            figures.append((caption, plots.side_by_side(traced, "rtt")))
        if any(run.has_trace("dama") for run in traced.values()):
            figures.append(("Efficiency of the return link.", plots.efficiency(traced)))
    return figures


def _about_quantiles(results: Mapping[str, Sequence[FlowResult]]) -> str:
    from bentpipe import plots

    if max(map(len, results.values()), default=0) <= plots.MOST_LINES:
        return ""
    return (
        f" A panel of more than {plots.MOST_LINES} flows, terminals or links shows their median and the range from the "
        "10th to the 90th percentile; the lighter range holds all of them. Predictions are then medians, too."
    )


def _svg(figure: Figure, index: int) -> str:
    from bentpipe.plots import to_svg

    return to_svg(figure, f"figure{index}")


def _row(name: str, flow: FlowResult) -> dict[str, str]:
    return {
        "run": name,
        "flow": flow.flow,
        "ends": f"{flow.source} → {flow.destination}",
        "goodput": _scaled(flow.goodput, 1e-3),
        "predicted_goodput": _scaled(flow.predicted_goodput, 1e-3),
        "rtt_mean": _scaled(flow.rtt_mean, 1e3),
        "rtt_p95": _scaled(flow.rtt_p95, 1e3),
        "predicted_rtt": _scaled(flow.predicted_rtt, 1e3),
        "efficiency": "-" if flow.efficiency is None else f"{100 * flow.efficiency:.0f} %",
        "timeouts": number(flow.timeouts),
        "retransmissions": number(flow.retransmissions),
        "failure": flow.failure or "",
    }


def _scaled(value: float | None, factor: float) -> str:
    return number(None if value is None else value * factor)


def _change(run: Run) -> str:
    """Returns an example of a change to a run: the congestion control of its first TCP flow, or the seed."""
    for flow in run.scenario.get("flow", []):
        congestion = flow["transport"].get("congestion")
        if congestion is not None:
            return f"flow.{flow['name']}.transport.congestion={'vegas' if congestion != 'vegas' else 'reno'}"
    return f"seed={run.provenance.get('seed', 1) + 1}"


def _notes(runs: Mapping[str, Run]) -> list[str]:
    """Returns the notes on the predictions, each once, with its flows."""
    flows: dict[str, dict[str, None]] = {}
    for run in runs.values():
        for prediction in predict_run(run).values():
            if prediction.note:
                flows.setdefault(prediction.note, {})[prediction.flow] = None
    return [f"{_listed(list(names))}: {note}" for note, names in flows.items()]


def _listed(names: Sequence[str], most: int = 4) -> str:
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more flows"


def _summary(flows: Sequence[FlowResult]) -> list[dict[str, Any]]:
    """Returns a row per quantity, with numbers as text."""
    from bentpipe.results import over_flows

    return [
        {
            "about": one.about,
            "flows": str(one.count),
            "quantiles": [number(value) for value in one.quantiles],
            "extremes": f"{one.least}, {one.greatest}",
        }
        for one in over_flows(flows)
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
