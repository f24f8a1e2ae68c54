"""The implementation of ``bentpipe space rain``: sites, tables of attenuation, and time series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError

from .attenuation import Site, Sky

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.scenario.scenarios import Scenario

#: Percentages of the printed table. The library supports scintillation and clouds for 0.01 to 5 %.
SHOWN: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Keys of ``--storm`` and the fields that they set.
STORM: Final = {
    "peak": "peak_mm_h",
    "radius": "radius_km",
    "speed": "speed_m_s",
    "course": "course",
    "at": "passes_s",
}
#: Maximum number of samples to write, over all columns.
MAX_SAMPLES: Final = 50_000_000


@dataclass(frozen=True)
class Sites:
    """Sites, and the longitude of their satellite or a common elevation, in degrees."""

    sites: list[Site]
    satellite: float | None
    elevation: float | None

    def skies(self, frequency_ghz: float, tilt: float) -> list[Sky]:
        """Returns the paths from the sites."""
        return [Sky(site, frequency_ghz, self._elevation(site), tilt) for site in self.sites]

    def _elevation(self, site: Site) -> float:
        if self.elevation is not None:
            return self.elevation
        if self.satellite is None:
            raise InputError("--site needs --satellite or --elevation")
        return site.elevation(self.satellite)


def sites(
    scenario: Path | None, given: Sequence[str], satellite: float | None, elevation: float | None
) -> Sites:
    """Returns the sites of a scenario's star networks, and those given as ``NAME=LAT,LON``."""
    if scenario is None and not given:
        raise InputError("no site; allowed: a scenario with positions, or --site NAME=LAT,LON")
    found = Sites([_site(text) for text in given], satellite, elevation)
    if scenario is None:
        return found
    own, longitude = _of_scenario(scenario)
    return Sites([*own, *found.sites], satellite if satellite is not None else longitude, elevation)


def _site(text: str) -> Site:
    try:
        name, position = text.split("=")
        latitude, longitude = position.split(",")
        site = Site(name.strip(), float(latitude), float(longitude))
    except ValueError:
        raise InputError(f'--site "{text}"; allowed: NAME=LAT,LON, such as rome=41.9,12.5') from None
    if not (-90 <= site.latitude <= 90 and -180 <= site.longitude <= 360):
        raise InputError(
            f'--site "{text}": no such place; allowed: latitude -90 to 90 and longitude -180 to 360 degrees'
        )
    return site


def _without_missing_fades(path: Path) -> Scenario:
    """Loads a scenario whose fade files may be missing, since this command creates them."""
    from bentpipe import ScenarioError
    from bentpipe.scenario import scenarios

    try:
        return scenarios.load(path)
    except ScenarioError as error:
        keys = [problem["path"] for problem in error.problems]
        if not all(".fade." in key and key.endswith(".file") for key in keys):
            raise
    fades = dict.fromkeys(key[: key.rindex(".fade.")] + ".fade" for key in keys)
    return scenarios.load(path, [f"{fade}=unset" for fade in fades])


def _of_scenario(scenario: Path) -> tuple[list[Site], float]:
    from bentpipe.quantities import base_value as parse

    data = _without_missing_fades(scenario).data
    for network in data.get("network", {}).values():
        places = network.get("propagation")
        if not isinstance(places, dict) or "satellite" not in places:
            continue

        def place(name: str, site: Any) -> Site:
            altitude = parse(site["altitude"]) / 1e3 if "altitude" in site else 0.0
            return Site(name, parse(site["latitude"]), parse(site["longitude"]), altitude)

        found = [place(network["gateway"], places["gateway"])]
        for terminal in network["terminals"]:
            entry = {"name": terminal} if isinstance(terminal, str) else terminal
            where = entry.get("site", places.get("terminals"))
            # The terminals of a group are at the same place and share a column.
            found.append(place(entry.get("name") or entry["prefix"], where))
        return found, float(parse(places["satellite"]))
    raise InputError(
        f"{scenario} has no star network with positions (propagation = {{ satellite, gateway, terminals }}); "
        "allowed: --site NAME=LAT,LON in place of the scenario"
    )


def excess(sky: Sky) -> dict[str, Any]:
    """Returns the attenuation that a site's path exceeds, by percentages of an average year."""
    rows = [{"percent": percent, **sky.parts(percent)} for percent in SHOWN]
    return {
        "site": sky.site.name,
        "frequency_ghz": sky.frequency_ghz,
        "elevation": sky.elevation,
        "rain_percent": sky.probability_of_rain(),
        "exceeded": rows,
    }


def write(
    skies: Sequence[Sky],
    satellite: float | None,
    file: Path,
    *,
    duration_s: float,
    step_s: float,
    seed: int,
    storm: str | None,
) -> None:
    """Writes a time series of the attenuation for an average year or for a passing storm."""
    from .synthesis import synthesise

    if file.suffix not in {".csv", ".parquet"}:
        raise InputError(f"{file}: allowed: a .csv or .parquet file")
    names = [sky.site.name for sky in skies]
    if len(set(names)) < len(names):
        raise InputError(f"two sites have the same name: {', '.join(names)}")
    samples = duration_s / step_s * len(skies)
    if samples > MAX_SAMPLES:
        raise InputError(
            f"{samples:.0f} samples; allowed: at most {MAX_SAMPLES}; use a longer --step or a shorter --duration"
        )
    if storm is None:
        series = synthesise(skies, duration_s, step_s=step_s, seed=seed)
        about = f"Rain of average years (Maseng and Bakken; ITU-R P.618), seed {seed}"
    else:
        if satellite is None:
            raise InputError("a storm needs the satellite's position; allowed: --satellite DEGREES")
        cell = _storm(storm)
        series = cell.series(skies, satellite, duration_s, step_s=step_s)
        # In the notation of `--storm`.
        about = (
            f"A passing storm: {','.join(f'{key}={getattr(cell, name):g}' for key, name in STORM.items())}"
        )
    about += f"; {skies[0].frequency_ghz:g} GHz, attenuation in dB"
    if file.suffix == ".csv":
        file.write_text(series.text(about), encoding="utf-8")
        return
    import polars as pl

    pl.DataFrame({"time": series.times, **series.columns}).write_parquet(file)


def _storm(text: str) -> Any:
    from .storm import Storm

    storm = Storm()
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        if key.strip() not in STORM:
            raise InputError(f'--storm "{part}": unknown key; allowed: {", ".join(STORM)}')
        try:
            storm = replace(storm, **{STORM[key.strip()]: float(value)})
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f'--storm "{part}"; allowed: a number after the equals sign') from None
    return storm
