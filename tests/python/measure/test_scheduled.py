"""Accesses with slots: fitted to observations of known accesses, and scored against them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bentpipe.errors import InputError
from bentpipe.measure import scheduled, score
from bentpipe.scenario.scenarios import load

KNOWN = """name = "Known"
duration = "60 s"

[[link]]
name = "access"
from = "server"
to = "user"
rate = "40 Mbit/s"
delay = "20 ms"
slots = { offset = "4 s", hole = "50 ms", level = 0.15, wander = 0.1, correlation = "1 s", noise = 0.2, step = "20 ms" }
queue = { kind = "drop-front", packets = 500 }

[link.jitter]
kind = "sum"
parts = [
  { kind = "bursts", least = "2 ms", most = "6 ms" },
  { kind = "spikes", offset = "4020 ms", peak = "25 ms", lasts = "70 ms", recovery = "30 ms" },
]

[[flow]]
name = "download"
from = "server"
to = "user"
app = "bulk"
transport = "tcp"
"""


@pytest.fixture(scope="module")
def observed() -> scheduled.Access:
    """Ten minutes of the known access, with delays in steps of 10 ms as in the files of
    LeoReplayer."""
    found = score.observe(load(scheduled_text()), "", 600.0)
    return replace(found, delay_times=np.floor(found.delay_times / 10) * 10)


def scheduled_text() -> dict[str, object]:
    import tomllib

    return tomllib.loads(KNOWN)


def test_the_keys_of_a_known_access_are_found(observed: scheduled.Access) -> None:
    found = scheduled.fit(observed)
    assert found.grid is not None
    assert found.grid.every == pytest.approx(15_000, abs=5)
    # At the receiver, holes begin after the delay.
    assert found.grid.offset == pytest.approx(4_020, abs=15)
    assert found.hole == pytest.approx(50, abs=10)
    assert found.peak == pytest.approx(25, abs=4)
    assert found.rate == pytest.approx(40e6, rel=0.1)
    # 40 levels: the standard error of a deviation is 11 %.
    assert found.level == pytest.approx(0.15, rel=0.4)
    assert found.wander == pytest.approx(0.1, rel=0.2)
    assert found.correlation == pytest.approx(1_000, rel=0.35)
    assert found.noise == pytest.approx(0.2, rel=0.2)
    assert found.delay == pytest.approx(20, abs=1.5)


#: Largest differences between the known and the fitted access, relative or in the unit of the
#: property. They include the spread of 40 levels.
TOLERANCES = {"Mbit/s": (0.1, 0.0), "": (0.0, 0.1), "ms": (0.0, 2.0), "s": (0.0, 0.05)}


def test_the_fitted_scenario_behaves_as_the_trace(observed: scheduled.Access, tmp_path: Path) -> None:
    file = tmp_path / "fitted.toml"
    file.write_text(scheduled.scenario(scheduled.fit(observed), "trace"), encoding="utf-8")
    fitted = score.observe(load(file), "", 600.0, 1)
    for name, unit, of in score.properties(observed):
        relative, absolute = TOLERANCES[unit]
        most = 20.0 if name.startswith("length") else absolute
        assert of(fitted) == pytest.approx(of(observed), rel=relative, abs=most), name


def test_an_access_without_slots_gets_a_low_score(observed: scheduled.Access) -> None:
    constant = ["link.access.jitter=none", "link.access.slots.hole=0 s", "link.access.slots.level=0.0"]
    plain = load(scheduled_text(), constant)
    lines = score.score(observed, [score.observe(plain, "", 60.0, run) for run in range(4)])
    outside = {line.name for line in lines if not line.inside}
    assert outside >= {
        "rate, 5 % quantile",
        "delay, 50 % quantile",
        "spacing of holes",
        "length of holes, median",
    }


def test_a_trace_without_slots_is_refused() -> None:
    steady = scheduled.Access(np.full(60_000, 1500.0), np.array([]), np.array([]))
    with pytest.raises(InputError, match="fewer than three of them on a grid"):
        scheduled.fit(steady)
