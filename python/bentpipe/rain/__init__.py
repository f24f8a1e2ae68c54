"""Rain on satellite links: attenuation by the ITU-R recommendations, and time series of attenuation
for scenarios.

Attenuation statistics (:mod:`.attenuation`) come from the optional library ``itur`` (``pip install
bentpipe[rain]``), which includes its maps, so nothing is downloaded. Time series
(:mod:`.synthesis`) and passing storms (:mod:`.storm`) are computed by bentpipe itself.
"""

from __future__ import annotations

from .attenuation import Site, Sky, statistics
from .storm import Storm
from .synthesis import Series, synthesise

__all__ = ["Series", "Site", "Sky", "Storm", "statistics", "synthesise"]
