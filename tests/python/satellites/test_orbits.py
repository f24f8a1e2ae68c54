"""Orbits compared with Skyfield, which downloads nothing: its time scale is built in, and no
ephemeris is used."""

from __future__ import annotations

import heapq
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bentpipe import _native
from bentpipe.scenario.constellations import Constellation, constellation
from helpers import ROOT

skyfield = pytest.importorskip("skyfield.api", reason="Skyfield is not installed")

SETS = ROOT / "tests" / "authorities" / "orbits"
START = (2022, 9, 14, 12, 0)
TEXT = "2022-09-14T12:00:00Z"
#: Equator, mid-latitude, polar, date line; two of the sites are on mountains.
SITES = [(0.0, -78.5, 2850.0), (48.1, 11.6, 520.0), (78.2, 15.4, 450.0), (-16.5, 179.99, 10.0)]
LIGHT = 299_792_458.0


@pytest.fixture(scope="module")
def timescale() -> Any:
    return skyfield.load.timescale(builtin=True)


def satellites(name: str, timescale: Any, most: int) -> tuple[str, list[Any]]:
    lines = (SETS / f"{name}.tle").read_text().splitlines()[: 3 * most]
    groups = zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    return "\n".join(lines), [
        skyfield.EarthSatellite(one, two, label, timescale) for label, one, two in groups
    ]


def places() -> list[Any]:
    return [skyfield.wgs84.latlon(lat, lon, elevation_m=height) for lat, lon, height in SITES]


@pytest.mark.parametrize("name", ["iridium", "oneweb"])
def test_look_angles_and_ranges_are_skyfields_to_a_metre(name: str, timescale: Any) -> None:
    text, theirs = satellites(name, timescale, 31)
    times = np.linspace(0, 86_400, 41) + 0.375
    moments = timescale.utc(*START, times)
    dut1 = float(moments[20].dut1)
    ours = np.array(_native.looks(text, SITES, TEXT, times.tolist(), dut1))
    for site, place in enumerate(places()):
        for number, satellite in enumerate(theirs):
            seen = (satellite - place).at(moments)
            altitude, azimuth, distance = seen.altaz()
            rate = seen.frame_latlon_and_rates(place)[5]
            elevation_deg, azimuth_deg, range_m, range_rate = ours[site, number].T
            assert np.abs(range_m - distance.m).max() < 1.0
            off = np.radians(elevation_deg - altitude.degrees) * range_m
            assert np.abs(off).max() < 1.0
            around = (azimuth_deg - azimuth.degrees + 180) % 360 - 180
            assert np.abs(np.radians(around) * np.cos(altitude.radians) * range_m).max() < 1.0
            # Skyfield uses SGP4's velocities, which are not exactly the derivative of its
            # positions; bentpipe's velocities are.
            assert np.abs(range_rate - rate.m_per_s).max() < 0.05


def crossing(difference: Any, near: float, mask: float, timescale: Any) -> float:
    """Returns the second at which Skyfield's altitude crosses the mask: its own event search stops
    at half a second."""

    def above(seconds: float) -> bool:
        altitude = difference.at(timescale.utc(*START, seconds)).altaz()[0].degrees
        return bool(altitude >= mask)

    low, high = near - 2, near + 2
    before = above(low)
    assert above(high) != before
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) == before else (low, middle)
    return (low + high) / 2


@pytest.mark.parametrize("name", ["iridium", "oneweb"])
def test_passes_are_skyfields_to_ten_milliseconds(name: str, timescale: Any) -> None:
    text, theirs = satellites(name, timescale, 6)
    seconds, mask = 6 * 3600.0, 10.0
    begin, end = timescale.utc(*START, 0), timescale.utc(*START, seconds)
    windows = _native.passes(text, SITES, TEXT, seconds, mask, float(begin.dut1))
    count = 0
    for site, place in enumerate(places()):
        for number, satellite in enumerate(theirs):
            moments, events = satellite.find_events(place, begin, end, altitude_degrees=mask)
            crossings = [
                crossing(satellite - place, (moment - begin) * 86_400, mask, timescale)
                for moment, event in zip(moments, events, strict=True)
                if event != 1
            ]
            # A pass that is cut by the beginning or end of the search has no crossing there.
            ours = [t for window in windows[site][number] for t in window if 0 < t < seconds]
            assert len(ours) == len(crossings), (site, satellite.name)
            np.testing.assert_allclose(ours, crossings, rtol=0, atol=0.01)
            count += len(ours)
    assert count > 40


