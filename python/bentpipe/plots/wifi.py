"""The transmission rates of stations in Wi-Fi networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bentpipe.errors import InputError

from .data import bin_for, duration_s, spread
from .events import mark
from .lines import Runs, named_runs
from .samples import samples_of
from .style import figure_function, legend, line, name_runs, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Maximum number of stations drawn per run, chosen by their number of transmissions.
MAX_STATIONS = 3


@figure_function
def rates(runs: Runs, *, bin_s: float | None = None) -> Figure:
    """Draws the mean rate of each sender's transmissions in Mbit/s, over bins of ``bin_s`` seconds.
    The range of rates in each bin is shaded. Only the three stations with the most transmissions
    are drawn per run."""
    figure, (axes,) = panels([3.2])
    axes.set_title("Wi-Fi PHY rates")
    axes.set_ylabel("rate (Mbit/s)")
    drawn = 0
    for name, run in named_runs(runs):
        if not run.has_trace("wifi"):
            continue
        bins = bin_s or bin_for(duration_s(run))
        stations = samples_of(run, "wifi.rate", bin_s=bins)
        busiest = sorted(stations, key=lambda station: -stations[station].count)[:MAX_STATIONS]
        for station in busiest:
            sent = stations[station]
            middles, mean, least, greatest = spread(sent.time_s, sent.values / 1e6, bins, sent.weights)
            style = line(drawn)
            axes.plot(middles, mean, label=", ".join(part for part in (name, station) if part), **style)
            axes.fill_between(middles, least, greatest, color=style["color"], alpha=0.12, linewidth=0)
            drawn += 1
    if drawn == 0:
        raise InputError(
            "the run has no trace of Wi-Fi transmissions; add wifi to record.traces of the scenario"
        )
    axes.set_xlabel("time (s)")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    legend(axes)
    known = [run for _, run in named_runs(runs)]
    mark([axes], known)
    name_runs(figure, known)
    return figure
