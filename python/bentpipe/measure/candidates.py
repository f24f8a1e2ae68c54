"""Satellites that may have served the slots of a measured path, from element sets and positions on
the ground.

The distance of a visible satellite changes by kilometres within a slot, and the round-trip time
changes with it. A candidate is compared with the medians of the probes without load in parts of the
slot:

- the change of its delay over the slot. The remainder of the path (gateway to host, processing) is
  assumed constant within a slot;
- its mean delay, if the gateway is known: then the remainder is the same in all slots within some
  tenths of a millisecond. This common remainder is estimated as the one that maximises the
  likelihood of all slots.

Candidates whose distance alone takes longer than the measured round-trip time are impossible. The
others have a probability by Bayes' rule with an equal prior for every visible satellite. Errors are
those of the medians. If even the best candidate does not agree within them, the errors are
increased until it does. Paths over inter-satellite links and refraction are not modelled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bentpipe import _native
from bentpipe.errors import InputError, trouble

from .clock import Times
from .slots import evened

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

#: Speed of light in m/s.
LIGHT: Final = 299_792_458.0
#: Number of parts into which a slot is divided. Each part is compared by its median.
PARTS: Final = 12
#: Minimum number of parts with enough probes.
MIN_PARTS: Final = 5
#: Minimum number of probes in a part.
MIN_PROBES: Final = 3
#: Seconds ignored at both ends of a slot, because the time of a handover is not known exactly.
EDGE_S: Final = 0.3
#: Minimum error of a median in seconds. It covers hosts, and element sets with position errors of
#: some kilometres.
MIN_ERROR_S: Final = 20e-6
#: Error of the slope of the delay for element sets some days old, in seconds per second.
SLOPE: Final = 1e-6
#: Error of the slope if the gateway is unknown, in seconds per second. The distance to the gateway
#: changes by up to about 5 km/s.
UNKNOWN_SLOPE: Final = 25e-6
#: Variation of the path's remainder between slots in seconds, caused by schedulers and queues.
LEVEL_S: Final = 0.3e-3
#: Fraction of slots in which the remainder may have any value within the range RANGE_S.
OUTLIER_FRACTION: Final = 0.05
#: Range of these values in seconds.
RANGE_S: Final = 50e-3
#: Minimum number of slots for an estimate of the remainder.
MIN_SLOTS: Final = 3


@dataclass(frozen=True)
class Place:
    """A position on the ground: latitude and longitude in degrees (north and east are positive),
    and height in metres."""

    latitude: float
    longitude: float
    height: float = 0.0

    @classmethod
    def read(cls, option: str, text: str) -> Place:
        """Reads an option such as ``47.37,8.54`` or ``47.37,8.54,400``."""
        try:
            found = cls(*(float(part) for part in text.split(",")))
        except (ValueError, TypeError):
            found = cls(math.nan, math.nan)
        near = abs(found.latitude) <= 90 and abs(found.longitude) <= 360 and -12e3 <= found.height <= 100e3
        if not near:
            allowed = (
                "latitude and longitude in degrees, and optionally the height in metres, such as "
                "47.37,8.54,400"
            )
            raise InputError(f'{option} "{text}"; allowed: {allowed}')
        return found

    @property
    def row(self) -> tuple[float, float, float]:
        """The position in the format of the native module."""
        return self.latitude, self.longitude, self.height


@dataclass(frozen=True)
class Sky:
    """Element sets, the positions of terminal and gateway, and the minimum elevation ``mask`` in
    degrees."""

    file: Path
    text: str
    terminal: Place
    gateway: Place | None
    mask: float

    @classmethod
    def read(cls, file: Path, terminal: Place, gateway: Place | None, mask: float) -> Sky:
        """Reads a file of element sets (TLE or OMM). Raises :class:`bentpipe.InputError`."""
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(trouble(error)) from error
        except UnicodeDecodeError as error:
            raise InputError(f"{file} is not a text file; allowed: element sets as TLE or OMM") from error
        return cls(file, text, terminal, gateway, mask)

    def looks(self, start: str, times: list[list[float]]) -> list[Any]:
        """Returns the visible satellites for each list of times. ``times`` are in seconds after
        ``start``. A satellite counts as visible if it is visible at the middle of the list. Raises
        :class:`bentpipe.InputError` if the file has no element sets, or if its element sets are not
        valid at that time."""
        sites = [place.row for place in (self.terminal, self.gateway) if place is not None]
        try:
            return _native.in_sight(self.text, sites, start, times, self.mask)
        except InputError as error:
            raise InputError(f"{self.file}: {error}") from error


@dataclass(frozen=True)
class Candidate:
    """A satellite that may have served a slot. Degrees at the middle of the slot, seconds of the
    round trip."""

    satellite: str
    elevation: float
    azimuth: float
    #: Round-trip time of light from terminal to satellite, and on to the gateway if that is known.
    least: float
    #: Change of that time from the first to the last part of the slot.
    change: float
    #: Root mean square of the difference from the measured round-trip times, after removal of a
    #: constant.
    off: float
    probability: float
    #: Predicted round-trip times of the candidate: times in seconds since the first probe, and
    #: values.
    course: tuple[Times, Times]


@dataclass(frozen=True)
class Slot:
    """A slot, its measured round-trip time and the change of that time, in seconds, and the
    satellites that may have served it."""

    begin: float
    end: float
    round_trip: float
    change: float
    candidates: list[Candidate]


@dataclass(frozen=True)
class _Seen:
    """One satellite in one slot: its candidate, the remainder of the path, and the misfit of its
    round-trip times."""

    candidate: Candidate
    remainder: float
    chi_square: float


@dataclass(frozen=True)
class Grid:
    """The known slots of an operator: their length, and the start of one slot within each minute of
    UTC, in seconds."""

    length: float
    offset: float

    @classmethod
    def read(cls, text: str) -> Grid:
        """Reads an option such as ``15,12``."""
        try:
            found = cls(*(float(part) for part in text.split(",")))
        except (ValueError, TypeError):
            found = cls(0.0, 0.0)
        if not (1 <= found.length <= 3600 and 0 <= found.offset < 60):
            allowed = "length and start within each minute of UTC, in seconds, such as 15,12"
            raise InputError(f'--slots "{text}"; allowed: {allowed}')
        return found

    def begins(self, started: str, end: float) -> list[float]:
        """Returns the starts of the slots from a time in UTC to ``end`` seconds later; the first is
        0."""
        into = datetime.fromisoformat(started).timestamp() - self.offset
        first = self.length - into % self.length
        return [0.0, *np.arange(first, end, self.length).tolist()]


def candidates(run: Run, sky: Sky, grid: Grid | None = None) -> tuple[list[Slot], list[str]]:
    """Returns the slots of a measured run, or those of a grid, with the satellites that may have
    served them, the likeliest first, and notes for the user.

    Raises :class:`bentpipe.InputError` for a run without slots.
    """
    if run.provenance.get("instrument") != "measure" or "probe" not in run.traces:
        raise InputError(f"{run.path} was not measured; allowed: a run folder of `bentpipe measure`")
    if grid is None and "slots" not in run.tables:
        raise InputError(
            f"{run.path} has no table slots, because no step of 1 ms was found in the delay of the path: "
            "add the slots of the operator, such as --slots 15,12"
        )
    trace = run.trace("probe")
    good = (trace["quiet"] & trace["replied"] & (trace["train"] < 0)).to_numpy()
    time = trace["time"].to_numpy()[good]
    level = evened(trace["round_trip"].to_numpy()[good], trace["size"].to_numpy()[good])
    last = float(time[-1]) if len(time) else 0.0
    begins = (
        grid.begins(run.provenance["started"], last)
        if grid is not None
        else [float(row["begin"]) for row in run.table("slots").to_dicts()]
    )
    ends = [*begins[1:], last]
    courses = [_course(time, level, *bounds) for bounds in zip(begins, ends, strict=True)]
    kept = [(begin, end, own) for begin, end, own in zip(begins, ends, courses, strict=True) if own]
    looks = sky.looks(run.provenance["started"], [own[0].tolist() for _, _, own in kept])
    slope = SLOPE if sky.gateway is not None else UNKNOWN_SLOPE
    seen = [
        [_seen(one, own, slope) for one in in_sight]
        for (_, _, own), in_sight in zip(kept, looks, strict=True)
    ]
    weights = [_weights(own) for own in seen]
    common = _remainder(seen, weights) if sky.gateway is not None and len(kept) >= MIN_SLOTS else None
    found = []
    for (begin, end, own), those, likely in zip(kept, seen, weights, strict=True):
        if common is not None:
            likely = likely * _near(np.array([one.remainder for one in those]), common)
        total = likely.sum()
        parts = likely / total if total > 0 else np.zeros(len(those))
        order = np.argsort(-parts, kind="stable")
        rated = [
            replace(those[place].candidate, probability=float(parts[place]))
            for place in order
            if likely[place] > 0
        ]
        found.append(Slot(begin, end, float(np.median(own[1])), _trend(*own), rated))
    notes = _notes(found, len(begins), common, sky)
    return found, notes


def _course(time: Times, level: Times, begin: float, end: float) -> tuple[Times, Times, Times] | None:
    """Returns the parts of a slot: their middles, the medians of the probes and the errors of these
    medians; ``None`` if there are too few probes."""
    inside = (time >= begin + EDGE_S) & (time < end - EDGE_S)
    at, own = time[inside], level[inside]
    number = np.minimum((PARTS * (at - begin) / max(end - begin, 1e-9)).astype(int), PARTS - 1)
    parts = [(at[number == one], own[number == one]) for one in range(PARTS)]
    parts = [part for part in parts if len(part[0]) >= MIN_PROBES]
    if len(parts) < MIN_PARTS:
        return None
    medians = np.array([np.median(values) for _, values in parts])
    apart = np.concatenate([np.abs(values - np.median(values)) for _, values in parts])
    # Standard error of the median of normal values. Their standard deviation is 1.4826 times the
    # median absolute deviation.
    spread = 1.4826 * float(np.median(apart))
    error = np.array([1.2533 * spread / math.sqrt(len(values)) for _, values in parts])
    middles = np.array([times.mean() for times, _ in parts])
    return middles, medians, np.hypot(error, MIN_ERROR_S)


def _seen(one: Any, own: tuple[Times, Times, Times], slope: float) -> _Seen:
    """Returns the comparison of a satellite with the measured round-trip times of a slot."""
    name, sites = one
    at, level, error = own
    looks = np.array(sites)
    course = 2 * looks[:, :, 2].sum(axis=0) / LIGHT
    middle = len(at) // 2
    along, weight = at - at.mean(), 1 / error**2
    # A constant, and a slope that is known to be near 0.
    apart = level - course
    design = np.stack([np.ones_like(along), along])
    normal = (design * weight) @ design.T + np.diag([0.0, 1 / slope**2])
    constant, tilt = np.linalg.solve(normal, (design * weight) @ apart)
    left = apart - constant - tilt * along
    chi_square = float((weight * left**2).sum() + (tilt / slope) ** 2)
    elevation, azimuth, _ = looks[0, middle]
    candidate = Candidate(
        name,
        float(elevation),
        float(azimuth),
        float(course[middle]),
        float(course[-1] - course[0]),
        float(np.sqrt(np.mean((apart - apart.mean()) ** 2))),
        0.0,
        (at, course + float(constant)),
    )
    return _Seen(candidate, float(constant), chi_square)


def _weights(seen: list[_Seen]) -> Times:
    """Returns the likelihood of the change over the slot for each satellite, up to a factor."""
    if not seen:
        return np.empty(0)
    chi = np.array([one.chi_square for one in seen])
    possible = np.array([one.remainder > -LEVEL_S for one in seen])
    if not possible.any():
        return np.zeros(len(seen))
    freedom = len(seen[0].candidate.course[0]) - 1
    scale = max(1.0, float(chi[possible].min()) / freedom)
    weights: Times = np.where(possible, np.exp(-(chi - chi[possible].min()) / (2 * scale)), 0.0)
    return weights


def _near(remainders: Times, common: float) -> Times:
    """Returns the likelihood of remainders whose mean is `common`."""
    normal = np.exp(-(((remainders - common) / LEVEL_S) ** 2) / 2) / (LEVEL_S * math.sqrt(2 * math.pi))
    near: Times = (1 - OUTLIER_FRACTION) * normal + OUTLIER_FRACTION / RANGE_S
    return near


def _remainder(seen: list[list[_Seen]], weights: list[Times]) -> float | None:
    """Returns the remainder of the path under which all slots together are most likely."""
    slots = [
        (np.array([one.remainder for one in own]), likely / likely.sum())
        for own, likely in zip(seen, weights, strict=True)
        if likely.sum() > 0
    ]
    if not slots:
        return None
    tried = np.unique(np.concatenate([values[values > -LEVEL_S] for values, _ in slots]))
    likely = [sum(math.log(float((w * _near(v, one)).sum())) for v, w in slots) for one in tried.tolist()]
    best = float(tried[int(np.argmax(likely))])
    # The likeliest remainder is that of a single slot; the mean of its neighbours is a better
    # estimate.
    near = np.concatenate([values[np.abs(values - best) < 2 * LEVEL_S] for values, _ in slots])
    parts = np.concatenate([w[np.abs(v - best) < 2 * LEVEL_S] for v, w in slots])
    return float(np.average(near, weights=parts)) if parts.sum() > 0 else best


def _trend(at: Times, level: Times, _: Times) -> float:
    """Returns the change of round-trip times from the first to the last part of a slot, by their
    mean slope."""
    return float(np.polyfit(at, level, 1)[0] * (at[-1] - at[0]))


def _notes(found: list[Slot], slots: int, common: float | None, sky: Sky) -> list[str]:
    notes = []
    if len(found) < slots:
        notes.append(
            f"{slots - len(found)} of {slots} slots have too few probes without load to compare satellites"
        )
    if any(not one.candidates for one in found):
        none = sum(not one.candidates for one in found)
        notes.append(f"in {none} slots no satellite of {sky.file.name} is possible")
    if sky.gateway is None:
        notes.append(
            "the position of the gateway is not known, and its distance to the satellite changes as well. "
            "Only the change of the delay within each slot was compared, so expect several candidates"
        )
    elif common is not None:
        notes.append(f"the remainder of the round trip, beyond the satellite, is {1e3 * common:.2f} ms")
    return notes


def write(run: Run, found: list[Slot]) -> None:
    """Adds the table `candidates` to a run, with a row for each satellite that may have served a
    slot."""
    import polars as pl

    rows = [
        {
            "begin": slot.begin,
            "end": slot.end,
            "round_trip": slot.round_trip,
            "round_trip_change": slot.change,
            **{key: value for key, value in vars(one).items() if key != "course"},
        }
        for slot in found
        for one in slot.candidates
    ]
    if rows:
        pl.DataFrame(rows).write_parquet(run.path / "tables" / "candidates.parquet")