CITIES = {
    "london": (51.53, 0.0),
    "boston": (42.3, -71.1),
    "new-york": (40.71, -74.01),
    "sydney": (-33.87, 151.21),
    "santiago": (-33.45, -70.67),
    "tromso": (69.65, 18.96),
    "cape-town": (-33.92, 18.42),
}
PAIRS = [("london", "boston"), ("new-york", "london"), ("sydney", "santiago"), ("tromso", "cape-town")]
#: Planes, satellites, altitude (km), inclination, phasing, distance of the nodes (deg), true if the
#: planes close, mask, latitude up to which planes are linked (0 for no links at all).
WALKERS: dict[str, list[tuple[int, int, float, float, float, float, bool, float, float]]] = {
    "big-leo": [(6, 11, 780, 86.4, 3, 31.6, False, 8.2, 60)],
    "iridium-next": [(6, 11, 780, 86.4, 3, 31.6, False, 8.2, 68)],
    "oneweb": [(12, 49, 1200, 87.9, 6, 15, False, 25, 0)],
    "starlink-shell1": [(72, 22, 550, 53, 17, 5, True, 25, 90)],
    "kuiper-shell1": [(34, 34, 630, 51.9, 1, 360 / 34, True, 35, 90)],
    "telesat": [
        (27, 13, 1015, 98.98, 13.5, 180 / 27, False, 10, 90),
        (40, 33, 1325, 50.88, 1, 9, True, 10, 90),
    ],
    "gps-meo": [(6, 4, 20180, 55, 1, 60, True, 5, 0)],
    "o3b": [(1, 20, 8062, 0, 0, 360, True, 5, 0)],
}
GEO = [-36.0, 36.0, 108.0, 180.0, -108.0]


def scenario(preset: str) -> str:
    sites = "\n".join(
        f'[network.sky.sites.{name}]\nlatitude = "{lat} deg"\nlongitude = "{lon} deg"'
        for name, (lat, lon) in CITIES.items()
    )
    flows = "\n".join(
        f'[[flow]]\nname = "{a}-{b}"\nfrom = "{a}"\nto = "{b}"\napp = {{ kind = "bulk" }}\n'
        'transport = { kind = "tcp", congestion = "reno" }'
        for a, b in PAIRS
    )
    return (
        f'name = "cities"\nduration = "3000 s"\npreset = "{preset}"\n'
        f'[network.sky]\nepoch = "{TEXT}"\n{sites}\n{flows}\n'
    )


def positions(preset: str, seconds: float, timescale: Any) -> np.ndarray:
    """Returns Earth-fixed positions in metres: Walker's pattern with the secular rates of J2,
    rotated by Skyfield."""
    moment = timescale.utc(*START, seconds)
    ut1 = moment.ut1
    if preset == "geo-five":
        angle = np.radians(GEO)
        return 42_164_173.0 * np.array([np.cos(angle), np.sin(angle), 0 * angle]).T
    from skyfield.sgp4lib import TEME_to_ITRF

    found = []
    for planes, per_plane, altitude, inclination, phasing, spacing, *_ in WALKERS[preset]:
        radius, tilt = 6_378_137.0 + altitude * 1e3, math.radians(inclination)
        motion = math.sqrt(3.986004418e14 / radius**3)
        oblate = 1.5 * 1.0826262e-3 * (6_378_137.0 / radius) ** 2 * motion
        for plane in range(planes):
            node = math.radians(spacing * plane) - oblate * math.cos(tilt) * seconds
            for index in range(per_plane):
                u = 2 * math.pi * (index / per_plane + plane * phasing / (planes * per_plane))
                u += (motion + oblate * (4 * math.cos(tilt) ** 2 - 1)) * seconds
                x, y, z = math.cos(u), math.sin(u) * math.cos(tilt), math.sin(u) * math.sin(tilt)
                teme = radius * np.array(
                    [x * math.cos(node) - y * math.sin(node), x * math.sin(node) + y * math.cos(node), z]
                )
                found.append(TEME_to_ITRF(ut1, teme, np.zeros(3))[0])
    return np.array(found)


