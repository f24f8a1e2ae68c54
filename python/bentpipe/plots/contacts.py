"""Contact plans as bars over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .style import COLOURS, INK, figure_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.dtn.contacts import Plan, Route

#: Colours of routes, on the bars of contacts.
_ROUTES = (INK, "#D55E00", "#CC79A7", "#009E73")

#: Units of the time axis: maximum time span in seconds, length in seconds, name.
_UNITS = ((3 * 60, 1, "s"), (3 * 3600, 60, "min"), (3 * 86400, 3600, "h"), (float("inf"), 86400, "d"))


@figure_function
def contact_plan(plan: Plan, routes: Sequence[Route] = ()) -> Figure:
    """Draws a row per pair of nodes with a bar per contact. The colour of a bar shows its rate or,
    with many rates, the height does. Lines on the bars of a route lead from the departure of the
    last bit to its arrival."""
    from matplotlib.figure import Figure

    pairs = sorted({(contact.src, contact.dst) for contact in plan.contacts}, key=_order)
    row = {pair: index for index, pair in enumerate(pairs)}
    last = max(contact.end for contact in plan.contacts)
    first = min(contact.start for contact in plan.contacts)
    arrivals = [passage.arrival for route in routes for passage in route.contacts]
    span = max([last, *arrivals]) - first
    unit, name = next((length, name) for most, length, name in _UNITS if span <= most)
    figure = Figure(figsize=(7.2, 1.3 + 0.32 * max(3, len(pairs))), layout="constrained")
    axes = figure.subplots()
    few = draw_contacts(axes, plan, unit)
    axes.set_xlim(min(0.0, first / unit), 1.02 * (first + span) / unit)
    for number, route in enumerate(routes):
        colour = _ROUTES[number % len(_ROUTES)]
        for passage in route.contacts:
            place = row[passage.src, passage.dst]
            sent = [passage.first_bit / unit, passage.last_bit / unit]
            axes.plot(sent, [place, place], color=colour, linewidth=3, solid_capstyle="butt")
            axes.plot(
                [passage.last_bit / unit, passage.arrival / unit],
                [place, place],
                color=colour,
                linewidth=1,
                linestyle=(0, (2, 1)),
                marker=">",
                markevery=[1],
                markersize=4,
            )
        label = f"route by {route.next_hop}, arrival {route.arrival / unit:.4g} {name}"
        axes.plot([], [], color=colour, linewidth=3, label=label)
    axes.set_xlabel(f"time ({name})")
    rates = sorted({contact.rate_bps for contact in plan.contacts})
    shown = "" if few else f"; bar height: rate, {_rate(rates[0])} to {_rate(rates[-1])}"
    axes.set_title(f"{plan.name}: {len(plan.contacts)} contacts{shown}")
    if routes or few:
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def draw_contacts(axes: Axes, plan: Plan, unit: float) -> bool:
    """Draws the contacts of a plan into axes, with times in ``unit`` seconds. Returns true if there
    are few rates, so that each has a colour and a label for a legend."""
    pairs = sorted({(contact.src, contact.dst) for contact in plan.contacts}, key=_order)
    row = {pair: index for index, pair in enumerate(pairs)}
    rates = sorted({contact.rate_bps for contact in plan.contacts})
    few = len(rates) <= len(COLOURS)
    labels = {rate: _rate(rate) for rate in rates} if few else {}
    for contact in plan.contacts:
        # Rates differ by orders of magnitude, so a tenth of the fastest rate has half its height.
        height = 0.76 * (1.0 if few else max(0.2, 1 + _decades(contact.rate_bps, rates[-1]) / 2))
        colour = COLOURS[rates.index(contact.rate_bps)] if few else "#8C949C"
        start, length = contact.start / unit, (contact.end - contact.start) / unit
        axes.barh(
            row[contact.src, contact.dst],
            length,
            left=start,
            height=height,
            color=colour,
            alpha=0.55,
            label=labels.pop(contact.rate_bps, None),
        )
    axes.set_yticks(range(len(pairs)), [f"{source} to {destination}" for source, destination in pairs])
    axes.tick_params(axis="y", labelcolor=INK)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    return few


def _order(pair: tuple[Any, Any]) -> Any:
    return [(isinstance(node, str), node) for node in pair]


def _decades(rate: float, fastest: float) -> float:
    import math

    return math.log10(rate / fastest)


def _rate(bits_per_second: float) -> str:
    for size, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits_per_second >= size:
            return f"{bits_per_second / size:g} {unit}"
    return f"{bits_per_second:g} bit/s"
