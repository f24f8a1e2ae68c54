"""The tests ``set-up``, ``causes`` and ``day``: effects of the assumptions that the paper leaves
open, causes of differences, and the effect of the hour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.style import COLOURS, INK, figure_function, panels
from bentpipe.studies import Table, bar

from .measures import measure_own_round_trips, row_of
from .points import BER, BER_TWICE, Points, of_constellation, points_of, timers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Varied values of the test ``set-up``: two file sizes, two arrival rates and two bit error rates.
CORNERS: Final[dict[str, Any]] = {
    "flow.files.app.size": ["500 kB", "2 MB"],
    "flow.files.app.every": ["60 s", "6 s"],
    BER: [1e-7, 1e-5],
}
#: The key of the spacing of RED's drops. The default is evenly spaced.
SPACING: Final = "network.sky.gsl.queue.spacing"
#: Overrides for errors on both satellite links instead of the link before them.
_ERRORS: Final = ("network.sky.gsl.error={kind = 'bit', rate = 1e-7}", f"{BER}=0.0")

#: Overrides and varied values by set-up: the study's set-up, then set-ups with one changed
#: assumption each.
SETUPS: Final[dict[str, tuple[Sequence[str], dict[str, Any]]]] = {
    "as in the study": ((), {}),
    "errors on both satellite links": (_ERRORS, {BER: None, BER_TWICE: [1e-7, 1e-5]}),
    "an acknowledgment for two segments": (("flow.files.transport.delayed_ack=true",), {}),
    "initial window of 3": (("flow.files.transport.initial_window=3",), {}),
    "drops by the average alone": ((f"{SPACING}=geometric",), {}),
    "another draw of arrivals and files": (("seed=2",), {}),
    "the nearest satellite": (("network.sky.gsl.choice={kind = 'highest-elevation'}",), {}),
    "at 06:00 UTC": (('network.sky.epoch="2000-01-01T06:00:00Z"',), {}),
    "at 18:00 UTC": (('network.sky.epoch="2000-01-01T18:00:00Z"',), {}),
}

#: Duration of the runs of ``set-up``, a third of the study's hour.
MINUTES: Final = 20

#: Start times of the runs of ``day``, in hours.
STARTS: Final = tuple(half / 2 for half in range(48))
#: Rules for the choice of the satellite.
CHOICES: Final = ("longest-visibility", "highest-elevation")


def setups(scenario: Path, out: Path, *, quiet: bool) -> Table:
    """Runs each set-up at eight points of each constellation, and returns the table of their
    effects on table 3, maximum delay, loss and jitter."""
    rows = []
    for number, (name, (overrides, vary)) in enumerate(SETUPS.items()):
        points = points_of(
            scenario,
            out / f"set-up-{number}",
            1,
            overrides=(f'duration="{MINUTES} min"', *overrides),
            vary={**CORNERS, **vary},
            quiet=quiet,
        )
        rows += [[name, constellation, *row_of(points, constellation)] for constellation in ("LEO", "GEO")]
    # The paper's values cover all its points, so only the levels are comparable.
    rows.append(["the paper, all points", "LEO", "", "0.192", "0.049", "0.389", "0.272", "0.0588", "rises"])
    rows.append(["the paper, all points", "GEO", "", "0.586", "0.018", "0.658", "0.365", "0.0607", "rises"])
    header = ["set-up", "", "path ms", "RTT s", "sigma s", "TO s", "worst D s", "loss", "jitter ms 1e-7 1e-5"]
    return Table(
        f"Effect of each assumption, on eight points of each constellation, {MINUTES} minutes each",
        header,
        rows,
    )


#: The point with the largest files and the highest arrival rate.
WORST: Final[dict[str, Any]] = {"flow.files.app.size": ["2 MB"], "flow.files.app.every": ["6 s"]}

#: The point of minimum loss that the paper names.
MIN_LOSS: Final[dict[str, Any]] = {
    "flow.files.app.size": ["500 kB"],
    "flow.files.app.every": ["60 s"],
    BER: [1e-7],
}
#: The point of maximum loss that the paper names.
MAX_LOSS: Final[dict[str, Any]] = {**WORST, BER: [1e-5]}

#: Seed of random arrivals and file sizes that differ from the study's.
DRAW: Final = 3
#: Number of draws of a single point.
DRAWS: Final = 10


def draws(scenario: Path, out: Path, *, quiet: bool) -> tuple[dict[str, float | None], Table]:
    """Runs the test ``draws``: the points of minimum and maximum loss that the paper names, with
    ten random draws each. Returns its values and a table of the means."""
    loss = {
        (name, key.constellation): of["loss"]
        for name, vary in (("low", MIN_LOSS), ("high", MAX_LOSS))
        for key, of in points_of(scenario, out / name, DRAWS, vary=vary, quiet=quiet).items()
    }
    ours: dict[str, float | None] = {
        f"loss-{name}-{constellation.lower()}": mean.value for (name, constellation), mean in loss.items()
    }
    rows = [
        [name, constellation, f"{mean.value:.5f}", f"{mean.half_width:.5f}"]
        for (name, constellation), mean in loss.items()
    ]
    table = Table(
        f"Loss ratio at the points of minimum and maximum loss: means of {DRAWS} draws, 95 %",
        ["point", "constellation", "mean", "+-"],
        rows,
    )
    return ours | {"loss-ratio": loss["high", "GEO"].value / loss["high", "LEO"].value}, table


def causes(scenario: Path, out: Path, *, quiet: bool) -> dict[str, float | None]:
    """Runs the test ``causes`` and returns its values. Each changes one assumption:

    - RED drops each packet independently, with a probability by the average queue only: maximum
      delay and loss.
    - All hours have different random arrivals and file sizes.
    - The models use each hour's own round-trip time."""
    independent = points_of(
        scenario, out / "causes", 1, overrides=(f"{SPACING}=geometric",), vary=WORST, quiet=quiet
    )
    draw = points_of(scenario, out / "draw", 1, overrides=(f"seed={DRAW}",), quiet=quiet)

    def maximum(points: Points, constellation: str, measure: str) -> float:
        return max(of[measure].value for of in of_constellation(points, constellation).values())

    deviations = {name: timers(draw, name).deviation_s for name in ("LEO", "GEO")}
    return {
        "alone-worst-delay-leo": maximum(independent, "LEO", "delay_s"),
        "alone-loss-most-geo": maximum(independent, "GEO", "loss"),
        "draw-deviation-geo": deviations["GEO"],
        "draw-deviation-ratio": deviations["LEO"] / deviations["GEO"],
        "draw-loss-most-geo": maximum(draw, "GEO", "loss"),
        **measure_own_round_trips(points_of(scenario, out / "campaign", 1, quiet=quiet)),
    }


