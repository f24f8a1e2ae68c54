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


def observe(scenario: Scenario, flow: str, duration_s: float, run: int = 0) -> Access:
    """Observes the path of a flow in its direction by two simulations, each of ``duration_s``, with
    the random numbers of the replication ``run``. An empty name stands for the first flow.

    Raises :class:`bentpipe.InputError` for a scenario without the flow.
    """
    document = scenario.data
    flows = [one for one in document.get("flow", []) if flow in ("", one["name"])]
    if not flows:
        raise InputError(f'the scenario has no flow "{flow}"' if flow else "the scenario has no flow")
    ends = {key: flows[0][key] for key in ("from", "to")}
    slowest = min(hop["rate_bit_s"]["mean"] for hop in _hops(scenario, str(flows[0]["name"])))
    # Three times the mean rate keeps the queue full.
    load = {"kind": "cbr", "rate": f"{3 * slowest:.0f} bit/s", "datagram": f"{PACKET - HEADERS} B"}
    probes = {"kind": "cbr", "rate": "80 kbit/s", "datagram": "100 B"}
    end = round(1e3 * duration_s)
    deliveries = np.zeros(end)
    times, _ = _received(document, ends, load, duration_s, run)
    np.add.at(deliveries, np.floor(1e3 * times).astype(int).clip(0, end - 1), PACKET)
    times, delays = _received(document, ends, probes, duration_s, run)
    return Access(deliveries, 1e3 * delays, 1e3 * (times - delays))


def _hops(scenario: Scenario, flow: str) -> list[Any]:
    from bentpipe.scenario.facts import facts

    there = next(one["there"] for one in facts(scenario)["flows"] if one["name"] == flow)
    if not there:
        raise InputError(f"the flow {flow} has no path, or crosses no link")
    return list(there)


def _received(
    document: dict[str, Any], ends: dict[str, str], app: dict[str, Any], duration_s: float, run: int
) -> tuple[Values, Values]:
    """Simulates one flow alone. Returns times of arrival and one-way delays in seconds."""
    import bentpipe

    alone = {key: value for key, value in document.items() if key not in ("flow", "campaign", "record")}
    alone["duration"] = f"{duration_s} s"
    alone["record"] = {"traces": ["datagram"]}
    alone["flow"] = [{"name": "probe", **ends, "app": app, "transport": "udp"}]
    with tempfile.TemporaryDirectory() as folder:
        trace = bentpipe.simulate(alone, out=Path(folder) / "run", run=run).trace("datagram")
        return trace["time"].to_numpy(), trace["delay"].to_numpy()
