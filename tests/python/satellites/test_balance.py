"""Paths over constellations: several concurrent paths, and the effect of path changes on
packets."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest


def probes(folder: Path, count: int, balance: dict[str, Any] | None) -> list[tuple[int, int, float | None]]:
    """Returns packets sent, packets delivered and mean delay of probes of 800 kbit/s that begin
    every two seconds, over ground links of 2 Mbit/s to two satellites: one over the Atlantic, and
    one with a path around the Earth."""
    network: dict[str, Any] = {"gsl": {"antennas": 2}}
    if balance is not None:
        network["routing"] = {"balance": balance}
    flow = {
        "from": "user",
        "to": "server",
        "app": {"kind": "cbr", "rate": "800 kbit/s", "datagram": "1000 B"},
        "transport": "udp",
    }
    scenario = {
        "name": "probes",
        "duration": "60 s",
        "preset": "geo-five",
        "record": {"traces": []},
        "network": {"sky": network},
        "flow": [{"name": f"p{index}", "start": f"{2 * index} s", **flow} for index in range(count)],
    }
    run = bp.simulate(scenario, out=folder)
    assert run.summary["packets"]["conserved"]
    return run.flows.select("sent_packets", "delivered_packets", "delay_mean").rows()


#: Packets in flight at the end: 0.27 s and 0.77 s of 100 packets per second.
UNDER_WAY = 80


def test_connections_are_spread_over_paths_and_refused_where_none_has_room(tmp_path: Path) -> None:
    def arrive(rows: list[tuple[int, int, float | None]]) -> list[bool]:
        assert all(delivered == 0 or sent - delivered < UNDER_WAY for sent, delivered, _ in rows)
        return [delivered > 0 for _, delivered, _ in rows]

    # Four probes are 3.3 Mbit/s: too much for one ground link, and just enough for two.
    alone = probes(tmp_path / "alone", 4, None)
    assert sum(sent - delivered for sent, delivered, _ in alone) > 5000
    spread = probes(tmp_path / "spread", 4, {"paths": 2})
    assert arrive(spread) == [True] * 4
    assert [delay for _, _, delay in spread] == pytest.approx([0.268, 0.766, 0.272, 0.77], abs=0.002)
    # The fifth and the sixth find both links above 0.75 of their rate, and are refused.
    full = {"paths": 2, "max_load": 0.75}
    assert arrive(probes(tmp_path / "admitted", 6, full)) == [True] * 4 + [False] * 2
    # Only direct paths are below 400 ms, and no path is below 15 ms.
    near = probes(tmp_path / "near", 4, full | {"max_delay": "400 ms"})
    assert arrive(near) == [True, True, False, False] and near[1][2] == pytest.approx(0.272, abs=0.002)
    assert arrive(probes(tmp_path / "none", 1, full | {"max_delay": "15 ms"})) == [False]


def test_reordering_shows_where_the_way_has_changed_and_nowhere_else(tmp_path: Path) -> None:
    """On one path no packet overtakes another. Packets on a new, shorter path overtake those sent
    earlier on the longer one."""
    flow = {
        "name": "probe",
        "from": "user",
        "to": "server",
        "app": {"kind": "cbr", "rate": "160 kbit/s", "datagram": "500 B"},
        "transport": "udp",
    }
    scenario = {"name": "order", "duration": "900 s", "preset": "big-leo", "flow": [flow]}
    run = bp.simulate(scenario, out=tmp_path / "run")
    changed = run.trace("path")["time"].to_list()
    arrived = run.trace("datagram").select("time", "number", "delay").rows()
    overtaken = 0
    for (_, number, _), (time, behind, delay) in itertools.pairwise(arrived):
        if behind < number:
            # The trace has a row with the next packet, at most 25 ms later.
            assert any(time - delay - 1e-6 <= at <= time + 0.025 for at in changed), (time, number, behind)
            overtaken += 1
    assert 0 < overtaken < 100
