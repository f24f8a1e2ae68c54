"""``bentpipe space contacts geometry``: computes a contact plan from positions and orbits."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...common import Json

if TYPE_CHECKING:
    from bentpipe.dtn.ephemeris import Orbiter, Place

#: Column names of the plan.
_HEAD = "id,src,dst,start,end,rate_bps,owlt_s"


def geometry(
    body: Annotated[
        str, typer.Option(metavar="NAME", help="The other body: mars or moon.", show_default=False)
    ],
    start: Annotated[
        datetime, typer.Option(metavar="DATE", help="Start time of the plan (UTC).", show_default=False)
    ],
    station: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LAT,LON",
            help="A ground station on the Earth (deg). Repeatable.",
            show_default=False,
        ),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LAT,LON",
            help="Site on the other body: latitude and longitude in degrees. Repeatable.",
            show_default=False,
        ),
    ] = None,
    orbiter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ALTITUDE,INCLINATION[,NODE[,PHASE]]",
            help="A satellite on a circular orbit about the other body (km, deg). Repeatable.",
            show_default=False,
        ),
    ] = None,
    duration: Annotated[
        float, typer.Option(min=36, metavar="SECONDS", help="Duration of the plan.")
    ] = 86_400.0,
    mask: Annotated[
        float,
        typer.Option(
            min=0,
            max=90,
            metavar="DEGREES",
            help="Lowest elevation at which a station or a site can communicate.",
        ),
    ] = 10.0,
    rate: Annotated[str, typer.Option(metavar="RATE", help="Rate of contacts with the Earth.")] = "64 kbit/s",
    near_rate: Annotated[
        str,
        typer.Option(metavar="RATE", help="Rate of contacts between sites and orbiters of the other body."),
    ] = "256 kbit/s",
    max_contact: Annotated[
        float,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Divide longer contacts into parts of this length; each part has one light time.",
        ),
    ] = 600.0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The file to write.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Make a contact plan between the Earth and Mars or the Moon.

    The plan has the contacts of ground stations on the Earth, sites on the other body and
    satellites around it.

    Positions come from JPL's ephemeris DE421, which is part of the extra `space`: pip install
    'bentpipe[space]'. A contact is open while a signal reaches the other end after its light time.
    Stations and sites need the lowest elevation, and the body must not hide an orbiter. The plan is
    a CSV file that the other commands read.
    """
    from bentpipe.dtn import ephemeris
    from bentpipe.errors import InputError

    from ...amounts import bits_per_second
    from ...output import print_json

    earth_bps, near_bps = bits_per_second(rate, "--rate"), bits_per_second(near_rate, "--near-rate")
    stations = [_place(text, "--station", "earth", mask) for text in station or ()]
    sites = [_place(text, "--site", body, mask) for text in site or ()]
    orbiters = [_orbiter(text, body) for text in orbiter or ()]
    ends: list[Place | Orbiter] = [*stations, *sites, *orbiters]
    if len(ends) < 2:
        raise InputError("a plan needs two nodes: give --station, --site or --orbiter at least twice")
    terrestrial = {one.name for one in stations}
    found = [
        sight
        for sight in ephemeris.visibility_windows(
            ends, start, duration, longest=max_contact, start_name="--start"
        )
        if not (sight.src in terrestrial and sight.dst in terrestrial)
    ]
    if not found:
        raise InputError(
            f"no two of {', '.join(one.name for one in ends)} see each other in {duration / 3600:g} hours"
        )
    rows = []
    for number, sight in enumerate(found, 1):
        far = sight.src in terrestrial or sight.dst in terrestrial
        rows.append({"id": number, **asdict(sight), "rate_bps": earth_bps if far else near_bps})
    met = {name for sight in found for name in (sight.src, sight.dst)}
    without = [one.name for one in ends if one.name not in met]
    alone = f"no contact in {duration / 3600:g} hours: {', '.join(without)}"
    lines = [
        f"# {body}, {start:%Y-%m-%d %H:%M} UTC and {duration / 3600:g} h, elevations from {mask:g} deg; DE421",
        *([f"# {alone}"] if without else []),
        _HEAD,
        *(",".join(f"{row[name]}" for name in _HEAD.split(",")) for row in rows),
    ]
    if out is not None:
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if json:
        print_json({"contacts": rows, "without_contact": without, "plan": out})
    elif out is not None:
        typer.echo(f"written  {out}, {len(rows)} contacts")
        if without:
            typer.echo(alone)
    else:
        typer.echo("\n".join(lines))


def _numbers(text: str, option: str, least: int, most: int) -> tuple[str, list[float]]:
    from bentpipe.errors import InputError

    name, equals, values = text.partition("=")
    try:
        numbers = [float(value) for value in values.split(",")]
    except ValueError:
        numbers = []
    if not equals or not name.strip() or not least <= len(numbers) <= most or "," in name:
        raise InputError(f'{option} "{text}" is not possible; allowed: NAME= and {least} to {most} numbers')
    return name.strip(), numbers


def _place(text: str, option: str, body: str, mask: float) -> Place:
    from bentpipe.dtn.ephemeris import Place
    from bentpipe.errors import InputError

    name, (latitude, longitude) = _numbers(text, option, 2, 2)
    if not -90 <= latitude <= 90 or not -360 <= longitude <= 360:
        raise InputError(
            f'{option} "{text}" is not a position; allowed: latitude -90 to 90, longitude -360 to 360'
        )
    return Place(name, latitude, longitude, mask, body)


def _orbiter(text: str, body: str) -> Orbiter:
    from bentpipe.dtn.ephemeris import Orbiter
    from bentpipe.errors import InputError

    name, numbers = _numbers(text, "--orbiter", 2, 4)
    if numbers[0] <= 0:
        raise InputError(f'--orbiter "{text}" is below the ground; allowed: an altitude above 0 km')
    return Orbiter(name, body, *numbers)