def links(preset: str, at: np.ndarray) -> list[tuple[int, int]]:
    """Returns the active links: each satellite with the next in its plane, and with the nearest in
    phase in the next plane."""
    if preset == "geo-five":
        return [(index, (index + 1) % 5) for index in range(5)]
    pairs, first = [], 0
    for planes, per_plane, _, _, phasing, _, closed, _, most in WALKERS[preset]:
        if most == 0:
            continue
        for plane in range(planes):
            for index in range(per_plane):
                here = first + plane * per_plane + index
                pairs.append((here, first + plane * per_plane + (index + 1) % per_plane))
                if plane + 1 == planes and not closed:
                    continue
                beside = (plane + 1) % planes
                phase = (index - (beside * phasing - plane * phasing) / planes) % per_plane
                # Half a position rounds down.
                there = first + beside * per_plane + math.ceil(phase - 0.5) % per_plane
                latitude = np.degrees(np.arcsin(at[[here, there], 2] / np.linalg.norm(at[here])))
                if abs(latitude).max() <= most:
                    pairs.append((here, there))
        first += planes * per_plane
    # In these patterns, no link comes closer to the surface than 80 km.
    return pairs


def shortest(count: int, edges: list[tuple[int, int, float]], start: int) -> list[float]:
    beside: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for a, b, length in edges:
        beside[a].append((b, length))
        beside[b].append((a, length))
    best = [math.inf] * count
    best[start] = 0.0
    queue = [(0.0, start)]
    while queue:
        length, at = heapq.heappop(queue)
        if length > best[at]:
            continue
        for other, more in beside[at]:
            if length + more < best[other]:
                best[other] = length + more
                heapq.heappush(queue, (length + more, other))
    return best


@pytest.mark.parametrize("preset", ["geo-five", *WALKERS])
def test_delays_between_cities_follow_from_geometry(preset: str, timescale: Any, tmp_path: Path) -> None:
    file = tmp_path / "cities.toml"
    file.write_text(scenario(preset))
    times = [0.0, 1000.0, 2500.0]
    view = constellation(file, times)
    mask = 8.2 if preset == "geo-five" else WALKERS[preset][0][7]
    ground = {name: skyfield.wgs84.latlon(*place).itrs_xyz.m for name, place in CITIES.items()}
    for frame in view.frames:
        at = positions(preset, frame["time"], timescale)
        # UT1 - UTC, which bentpipe ignores, is some ten milliseconds on that day: below 30 m here.
        assert np.abs(at - np.array(frame["positions"])).max() < 30.0
        check_frame(view, frame, at, links(preset, at), ground, mask)


def check_frame(
    view: Constellation,
    frame: dict[str, Any],
    at: np.ndarray,
    pairs: list[tuple[int, int]],
    ground: dict[str, np.ndarray],
    mask: float,
) -> None:
    serving = dict(zip([site["name"] for site in view.sites], frame["serving"], strict=True))
    for name, (lat, lon) in CITIES.items():
        lat, lon = np.radians(lat), np.radians(lon)
        up = np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
        line = at - ground[name]
        elevation = np.degrees(np.arcsin(line @ up / np.linalg.norm(line, axis=1)))
        if serving[name][0] is None:
            # A scheduled choice may have to wait for its slot.
            assert elevation.max() < mask + 0.01 or (
                view.satellites[0] == "P1S1" and len(view.satellites) == 1584
            )
        else:
            assert elevation[serving[name][0]] >= mask - 0.01
    edges = [(a, b, float(np.linalg.norm(at[a] - at[b]))) for a, b in pairs]
    assert {tuple(sorted(pair)) for pair in pairs} == {
        tuple(sorted(view.links[link])) for link in frame["up"]
    }
    for (a, b), path in zip(PAIRS, frame["paths"], strict=True):
        first, last = serving[a][0], serving[b][0]
        length = math.inf
        if first is not None and last is not None:
            between = shortest(len(at), edges, first)[last]
            length = float(
                np.linalg.norm(at[first] - ground[a]) + between + np.linalg.norm(at[last] - ground[b])
            )
        if path is None:
            assert math.isinf(length)
        else:
            assert path["delay"] == pytest.approx(length / LIGHT, abs=1e-6)
