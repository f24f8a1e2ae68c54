"""A passing storm: the attenuation at sites while a rain cell moves over them.

The cell is circular, and its rain rate decreases exponentially from its centre, R(r) = peak exp(-r
/ radius), as in the EXCELL model (C. Capsoni, F. Fedi, C. Magistroni, A. Paraboni, A. Pawlina,
"Data and theory for a new model of the horizontal structure of rain cells for propagation
applications", Radio Science 1987); rates below 0.5 mm/h count as 0. The cell moves in a straight
line at constant speed. The rain rate is constant up to the rain height (P.839). The attenuation of
a path is the integral of the specific attenuation (P.838) along it, from the site towards the
satellite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bentpipe.errors import InputError

from .attenuation import EARTH_KM, Sky
from .synthesis import Series

#: Rain rate in mm/h at the edge of the cell.
EDGE: Final = 0.5
#: Number of points on the path through the rain.
POINTS: Final = 24


@dataclass(frozen=True)
class Storm:
    """A rain cell: rate at its centre in mm/h, radius in km at which the rate has decreased to 1/e,
    speed in m/s, direction of movement in degrees (clockwise from north), and the time in s at
    which it reaches the middle of the sites (the medians of latitude and longitude, so that a
    distant gateway has no influence)."""

    peak_mm_h: float = 60.0
    radius_km: float = 5.0
    speed_m_s: float = 12.0
    course: float = 90.0
    passes_s: float = 600.0

    def __post_init__(self) -> None:
        for name, value, most in (
            ("peak", self.peak_mm_h, 300.0),
            ("radius", self.radius_km, 200.0),
            ("speed", self.speed_m_s, 60.0),
        ):
            if not 0 < value <= most:
                raise InputError(f"storm {name} {value:g}; allowed: above 0 to {most:g}")

    def rate(self, distance_km: np.ndarray) -> np.ndarray:
        """Returns the rain rate in mm/h at distances from the centre."""
        rate = self.peak_mm_h * np.exp(-distance_km / self.radius_km)
        return np.where(rate < EDGE, 0.0, rate)

    def series(
        self, skies: Sequence[Sky], satellite: float, duration_s: float, *, step_s: float = 1.0
    ) -> Series:
        """Returns the attenuation of paths to a geostationary satellite at a longitude in
        degrees."""
        times = np.arange(max(1, math.ceil(duration_s / step_s))) * float(step_s)
        middle = (
            float(np.median([sky.site.latitude for sky in skies])),
            float(np.median([sky.site.longitude for sky in skies])),
        )
        travelled = (times - self.passes_s) * self.speed_m_s / 1e3
        heading = math.radians(self.course)
        centre = np.stack([travelled * math.sin(heading), travelled * math.cos(heading)])
        columns = {}
        for sky in skies:
            height = max(sky.rain_height_km() - sky.altitude_km, 0.0)
            length = height / math.sin(math.radians(sky.elevation))
            along = (np.arange(POINTS) + 0.5) / POINTS * length * math.cos(math.radians(sky.elevation))
            azimuth = _azimuth(sky.site.latitude, sky.site.longitude, satellite)
            east, north = _plane(sky.site.latitude, sky.site.longitude, middle)
            level = np.zeros_like(times)
            for ahead in along:
                place = (east + ahead * math.sin(azimuth), north + ahead * math.cos(azimuth))
                distance = np.hypot(centre[0] - place[0], centre[1] - place[1])
                level += sky.specific(self.rate(distance)) * length / POINTS
            columns[sky.site.name] = level
        return Series(times, columns)


def _plane(latitude: float, longitude: float, middle: tuple[float, float]) -> tuple[float, float]:
    """Returns the position east and north of the middle, in km."""
    north = math.radians(latitude - middle[0]) * EARTH_KM
    return math.radians(longitude - middle[1]) * math.cos(math.radians(middle[0])) * EARTH_KM, north


def _azimuth(latitude: float, longitude: float, satellite: float) -> float:
    """Returns the direction of a geostationary satellite, clockwise from north, in radians."""
    east, here = math.radians(satellite - longitude), math.radians(latitude)
    return math.atan2(math.sin(east), -math.cos(east) * math.sin(here))
