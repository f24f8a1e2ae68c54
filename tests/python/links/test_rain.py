"""Rain by ITU-R: the library checked against the tables of Study Group 3, series against their own
statistics, and the commands."""

from __future__ import annotations

import csv
import math
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from bentpipe import InputError
from bentpipe.rain import Site, Sky, Storm, statistics, synthesise
from bentpipe.rain.attenuation import library, number
from bentpipe.rain.synthesis import BETA, Distribution, chunks, correlations
from rigs import commands

# Importing this library takes seconds, also in runs of other tests.
pytestmark = pytest.mark.skipif(find_spec("itur") is None, reason="the extra rain is not installed")

TABLES = Path("tests/authorities/itu")
ROME = Sky(Site("rome", 41.9, 12.49, 0.046), 19.7, 40.2)


def rows(name: str) -> list[list[float]]:
    with (TABLES / name).open(encoding="latin-1") as file:
        return [[float(cell) for cell in row] for row in list(csv.reader(file))[2:]]


def call(*arguments: object, code: int = 0) -> str:
    said = commands.call(*arguments, code=code)
    return said.stderr if code else said.stdout


def test_specific_attenuation_of_p838() -> None:
    for elevation, frequency, rate, tilt, *_, expected in rows("ITURP838-3_rain_specific_attenuation.csv"):
        sky = Sky(Site("x", 0, 0, 0), frequency, elevation, tilt)
        assert sky.specific(np.array([rate]))[0] == pytest.approx(expected, rel=0.01)


def test_rain_height_of_p839_and_rain_rate_of_p837() -> None:
    for latitude, longitude, _, expected in rows("ITURP839-4_rain_height.csv"):
        assert Sky(Site("x", latitude, longitude), 20, 45).rain_height_km() == pytest.approx(
            expected, rel=0.01
        )
    for latitude, longitude, percent, expected in rows("ITURP837-7_rainfall_rate_R001.csv"):
        found = number(library().models.itu837.rainfall_rate(latitude, longitude, percent))
        assert found == pytest.approx(expected, rel=0.01)


def test_rain_attenuation_of_p618() -> None:
    table = rows("ITURP618-13_A_rain.csv")
    for latitude, longitude, height, frequency, elevation, tilt, percent, *_, attenuation, _, _, _ in table:
        sky = Sky(Site("x", latitude, longitude, height), frequency, elevation, tilt)
        assert sky.rain(percent)[0] == pytest.approx(attenuation, rel=0.01)
    assert len(table) > 50


def test_scintillation_of_p618() -> None:
    table = rows("ITURP618-13_A_rain.csv")
    for latitude, longitude, height, frequency, elevation, tilt, percent, *_, scintillation, _ in table:
        sky = Sky(Site("x", latitude, longitude, height), frequency, elevation, tilt)
        assert sky.scintillation(percent, 1.0, 0.65) == pytest.approx(scintillation, rel=0.01)
    assert len(table) == 64


def test_the_total_is_that_of_the_library_where_scintillation_is_below_its_limit() -> None:
    sky = Sky(Site("x", 41.9, 12.5, 0.05), 19.7, 40.0, 45.0)
    parts = sky.parts(0.1)
    assert set(parts) == {"gases", "clouds", "rain", "scintillation", "total"}
    whole = library().atmospheric_attenuation_slant_path(41.9, 12.5, 19.7, 40.0, 0.1, 1.2, hs=0.05, tau=45.0)
    assert parts["total"] == pytest.approx(number(whole), rel=1e-3)


def test_outside_the_range_of_the_recommendation_nothing_is_calculated() -> None:
    site = Site("x", 41.9, 12.5)
    for frequency, elevation, word in ((0.5, 40, "1 to 55"), (60, 40, "1 to 55"), (20, 3, "5 to 90")):
        with pytest.raises(InputError, match=word):
            Sky(site, frequency, elevation)
    with pytest.raises(InputError, match="latitude 141"):
        Sky(Site("x", 141.9, 12.5), 20, 40)


def test_a_synthesised_series_exceeds_levels_as_often_as_stated_and_fades_as_fast() -> None:
    """The tolerance is 10 % over 24 simulated years."""
    distribution, step, years = Distribution.at(ROME), 30.0, 24
    percentages = (0.1, 0.3, 1.0, 3.0)
    assert statistics(ROME, [0.1])[0][1] == pytest.approx(distribution.exceeded(0.1))
    levels = np.array([distribution.exceeded(percent) for percent in percentages])
    samples, exceeded = int(years * 365.25 * 86_400 / step), np.zeros(len(levels))
    # Steps of the attenuation where it is near a level, and the last sample of the chunk before.
    steps: list[list[np.ndarray]] = [[] for _ in levels]
    for (part,) in chunks([distribution], np.eye(1), step, samples, seed=5):
        exceeded += [(part > level).sum() for level in levels]
        change = np.diff(part)
        for found, level in zip(steps, levels, strict=True):
            near = np.abs(part[:-1] / level - 1) < 0.02
            found.append(change[near] / part[:-1][near])
    assert exceeded / samples * 100 == pytest.approx(percentages, rel=0.1)
    for found, percent in zip(steps, percentages, strict=True):
        # The slope of ln A over X at this percentage, from the distribution itself.
        low, high = (distribution.exceeded(percent * factor) for factor in (1.02, 1 / 1.02))
        x = [-_ndtri(percent * factor / 100) for factor in (1.02, 1 / 1.02)]
        local = math.log(high / low) / (x[1] - x[0])
        values = np.concatenate(found)
        stated = local * math.sqrt(1 - math.exp(-2 * BETA * step))
        assert np.std(np.log1p(values[values > -0.9])) == pytest.approx(stated, rel=0.1)


