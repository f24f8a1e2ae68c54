"""Attenuation on an earth-space path by the ITU-R recommendations, through the library ``itur``.

| | recommendation |
| --- | --- |
| rain attenuation exceeded for p % of an average year | P.618-13, section 2.2.1.1 |
| rain rate, probability of rain | P.837-7 |
| specific attenuation of rain | P.838-3 |
| rain height | P.839-4 |
| attenuation by gases | P.676 |
| attenuation by clouds | P.840 |
| scintillation | P.618-13, section 2.4.1 |
| total | P.618-13, section 2.5 |

``itur`` 0.4 reproduces the validation tables of ITU-R Study Group 3 (``tests/authorities/itu``).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

#: The method of P.618-13, section 2.4.1, is for frequencies up to 20 GHz. The validation table of
#: ITU-R Study Group 3 uses 20 GHz for higher frequencies: its rows for 29 GHz are exactly the
#: results of the equations at 20 GHz.
MAX_SCINTILLATION_GHZ: Final = 20.0
#: Percentages of an average year for which P.618 gives rain attenuation.
PERCENTAGES: Final = (
    0.001,
    0.002,
    0.003,
    0.005,
    0.01,
    0.02,
    0.03,
    0.05,
    0.1,
    0.2,
    0.3,
    0.5,
    1.0,
    2.0,
    3.0,
    5.0,
)
#: Frequencies in GHz for which the method of P.618 holds: P.838 begins at 1 GHz, and P.618 was
#: tested up to 55 GHz.
FREQUENCIES_GHZ: Final = (1.0, 55.0)
#: Radius of the geostationary orbit and of the Earth in km.
ORBIT_KM: Final = 42_164.0
EARTH_KM: Final = 6378.137


@dataclass(frozen=True)
class Site:
    """A place on the ground, in degrees (north and east positive) and km above sea level (None: the
    height by P.1511)."""

    name: str
    latitude: float
    longitude: float
    altitude_km: float | None = None

    def elevation(self, satellite: float) -> float:
        """Returns the elevation in degrees of a geostationary satellite at a longitude in degrees.

        >>> round(Site("Rome", 41.9, 12.5).elevation(13.0), 1)
        41.6
        """
        latitude, east = math.radians(self.latitude), math.radians(self.longitude - satellite)
        central = math.cos(latitude) * math.cos(east)
        return math.degrees(math.atan2(central - EARTH_KM / ORBIT_KM, math.sqrt(max(1 - central**2, 1e-300))))


@dataclass(frozen=True)
class Sky:
    """A path through the sky: site, frequency in GHz, elevation in degrees, tilt of the
    polarisation (45: circular).

    Raises :class:`bentpipe.InputError` outside the range of the recommendations.
    """

    site: Site
    frequency_ghz: float
    elevation: float
    tilt: float = 45.0

    def __post_init__(self) -> None:
        least, most = FREQUENCIES_GHZ
        if not least <= self.frequency_ghz <= most:
            raise InputError(
                f"frequency {self.frequency_ghz:g} GHz is outside the range of ITU-R P.618; "
                f"allowed: {least:g} to {most:g} GHz"
            )
        if not 5.0 <= self.elevation <= 90.0:
            raise InputError(
                f"{self.site.name}: elevation {self.elevation:.1f} deg is outside the range of ITU-R P.618; "
                "allowed: 5 to 90 deg"
            )
        if not (-90 <= self.site.latitude <= 90 and -180 <= self.site.longitude <= 360):
            raise InputError(
                f"{self.site.name}: latitude {self.site.latitude:g}, longitude {self.site.longitude:g}; "
                "allowed: -90 to 90 and -180 to 360 deg"
            )

    @property
    def altitude_km(self) -> float:
        """Height of the site above sea level in km."""
        if self.site.altitude_km is not None:
            return self.site.altitude_km
        return number(library().models.itu1511.topographic_altitude(self.site.latitude, self.site.longitude))

    def rain(self, percentages: ArrayLike = PERCENTAGES) -> NDArray[np.float64]:
        """Returns the rain attenuation in dB exceeded for these percentages of an average year
        (P.618)."""
        import numpy as np

        itur = library()
        place = (self.site.latitude, self.site.longitude, self.frequency_ghz, self.elevation)

        def one(percent: float) -> float:
            return number(
                itur.models.itu618.rain_attenuation(*place, hs=self.altitude_km, p=percent, tau=self.tilt)
            )

        return np.array([one(float(percent)) for percent in np.atleast_1d(np.asarray(percentages))])

    def probability_of_rain(self) -> float:
        """Percentage of an average year in which it rains (P.837)."""
        return number(library().models.itu837.rainfall_probability(self.site.latitude, self.site.longitude))

    def specific(self, rate_mm_h: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the attenuation in dB/km by rain at these rates in mm/h (P.838)."""
        import numpy as np

        coefficients = library().models.itu838.rain_specific_attenuation_coefficients
        k, alpha = (number(one) for one in coefficients(self.frequency_ghz, self.elevation, self.tilt))
        return np.asarray(k * np.power(rate_mm_h, alpha), dtype=np.float64)

    def rain_height_km(self) -> float:
        """Mean annual height of rain above sea level in km (P.839)."""
        return number(library().models.itu839.rain_height(self.site.latitude, self.site.longitude))

    def scintillation(self, percent: float, diameter_m: float = 1.2, efficiency: float = 0.5) -> float:
        """Returns the attenuation in dB by scintillation, exceeded for a percentage of an average
        year, for an antenna with this diameter and efficiency. Above 20 GHz, returns the value at
        20 GHz (:data:`MAX_SCINTILLATION_GHZ`)."""
        found = library().models.itu618.scintillation_attenuation(
            self.site.latitude,
            self.site.longitude,
            min(self.frequency_ghz, MAX_SCINTILLATION_GHZ),
            self.elevation,
            percent,
            diameter_m,
            eta=efficiency,
        )
        return number(found)

    def parts(self, percent: float, diameter_m: float = 1.2) -> dict[str, float]:
        """Returns the attenuation in dB by gases, clouds, rain and scintillation, and in total,
        exceeded for a percentage of an average year. ``diameter_m`` is the diameter of the antenna,
        which averages scintillation."""
        calculate = library().atmospheric_attenuation_slant_path
        parts = calculate(
            self.site.latitude,
            self.site.longitude,
            self.frequency_ghz,
            self.elevation,
            percent,
            diameter_m,
            hs=self.altitude_km,
            tau=self.tilt,
            return_contributions=True,
        )
        gases, clouds, rain = (number(part) for part in parts[:3])
        scintillation = self.scintillation(percent, diameter_m)
        # P.618-13, equation 63.
        total = gases + math.hypot(rain + clouds, scintillation)
        return {
            "gases": gases,
            "clouds": clouds,
            "rain": rain,
            "scintillation": scintillation,
            "total": total,
        }


def statistics(sky: Sky, percentages: ArrayLike = PERCENTAGES) -> list[tuple[float, float]]:
    """Returns pairs of a percentage of an average year and the rain attenuation in dB exceeded for
    it."""
    import numpy as np

    wanted = np.atleast_1d(np.asarray(percentages, dtype=float))
    return list(zip(wanted.tolist(), sky.rain(wanted).tolist(), strict=True))


def number(value: Any) -> float:
    """Returns a value of ``itur`` as a number; the value may have a unit."""
    return float(getattr(value, "value", value))


def library() -> Any:
    """Returns the library ``itur``. Raises :class:`bentpipe.InputError` if it is not installed."""
    try:
        with warnings.catch_warnings():
            # Warnings of the libraries about themselves.
            warnings.simplefilter("ignore")
            import itur
            import itur.models.itu618
            import itur.models.itu837
            import itur.models.itu838
            import itur.models.itu839
            import itur.models.itu1511
    except ImportError as error:
        raise InputError("rain attenuation needs the library itur: pip install 'bentpipe[rain]'") from error
    return itur
