"""A constellation during a run: paths of the flows, handovers of the sites, and measured round-trip
times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from bentpipe.scenario.constellations import constellation

from .data import duration_s
from .events import mark
from .lines import MAX_LINES
from .series import draw_rtt
from .style import COLOURS, figure_function, legend, line, name_runs, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.results.runs import Run
    from bentpipe.scenario.constellations import Constellation

#: Number of moments at which paths are computed.
_MOMENTS: Final = 240


@figure_function
def constellation_course(run: Run, *, network: str | None = None) -> Figure:
    """Draws the one-way delay and the number of satellites of the flows' paths over a run, the
    handovers of each site, and the recorded round-trip times. Raises :class:`bentpipe.InputError`
    for a run without a constellation."""
    end = duration_s(run)
    view = constellation(run.scenario, np.linspace(0.0, end, _MOMENTS).tolist(), network=network)
    sites = _changing(view)
    heights = [
        2.0,
        1.4,
        *([0.5 + 0.18 * len(sites)] if sites else []),
        *([2.0] if run.has_trace("rtt") else []),
    ]
    figure, axes = panels(heights)
    shown = iter(axes)
    _draw_paths(next(shown), next(shown), view)
    if sites:
        _draw_handovers(next(shown), sites)
    if run.has_trace("rtt"):
        draw_rtt(next(shown), run, predictions=False)
    axes[-1].set_xlabel("time (s)")
    axes[-1].set_xlim(0, end)
    mark(axes, [run])
    name_runs(figure, [run])
    return figure


def _draw_paths(delays: Axes, hops: Axes, view: Constellation) -> None:
    times = [frame["time"] for frame in view.frames]
    for index, flow in enumerate(view.flows[:MAX_LINES]):
        paths = [frame["paths"][index] for frame in view.frames]
        delay = [math.nan if path is None else 1e3 * path["delay"] for path in paths]
        count = [math.nan if path is None else len(path["satellites"]) for path in paths]
        delays.plot(times, delay, label=flow["name"], **line(index))
        hops.plot(times, count, drawstyle="steps-post", **line(index))
    more = len(view.flows) - MAX_LINES
    delays.set_title("Path" + (f" (first {MAX_LINES} of {len(view.flows)} flows)" if more > 0 else ""))
    delays.set_ylabel("one way (ms)")
    hops.set_ylabel("satellites")
    hops.set_ylim(bottom=0)
    legend(delays)


def _changing(view: Constellation) -> dict[str, list[float]]:
    """Returns the times at which the satellites of each site change, for up to :data:`MAX_LINES`
    sites with changes."""
    found: dict[str, list[float]] = {}
    for index, site in enumerate(view.sites):
        serving = [frame["serving"][index] for frame in view.frames]
        changes = [
            frame["time"]
            for before, after, frame in zip(serving, serving[1:], view.frames[1:], strict=False)
            if before != after
        ]
        if changes and len(found) < MAX_LINES:
            found[site["name"]] = changes
    return found


def _draw_handovers(axes: Axes, sites: dict[str, list[float]]) -> None:
    for row, changes in enumerate(sites.values()):
        axes.plot(changes, [row] * len(changes), "|", color=COLOURS[row % len(COLOURS)], markersize=9)
    axes.set_yticks(range(len(sites)), list(sites))
    axes.set_ylim(-0.6, len(sites) - 0.4)
    axes.invert_yaxis()
    axes.set_title("Handovers, rounded to the drawn times")
