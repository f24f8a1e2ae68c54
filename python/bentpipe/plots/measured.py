"""A measured path beside the models that were fitted to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .style import COLOURS, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bentpipe.measure.models import Fitted
    from bentpipe.runs import Run


def fitted_models(run: Run, fit: Fitted) -> Figure:
    """Returns a figure of measured and fitted: the distribution of the probes' one-way delay, and goodputs."""
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
