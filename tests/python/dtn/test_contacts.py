"""Contact plans through Python and the command line; crates/dtn tests the routes themselves."""

from __future__ import annotations

import csv
import json
import pickle
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from bentpipe import InputError, plots
from bentpipe.dtn import contacts, ephemeris
from helpers import ROOT
from rigs import commands

CASES = ROOT / "tests/authorities/dtn/cgr_cases.json"


def call(*arguments: object, code: int = 0) -> str:
    said = commands.call(*arguments, code=code)
    return said.stderr if code else said.stdout


@pytest.fixture
def tutorial(tmp_path: Path) -> Path:
    case = next(case for case in json.loads(CASES.read_text()) if "cgrTutorial" in case["name"])
    path = tmp_path / "tutorial.json"
    path.write_text(json.dumps({"contacts": case["contacts"]}, indent=1))
    return path


def test_the_best_route_is_printed(tutorial: Path) -> None:
    answer = json.loads(call("space", "contacts", "route", tutorial, "--from", 1, "--to", 5, "--json"))
    assert [contact["id"] for contact in answer["contacts"]] == [4, 6, 10]
    assert answer["arrival"] == 3 and answer["next_hop"] == 3
    # 125 000 bytes take a second on each of three contacts.
    sized = contacts.routes(tutorial, 1, 5, size=125_000, most=100)
    assert [route.arrival for route in sized] == [6, 8, 12, 32, 32, 52, 52]
    assert (
        max(map(len, call("space", "contacts", "route", tutorial, "--from", 1, "--to", 5).split("\n"))) <= 80
    )


def test_no_route_is_a_message_and_an_exit_code(tutorial: Path) -> None:
    text = call("space", "contacts", "route", tutorial, "--from", 1, "--to", 5, "--at", 60, "--json", code=1)
    assert text == "bentpipe: no route from 1 to 5 for 0 bytes at 60 s\n"
    assert 'unknown node "9" in --to; allowed: 1, 2, 3, 4, 5' in call(
        "space", "contacts", "route", tutorial, "--from", 1, "--to", 9, code=2
    )
    assert '--at "soon": not a time' in call(
        "space", "contacts", "route", tutorial, "--from", 1, "--to", 5, "--at", "soon", code=2
    )


