"""Pictures of a constellation: a map at one time, and an animated globe in HTML."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .style import COLOURS, INK, figure_function

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bentpipe.scenario.constellations import Constellation

#: WGS84 (NGA.STND.0036, table 3.1).
_RADIUS = 6_378_137.0


def coastlines() -> list[list[list[float]]]:
    """Returns coastlines as lists of longitude and latitude in degrees (Natural Earth 1:110m,
    public domain)."""
    text = files("bentpipe.plots").joinpath("coastlines.json").read_text(encoding="utf-8")
    lines: list[list[list[float]]] = json.loads(text)["lines"]
    return lines


def below(position: Sequence[float]) -> tuple[float, float]:
    """Returns longitude and geocentric latitude in degrees of an earth-fixed position."""
    x, y, z = position
    return math.degrees(math.atan2(y, x)), math.degrees(math.atan2(z, math.hypot(x, y)))


def footprint(position: Sequence[float], mask: float, points: int = 90) -> list[tuple[float, float]]:
    """Returns the circle on a sphere inside which a satellite is above ``mask`` degrees: longitudes
    and latitudes."""
    distance = math.hypot(*position)
    elevation = math.radians(mask)
    radius = math.acos(_RADIUS / distance * math.cos(elevation)) - elevation
    longitude, latitude = (math.radians(angle) for angle in below(position))
    circle = []
    for index in range(points + 1):
        bearing = 2 * math.pi * index / points
        at = math.asin(
            math.sin(latitude) * math.cos(radius) + math.cos(latitude) * math.sin(radius) * math.cos(bearing)
        )
        along = math.atan2(
            math.sin(bearing) * math.sin(radius) * math.cos(latitude),
            math.cos(radius) - math.sin(latitude) * math.sin(at),
        )
        circle.append((math.degrees(longitude + along), math.degrees(at)))
    return circle


def _unbroken(points: Iterable[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Returns a line on the map, broken with NaN at each crossing of the map's edge."""
    xs: list[float] = []
    ys: list[float] = []
    for longitude, latitude in points:
        x = (longitude + 180) % 360 - 180
        if xs and abs(x - xs[-1]) > 180:
            xs.append(math.nan)
            ys.append(math.nan)
        xs.append(x)
        ys.append(latitude)
    return xs, ys


def _arc(a: Sequence[float], b: Sequence[float], pieces: int = 16) -> list[tuple[float, float]]:
    """Returns the straight line between two positions, projected from the centre of the Earth."""
    return [
        below([p + (q - p) * index / pieces for p, q in zip(a, b, strict=True)])
        for index in range(pieces + 1)
    ]


@figure_function
def constellation_map(view: Constellation, frame: int = 0) -> Figure:
    """Draws a map of one frame: coastlines, satellites, their links, coverage of serving
    satellites, and the flows' paths."""
    from matplotlib.figure import Figure

    moment = view.frames[frame]
    figure = Figure(figsize=(10, 5.4), layout="compressed")
    axes = figure.add_subplot()
    for line in coastlines():
        xs, ys = _unbroken((x, y) for x, y in line)
        axes.plot(xs, ys, color=INK, linewidth=0.4, alpha=0.45)
    positions = moment["positions"]
    for index in moment["up"]:
        a, b = view.links[index]
        axes.plot(*_unbroken(_arc(positions[a], positions[b])), color=COLOURS[5], linewidth=0.5, alpha=0.7)
    _coverage(axes, view, moment)
    under = [below(position) for position in positions]
    size = 4 if len(under) < 200 else 1.6
    axes.plot([x for x, _ in under], [y for _, y in under], ".", color=INK, markersize=size)
    for index, (flow, path) in enumerate(zip(view.flows, moment["paths"], strict=True)):
        if path is None:
            continue
        ends = [view.sites[flow["from"]]["position"], view.sites[flow["to"]]["position"]]
        stations = [ends[0], *(positions[satellite] for satellite in path["satellites"]), ends[1]]
        points = [point for a, b in itertools.pairwise(stations) for point in _arc(a, b)]
        label = f"{flow['name']}: {path['delay'] * 1e3:.1f} ms, {len(path['satellites'])} satellites"
        colour = COLOURS[1:5][index % 4]
        axes.plot(*_unbroken(points), color=colour, linewidth=1.8, label=label if index < 6 else None)
    for site in view.sites:
        axes.plot(site["longitude"], site["latitude"], "^", color=COLOURS[0], markersize=5)
        if len(view.sites) <= 20:
            place = (site["longitude"], site["latitude"])
            axes.annotate(site["name"], place, xytext=(4, 4), textcoords="offset points", fontsize=8)
    axes.set(
        xlim=(-180, 180), ylim=(-90, 90), aspect="equal", xlabel="longitude (deg)", ylabel="latitude (deg)"
    )
    axes.set_xticks(range(-180, 181, 60))
    axes.set_yticks(range(-90, 91, 30))
    axes.set_title(
        f"{view.network}: {len(view.satellites)} satellites, {moment['time']:g} s after {view.epoch}"
    )
    if any(moment["paths"]):
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def _coverage(axes: Axes, view: Constellation, moment: dict[str, Any]) -> None:
    """Draws the area in which each serving satellite is above the mask of the site that it
    serves."""
    drawn = set()
    for site, serving in zip(view.sites, moment["serving"], strict=True):
        for satellite in serving:
            if satellite is not None and satellite not in drawn:
                drawn.add(satellite)
                circle = footprint(moment["positions"][satellite], site["mask"])
                axes.plot(*_unbroken(circle), color=COLOURS[2], linewidth=0.7)


def constellation_globe(view: Constellation, title: str) -> str:
    """Returns a self-contained HTML page: a globe that plays the frames, with paths, handovers and
    delays."""
    kilometres = [[[round(part / 1e3) for part in at] for at in frame["positions"]] for frame in view.frames]
    data = {
        "title": title,
        "epoch": view.epoch,
        "satellites": view.satellites,
        "links": view.links,
        "sites": [
            {"name": site["name"], "at": [round(part / 1e3) for part in site["position"]]}
            for site in view.sites
        ],
        "flows": view.flows,
        "coast": coastlines(),
        "frames": [
            {
                "t": frame["time"],
                "p": [part for at in positions for part in at],
                "up": frame["up"],
                "serving": frame["serving"],
                "paths": [
                    path and [path["satellites"], round(path["delay"] * 1e3, 4)] for path in frame["paths"]
                ],
            }
            for frame, positions in zip(view.frames, kilometres, strict=True)
        ],
    }
    page = files("bentpipe.plots").joinpath("globe.html").read_text(encoding="utf-8")
    # "</" would end the enclosing script.
    return page.replace("DATA_HERE", json.dumps(data, separators=(",", ":")).replace("</", "<\\/"))