def day(scenario: Path, out: Path, *, quiet: bool) -> tuple[Table, Figure]:
    """Runs the first ten minutes of each half hour of a day over the Big LEO, and returns the table
    and the figure of the one-way path."""
    jobs = {
        (choice, start): Job(
            f"day-{choice}-{start:g}",
            scenario,
            (
                'duration="10 min"',
                f'network.sky.epoch="2000-01-01T{int(start):02d}:{round(start % 1 * 60):02d}:00Z"',
                f"network.sky.gsl.choice={{kind = '{choice}'}}",
            ),
        )
        for choice in CHOICES
        for start in STARTS
    }
    with bar("day", shown=not quiet) as progress:
        runs = run_all(list(jobs.values()), out / "day", progress)
    paths = {
        choice: np.array([1e3 * runs[jobs[choice, start]].flows["path_delay"][0] for start in STARTS])
        for choice in CHOICES
    }
    rows = [
        [choice, *(f"{value:.0f}" for value in (of.min(), np.median(of), of.mean(), of.max(), of[24]))]
        for choice, of in paths.items()
    ]
    header = ["choice of satellite", "least ms", "median ms", "mean ms", "most ms", "at 12:00 ms"]
    return Table("One-way path London to Boston over a day, by start of ten minutes", header, rows), _draw(
        paths
    )


@figure_function
def _draw(paths: dict[str, Any]) -> Figure:
    figure, (axes,) = panels([2.6])
    for (choice, of), colour in zip(paths.items(), COLOURS, strict=False):
        axes.step([*STARTS, 24], [*of, of[-1]], where="post", color=colour, label=choice)
    axes.axvspan(12, 13, color=INK, alpha=0.12, linewidth=0, label="the study's hour")
    axes.set_title("Path London to Boston over the Big LEO, 2000-01-01")
    axes.set_xlabel("start (h UTC)")
    axes.set_ylabel("one-way path (ms)")
    axes.set_xlim(0, 24)
    axes.set_ylim(0, None)
    axes.set_xticks(range(0, 25, 3))
    figure.legend(loc="outside lower center", ncols=3)
    return figure