def test_a_contradiction_is_refused_with_file_and_line(tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("src,dst,start,end,rate_bps,owlt_s\n1,2,0,10,8000,1\n1,2,5,20,4000,1\n")
    with pytest.raises(InputError, match=r"plan\.csv:3: overlaps the contact in line 2"):
        contacts.read_plan(plan)
    with pytest.raises(InputError, match="no such file"):
        contacts.read_plan(tmp_path / "missing.csv")


def test_impossible_contacts_are_skipped_on_request(tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("src,dst,start,end,rate_bps,owlt_s\na,b,0,10,8000,1\nb,a,20,10,8000,1\n")
    question = ("space", "contacts", "route", plan, "--from", "a", "--to", "b")
    refused = call(*question, code=2)
    assert f"{plan}:3: the contact ends at 10 s and starts at 20 s" in refused
    assert "--skip-impossible" in refused
    said = commands.call(*question, "--skip-impossible", "--json", code=0)
    assert json.loads(said.stdout)["arrival"] == 1 and "skipped 1 impossible contacts" in said.stderr
    assert json.loads(call("space", "contacts", "show", plan, "--skip-impossible", "--json"))["skipped"] == 1
    with pytest.raises(InputError, match="skip_impossible=True"):
        contacts.read_plan(plan)
    assert contacts.read_plan(plan, skip_impossible=True).skipped == 1
    scenario = """
        name = "contacts"
        duration = "1 s"
        [[link]]
        name = "l"
        from = "a"
        to = "b"
        rate = "1 Mbit/s"
        delay = "1 ms"
        contacts = { when = { kind = "plan", plan = { file = "plan.csv" } } }
        """
    file = tmp_path / "scenario.toml"
    file.write_text(scenario)
    assert "skip_impossible = true" in call("check", file, code=2)
    file.write_text(scenario.replace('"plan.csv" }', '"plan.csv" }, skip_impossible = true'))
    assert "1 impossible contacts" in commands.call("check", file).output
    file.write_text(
        'name = "contacts"\nduration = "1 s"\n[network.n]\nkind = "bundles"\nplan = { file = "plan.csv" }\n'
    )
    assert "skip_impossible = true" in call("check", file, code=2)
    assert (
        "1 impossible contacts"
        in commands.call("check", file, "--set", "network.n.skip_impossible=true").output
    )


def test_a_plan_is_read_once_for_many_routes(tutorial: Path) -> None:
    plan = contacts.read_plan(tutorial)
    expected = contacts.routes(tutorial, 1, 5, most=100)
    tutorial.unlink()
    made = contacts.Plan("by hand", plan.nodes, plan.contacts)
    for one in (plan, made, pickle.loads(pickle.dumps(plan))):
        assert contacts.routes(one, 1, 5, most=100) == expected


def test_a_bundle_at_its_destination_arrives_at_once(tutorial: Path) -> None:
    here = ("space", "contacts", "route", tutorial, "--from", 2, "--to", 2, "--at", 50, "--size", "1000 B")
    answer = json.loads(call(*here, "--json"))
    assert (answer["contacts"], answer["arrival"], answer["next_hop"]) == ([], 50, 2)
    assert call(*here) == "Arrival at 2: 50 s, where the bundle is\n"
    assert [route.arrival for route in contacts.routes(tutorial, 2, 2, at=50, most=9)] == [50]


@pytest.mark.parametrize("at", ["1700000000.123456695", "1700000000.123456695s", "1700000000123.456695 ms"])
def test_a_time_keeps_its_nanoseconds(tmp_path: Path, at: str) -> None:
    """The transmission of the bundle takes 8 ns and ends with the contact. The nearest float is
    5 ns later."""
    plan = tmp_path / "plan.csv"
    plan.write_text("src,dst,start,end,rate_bps,owlt_s\na,b,1700000000,1700000000.123456703,1e9,0\n")
    question = ("space", "contacts", "route", plan, "--from", "a", "--to", "b", "--size", "1 B")
    assert len(json.loads(call(*question, "--at", at, "--json"))["contacts"]) == 1
    late = call(*question, "--at", "1700000000.1234567", code=1)
    assert late == "bentpipe: no route from a to b for 1 bytes at 1700000000.1234567 s\n"


def test_a_plan_is_drawn(tutorial: Path, tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    text = call("space", "contacts", "show", tutorial, "-o", picture)
    assert max(map(len, text.split("\n"))) <= 80 and "1 to 3" in text
    assert "1 to 3" in picture.read_text()
    named = tmp_path / "named.csv"
    named.write_text("src,dst,start,end,rate_bps,owlt_s\nthe-rover,the-orbiter,0,10,8000,1\n")
    lines = call("space", "contacts", "show", named).splitlines()
    assert sum("#" in line for line in lines) == 1 and max(map(len, lines)) <= 80
    figure = plots.contact_plan(contacts.read_plan(tutorial), contacts.routes(tutorial, 1, 5))
    plots.save(figure, tmp_path / "route.png")


def test_light_times_are_those_of_de421() -> None:
    pytest.importorskip("skyfield_data", reason="the extra space is not installed")
    rows = list(csv.DictReader((CASES.parent / "light_times_de421.csv").read_text().splitlines()))
    assert len(rows) > 100
    for row in rows:
        found = ephemeris.light_time(row["body"], datetime.fromisoformat(row["tdb_date"]))
        assert found == pytest.approx(float(row["one_way_light_time_body_to_earth_s"]), abs=1e-3)


def test_contacts_by_geometry_are_a_plan(tmp_path: Path) -> None:
    pytest.importorskip("skyfield_data", reason="the extra space is not installed")
    plan = tmp_path / "mars.csv"
    ends = ("--station", "madrid=40.43,-4.25", "--site", "rover=18.44,77.45", "--orbiter", "mro=300,93")
    start = ("--body", "mars", "--start", "2024-01-01", "--duration", "10800")
    said = call("space", "contacts", "geometry", *start, *ends, "-o", plan)
    # Mars rises 7 hours later at Madrid.
    assert "no contact in 3 hours: madrid\n" in said
    assert json.loads(call("space", "contacts", "geometry", *start, *ends, "--json"))["without_contact"] == [
        "madrid"
    ]
    found = contacts.read_plan(plan).contacts
    passes = [one for one in found if {one.src, one.dst} == {"rover", "mro"}]
    # The orbiter is at least 300 km away, visible from the rover for some minutes, and equal in
    # both directions.
    assert 2 <= len(passes) <= 6 and all(0.001 <= one.owlt_s < 0.006 for one in passes)
    both = [sorted((one.start, one.end) for one in passes if one.src == name) for name in ("rover", "mro")]
    assert all(abs(a - b) < 0.2 for ones in zip(*both, strict=True) for a, b in zip(*ones, strict=True))
    text = call(
        "space", "contacts", "geometry", *start, "--station", "madrid=91,0", "--site", "a=0,0", code=2
    )
    assert "is not a position" in text
    later = (*start[:-1], "43200")
    assert "no contact" not in call("space", "contacts", "geometry", *later, *ends, "-o", plan)
    assert {("mro", "madrid"), ("rover", "madrid")} <= {
        (one.src, one.dst) for one in contacts.read_plan(plan).contacts
    }


def test_dates_beyond_the_ephemeris_are_refused() -> None:
    pytest.importorskip("skyfield_data", reason="the extra space is not installed")
    ends = ("--body", "mars", "--station", "a=40,2", "--site", "b=1,2")
    for day, hours in (("2200-01-01", 1), ("1899-01-01", 1), ("2053-10-07", 25)):
        text = " ".join(
            call(
                "space", "contacts", "geometry", *ends, "--start", day, "--duration", 3600 * hours, code=2
            ).split()
        )
        assert f"--start {day} with {hours} hours is outside the ephemeris" in text
        assert "allowed: 1899-07-30 to 2053-10-08" in text
    # The last whole day; light continues to travel after it.
    call("space", "contacts", "geometry", *ends, "--start", "2053-10-07", "--duration", 86400)
    with pytest.raises(InputError, match="allowed: 1899-07-30 to 2053-10-08"):
        ephemeris.light_time("mars", datetime(2060, 1, 1))


def test_moon_and_mars_stand_as_they_do() -> None:
    pytest.importorskip("skyfield_data", reason="the extra space is not installed")
    import numpy as np

    def elevations(place: ephemeris.Place, seen: str, start: datetime, seconds: list[float]) -> Any:
        sky = ephemeris._Sky(start)
        times = np.array(seconds)
        at, centre = sky.position(place, times), sky.centre(place.body, times)
        sight = np.asarray(sky.kernel[seen].at(sky.time(times)).position.km) - at
        zenith = at - centre
        sines = (
            np.sum(zenith * sight, axis=0) / np.linalg.norm(zenith, axis=0) / np.linalg.norm(sight, axis=0)
        )
        return np.degrees(np.arcsin(sines))

    # The Earth stays within libration, 8 + 7 degrees at most, of the zenith in the middle of the
    # Moon's near side.
    month = [86_400.0 * day for day in range(28)]
    near = elevations(ephemeris.Place("near", 0, 0, body="moon"), "earth", datetime(2024, 1, 1), month)
    assert near.min() > 78 and near.max() < 90
    # Northern autumn began on Mars on 12 January 2024: the sun at noon is 90 degrees less the
    # latitude.
    sol = [60.0 * minute for minute in range(1480)]
    gale = elevations(ephemeris.Place("gale", -4.59, 137.44, body="mars"), "sun", datetime(2024, 1, 12), sol)
    assert gale.max() == pytest.approx(90 - 4.59, abs=0.3)
