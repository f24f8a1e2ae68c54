"""Figures of the waits of packets at a terminal, divided into their parts, per packet and over the
run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .events import mark
from .style import COLOURS, INK, figure_function, name_runs, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.results.runs import Run
    from bentpipe.results.waits import Wait

#: Maximum number of packets in a figure of timelines.
_ROWS = 40

#: Greys for the next superframe and for slots that needed no request, and a colour for each part of
#: a wait with a request.
_PARTS = ("#D0D0D0", "#8C8C8C", *COLOURS)


@figure_function
def timelines(packets: Sequence[Wait], at_s: float | None = None) -> Figure:
    """Draws one bar per packet from its arrival to the end of its last slot, in the colours of the
    parts of the wait, and a line at the requested time."""
    from matplotlib.figure import Figure

    from bentpipe.results.waits import PARTS

    shown = packets[:_ROWS]
    figure = Figure(figsize=(7.2, 1.2 + 0.22 * max(3, len(shown))), layout="constrained")
    axes = figure.subplots()
    for index, (part, label) in enumerate(PARTS.items()):
        waited = [packet.parts_ns[part] / 1e9 for packet in shown]
        before = [
            (packet.arrival_ns + sum(packet.parts_ns[one] for one in list(PARTS)[:index])) / 1e9
            for packet in shown
        ]
        if any(waited):
            axes.barh(range(len(shown)), waited, left=before, height=0.7, color=_PARTS[index], label=label)
    if at_s is not None:
        axes.axvline(at_s, color=INK, linewidth=1)
    axes.set_yticks(range(len(shown)), [f"{packet.flow} {packet.packet}" for packet in shown])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("time (s)")
    more = f", {len(shown)} of {len(packets)} packets" if len(packets) > len(shown) else ""
    axes.set_title(f"{shown[0].terminal}: parts of the wait of each packet{more}")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


@figure_function
def waits(run: Run, terminal: str | None = None) -> Figure:
    """Draws the mean wait of a terminal's packets over the run, stacked by parts. A bar covers
    about a sixtieth of the run."""
    from bentpipe.results.waits import PARTS
    from bentpipe.results.waits import waits as read

    from .data import duration_s

    frame = read(run, terminal)
    end = duration_s(run)
    bins = 60
    figure, (axes,) = panels([2.8])
    place = np.minimum((frame["time"].to_numpy() / end * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    middles = (np.arange(bins) + 0.5) * end / bins
    below = np.zeros(bins)
    for index, (part, label) in enumerate(PARTS.items()):
        total = np.bincount(place, weights=frame[part].to_numpy() / 1e6, minlength=bins)
        mean = np.divide(total, count, out=np.zeros(bins), where=count > 0)
        if mean.any():
            axes.bar(middles, mean, width=end / bins, bottom=below, color=_PARTS[index], label=label)
            below += mean
    axes.set_title(f"{frame['terminal'][0]}: parts of the mean wait")
    axes.set_ylabel("mean wait (ms)")
    axes.set_xlabel("time (s)")
    axes.set_xlim(0, end)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2)
    mark([axes], [run])
    name_runs(figure, [run])
    return figure
