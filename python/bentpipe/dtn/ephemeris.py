"""Contacts by geometry, between places on the Earth, places on Mars or the Moon, and orbiters.

Skyfield computes the positions of the bodies from JPL's ephemeris DE421 (1899 to 2053). The package
`skyfield-data` contains the ephemeris, so nothing is downloaded. Mars and the Moon rotate as
published by the IAU working group (Archinal et al. 2011); only the four largest of the Moon's
periodic terms are used (error about 0.05 degrees). Orbits are undisturbed circles relative to the
body's equator. The light time is the travel time of a signal from its source at departure to its
destination at arrival, without refraction and relativity (below 1 ms to Mars).

The extra `space` installs the dependencies: ``pip install 'bentpipe[space]'``.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bentpipe.errors import InputError, unknown

Array = NDArray[np.float64]

#: Speed of light in km/s.
SPEED_OF_LIGHT: Final = 299_792.458

#: The first and last day of a plan. DE421 covers one more day at each end, for light times.
DATES: Final = datetime(1899, 7, 30, tzinfo=UTC), datetime(2053, 10, 8, tzinfo=UTC)


@dataclass(frozen=True)
class Body:
    """A body: name in the ephemeris, radius (km), gravity (km3/s2), and pole and prime meridian
    (deg, as functions of the day)."""

    target: str
    radius_km: float
    gravity: float
    orientation: Callable[[Array], tuple[Array, Array, Array]] | None


def _mars(days: Array) -> tuple[Array, Array, Array]:
    centuries = days / 36_525
    return 317.68143 - 0.1061 * centuries, 52.88650 - 0.0609 * centuries, 176.630 + 350.89198226 * days


def _moon(days: Array) -> tuple[Array, Array, Array]:
    centuries = days / 36_525
    one, two, three, four = (
        np.radians(start + rate * days)
        for start, rate in (
            (125.045, -0.0529921),
            (250.089, -0.1059842),
            (260.008, 13.0120009),
            (176.625, 13.3407154),
        )
    )
    ascension = 269.9949 + 0.0031 * centuries
    ascension += -3.8787 * np.sin(one) - 0.1204 * np.sin(two) + 0.07 * np.sin(three) - 0.0172 * np.sin(four)
    declination = 66.5392 + 0.013 * centuries
    declination += (
        1.5419 * np.cos(one) + 0.0239 * np.cos(two) - 0.0278 * np.cos(three) + 0.0068 * np.cos(four)
    )
    meridian = 38.3213 + 13.17635815 * days - 1.4e-12 * days**2
    meridian += 3.561 * np.sin(one) + 0.1208 * np.sin(two) - 0.0642 * np.sin(three) + 0.0158 * np.sin(four)
    return ascension, declination, meridian


BODIES: Final = {
    "mars": Body("mars", 3396.19, 42_828.37, _mars),
    "moon": Body("moon", 1737.4, 4902.8, _moon),
    "venus": Body("venus", 6051.8, 324_858.6, None),
}


@dataclass(frozen=True)
class Place:
    """A place on the ground: latitude and longitude (deg), and its minimum elevation (deg)."""

    name: str
    latitude: float
    longitude: float
    mask: float = 10.0
    #: A key of :data:`BODIES`, or `earth`.
    body: str = "earth"


@dataclass(frozen=True)
class Orbiter:
    """A circular orbit: altitude (km), inclination, ascending node, and place in the orbit at the
    start (deg)."""

    name: str
    body: str
    altitude: float
    inclination: float
    node: float = 0.0
    phase: float = 0.0


@dataclass(frozen=True)
class VisibilityWindow:
    """An interval in which a signal from ``src`` reaches ``dst``, in seconds from the start, with
    the light time at its middle."""

    src: str
    dst: str
    start: float
    end: float
    owlt_s: float


def light_time(body: str, day: datetime) -> float:
    """Returns the light time in seconds from the centre of a body to the centre of the Earth, for
    arrival at ``day`` (TDB)."""
    check_dates(day, 0)
    kernel, scale = _kernel()
    when = scale.tdb(day.year, day.month, day.day, day.hour, day.minute, day.second)
    return float(kernel["earth"].at(when).observe(kernel[_body(body).target]).light_time) * 86_400


def check_dates(start: datetime, seconds: float, name: str = "start") -> None:
    """Checks that DE421 covers the interval of ``seconds`` from a start. Raises
    :class:`bentpipe.InputError`."""
    first, last = DATES
    begin = _utc(start)
    if not (first <= begin and seconds <= (last - begin).total_seconds()):
        raise InputError(
            f"{name} {start:%Y-%m-%d} with {seconds / 3600:g} hours is outside the ephemeris; allowed: "
            f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
        )


def visibility_windows(
    ends: Sequence[Place | Orbiter],
    start: datetime,
    seconds: float,
    *,
    step: float = 30.0,
    longest: float = 600.0,
    start_name: str = "start",
) -> list[VisibilityWindow]:
    """Returns the intervals in which a signal from one of ``ends`` reaches another, in order of
    time.

    Visibility is sampled every ``step`` seconds, so shorter intervals can be missed, and the bounds
    of the intervals are then refined. Aberration is not corrected, so the bounds are accurate to
    about 0.1 s. Intervals longer than ``longest`` are divided, since each has a single light time.
    Raises :class:`bentpipe.InputError` for duplicate names and for dates outside DE421;
    ``start_name`` is the name of ``start`` in the message.
    """
    names = [end.name for end in ends]
    if len(set(names)) != len(names):
        raise InputError(f"names occur more than once: {', '.join(names)}")
    check_dates(start, seconds, start_name)
    sky = _Sky(start)
    found: list[VisibilityWindow] = []
    for source in ends:
        for destination in ends:
            if source is not destination:
                found += _between(sky, source, destination, seconds, step, longest)
    return sorted(found, key=lambda sight: (sight.start, sight.src, sight.dst))


def _between(
    sky: _Sky,
    source: Place | Orbiter,
    destination: Place | Orbiter,
    seconds: float,
    step: float,
    longest: float,
) -> Iterator[VisibilityWindow]:
    def margin(times: Array) -> Array:
        return sky.margin(source, destination, times)

    times = np.append(np.arange(0.0, seconds, step), seconds)
    seen = margin(times) > 0
    edges = [0.0] if seen[0] else []
    for index in np.flatnonzero(seen[1:] != seen[:-1]):
        low, high = times[index], times[index + 1]
        while high - low > 1e-3:
            middle = (low + high) / 2
            if (margin(np.array([middle]))[0] > 0) == seen[index]:
                low = middle
            else:
                high = middle
        edges.append(float(high if not seen[index] else low))
    if seen[-1]:
        edges.append(float(seconds))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        parts = max(1, math.ceil((end - begin) / longest))
        bounds = [round(begin + (end - begin) * part / parts, 3) for part in range(parts + 1)]
        middles = np.array([(low + high) / 2 for low, high in itertools.pairwise(bounds)])
        delays = sky.delay(source, destination, middles)
        for (low, high), delay in zip(itertools.pairwise(bounds), delays, strict=True):
            if high > low:
                yield VisibilityWindow(source.name, destination.name, low, high, round(float(delay), 6))


class _Sky:
    """Positions of the ends in km from the barycentre of the solar system, as functions of the
    seconds from a start."""

    def __init__(self, start: datetime) -> None:
        self.kernel, self.scale = _kernel()
        self.start = self.scale.from_datetime(_utc(start))

    def time(self, seconds: Array) -> Any:
        return self.scale.tt_jd(self.start.tt + seconds / 86_400)

    def position(self, end: Place | Orbiter, seconds: Array) -> Array:
        """Returns positions as an array with three rows."""
        time = self.time(seconds)
        if isinstance(end, Place) and end.body == "earth":
            from skyfield.api import wgs84

            station = self.kernel["earth"] + wgs84.latlon(end.latitude, end.longitude)
            return np.asarray(station.at(time).position.km)
        centre = np.asarray(self.kernel[_body(end.body).target].at(time).position.km)
        return centre + self._offset(end, seconds, time)

    def _offset(self, end: Place | Orbiter, seconds: Array, time: Any) -> Array:
        body = _body(end.body)
        if body.orientation is None:
            raise InputError(f'places on and orbits about "{end.body}" are not modelled; allowed: mars, moon')
        ascension, declination, meridian = (
            np.radians(angle) for angle in body.orientation(time.tdb - 2_451_545.0)
        )
        if isinstance(end, Place):
            latitude, angle = math.radians(end.latitude), np.radians(end.longitude) + meridian
            flat = body.radius_km * math.cos(latitude)
            at = np.array(
                [flat * np.cos(angle), flat * np.sin(angle), 0 * angle + body.radius_km * math.sin(latitude)]
            )
        else:
            radius = body.radius_km + end.altitude
            motion = math.sqrt(body.gravity / radius**3)
            angle = math.radians(end.phase) + motion * seconds
            tilt, node = math.radians(end.inclination), math.radians(end.node)
            along, across = np.cos(angle), np.sin(angle)
            at = radius * np.array(
                [
                    along * math.cos(node) - across * math.sin(node) * math.cos(tilt),
                    along * math.sin(node) + across * math.cos(node) * math.cos(tilt),
                    across * math.sin(tilt),
                ]
            )
        # Rotate from the body's equator and node, at right ascension + 90 deg, to the equator of
        # J2000.
        x, y, z = at
        tilted = np.array(
            [
                x,
                y * np.sin(declination) - z * np.cos(declination),
                y * np.cos(declination) + z * np.sin(declination),
            ]
        )
        node_angle = ascension + math.pi / 2
        return np.array(
            [
                tilted[0] * np.cos(node_angle) - tilted[1] * np.sin(node_angle),
                tilted[0] * np.sin(node_angle) + tilted[1] * np.cos(node_angle),
                tilted[2],
            ]
        )

    def delay(self, source: Place | Orbiter, destination: Place | Orbiter, seconds: Array) -> Array:
        """Returns the light times of signals that leave at ``seconds``."""
        sent = self.position(source, seconds)
        delay = np.zeros_like(seconds)
        for _ in range(3):
            delay = (
                np.linalg.norm(self.position(destination, seconds + delay) - sent, axis=0) / SPEED_OF_LIGHT
            )
        return delay

    def margin(self, source: Place | Orbiter, destination: Place | Orbiter, seconds: Array) -> Array:
        """Returns the smallest margin of the conditions of visibility, for signals that leave at
        ``seconds``. A signal arrives if its margin is above 0."""
        arrival = seconds + self.delay(source, destination, seconds)
        sent, received = self.position(source, seconds), self.position(destination, arrival)
        margins = []
        for end, at, other, when in (
            (source, sent, received, seconds),
            (destination, received, sent, arrival),
        ):
            if isinstance(end, Place):
                zenith = at - self.centre(end.body, when)
                sight = other - at
                up = np.sum(zenith * sight, axis=0)
                sine = up / (np.linalg.norm(zenith, axis=0) * np.linalg.norm(sight, axis=0))
                margins.append(np.degrees(np.arcsin(np.clip(sine, -1, 1))) - end.mask)
        grounds = {end.body for end in (source, destination) if isinstance(end, Place)}
        hidden = {
            (end.body, index) for index, end in enumerate((source, destination)) if isinstance(end, Orbiter)
        }
        for body, index in hidden:
            if body in grounds:
                # The elevation at the place already covers the body's obstruction.
                continue
            centre = self.centre(body, arrival if index else seconds)
            margins.append(_clearance(sent, received, centre) - _body(body).radius_km)
        if not margins:
            raise InputError("neither end is a site or an orbiter of the other body")
        least: Array = np.min(margins, axis=0)
        return least

    def centre(self, body: str, seconds: Array) -> Array:
        target = "earth" if body == "earth" else _body(body).target
        return np.asarray(self.kernel[target].at(self.time(seconds)).position.km)


def _clearance(begin: Array, end: Array, centre: Array) -> Array:
    """Returns the distances of a centre from the segments between two points."""
    line = end - begin
    share = np.clip(np.sum((centre - begin) * line, axis=0) / np.sum(line * line, axis=0), 0, 1)
    distances: Array = np.linalg.norm(begin + share * line - centre, axis=0)
    return distances


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _body(name: str) -> Body:
    if name not in BODIES:
        raise unknown("body", name, BODIES)
    return BODIES[name]


@functools.cache
def _kernel() -> tuple[Any, Any]:
    try:
        from skyfield.api import Loader
        from skyfield_data import get_skyfield_data_path
    except ImportError:
        raise InputError("ephemerides need the extra space: pip install 'bentpipe[space]'") from None
    with warnings.catch_warnings():
        # The package's tables of the Earth's rotation expire, but DE421 does not. An error of one
        # second in UT1 is only 15 arc seconds.
        warnings.simplefilter("ignore")
        load = Loader(get_skyfield_data_path(), verbose=False)
    return load("de421.bsp"), load.timescale(builtin=True)
