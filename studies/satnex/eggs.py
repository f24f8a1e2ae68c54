"""The tests ``eggs-tcp`` and ``eggs-tcp-virtual`` of EGGS, the interplanetary test bed: TCP from
end to end over long delays, with real kernels in virtual time, and with simulated stacks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import bentpipe as bp
import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import FloatArray
from bentpipe.plots.style import COLOURS, figure_function
from bentpipe.studies import Reproduction, Statement, bar, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: One-way delay of the long-haul link, by name.
DELAYS_S: Final = {"250ms": 0.25, "1280ms": 1.28, "10s": 10.0, "50s": 50.0, "200s": 200.0}
#: Duration of each run, several round trips, by name.
DURATIONS_S: Final = {"250ms": 60, "1280ms": 100, "10s": 400, "50s": 1000, "200s": 2000}

#: Overrides with retry limits that suit the longest delay. The paper has no such experiment.
PATIENT: Final = ("flow.measures.transport.syn_retries=30", "flow.measures.transport.retries=30")

#: Size of a measurement in bytes. Each measurement is sent in its own segment if TCP does not delay
#: it.
MEASURE: Final = 25


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Runs the full-TCP scenario at each delay with a real kernel in virtual time, judges the
    statements, and draws figures 18 and 19."""
    return _reproduce(statements, out, json, "kernel")


def simulate(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the full-TCP scenario at each delay. Needs no kernel."""
    return _reproduce(statements, out, json, "virtual")


def _reproduce(
    statements: Sequence[Statement], out: Path, json: bool, clock: Literal["kernel", "virtual"]
) -> Reproduction:
    jobs = {name: _job(name, (), clock) for name in DELAYS_S}
    limits = _job("200s", PATIENT, clock)
    with bar("eggs-tcp", shown=not json) as progress:
        done = run_all([*jobs.values(), limits], out / "runs", progress)
    runs, patient = {name: done[job] for name, job in jobs.items()}, done[limits]
    ours: dict[str, float | None] = {
        f"eggs-{'fails' if name == '200s' else 'works'}-{name}": _delivered(run) / MEASURE
        for name, run in runs.items()
    }
    ours["eggs-linear-250ms"] = _silence(runs["250ms"])
    ours["eggs-steps-50s"] = _silence(runs["50s"])
    for name, delay in (("eggs-window-linear", "250ms"), ("eggs-window-steps", "50s")):
        sent = _sent(runs[delay])
        ours[name] = round(bend(*(sent[column].to_numpy().astype(float) for column in ("sent", "cwnd"))), 4)
    drawn = {name: run for name, run in runs.items() if name != "200s"}
    if clock == "virtual":
        ours = {f"virtual-{name}": value for name, value in ours.items()}
    figures = {
        f"figure-18-send-instants-{clock}": instants(drawn),
        f"figure-19-cwnd-{clock}": windows(drawn),
    }
    noted = runs["200s"].provenance["notes"].get("emulation", [])
    notes = [
        *(f"200 s with the default limits ends: {note}" for note in noted if note.startswith("measures: ")),
        f"200 s with 30 retries of SYN and data: {_delivered(patient) / MEASURE:.0f} measures arrive in "
        f"{DURATIONS_S['200s']} s, the first after {_first(patient):.0f} s",
        "How, and what of the paper is not known: studies/satnex/README.md",
    ]
    return Reproduction(judge(statements, ours), figures=figures, notes=notes)


def _job(name: str, more: tuple[str, ...], clock: Literal["kernel", "virtual"]) -> Job:
    changes = (f"link.long-haul.delay={DELAYS_S[name]} s", f"duration={DURATIONS_S[name]} s", *more)
    folder = f"eggs-tcp-{name}{'-patient' if more else ''}"
    if clock == "virtual":
        # The stack of the kernel of the other test.
        changes, folder = (*changes, "flow.measures.transport.profile=linux"), f"{folder}-virtual"
    return Job(folder, HERE / "eggs-tcp.toml", changes, seed=None, clock=clock)


def _delivered(run: bp.Run) -> float:
    return float(run.flows["delivered_bytes"][0])


def _first(run: bp.Run) -> float:
    """Returns the arrival time of the first measurement in seconds, or NaN if none arrived."""
    times = run.trace("delivered")["time"]
    return float(times[0]) if times.len() else math.nan


def _sent(run: bp.Run) -> Any:
    """Returns a table of time, total sent bytes and congestion window. It has one row for each
    acknowledgment at which the kernel sends data."""
    import polars as pl

    trace = run.trace("tcp").select("time", "sent", "cwnd")
    return trace.filter(pl.col("sent") > pl.col("sent").shift(1, fill_value=0))


def _silence(run: bp.Run) -> float:
    """Returns the maximum time between transmissions of new data, in round-trip times."""
    rows = _sent(run)
    gaps = rows["time"].diff().drop_nulls()
    return float(gaps.max() or math.nan) / float(run.flows["rtt_min"][0])


@figure_function
def instants(runs: Mapping[str, bp.Run]) -> Figure:
    """Draws figure 18: the number of sent measurements against time."""
    return _panels(runs, "measures sent", lambda rows: (rows["time"], rows["sent"] / MEASURE), "time (s)")


@figure_function
def windows(runs: Mapping[str, bp.Run]) -> Figure:
    """Draws figure 19: the congestion window against the number of sent measurements."""
    return _panels(
        runs, "cwnd (segments)", lambda rows: (rows["sent"] / MEASURE, rows["cwnd"]), "number of the measure"
    )


def bend(sent: FloatArray, window: FloatArray) -> float:
    """Returns the maximum deviation of the window from linear growth with the sent data, as a
    fraction of the total growth. The growth ends at the maximum window."""
    end = int(np.argmax(window)) + 1
    x, y = sent[:end], window[:end]
    return float(np.abs(y - np.interp(x, x[[0, -1]], y[[0, -1]])).max() / (y[-1] - y[0]))


def _panels(runs: Mapping[str, bp.Run], quantity: str, points: Any, below: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots(2, 2)
    for axis, (name, run) in zip(axes.flat, runs.items(), strict=True):
        axis.plot(*points(_sent(run)), ".-", color=COLOURS[0], markersize=2, linewidth=0.6)
        axis.set(title=f"{DELAYS_S[name]:g} s one way", xlabel=below, ylabel=quantity)
    return figure
