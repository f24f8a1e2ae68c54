"""Scores a scenario against the trace of a real access, property by property.

Both sides are observed in the same way (:class:`~bentpipe.measure.scheduled.Access`): the bytes
that the access could deliver per millisecond, and the one-way delay without load every 10 ms. Each
observation of the scenario consists of two simulations, with a load above its rate and with small
packets every 10 ms. A trace of a minute has only four slots, so its properties vary. The scenario
is therefore observed several times, each time for the duration of the trace, and the trace is
compared with the spread of the observations.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bentpipe.errors import InputError
from bentpipe.statistics import student_quantile

from . import scheduled
from .scheduled import Access, Values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bentpipe import Scenario

#: Quantiles of rate and delay.
QUANTILES: Final = (0.05, 0.5, 0.95)
#: Lags of the autocorrelation in steps of 100 ms.
AUTOCORRELATION: Final = (1, 5, 10, 100)
#: Number of observations of the scenario.
REPLICATIONS: Final = 10
#: Packets of the load in bytes, with the headers of IP and UDP.
PACKET: Final = 1500
HEADERS: Final = 28
#: Parts of a scenario that belong to its flows.
OF_FLOWS: Final = ("flow", "campaign", "record", "proxy", "edge", "service")


@dataclass(frozen=True)
class Line:
    """A property of the trace, and of the scenario the mean over replications with the 95 %
    prediction interval for one more observation. ``unit`` is empty for numbers without one."""

    name: str
    unit: str
    trace: float
    scenario: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """True if the trace could be an observation of the scenario."""
        return self.low <= self.trace <= self.high

    def as_dict(self) -> dict[str, Any]:
        """The line as a dictionary for JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "trace": self.trace,
            "scenario": self.scenario,
            "interval": [self.low, self.high],
            "inside": self.inside,
        }


def score(trace: Access, scenario: Sequence[Access]) -> list[Line]:
    """Compares all properties that the trace has. The scenario is observed at least twice, for the
    duration of the trace."""
    lines = []
    for name, unit, of in properties(trace):
        values = np.array([of(one) for one in scenario])
        mean, count = float(values.mean()), len(values)
        half = student_quantile(0.975, count - 1) * float(values.std(ddof=1)) * (1 + 1 / count) ** 0.5
        lines.append(Line(name, unit, of(trace), mean, mean - half, mean + half))
    return lines


def _rates(access: Access) -> Values:
    return scheduled.rates(access, [])[1] / 1e6


def rates_in_steps(access: Access, packets: int = 20) -> Values:
    """Returns the rates in Mbit/s, in steps of 100 ms or, on slow paths, of the mean time of
    ``packets`` packets. The first step is left out, because the path is still empty."""
    first = int(np.flatnonzero(access.deliveries)[0])
    used = access.deliveries[first:]
    step = max(scheduled.STEP_MS, round(packets * PACKET / used.mean()))
    whole = len(used) // step * step
    rates: Values = used[:whole].reshape(-1, step).sum(1) * 8 / step / 1e3
    return rates


def autocorrelation(values: Values, lag: int) -> float:
    """Returns the autocorrelation at a lag of at least 1; 0 for constant values."""
    rest = values - values.mean()
    variance = float((rest * rest).mean())
    return float((rest[:-lag] * rest[lag:]).mean()) / variance if variance > 0 else 0.0


def properties(trace: Access) -> list[tuple[str, str, Callable[[Access], float]]]:
    """Returns name, unit and value of each property of an observation. The delays are left out if
    the trace has none."""
    found: list[tuple[str, str, Callable[[Access], float]]] = [
        ("mean rate", "Mbit/s", lambda one: float(_rates(one).mean()))
    ]
    found += [(f"rate, {100 * q:g} % quantile", "Mbit/s", partial(_rate_quantile, q)) for q in QUANTILES]
    for lag in AUTOCORRELATION:
        name = f"autocorrelation at {lag * scheduled.STEP_MS / 1e3:g} s"
        found.append((name, "", partial(_rate_autocorrelation, lag)))
    if len(trace.delays):
        found += [(f"delay, {100 * q:g} % quantile", "ms", partial(_delay_quantile, q)) for q in QUANTILES]
    if scheduled.grid(scheduled.holes(trace)):
        found.append(("spacing of holes", "s", _spacing))
        found.append(("length of holes, median", "ms", _length))
    return found


