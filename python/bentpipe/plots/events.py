"""Events of a run in figures over time: scheduled and manual changes, handovers, fades and
outages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bentpipe.quantities import base_value
from bentpipe.scenario.variation import short_value

from .style import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bentpipe.results.runs import Run

#: Maximum number of events with labels, and of drawn events.
_LABELLED: Final = 8
_DRAWN: Final = 60


@dataclass(frozen=True)
class Event:
    """An event: its time in seconds, its name, and its end if it has a duration. ``kind`` is
    "change", "handover", "fade" or "outage"."""

    time_s: float
    label: str
    kind: str
    end_s: float | None = None

    @property
    def text(self) -> str:
        """The event with its time."""
        until = "" if self.end_s is None else f" to {self.end_s:.6g}"
        return f"{self.label} ({self.time_s:.6g}{until} s)"


def events(run: Run) -> list[Event]:
    """Returns the events of a run in order of time: ``[[change]]``, manual changes, handovers,
    outages, and fades. In a fade, a link uses a MODCOD below its best one."""
    found = [*_changes(run), *_handovers(run), *_weather(run), *_contact_outages(run)]
    return sorted(dict.fromkeys(found), key=lambda event: event.time_s)


def mark(panels: Sequence[Axes], runs: Sequence[Run], *, named: bool = True) -> None:
    """Draws the events of runs into panels over time. If ``named`` is true and there are few
    events, they have numbers in the first panel, which a line below the figure explains. With more
    than :data:`_DRAWN` events, nothing is drawn."""
    found = sorted({event for run in runs for event in events(run)}, key=lambda event: event.time_s)
    if not found or len(found) > _DRAWN:
        return
    for axes in panels:
        across = axes.get_xaxis_transform()
        moments = [event.time_s for event in found if event.end_s is None]
        axes.vlines(
            moments, 0, 1, transform=across, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), alpha=0.7
        )
        for event in found:
            if event.end_s is not None:
                axes.axvspan(event.time_s, event.end_s, color=INK, alpha=0.08, linewidth=0)
    if named and len(found) <= _LABELLED:
        for number, event in enumerate(found, start=1):
            text = panels[0].annotate(
                str(number),
                (event.time_s, 1),
                xycoords=panels[0].get_xaxis_transform(),
                xytext=(2, -2),
                textcoords="offset points",
                va="top",
                fontsize=7,
                color=INK,
            )
            # A page that enlarges the panel hides the number, like ticks.
            text.set_gid(f"eventtick_{number}")
        figure = panels[0].figure
        about = "    ".join(f"{number}: {event.text}" for number, event in enumerate(found, start=1))
        lines = textwrap.wrap(about, int(17 * figure.bbox.width / figure.dpi), break_long_words=False)
        figure.supxlabel("\n".join(lines), x=0.01, horizontalalignment="left", fontsize=7, color=INK)


def _changes(run: Run) -> Iterator[Event]:
    for change in run.scenario.get("change", []):
        for part in change["set"].values():
            for name, settings in part.items():
                label = f"{name}: {', '.join(_settings(settings))}"
                yield Event(base_value(change["at"]), label, "change")
    for made in run.provenance.get("notes", {}).get("changes", []):
        _, name, *key = str(made["key"]).split(".")
        label = f"by hand: {name}: {' '.join(key)} {short_value(str(made['value']))}"
        yield Event(float(made["at"]), label, "change")


def _settings(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yields the changed keys with their values; for a table, its kind."""
    for key, value in table.items():
        if isinstance(value, Mapping) and "kind" not in value:
            yield from _settings(value, f"{path} {key}".strip())
        else:
            shown = value.get("kind") if isinstance(value, Mapping) else value
            yield f"{path} {key} {shown}".strip()


def _handovers(run: Run) -> Iterator[Event]:
    if run.has_trace("selection"):
        links = {one["name"]: one.get("links", []) for one in run.scenario.get("multilink", [])}
        for time, name, to in run.trace("selection").select("time", "multilink", "to").iter_rows():
            named = links.get(name, [])
            yield Event(time, f"handover to {named[to]}" if to < len(named) else "handover", "handover")
    else:
        for handover in run.scenario.get("handover", []):
            yield Event(base_value(handover["at"]), f"handover to {handover['to']}", "handover")
    if run.has_trace("handover"):
        trace = run.trace("handover")
        if trace.height <= _DRAWN:
            for time, site in trace.select("time", trace.columns[1]).iter_rows():
                yield Event(time, f"handover of {site}", "handover")


def _weather(run: Run) -> Iterator[Event]:
    """Yields outages and fades of adaptive links: the intervals in which any of these links had no
    MODCOD, or a MODCOD below its best."""
    if not run.has_trace("acm"):
        return
    from .data import duration_s, trace_of

    end = duration_s(run)
    lines = trace_of(run, "acm.efficiency")
    outages: dict[str, list[tuple[float, float]]] = {}
    fades: dict[str, list[tuple[float, float]]] = {}
    for name, (times, values) in lines.items():
        until = [*times[1:], end]
        for time, stop, value in zip(times, until, values, strict=True):
            if value == 0:
                outages.setdefault(name, []).append((float(time), float(stop)))
            elif value < values.max():
                fades.setdefault(name, []).append((float(time), float(stop)))
    for what, found in (("outage", outages), ("fade", fades)):
        who = next(iter(found), "") if len(found) == 1 else f"{len(found)} of {len(lines)} links"
        for start, stop in _merged([span for spans in found.values() for span in spans]):
            yield Event(start, f"{what} of {who}", what, stop)


def _contact_outages(run: Run) -> Iterator[Event]:
    for network in run.scenario.get("network", {}).values():
        for outage in network.get("outages", []) if network.get("kind") == "bundles" else []:
            label = f"outage {outage['from']} to {outage['to']}"
            yield Event(base_value(outage["start"]), label, "outage", base_value(outage["end"]))


def _merged(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns the union of intervals.

    >>> _merged([(3.0, 4.0), (0.0, 1.0), (0.5, 2.0)])
    [(0.0, 2.0), (3.0, 4.0)]
    """
    union: list[tuple[float, float]] = []
    for start, stop in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(stop, union[-1][1]))
        else:
            union.append((start, stop))
    return union
