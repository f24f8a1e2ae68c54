"""Figures of the satellites that may have served the slots of a measured path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .style import COLOURS, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.measure.candidates import Slot
    from bentpipe.results.runs import Run


def candidates(run: Run, slots: Sequence[Slot]) -> Figure:
    """Returns a figure of the measured round-trip times with the courses of the likeliest
    satellites, and of the elevation and probability of all candidates of each slot."""
    from matplotlib.figure import Figure

    with styled():
        made = Figure(figsize=(7.2, 6.4), layout="constrained")
        above, below = made.subplots(2, 1, sharex=True)
        seen = run.trace("probe")
        seen = seen.filter(seen["replied"] & seen["quiet"] & (seen["train"] < 0))
        seen = seen.filter(seen["size"] == seen["size"].min())
        above.plot(seen["time"], 1e3 * seen["round_trip"], ".", color="0.75", markersize=2, label="measured")
        named = ""
        for number, slot in enumerate(slots):
            for place, one in enumerate(slot.candidates):
                time, course = one.course
                if place == 0:
                    label = "delay over the likeliest satellite plus a constant" if number == 0 else None
                    above.plot(time, 1e3 * course, color=COLOURS[0], label=label)
                below.plot(
                    (slot.begin + slot.end) / 2,
                    one.elevation,
                    "o",
                    markersize=2 + 8 * one.probability,
                    color=COLOURS[0] if place == 0 else "0.7",
                    zorder=2 if place else 3,
                )
            if slot.candidates and slot.candidates[0].satellite != named:
                best = slot.candidates[0]
                named = best.satellite
                below.annotate(
                    f"{best.satellite}\n{100 * best.probability:.0f} %",
                    ((slot.begin + slot.end) / 2, best.elevation),
                    xytext=(0, 7),
                    textcoords="offset points",
                    ha="center",
                    fontsize=6,
                )
        above.set_ylabel("round-trip time at rest (ms)")
        above.legend()
        below.set_ylabel("elevation (deg)")
        below.set_xlabel("time (s); the larger a point, the likelier the satellite")
        below.margins(y=0.15)
    return made
