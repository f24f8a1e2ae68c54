"""Estimates of an access scheduler from impulses at random times: the superframe, the time from a
request to its capacity, and the capacity categories in use (EN 301 790, section 6.6.1.2).

An impulse that finds an empty queue first leaves at the constant rate (CRA), if there is one. When
the requested capacity arrives, the impulse leaves faster. This time is the *onset*. Onsets are
synchronous with the superframe, so their times modulo the length of the superframe cluster, even if
the impulses start at random times (the Rayleigh statistic of M. Fisher, "Statistical analysis of
circular data", 1993, section 4.3; figure 4 of the study VOTOS shows such impulses).

A second impulse soon after the first distinguishes the capacity categories. If the terminal
requests rates (RBDC), the second impulse finds capacity that is still assigned. If the terminal
requests volumes (VBDC), the second impulse needs a new request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from .clock import Times
from .load_results import Loaded

#: Minimum and maximum length of the superframe, in seconds.
PERIODS: Final = (5e-3, 2.0)
#: Minimum length of the mean vector of the onsets' phases for an accepted period. At 1, all phases
#: are equal.
MIN_RESULTANT: Final = 0.85
#: Probability of finding a period in onsets at random times.
FALSE_ALARM: Final = 0.01
#: Minimum number of impulses for an estimate.
MIN_IMPULSES: Final = 6
#: Minimum ratio of a constant rate to the rate of the measurement's own probes. Capacity that the
#: probes request is rounded up to slots and stays assigned for some superframes.
MIN_OWN_RATIO: Final = 2.0
#: Minimum logarithm of the likelihood ratio of two rates to one rate for an onset.
MIN_RATIO: Final = 4.0


@dataclass(frozen=True)
class Access:
    """An access scheduler. Times in seconds, rates in bit/s."""

    direction: str
    impulses: int
    #: Length of the superframe; None if the onsets have no period.
    superframe: float | None
    #: Shortest, median and longest time from an impulse to its onset, in excess of the minimum
    #: delay.
    wait: tuple[float, float, float] | None
    #: Superframes from a request to its capacity.
    response: int | None
    #: Constant rate; 0 without one.
    cra: float
    #: Maximum rate at which an impulse has left after its onset; None without onsets.
    rate: float | None
    #: "CRA", "RBDC", "VBDC", "CRA + RBDC" or "CRA + VBDC"; None if unknown.
    scheme: str | None


@dataclass(frozen=True)
class _Impulse:
    start: float
    #: Wait of each packet in excess of the minimum delay, in the order of arrival.
    waits: Times
    size: int

    @property
    def end(self) -> float:
        return self.start + float(self.waits[-1])

    def onset(self) -> int | None:
        """Returns the index of the packet at the onset, or None if all packets leave at one
        rate."""
        count, last = len(self.waits), float(self.waits[-1])
        best, found = MIN_RATIO, None
        if last <= 0:
            return None
        alone = count * np.log(count / last)
        for split in range(count - 2):
            slow, fast = max(float(self.waits[split]), 1e-6), max(last - float(self.waits[split]), 1e-4)
            after = count - 1 - split
            # The first packet of the fast part ends the slow one.
            ratio = after * np.log(after / fast) + (split + 1) * np.log((split + 1) / slow) - alone
            if after / fast > (split + 1) / slow and ratio > best:
                best, found = float(ratio), split
        return found


def access(one: Loaded, beside: float = 0.0, least: float = np.inf) -> Access | None:
    """Returns the access scheduler estimated from a load of impulses; ``None`` for another load or
    too few impulses. ``beside`` is the mean rate in bit/s of the measurement's other packets, whose
    requested capacity looks like a constant rate. ``least`` is the minimum delay in seconds of the
    probes in this direction, if known.
    """
    load = one.outcome.item.load
    impulses = _impulses(one, least)
    if load.kind != "impulses" or len(impulses) < MIN_IMPULSES:
        return None
    onsets = [one.onset() for one in impulses]
    # A packet that leaves within the time of its own onset finds the queue empty.
    done = np.maximum.accumulate([one.end for one in impulses])
    with_onset = [float(one.waits[at]) for one, at in zip(impulses, onsets, strict=True) if at is not None]
    if len(with_onset) < MIN_IMPULSES:
        return Access(load.direction, len(impulses), None, None, None, _slope(impulses), None, "CRA")
    typical = float(np.median(with_onset))
    idle = np.array([np.inf, *(np.array([one.start for one in impulses])[1:] - done[:-1])])
    cold = [
        (one, at)
        for one, at, quiet in zip(impulses, onsets, idle, strict=True)
        if quiet > typical and at is not None
    ]
    if len(cold) < MIN_IMPULSES:
        return None
    waits = np.array([one.waits[at] for one, at in cold])
    superframe = period(np.array([one.start for one, _ in cold]) + waits)
    # One or two packets may use leftover capacity of other requests; a constant rate sends more
    # before the onset.
    slow = [(at, float(one.waits[at])) for one, at in cold]
    constant = 0.0
    if np.median([count for count, _ in slow]) >= 3:
        # Some impulses may still use capacity that earlier impulses requested, hence the quantile.
        constant = (
            8 * load.size * float(np.quantile([count / time for count, time in slow if time > 0], 0.25))
        )
        if constant <= MIN_OWN_RATIO * beside:
            constant = 0.0
    rate = max(
        8 * load.size * (len(one.waits) - 1 - at) / max(1e-4, one.end - one.start - one.waits[at])
        for one, at in cold
    )
    warm = [one for one, quiet in zip(impulses, idle, strict=True) if 0 < quiet < 0.7 * typical]
    scheme = None
    if len(warm) >= 3:
        last = [
            float(np.median([one.waits[-1] for one in group])) for group in (warm, [one for one, _ in cold])
        ]
        scheme = "RBDC" if last[0] < 0.5 * last[1] else "VBDC"
        if constant > 0:
            scheme = f"CRA + {scheme}"
    if superframe is not None and waits.min() < superframe:
        # No packet arrived without a request, so the minimum delay includes the wait for capacity,
        # and the response time cannot be determined. Rates that are still assigned would have let
        # second impulses pass at once.
        scheme = "VBDC" if (np.isfinite(idle) & (idle > 0) & (idle < 0.5)).sum() >= 3 else scheme
        return Access(load.direction, len(impulses), superframe, None, None, constant, rate, scheme)
    response = None if superframe is None else max(0, round(float(np.median(waits)) / superframe - 0.5))
    quantiles = (float(waits.min()), float(np.median(waits)), float(waits.max()))
    return Access(load.direction, len(impulses), superframe, quantiles, response, constant, rate, scheme)


def period(times: Times) -> float | None:
    """Returns the longest period of times, or ``None`` if the times are not periodic.

    >>> source = np.random.default_rng(1)
    >>> found = period(0.094 * source.integers(0, 2000, 25) + source.uniform(0, 0.01, 25))
    >>> round(found, 4)
    0.094
    """
    span = float(np.ptp(times))
    if len(times) < MIN_IMPULSES or span <= 0:
        return None
    step = 1 / (8 * span)
    frequencies = np.arange(1 / PERIODS[1], 1 / PERIODS[0], step)
    # The steps are equal, so every block of frequencies has the same turns relative to its first
    # frequency.
    turns = np.exp(2j * np.pi * step * np.outer(np.arange(min(4096, len(frequencies))), times))
    resultant = np.zeros(len(frequencies))
    for begin in range(0, len(frequencies), len(turns)):
        part = frequencies[begin : begin + len(turns)]
        first = np.exp(2j * np.pi * part[0] * times)
        resultant[begin : begin + len(part)] = np.abs(turns[: len(part)] @ first) / len(times)
    # Few onsets are in step with one of many periods by chance: with probability exp(-n R^2) with
    # each of those that span and frequency tell apart (Fisher, section 4.3).
    chance = np.sqrt(np.log(np.maximum(frequencies * span, 1) / FALSE_ALARM) / len(times))
    good = np.flatnonzero(resultant >= np.maximum(MIN_RESULTANT, chance))
    if not len(good):
        return None
    # The maximum of the first peak.
    near = slice(good[0], good[0] + 9)
    return float(1 / frequencies[near][resultant[near].argmax()])


def _slope(impulses: list[_Impulse]) -> float:
    """Returns the mean rate at which impulses without an onset leave, in bit/s."""
    total = sum(8 * one.size * (len(one.waits) - 1) for one in impulses)
    time = sum(float(one.waits[-1] - one.waits[0]) for one in impulses)
    return total / time if time > 0 else 0.0


def _impulses(one: Loaded, least: float) -> list[_Impulse]:
    at = one.outcome.pattern["at"][: len(one.time)]
    good = np.isfinite(one.low)
    if not good.any():
        return []
    delay = one.delay - min(least, float(np.nanmin(one.delay)))
    found = []
    for start in np.unique(at):
        mine = (at == start) & good
        # The rest of an impulse with many losses carries no information.
        if mine.sum() < max(3, 0.8 * (at == start).sum()):
            continue
        begin = float(one.time[mine].min())
        waits = np.sort(one.time[mine] + delay[mine]) - begin
        found.append(_Impulse(begin, waits, one.outcome.item.load.size))
    return found