def _ndtri(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))


def test_near_sites_have_the_same_rain_and_far_ones_their_own() -> None:
    sites = [Site("a", 41.9, 12.5), Site("b", 41.92, 12.5), Site("c", 45.4, 9.2)]
    matrix = correlations(sites)
    assert matrix[0, 1] > 0.8 and matrix[0, 2] < 0.1
    series = synthesise([Sky(site, 19.7, 40) for site in sites], 400 * 86_400, step_s=300)
    found = np.corrcoef([np.log1p(column) for column in series.columns.values()])
    assert found[0, 1] > 0.7 and abs(found[0, 2]) < 0.3
    again = synthesise([Sky(site, 19.7, 40) for site in sites], 400 * 86_400, step_s=300)
    assert all((series.columns[name] == again.columns[name]).all() for name in series.columns)


def test_a_storm_passes_from_west_to_east() -> None:
    skies = [
        Sky(Site(name, 41.9, 12.5 + east), 19.7, 40) for name, east in (("w", -0.3), ("m", 0), ("e", 0.3))
    ]
    series = Storm(peak_mm_h=80, passes_s=3000).series(skies, 13.0, 6000)
    peaks = [float(series.times[column.argmax()]) for column in series.columns.values()]
    # 0.3 deg of longitude at 41.9 deg are 24.9 km, 2070 s at 12 m/s.
    assert peaks == sorted(peaks)
    assert peaks[1] - peaks[0] == pytest.approx(2070, rel=0.03)
    assert max(series.columns["m"]) > 10 and series.columns["m"][0] < 0.5


def test_the_command_prints_a_table_and_writes_series_that_scenarios_read(tmp_path: Path) -> None:
    sites = ("--site", "st1=41.9,12.5", "--site", "gw=45.4,9.2", "--satellite", "13")
    assert "scintillation" in call("space", "rain", "-f", "19.7", *sites)
    for name in ("a.csv", "a.parquet"):
        call("space", "rain", "-f", "19.7", *sites, "--duration", "60", "-o", tmp_path / name)
    call("trace", "--fade", tmp_path / "a.parquet", tmp_path / "b.csv")
    scenario = tmp_path / "rain.toml"
    for name in ("a.csv", "b.csv"):
        scenario.write_text(
            f"""
            name = "rain"
            duration = "5 s"
            preset = "ka-hub"
            [network.sat.forward.acm]
            fade = {{ samples = {{ file = "{name}" }} }}
            [[flow]]
            name = "f"
            from = "gw"
            to = "st1"
            app = "bulk"
            transport = "tcp"
            """
        )
        assert "Mbit/s" in call("check", scenario)


def test_the_file_of_a_storm_says_it_as_the_command_takes_it(tmp_path: Path) -> None:
    sites = ("--site", "st1=41.9,12.5", "--satellite", "13", "--duration", "60", "-f", "19.7")
    call("space", "rain", *sites, "--storm", "peak=60,speed=8.5", "-o", tmp_path / "a.csv")
    first = (tmp_path / "a.csv").read_text().splitlines()[0]
    storm = first.removeprefix("# A passing storm: ").partition(";")[0]
    assert "peak=60" in storm and "speed=8.5" in storm
    call("space", "rain", *sites, "--storm", storm, "-o", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-f", "70", "--site", "a=40,10", "--elevation", "40"), "1 to 55 GHz"),
        (("-f", "20", "--site", "a=40", "--elevation", "40"), "NAME=LAT,LON"),
        (("-f", "20", "--site", "a=91,10", "--satellite", "9"), "latitude -90 to 90"),
        (("-f", "20"), "no site"),
        (("-f", "20", "--site", "a=40,10"), "--satellite or --elevation"),
        (("-f", "20", "--site", "a=40,10", "--satellite", "170"), "elevation -"),
        (
            ("-f", "20", "--site", "a=40,10", "--satellite", "9", "--storm", "height=3", "-o", "x.csv"),
            "unknown key",
        ),
    ],
)
def test_bad_input_is_refused(arguments: tuple[str, ...], words: str) -> None:
    assert words in " ".join(call("space", "rain", *arguments, code=2).split())
    assert not Path("x.csv").exists()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("0,1\n1,2\n2,\n", "fade.csv:4:1"),
        ("0,1\n1,nan\n", "fade.csv:3:1"),
        ("5,1\n4,2\n", "fade.csv:3:1"),
        ("0,1\n1,1\n2,1\n3,1\n4,1\n9,1\n10,1\n", "a gap of 5 s"),
        ("0,1\n1,-4\n", "fade.csv:3:1"),
    ],
)
def test_a_bad_series_is_refused_with_file_and_line(tmp_path: Path, rows: str, words: str) -> None:
    (tmp_path / "fade.csv").write_text("time,st1\n" + rows)
    scenario = tmp_path / "rain.toml"
    scenario.write_text(
        'name = "rain"\nduration = "5 s"\npreset = "ka-hub"\n'
        'network.sat.forward.acm.fade.samples = { file = "fade.csv" }\n'
        'flow = [{ name = "f", from = "gw", to = "st1", app = "bulk", transport = "tcp" }]\n'
    )
    message = call("check", scenario, code=2)
    assert "fade.csv" in message
    assert words in message
