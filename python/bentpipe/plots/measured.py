"""A measured path: its delays, and its comparison with fitted models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bentpipe.errors import InputError

from .data import thin
from .style import COLOURS, figure_function, legend, name_runs, panels, styled

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.measure.models import Fitted
    from bentpipe.results.runs import Run

#: Titles of the directions of a measured path, by the first node of their flows.
_DIRECTIONS = {"here": ("forward", "towards the reflector"), "there": ("backward", "from the reflector")}


@figure_function
def delays(run: Run) -> Figure:
    """Draws the delays of a measured path in ms. The upper panels show the one-way delays of both
    directions: intervals for probes, and the middles of the intervals for datagrams of loads. The
    panel below shows the round-trip times of probes, ICMP echo requests and TCP, so that separate
    queues are visible.

    Raises :class:`bentpipe.InputError` if the run was not measured or no probe had a reply.
    """
    import polars as pl

    if run.clock != "measured":
        raise InputError(f"{run.path} was not measured; the figure delays needs a run of `bentpipe measure`")
    probes = run.trace("probe").filter(pl.col("train") < 0)
    if not probes["replied"].any():
        raise InputError(f"{run.path}: no probe had a reply, so there is no delay to draw")
    figure, (*sides, below) = panels([2.0, 2.0, 2.0])
    load = run.trace("load") if run.has_trace("load") else None
    ends = dict(run.flows.select("flow", "from").iter_rows())
    seen = probes.filter("replied")
    for axes, (end, (name, title)) in zip(sides, _DIRECTIONS.items(), strict=True):
        axes.set_title(f"One-way delay {title}")
        axes.set_ylabel("delay (ms)")
        if load is not None:
            own = load.filter(pl.col("flow").cast(pl.String).replace_strict(ends) == end, "arrived")
            _dots(axes, own.with_columns(delay=(pl.col("delay_low") + pl.col("delay_high")) / 2), "delay", 1)
        low, high = (1e3 * seen[f"{name}_{bound}"].to_numpy() for bound in ("low", "high"))
        axes.vlines(seen["time"], low, high, color=COLOURS[0], linewidth=1, alpha=0.4)
        _dots(
            axes,
            seen.select("time", delay=(pl.col(f"{name}_low") + pl.col(f"{name}_high")) / 2),
            "delay",
            0,
            "probes",
        )
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        legend(axes)
    below.set_title("Round-trip time")
    below.set_ylabel("RTT (ms)")
    if run.has_trace("tcp.rtt"):
        _dots(below, run.trace("tcp"), "rtt", 2, "TCP")
    _dots(below, seen, "round_trip", 0, "probes")
    if run.has_trace("icmp"):
        _dots(below, run.trace("icmp"), "round_trip", 4, "ICMP echo")
    lost = probes.filter(~pl.col("replied"))["time"].to_numpy()
    if len(lost):
        below.plot(lost, np.zeros(len(lost)), "|", color=COLOURS[1], label="no reply", clip_on=False)
    below.set_ylim(bottom=0)
    below.set_xlabel("time (s)")
    below.set_xlim(left=0)
    legend(below)
    name_runs(figure, [run])
    return figure


def _dots(axes: Axes, rows: pl.DataFrame, column: str, colour: int, label: str = "loads") -> None:
    """Draws a column of seconds in ms, a dot for each row that has a value."""
    time, values = thin(rows["time"].to_numpy(), rows[column].cast(float).fill_null(np.nan).to_numpy())
    if len(time):
        axes.plot(time, 1e3 * values, ".", color=COLOURS[colour], markersize=2.5, label=label)


def fitted_models(run: Run, fit: Fitted) -> Figure:
    """Draws measured and fitted values: the distribution of the probes' one-way delay, and
    goodputs."""
    from matplotlib.figure import Figure

    with styled():
        made = Figure(figsize=(7.2, 6.4), layout="constrained")
        above, below = made.subplots(2, 1)
        seen = run.trace("probe").filter(run.trace("probe")["replied"])
        middle = ((seen["forward_low"] + seen["forward_high"]) / 2).to_numpy()
        again = fit.run.trace("datagram", "probes")["delay"].to_numpy()
        for values, label, colour in ((middle, "measured", COLOURS[0]), (again, "fitted", COLOURS[1])):
            ordered = np.sort(values)
            above.plot(
                1e3 * ordered,
                np.arange(1, len(ordered) + 1) / max(1, len(ordered)),
                color=colour,
                label=label,
            )
        above.set_xlabel("one-way delay of the probes towards the reflector (ms)")
        above.set_ylabel("cumulative fraction")
        above.legend()
        goodputs = [one for one in fit.residuals if one.quantity == "goodput"]
        place = np.arange(len(goodputs))
        for shift, rates, colour in (
            (-0.2, [one.measured for one in goodputs], COLOURS[0]),
            (0.2, [one.fitted for one in goodputs], COLOURS[1]),
        ):
            below.barh(place + shift, np.array(rates) / 1e6, height=0.4, color=colour)
        below.set_yticks(place, [one.flow for one in goodputs])
        below.invert_yaxis()
        below.set_xlabel("goodput (Mbit/s)")
    return made
