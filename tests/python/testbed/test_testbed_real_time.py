"""Emulation in real time in the test bed: it can be watched and changed like a simulation, and does
not touch the machine's own network. Numbers in names are those of the abuse cases in
docs/notes/abuse-cases.md."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from bentpipe.testbed import live
from helpers.beds import Bed, _cheap_passwords, launched
from rigs.networks import needs, networks
from rigs.testbeds import SMALL, until

__all__ = ["_cheap_passwords"]


def own_network() -> list[object]:
    """Returns the machine's own network: interfaces, routes, rules, and those of the packet
    filter."""
    found: list[object] = []
    for words in (["link"], ["route", "show", "table", "all"], ["rule"], ["address"]):
        said = subprocess.run(["ip", "-j", *words], capture_output=True, text=True, check=True).stdout
        found.append(
            [
                # Counters and timers of unrelated items.
                {
                    key: value
                    for key, value in row.items()
                    if not key.startswith(("stats", "valid_life", "preferred"))
                }
                for row in json.loads(said or "[]")
            ]
        )
    return found


@networks
@needs("ip")
@pytest.mark.alone
def test_20_a_run_in_real_time_stays_in_its_namespaces(tmp_path: Path) -> None:
    bed = Bed(tmp_path / "data", real_time=True)
    ada = bed.join("ada")
    before = own_network()
    (run,) = launched(ada, text=SMALL.replace("20 s", "6 s"), instruments=["emulate"])
    assert run["position"] is None
    bed.execute()
    at = f"/api/runs/{run['id']}"
    file = live.live_file(bed.settings.folder(1, run["id"]))
    until(lambda: any("tcp" in part["rows"] for part in live.read_all(file)) or ada.get(at).json()["ended"])
    during = own_network()
    answer = ada.post(f"{at}/changes", json={"key": "link.sat.rate", "value": "2 Mbit/s"})
    assert answer.status_code == 201, ada.get(at).text
    (made,) = until(lambda: [one for one in ada.get(f"{at}/changes").json() if one["done"] or one["refused"]])
    assert made["refused"] is None and 0 < made["done"] < 6
    ended = until(lambda: (one := ada.get(at).json())["ended"] and one)
    assert (ended["state"], ended["reason"]) == ("done", "")
    assert before == during == own_network()
    assert ada.get(f"{at}/results").json()["fidelity"]["verdict"]
    bed.stop()
    bed.store.close()
