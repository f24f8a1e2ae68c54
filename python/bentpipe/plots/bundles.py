"""Bundle networks over time: contacts, and the bundles created, delivered and in transit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bentpipe.dtn.contacts import plan_of_text

from .contacts import draw_contacts
from .data import duration_s
from .samples import samples_of
from .style import COLOURS, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bentpipe.results.runs import Run

#: Maximum number of pairs of nodes whose contacts are drawn.
_PAIRS = 16


def bundle_panels(run: Run) -> list[tuple[float, Callable[[Axes, Any], None]]]:
    """Returns the functions that draw the bundle networks of a run into axes, with the heights of
    their panels."""
    found: list[tuple[float, Callable[[Axes, Any], None]]] = []
    for name, network in run.scenario.get("network", {}).items():
        if network.get("kind") != "bundles":
            continue
        plan = plan_of_text(name, network["plan"], skip_impossible=network.get("skip_impossible", False))
        pairs = len({(contact.src, contact.dst) for contact in plan.contacts})
        if 0 < pairs <= _PAIRS:
            found.append((0.5 + 0.2 * pairs, partial(_draw_contacts, name, plan)))
        found.append((2.0, partial(_draw_bundles, name)))
    return found


def _draw_contacts(name: str, plan: Any, axes: Axes, run: Run) -> None:
    few = draw_contacts(axes, plan, 1.0)
    axes.set_title(f"Contacts of {name}{'' if few else '; bar height: rate'}")
    axes.set_xlim(0, duration_s(run))
    legend(axes)


def _draw_bundles(network: str, axes: Axes, run: Run) -> None:
    """Draws the numbers of bundles of the flows. A delivered bundle has its creation time and its
    number, which gives the number of bundles created by that time. The last point is the total."""
    end = duration_s(run)
    axes.set_title(f"Bundles of {network}")
    axes.set_ylabel("bundles")
    created, delivered = [], []
    numbers, delays = samples_of(run, "datagram.number"), samples_of(run, "datagram.delay")
    columns = ("flow", "bundles_created", "bundles_expired", "bundles_dropped")
    known_flows = run.flows.select(columns).rows() if {*columns} <= {*run.flows.columns} else []
    lost = 0
    for flow, made_in_all, expired, dropped in known_flows:
        if made_in_all is None or flow not in numbers:
            continue
        lost += (expired or 0) + (dropped or 0)
        arrived = numbers[flow].time_s
        made = arrived - delays[flow].values
        order = np.argsort(made)
        known = np.maximum.accumulate(numbers[flow].values[order] + 1)
        created.append((np.append(made[order], end), np.append(known, max(made_in_all, known[-1]))))
        delivered.append(np.sort(arrived))
    times = np.linspace(0.0, end, 1200)
    if not created:
        return
    up = sum(np.interp(times, *one, left=0.0) for one in created)
    down = sum(np.searchsorted(one, times, side="right") for one in delivered)
    axes.plot(times, up, color=COLOURS[0], label="created")
    axes.plot(times, down, color=COLOURS[2], drawstyle="steps-post", label="delivered")
    axes.fill_between(
        times,
        down,
        up,
        color=COLOURS[0],
        alpha=0.12,
        linewidth=0,
        label="stored, in flight or lost" if lost else "stored or in flight",
    )
    axes.set_ylim(bottom=0)
    legend(axes)
