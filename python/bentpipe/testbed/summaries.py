"""Summaries of runs: the results that lists of runs show. The process of a run computes them at its
end, so that lists read no results from files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from bentpipe.errors import InputError
from bentpipe.results.flows import flow_results
from bentpipe.results.runs import Run

from .verdicts import GRADES

#: Largest number of a summary. Larger ones do not fit into every database.
_LARGEST: Final = 2.0**62


@dataclass(frozen=True)
class Summary:
    """Results of all flows of a run. A value is None if no flow has it."""

    #: Sum of the flows' goodputs in bit/s, without those of legs.
    goodput: float | None = None
    #: Mean round-trip time of the flows in seconds.
    rtt: float | None = None
    #: Mean one-way delay of the flows in seconds.
    delay: float | None = None
    #: Sum of the flows' time-outs, without those of legs.
    timeouts: int | None = None
    #: Mean of the calls' mean opinion scores.
    mos: float | None = None
    #: Fidelity of a run of real kernels; empty for other runs.
    verdict: str = ""

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)


def summary_of(run: Run) -> Summary:
    """Returns the summary of a run that has ended."""
    verdict = str(run.fidelity.get("verdict", ""))
    try:
        flows = flow_results(run) if run.has_flows else []
    except InputError:
        flows = []
    whole = [one for one in flows if one.leg is None]
    timeouts = _sum(one.timeouts for one in whole)
    return Summary(
        goodput=_sum(one.goodput for one in whole),
        rtt=_mean(one.rtt_mean for one in flows),
        delay=_mean(one.delay_mean for one in flows),
        timeouts=None if timeouts is None else int(timeouts),
        mos=_mean(one.voice_mos for one in whole),
        verdict=verdict,
    )


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the valid values of a summary from the process of a run. The process is not trusted,
    so all other values are left out."""
    found: dict[str, Any] = {}
    for one in fields(Summary):
        value = given.get(one.name)
        if one.name == "verdict":
            found["verdict"] = value if value in GRADES else ""
        elif isinstance(value, int | float) and math.isfinite(value) and abs(value) < _LARGEST:
            found[one.name] = int(value) if one.name == "timeouts" else float(value)
    return found


def _sum(values: Iterable[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known else None
