"""Constellations on a map: satellites, links and paths at a time of a scenario."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bentpipe.quantities import base_value
from bentpipe.scenario.constellations import constellation
from bentpipe.scenario.scenarios import ScenarioText

from .refused import Refused
from .rules import NAME, read

#: Mean radius of the Earth in metres (IUGG), the zero of altitudes on the map.
EARTH_RADIUS_M: Final = 6_371_008.8


def at(text: str, level: str, time: float, network: str | None = None) -> dict[str, Any]:
    """Returns a constellation at ``time``, in seconds: sites, satellites with longitude, latitude
    (deg) and altitude (m), the links that are up as pairs of satellites, the satellites that serve
    each site, and the path of each flow between two sites. ``network`` selects a constellation
    (default: the first). Raises :class:`Refused`, and :class:`bentpipe.ScenarioError`."""
    loaded = read(text, level)
    names = [name for name, one in loaded.data.get("network", {}).items() if one["kind"] == "constellation"]
    if not names:
        raise Refused(404, "the scenario has no constellation")
    if network is not None and network not in names:
        raise Refused(404, f"there is no constellation {network}")
    duration = base_value(loaded.data["duration"])
    if not 0 <= time <= duration:
        raise Refused(422, f"the time {time:g} s is outside the scenario, which ends at {duration:g} s")
    found = constellation(ScenarioText(text, NAME), [time], network=network or names[0])
    (frame,) = found.frames
    x, y, z = np.asarray(frame["positions"], dtype=float).T
    distance = np.sqrt(x * x + y * y + z * z)
    longitude, latitude = np.degrees(np.arctan2(y, x)), np.degrees(np.arcsin(z / distance))
    return {
        "network": found.network,
        "networks": names,
        "epoch": found.epoch,
        "time": time,
        "duration": duration,
        "satellites": [
            {
                "name": name,
                "longitude": round(float(a), 3),
                "latitude": round(float(b), 3),
                "altitude": float(h),
            }
            for name, a, b, h in zip(
                found.satellites, longitude, latitude, np.round(distance - EARTH_RADIUS_M), strict=True
            )
        ],
        "links": [list(found.links[number]) for number in frame["up"]],
        "sites": [
            {
                "name": site["name"],
                "longitude": site["longitude"],
                "latitude": site["latitude"],
                "mask": site["mask"],
                "serving": [one for one in serving if one is not None],
            }
            for site, serving in zip(found.sites, frame["serving"], strict=True)
        ],
        "flows": [
            {
                "name": flow["name"],
                "from": flow["from"],
                "to": flow["to"],
                "satellites": path["satellites"] if path else None,
                "delay": path["delay"] if path else None,
            }
            for flow, path in zip(found.flows, frame["paths"], strict=True)
        ],
    }
