"""Impulses recover the access scheduler on simulated networks with random parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bentpipe as bp
import numpy as np
import pytest
from bentpipe.measure.access import access, period
from bentpipe.measure.load import Item, Load
from bentpipe.measure.load_client import Outcome
from bentpipe.measure.load_results import Loaded
from hypothesis import given, settings
from hypothesis import strategies as st

LOAD = Load("impulses", duration=120.0, packets=40, size=600, every=6.0)

NETWORK = """
name = "access"
duration = "{duration:.0f} s"
preset = "dvb-rcs"
[network.sat.return]
frame = "{frame} ms"
frames_per_superframe = {frames}
[network.sat.return.dama]
scheme = "{scheme}"
response = {response}
cra = "{cra} bit/s"
[record]
traces = ["datagram"]
"""

FLOW = """
[[flow]]
name = "{name}"
from = "st1"
to = "gw"
start = "{start} ns"
app = {{ kind = "cbr", rate = "1 Gbit/s", datagram = "572 B", on = "{on} ns", off = "7 d" }}
transport = {{ kind = "udp" }}
"""


#: Additional flows of probes: 4 per second, with 140 and with 1400 bytes.
PROBES = """
[[flow]]
name = "probes-{size}"
from = "st1"
to = "gw"
app = {{ kind = "cbr", rate = "{rate:.0f} bit/s", datagram = "{payload} B", spacing = "exponential" }}
transport = {{ kind = "udp" }}
"""


def impulses(folder: Path, seed: int, probes: float = 0.0, **keys: object) -> Loaded:
    """Returns a measurement's view of a simulated network, with this many additional `probes` per
    second."""
    pattern = LOAD.pattern(np.random.default_rng(seed))
    starts = np.unique(pattern["at"])
    text = NETWORK.format(duration=starts[-1] + 20, **keys)
    for number, start in enumerate(starts):
        text += FLOW.format(name=f"i{number}", start=round(1e9 * (5 + start)), on=LOAD.packets * 572 * 8)
    for size in (140, 1400) if probes else ():
        text += PROBES.format(size=size, payload=size - 28, rate=probes / 2 * 8 * (size - 28))
    file = folder / f"{seed}.toml"
    file.write_text(text)
    rows = bp.simulate(file, out=folder / str(seed)).trace("datagram")
    rows = rows.filter(rows["flow"].str.starts_with("i"))
    low = np.full(len(pattern), np.nan)
    place = rows["flow"].str.slice(1).cast(int).to_numpy() * LOAD.packets + rows["number"].to_numpy()
    low[place] = rows["delay"].to_numpy()
    outcome = Outcome(Item("impulses-up-1", 0.0, LOAD), pattern=pattern)
    outcome.sent = ((pattern["at"] + 5) * 1e9).astype(np.int64)
    return Loaded(outcome, 5.0, 1.0, 0, pattern["at"] + 5, low, low, *[np.empty(0)] * 3)


def test_impulses_recover_superframe_response_and_scheme(tmp_path: Path) -> None:
    """Ten random networks: the scheme must be right in nine, the superframe within 1 %."""
    source, right = np.random.default_rng(24), 0
    for seed in range(10):
        scheme = ("rbdc", "vbdc", "cra")[int(source.integers(0, 5)) // 2]
        frames = int(source.integers(1, 5))
        # Slots have a whole number of bytes.
        frame = round(8 * float(source.uniform(47, 110)) / frames) / 8
        # In addition to requests, a constant rate of one slot of 32, or none.
        cra = 320_000 if scheme == "cra" else int(source.choice([0, 64_000]))
        response = int(-(-560 // (frame * frames)) + source.integers(1, 5))
        keys: dict[str, Any] = {
            "scheme": scheme,
            "frame": frame,
            "frames": frames,
            "cra": cra,
            "response": response,
        }
        found = access(impulses(tmp_path, seed, **keys))
        assert found is not None
        expected = {"cra": "CRA", "rbdc": "RBDC", "vbdc": "VBDC"}[scheme]
        right += found.scheme == (f"CRA + {expected}" if cra and scheme != "cra" else expected)
        if scheme == "cra":
            assert found.superframe is None and found.cra == pytest.approx(cra, rel=0.05), keys
            continue
        assert found.superframe == pytest.approx(1e-3 * frame * frames, rel=0.01), keys
        # The slots of a superframe are uncertain by one superframe, because the first may belong to
        # another terminal.
        assert found.response is None or abs(found.response - response) <= 1, keys
        assert found.cra == pytest.approx(cra, rel=0.15), keys
    assert right >= 9


@pytest.mark.parametrize("cra", [0, 64_000])
def test_capacity_requested_by_probes_is_not_a_constant_rate(tmp_path: Path, cra: int) -> None:
    """Rates that were requested by 4 probes per second are available when an impulse arrives."""
    keys: dict[str, Any] = {"scheme": "rbdc", "frame": 32.875, "frames": 3, "cra": cra, "response": 9}
    found = access(impulses(tmp_path, 1, probes=4.0, **keys), 4.0 * 8 * 770)
    assert found is not None and found.scheme == ("CRA + RBDC" if cra else "RBDC"), found


@settings(max_examples=20)
@given(st.floats(0.02, 1.0), st.integers(0, 2**32))
def test_a_period_is_found_within_one_percent_and_random_times_have_none(length: float, seed: int) -> None:
    source = np.random.default_rng(seed)
    begins = np.cumsum(source.uniform(2, 9, 25))
    # Probes are spread over a tenth of the period.
    steps = np.ceil(begins / length) * length + source.uniform(0, 0.1 * length, 25)
    assert period(steps) == pytest.approx(length, rel=0.01)
    assert period(begins) is None
