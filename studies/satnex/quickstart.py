"""The tests ``votos-quickstart`` and ``votos-quickstart-causes`` of VOTOS (figure 5): the delay at
the start of a TFRC stream of 1024 kbit/s, with and without Quick-Start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.plots.published import legend_entries, mark_level, mark_value
from bentpipe.plots.style import COLOURS, figure_function, panels
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

from .common import offsets_s

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Number of start times, equally spaced over a super-frame.
RUNS: Final = 8
#: First start time.
FIRST_S: Final = 1.0
#: Duration of the stream that figure 5 shows.
SHOWN_S: Final = 40.0
#: Length of the windows over which delays are averaged.
STEP_S: Final = 0.5
#: The start-up ends when the median delay stays within this distance of its final value.
SETTLED_S: Final = 0.1
#: Rate of the stream and of the Quick-Start request.
RATE: Final = "1024 kbit/s"
#: Minimum Quick-Start request. The path always grants it.
MIN_REQUEST: Final = "80 kbit/s"

#: Name of a Quick-Start request.
Key = TypeVar("Key")


def simulate(requests: Mapping[Key, str | None], out: Path, json: bool) -> dict[Key, FloatArray]:
    """Simulates the stream with each Quick-Start request (``None``: without Quick-Start).

    Returns the delays in seconds by request: one row per start time, one column per window."""
    jobs = {}
    for key, request in requests.items():
        for number, moment in enumerate(offsets_s(RUNS, FIRST_S)):
            changes = [f'flow.stream.start="{moment} s"']
            changes += [f'flow.stream.transport.quick_start="{request}"'] if request else []
            name = f"quickstart-{'without' if request is None else request.replace(' kbit/s', '')}-{number}"
            jobs[key, moment] = Job(name, HERE / "votos-quickstart.toml", tuple(changes))
    with bar("votos-quickstart", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    courses: dict[Key, list[FloatArray]] = {key: [] for key in requests}
    for (key, moment), job in jobs.items():
        courses[key].append(course(*trace_of(runs[job], "datagram.delay")["stream"], moment))
    return {key: np.array(of) for key, of in courses.items()}


def explain(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the stream without Quick-Start and with the minimum request, and judges the
    statements."""
    delays = simulate({False: None, True: MIN_REQUEST}, out, json)
    moments = middles_s(delays[False].shape[1])
    medians = {quick: np.median(values, axis=0) for quick, values in delays.items()}
    settled = {quick: settled_s(moments, values) for quick, values in medians.items()}
    ours: dict[str, float | None] = {
        "least-quickstart-cut": round(
            100 * float(1 - np.median(medians[True]) / np.median(medians[False])), 4
        ),
        "least-quickstart-start-with": settled[True],
        "least-quickstart-shorter": round(settled[True] / settled[False], 6),
    }
    return Reproduction(judge(statements, ours))


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the stream with and without Quick-Start at eight offsets in the super-frame, and
    judges the statements."""
    delays = simulate({False: None, True: RATE}, out, json)
    moments = middles_s(delays[False].shape[1])
    medians = {quick: np.median(values, axis=0) for quick, values in delays.items()}
    median = {quick: float(np.median(values)) for quick, values in medians.items()}
    settled = {quick: settled_s(moments, values) for quick, values in medians.items()}
    ours: dict[str, float | None] = {
        "quickstart-cut": round(100 * (1 - median[True] / median[False]), 4),
        "quickstart-start-without": settled[False],
        "quickstart-start-with": settled[True],
        "quickstart-shorter": round(settled[True] / settled[False], 6),
    }
    rows = [
        [
            "with" if quick else "without",
            f"{median[quick]:.2f}",
            f"{settled[quick]:.1f}",
            f"{float(medians[quick].max()):.2f}",
            f"{float((delays[quick].max(axis=0) - delays[quick].min(axis=0)).max()):.2f}",
        ]
        for quick in (False, True)
    ]
    table = Table(
        "TFRC at 1024 kbit/s over Skyplex DATA (figure 5), first 40 s, eight offsets",
        ["Quick-Start", "median delay s", "start-up s", "greatest median s", "greatest span s"],
        rows,
    )
    figure = draw(moments, delays, settled, statements)
    return Reproduction(judge(statements, ours), figures={"figure-05-quick-start": figure}, tables=[table])


def course(time_s: FloatArray, delay_s: FloatArray, start_s: float) -> FloatArray:
    """Returns the mean delay in seconds of the data that were sent in each window since the start.
    An empty window has the value of the previous window."""
    sent_s = time_s - delay_s - start_s
    windows = np.floor(sent_s / STEP_S).astype(int)
    values = np.full(round(SHOWN_S / STEP_S), np.nan)
    for index in range(len(values)):
        inside = delay_s[windows == index]
        if len(inside):
            values[index] = inside.mean()
        elif index:
            values[index] = values[index - 1]
    return values


def middles_s(count: int) -> FloatArray:
    """Returns the middles of the first ``count`` windows, in seconds since the start."""
    middles: FloatArray = STEP_S * (np.arange(count, dtype=np.float64) + 0.5)
    return middles


def settled_s(moments_s: FloatArray, delay_s: FloatArray) -> float:
    """Returns the time in seconds from which the delay stays within :data:`SETTLED_S` of its final
    value."""
    final = float(delay_s[-10:].mean())
    away = np.flatnonzero(np.abs(delay_s - final) > SETTLED_S)
    return float(moments_s[away[-1]] + STEP_S / 2) if len(away) else 0.0


@figure_function
def draw(
    moments_s: FloatArray,
    delays: Mapping[bool, FloatArray],
    settled: Mapping[bool, float],
    statements: Sequence[Statement],
) -> Figure:
    """Draws figure 5: median and range of the delay over the offsets. Dots: the end of the
    start-up. Marks: the end of the start-up by the paper, and the median delay with Quick-Start."""
    figure, (axes,) = panels([3.6])
    paper = {statement.id: statement for statement in statements}
    for quick, colour in ((False, COLOURS[0]), (True, COLOURS[1])):
        values = delays[quick]
        axes.fill_between(
            moments_s, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.2, linewidth=0
        )
        label = f"{_WORDS[quick]} Quick-Start: median and span of eight offsets"
        medians = np.median(values, axis=0)
        axes.plot(moments_s, medians, color=colour, label=label)
        end = float(medians[-10:].mean())
        axes.plot(settled[quick], end, "o", color=colour, label=f"end of the start-up {_WORDS[quick]}")
        if (start := paper.get(f"quickstart-start-{_WORDS[quick]}")) is not None:
            mark_value(axes, start, end, along="x", colour=colour)
    if (cut := paper.get("quickstart-cut")) is not None:
        without = float(np.median(np.median(delays[False], axis=0)))
        mark_level(
            axes,
            cut,
            (0.0, SHOWN_S),
            colour=COLOURS[1],
            scale=-without / 100,
            base=without,
            note="paper: median delay with Quick-Start",
        )
    axes.set_title("End-to-end delay of 1024 kbit/s over TFRC over Skyplex DATA")
    axes.set_xlabel("time since the start (s)")
    axes.set_ylabel("delay (s)")
    axes.set_xlim(0, SHOWN_S)
    axes.set_ylim(0, None)
    figure.legend(handles=legend_entries(axes), loc="outside lower center", ncols=2)
    return figure


#: The words of ids and legends: with or without Quick-Start.
_WORDS: Final = {False: "without", True: "with"}
