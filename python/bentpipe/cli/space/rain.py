"""``bentpipe space rain``: rain attenuation of sites by ITU-R, and its time series for
scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Json, OutFile


def rain(
    frequency: Annotated[
        float,
        typer.Option("--frequency", "-f", metavar="GHZ", help="Frequency of the signal.", show_default=False),
    ],
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCENARIO]",
            help="A scenario with a star network with positions. Its terminals and its gateway are the "
            "sites.",
            show_default=False,
        ),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LAT,LON",
            help="Site: latitude and longitude in degrees, north and east positive. Repeatable.",
            show_default=False,
        ),
    ] = None,
    satellite: Annotated[
        float | None,
        typer.Option(
            metavar="DEGREES",
            help="Longitude of the geostationary satellite, for --site.",
            show_default=False,
        ),
    ] = None,
    elevation: Annotated[
        float | None,
        typer.Option(
            metavar="DEGREES",
            help="Elevation of the satellite, instead of its longitude.",
            show_default=False,
        ),
    ] = None,
    tilt: Annotated[
        float,
        typer.Option(
            metavar="DEGREES", help="Tilt of the polarisation; 45 stands for circular polarisation."
        ),
    ] = 45.0,
    duration: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Duration of the time series.")
    ] = 3600.0,
    step: Annotated[float, typer.Option(min=0.001, metavar="SECONDS", help="Step of the time series.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Seed of the time series.")] = 1,
    storm: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="Simulate a passing storm instead of an average year: peak=60 (mm/h), radius=5 (km), "
            "speed=12 (m/s), course=90 (deg), at=600 (s). These are the defaults of the keys.",
            show_default=False,
        ),
    ] = None,
    out: OutFile = None,
    json: Json = False,
) -> None:
    """Calculate rain attenuation by ITU-R.

    Prints the attenuation that is exceeded during given percentages of an average year. With --out,
    writes a time series with one column per site, as .csv or .parquet, for the key fade of a
    scenario.
    """
    from bentpipe.rain.command import excess, sites, write

    from ..output import print_json, print_table

    found = sites(scenario, site or [], satellite, elevation)
    skies, longitude = found.skies(frequency, tilt), found.satellite
    if out is not None:
        write(skies, longitude, out, duration_s=duration, step_s=step, seed=seed, storm=storm)
        if json:
            print_json({"written": out})
        else:
            typer.echo(f"written  {out}")
        return
    tables = [excess(sky) for sky in skies]
    if json:
        print_json(tables)
        return
    for table in tables:
        names = ("gases", "clouds", "rain", "scintillation", "total")
        rows = [(f"{row['percent']:g}", *(f"{row[name]:.2f}" for name in names)) for row in table["exceeded"]]
        title = (
            f"{table['site']}, {frequency:g} GHz, {table['elevation']:.1f} deg: attenuation exceeded, "
            f"rain in {table['rain_percent']:.1f} % of the time"
        )
        print_table(("of a year\n%", *(f"{name}\ndB" for name in names)), rows, text_columns=0, title=title)
