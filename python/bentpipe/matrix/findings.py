"""Published findings about QUIC over geostationary satellites, as statements about a matrix.

Endres, Deutschmann, Hielscher and German, "Performance of QUIC Implementations Over Geostationary
Satellite Links", 2022 (arXiv 2202.08228), compared implementations as client and as server by
downloads of 10 MiB over 20 and 2 Mbit/s with 600 ms, without loss (SAT) and with 1 % (SATLOSS).
Their words have no thresholds; each statement names ours. The bounds are those of picoquic's
satellite tests for 100 MB over 250 and 3 Mbit/s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median, pvariance
from typing import Any, Final

from .outcomes import FAILED, LATE, Outcome

#: Rate of the link in bit/s, and the best time that the study measured in seconds.
_RATE: Final = 20e6
_BEST_S: Final = 7.0

#: Bounds of completion in seconds in picoquic's tests, by congestion control.
BOUNDS: Final = {"cubic": 6.5, "bbr": 7.0, "bbr3": 5.5}


@dataclass(frozen=True)
class Finding:
    """A statement, its source, the value of this matrix in words, and whether it holds."""

    statement: str
    source: str
    value: str
    holds: bool

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)


def findings(outcomes: Sequence[Outcome], controls: Mapping[str, str]) -> list[Finding]:
    """Returns the statements that the cells of a matrix decide. ``controls`` are the congestion
    controls of the servers."""
    found = [statement(outcomes) for statement in (_poor, _loss, _fail, _server, _best)]
    return [one for one in found if one is not None] + _bounds(outcomes, controls)


def _endres(statement: str, value: str, holds: bool) -> Finding:
    return Finding(statement, "Endres et al. 2022", value, holds)


def _goodputs(outcomes: Sequence[Outcome], path: str) -> list[float]:
    """Returns the goodputs of 10 MiB over a path in bit/s, 0 for a transfer that failed."""
    own = [one for one in outcomes if (one.path, one.load) == (path, "10 MiB")]
    return [one.goodput or 0.0 for one in own if one.goodput or one.verdict in (FAILED, LATE)]


def _poor(outcomes: Sequence[Outcome]) -> Finding | None:
    rates = _goodputs(outcomes, "geo")
    if not rates:
        return None
    below = sum(rate < _RATE / 2 for rate in rates)
    statement = "Performance is poor in general: most downloads of 10 MiB use less than half of the link"
    return _endres(statement, f"{below} of {len(rates)}", below > len(rates) / 2)


def _loss(outcomes: Sequence[Outcome]) -> Finding | None:
    clear, lossy = (_goodputs(outcomes, path) for path in ("geo", "geo-loss"))
    if not clear or not lossy or not median(clear):
        return None
    ratio = median(lossy) / median(clear)
    statement = "Performance is very poor with loss: 1 % of loss takes more than half of the median goodput"
    return _endres(statement, f"{100 * (1 - ratio):.0f} %", ratio < 0.5)


def _fail(outcomes: Sequence[Outcome]) -> Finding | None:
    rates = [rate for path in ("geo", "geo-loss") for rate in _goodputs(outcomes, path)]
    if not rates:
        return None
    failed = sum(not rate for rate in rates)
    return _endres("Some pairs fail, or exceed the time limit", f"{failed} of {len(rates)}", failed > 0)


def _server(outcomes: Sequence[Outcome]) -> Finding | None:
    """Compares the variances of the mean logarithms of times, by server and by client."""
    variances = []
    own = [one for one in outcomes if (one.path, one.load) == ("geo", "10 MiB")]
    for name in ("column", "row"):
        groups: dict[str, list[float]] = {}
        for one in own:
            if one.completion_s is not None:
                groups.setdefault(getattr(one, name), []).append(math.log(one.completion_s))
        if len(groups) < 2 or max(map(len, groups.values())) < 2:
            return None
        variances.append(pvariance([fmean(times) for times in groups.values()]))
    by_server, by_client = (math.exp(math.sqrt(variance)) for variance in variances)
    return _endres(
        "The server decides more than the client: times differ more between servers than between clients",
        f"factors of {by_server:.2f} between servers, {by_client:.2f} between clients (standard deviations)",
        by_server > by_client,
    )


def _best(outcomes: Sequence[Outcome]) -> Finding | None:
    rates = _goodputs(outcomes, "geo")
    if not any(rates):
        return None
    best = 8 * (10 << 20) / max(rates)
    return _endres(
        f"The best download of 10 MiB takes slightly more than {_BEST_S:g} s",
        f"{best:.2f} s",
        _BEST_S <= best < _BEST_S + 1,
    )


def _bounds(outcomes: Sequence[Outcome], controls: Mapping[str, str]) -> list[Finding]:
    """Returns a statement per implementation with itself whose control has a bound."""
    found = []
    for one in outcomes:
        bound = BOUNDS.get(controls.get(one.column, ""))
        if bound is None or (one.path, one.load) != ("picoquic", "100 MB") or one.row != one.column:
            continue
        statement = f"{one.column} ({controls[one.column]}) needs at most {bound:g} s for 100 MB"
        value = f"{one.completion_s:.2f} s" if one.completion_s is not None else one.verdict
        holds = one.completion_s is not None and one.completion_s <= bound
        found.append(Finding(statement, "bound of picoquic's test", value, holds))
    return found
