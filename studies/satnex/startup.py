"""The tests ``votos-startup`` and ``votos-startup-causes`` of VOTOS (figure 3): slow start over
DAMA. The equivalent delay is the one-way delay of a link without DAMA on which slow start is as
slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.plots.published import mark_words
from bentpipe.plots.style import COLOURS, INK, PREDICTED, figure_function, panels
from bentpipe.predict import delivered_bytes, goodput_ceiling_bit_s
from bentpipe.results.runs import Run
from bentpipe.statistics import mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

from .common import ONE_WAY_S, offsets_s

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Initial window of each system, in segments: RFC 3390 for Linux, and one for FreeBSD.
STARTS: Final = {"Linux": 3, "FreeBSD": 1}
#: Number of connections per system, with start times equally spaced over a super-frame.
CONNECTIONS: Final = 9
#: First start time.
FIRST_S: Final = 1.0
#: Duration of a connection.
SHOWN_S: Final = 20.0
#: Duration of the linear growth at the end of a connection.
LINEAR_S: Final = 5.0
#: Payload of a segment, in bytes.
SEGMENT: Final = 1460
#: Rate of the channel.
RATE_BIT_S: Final = 2.112e6

#: Range of acknowledged segments with exponential growth: from the second round trip to half of the
#: link's capacity in a round trip of 1 s.
FIT_SEGMENTS: Final = (8, 90)


#: Overrides of the study's set-up: a constant assignment of one burst per multi-frame (the minimum
#: by section 3 of the paper), plus slots on demand.
MINIMUM: Final = ("network.sat.assignment=mixed", 'network.sat.cir="44 kbit/s"')

#: Overrides by variation. "none": slots on demand only. "half": slots on demand only, and half the
#: super-frame.
CAUSES: Final = {"none": (), "half": ("network.sat.frames=4",)}

#: Overrides for a fixed assignment of the whole channel.
FIXED: Final = ("network.sat.assignment=cir", 'network.sat.cir="2112 kbit/s"')
#: Length in segments of a short connection: 29 kbyte, a typical HTTP response.
SHORT_SEGMENTS: Final = 20
#: Number of segments whose time compares the two systems: the end of :data:`FIT_SEGMENTS`.
QUICK_SEGMENTS: Final = FIT_SEGMENTS[1]


def jobs_of(name: str, changes: Sequence[str]) -> dict[tuple[str, float], Job]:
    """Returns the jobs of :data:`CONNECTIONS` connections of each system, by system and start time.
    ``name`` starts the names of the jobs."""
    return {
        (system, moment): Job(
            f"{name}-{system.lower()}-{number}",
            HERE / "votos.toml",
            (
                f"flow.transfer.transport.initial_window={window}",
                f'flow.transfer.start="{moment} s"',
                f'duration="{moment + SHOWN_S} s"',
                *changes,
            ),
        )
        for system, window in STARTS.items()
        for number, moment in enumerate(offsets_s(CONNECTIONS, FIRST_S))
    }


def explain(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Determines the equivalent delay for each of :data:`CAUSES`, and judges the statements."""
    ours: dict[str, float | None] = {}
    for cause, changes in CAUSES.items():
        jobs = jobs_of(f"startup-{cause}", changes)
        with bar("votos-startup-causes", shown=not json) as progress:
            runs = run_all(list(jobs.values()), out / "runs", progress)
        for system, window in STARTS.items():
            fits = [
                fitted_rtt_s(*acknowledged(runs[job], key[1]), window)
                for key, job in jobs.items()
                if key[0] == system
            ]
            ours[f"startup-delay-{cause}-{system.lower()}"] = round(500 * mean_of(fits).value, 3)
        if cause == "none":
            firsts = [float(runs[job].trace("delivery")["delay"][0]) for job in jobs.values()]
            ours["startup-trail"] = round(1e3 * (min(firsts) - ONE_WAY_S), 3)
    return Reproduction(judge(statements, ours))


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the connections, fits the analytical model, and judges the statements."""
    moments = offsets_s(CONNECTIONS, FIRST_S)
    jobs, fixed = jobs_of("startup", MINIMUM), jobs_of("startup-fixed", FIXED)
    with bar("votos-startup", shown=not json) as progress:
        runs = run_all([*jobs.values(), *fixed.values()], out / "runs", progress)
    courses = {key: acknowledged(runs[job], key[1]) for key, job in jobs.items()}
    fixed_courses = {key: acknowledged(runs[job], key[1]) for key, job in fixed.items()}
    ours: dict[str, float | None] = {}
    rows = []
    rtts = {}
    for system, window in STARTS.items():
        of = [courses[system, moment] for moment in moments]
        rtts[system] = mean_of([fitted_rtt_s(*course, window) for course in of])
        doubling = mean_of([doubling_s(*course) for course in of])
        small = system.lower()
        ours[f"startup-delay-{small}"] = round(500 * rtts[system].value, 3)
        ours[f"startup-doubling-{small}"] = round(doubling.value / (2 * ONE_WAY_S), 3)
        ours[f"startup-linear-{small}"] = round(mean_of([linearity(*course) for course in of]).value, 6)
        ours[f"startup-exponential-{small}"] = round(
            mean_of([exponentiality(*course) for course in of]).value, 4
        )
        short, short_fixed = (
            mean_of([reached_s(*curves[system, moment], SHORT_SEGMENTS) for moment in moments]).value
            for curves in (courses, fixed_courses)
        )
        ours[f"startup-short-{small}"] = round(short / short_fixed, 3)
        rows.append(
            [
                system,
                rtts[system].text(0, 1 / 500),
                "520",
                doubling.text(2),
            ]
        )
    quick = {
        system: mean_of([reached_s(*courses[system, moment], QUICK_SEGMENTS) for moment in moments]).value
        for system in STARTS
    }
    ours["startup-quicker"] = round(quick["Linux"] / quick["FreeBSD"], 4)
    table = Table(
        "Slow start over Skyplex DATA (figure 3): equivalent one-way delay, means of nine connections with 95 % "
        "confidence intervals",
        ["system", "equivalent delay ms", "paper ms", "doubling s"],
        rows,
    )
    figure = draw(courses, {system: rtt.value for system, rtt in rtts.items()}, statements)
    return Reproduction(judge(statements, ours), figures={"figure-03-startup": figure}, tables=[table])


def acknowledged(run: Run, start_s: float) -> tuple[FloatArray, FloatArray]:
    """Returns times since the connection was opened, and the number of segments acknowledged by
    then."""
    time, value = trace_of(run, "tcp.acknowledged")["transfer"]
    return time - start_s, value / SEGMENT


def _exponential(time_s: FloatArray, segments: FloatArray) -> tuple[FloatArray, FloatArray]:
    in_range = (segments >= FIT_SEGMENTS[0]) & (segments <= FIT_SEGMENTS[1])
    return time_s[in_range], segments[in_range]


def doubling_s(time_s: FloatArray, segments: FloatArray) -> float:
    """Returns the time in which the acknowledged data doubles during exponential growth: the
    inverse slope of its binary logarithm."""
    time, value = _exponential(time_s, segments)
    return float(1 / np.polyfit(time, np.log2(value), 1)[0])


def exponentiality(time_s: FloatArray, segments: FloatArray) -> float:
    """Returns the correlation of the logarithm of the acknowledged data with time, in the range of
    :data:`FIT_SEGMENTS`. It is 1 for exponential growth."""
    time, value = _exponential(time_s, segments)
    return float(np.corrcoef(time, np.log2(value))[0, 1])


def reached_s(time_s: FloatArray, segments: FloatArray, count: int) -> float:
    """Returns the time at which this number of segments is acknowledged."""
    return float(time_s[int(np.argmax(segments >= count))])


def fitted_rtt_s(time_s: FloatArray, segments: FloatArray, window: int) -> float:
    """Returns the round-trip time of the analytical model that fits the simulation best.

    The model is equations 1 to 3 of the DAMA study: a handshake of one round trip, then doubling
    each round trip. The fit minimises the sum of the squared errors of the times at which each
    number of segments is acknowledged."""
    time, value = _exponential(time_s, segments)

    def error(rtt_s: float) -> float:
        # A handshake, and log2(n / w + 1) round trips until n segments are acknowledged.
        model = rtt_s * (1 + np.log2(value / window + 1))
        return float(((model - time) ** 2).sum())

    candidates = np.arange(0.4, 2.0, 0.001)
    return float(candidates[int(np.argmin([error(rtt) for rtt in candidates]))])


def linearity(time_s: FloatArray, segments: FloatArray) -> float:
    """Returns the correlation of acknowledged segments with time over the last :data:`LINEAR_S`. It
    is 1 for linear growth."""
    late = time_s > SHOWN_S - LINEAR_S
    return float(np.corrcoef(time_s[late], segments[late])[0, 1])


@figure_function
def draw(
    courses: Mapping[tuple[str, float], tuple[FloatArray, FloatArray]],
    rtts: Mapping[str, float],
    statements: Sequence[Statement],
) -> Figure:
    """Draws figure 3: acknowledged data against time. Lines: the connections of a system. Dashed
    line: the analytical model with the equivalent delay. Band: the model with the paper's delay."""
    figure, both = panels([2.6, 2.6])
    moments = np.linspace(0, SHOWN_S, 201)
    paper = {statement.id: statement for statement in statements}
    for axes, (system, window), colour in zip(both, STARTS.items(), COLOURS, strict=False):
        of = [course for (name, _), course in courses.items() if name == system]
        for number, (time, value) in enumerate(of):
            label = None if number else f"{len(of)} connections"
            axes.step(time, value * SEGMENT / 1e6, where="post", color=colour, linewidth=0.7, label=label)
        equivalent_ms = 500 * rtts[system]
        model = _model_mb(moments, equivalent_ms, window)
        label = f"slow start with {equivalent_ms:.0f} ms one way, no DAMA"
        axes.plot(moments, model, color=INK, linestyle=PREDICTED, label=label)
        if (stated := paper.get(f"startup-delay-{system.lower()}")) is not None:
            slow, fast = (
                _model_mb(moments, stated.value + side * stated.tolerance, window) for side in (1, -1)
            )
            label = f"paper: {stated.value:g} ± {stated.tolerance:g} ms"
            axes.fill_between(moments, slow, fast, color=INK, alpha=0.18, linewidth=0, label=label)
        if f"startup-exponential-{system.lower()}" in paper:
            end_s = float(np.mean([reached_s(*course, FIT_SEGMENTS[1]) for course in of]))
            mark_words(axes, (0.0, end_s), "exponential", height=0.3)
        if f"startup-linear-{system.lower()}" in paper:
            mark_words(axes, (SHOWN_S - LINEAR_S, SHOWN_S), "linear", height=0.3)
        axes.set_title(f"{system}: initial window of {window} segment{'s' if window > 1 else ''}")
        axes.set_ylabel("acknowledged (MB)")
        axes.set_xlim(0, SHOWN_S)
        axes.set_ylim(0, None)
        axes.legend(loc="upper left")
    both[-1].set_xlabel("time since the connection was opened (s)")
    return figure


def _model_mb(moments_s: FloatArray, delay_ms: float, window: int) -> FloatArray:
    """Returns the data by the analytical model with a one-way delay, in MB."""
    return np.array(
        [
            delivered_bytes(
                float(moment),
                rtt_s=delay_ms / 500,
                segment_bytes=SEGMENT,
                ceiling_bit_s=goodput_ceiling_bit_s(RATE_BIT_S, SEGMENT),
                initial_window=window,
            )
            / 1e6
            for moment in moments_s
        ]
    )