def _rate_quantile(q: float, access: Access) -> float:
    return float(np.quantile(_rates(access), q))


def _rate_autocorrelation(lag: int, access: Access) -> float:
    return autocorrelation(_rates(access), lag)


def _delay_quantile(q: float, access: Access) -> float:
    return float(np.quantile(access.delays, q))


def _spacing(access: Access) -> float:
    found = scheduled.grid(scheduled.holes(access))
    return found[0].every / 1e3 if found else np.nan


def _length(access: Access) -> float:
    found = scheduled.grid(scheduled.holes(access))
    return float(np.median([one.length for one in found[1]])) if found else np.nan


def ends_of(scenario: Scenario, flow: str) -> tuple[str, str]:
    """Returns the nodes at which a flow begins and ends. An empty name stands for the first flow.

    Raises :class:`bentpipe.InputError` for a scenario without the flow.
    """
    flows = [one for one in scenario.data.get("flow", []) if flow in ("", one["name"])]
    if not flows:
        raise InputError(f'the scenario has no flow "{flow}"' if flow else "the scenario has no flow")
    return flows[0]["from"], flows[0]["to"]


def observe(scenario: Scenario, ends: tuple[str, str], duration_s: float, run: int = 0) -> Access:
    """Observes the path from one node to another by two simulations, each of ``duration_s``, with
    the random numbers of the replication ``run``. The flows of the scenario are left out, and the
    parts that serve certain flows (``OF_FLOWS``).

    Raises :class:`bentpipe.InputError` if there is no path, or if no packet arrives.
    """
    document = {key: value for key, value in scenario.data.items() if key not in OF_FLOWS}
    document["duration"] = f"{duration_s} s"
    document["record"] = {"traces": ["datagram"]}
    slowest = min(hop["rate_bit_s"]["mean"] for hop in hops(document, ends))
    # Three times the mean rate keeps the queue full.
    load = {"kind": "cbr", "rate": f"{3 * slowest:.0f} bit/s", "datagram": f"{PACKET - HEADERS} B"}
    # On slow paths, packets every 10 ms would be a load.
    probes = {"kind": "cbr", "rate": f"{min(80e3, slowest / 10):.0f} bit/s", "datagram": "100 B"}
    end = round(1e3 * duration_s)
    deliveries = np.zeros(end)
    times, _ = _received(document, ends, load, run)
    if not len(times):
        raise InputError(
            f"no packet arrives from {ends[0]} to {ends[1]} within {duration_s:g} s; allowed: a longer duration"
        )
    np.add.at(deliveries, np.floor(1e3 * times).astype(int).clip(0, end - 1), PACKET)
    times, delays = _received(document, ends, probes, run)
    return Access(deliveries, 1e3 * delays, 1e3 * (times - delays))


def hops(document: dict[str, Any], ends: tuple[str, str]) -> list[Any]:
    """Returns the facts of the hops from one node to another.

    Raises :class:`bentpipe.InputError` if there is no path.
    """
    from bentpipe.scenario.facts import facts

    without = {key: value for key, value in document.items() if key not in OF_FLOWS}
    there = facts(_alone(without, ends, {"kind": "bulk"}))["flows"][0]["there"]
    if not there:
        raise InputError(f"there is no path from {ends[0]} to {ends[1]}, or it crosses no link")
    return list(there)


def _alone(document: dict[str, Any], ends: tuple[str, str], app: dict[str, Any]) -> dict[str, Any]:
    """Returns the scenario with a single flow."""
    transport = "tcp" if app["kind"] == "bulk" else "udp"
    flow = {"name": "probe", "from": ends[0], "to": ends[1], "app": app, "transport": transport}
    return document | {"flow": [flow]}


def _received(
    document: dict[str, Any], ends: tuple[str, str], app: dict[str, Any], run: int
) -> tuple[Values, Values]:
    """Simulates one flow alone. Returns times of arrival and one-way delays in seconds."""
    import bentpipe

    with tempfile.TemporaryDirectory() as folder:
        simulated = bentpipe.simulate(_alone(document, ends, app), out=Path(folder) / "run", run=run)
        trace = simulated.trace("datagram")
        return trace["time"].to_numpy(), trace["delay"].to_numpy()
