"""Audits of the kernel's netem and tbf, right and wrong in eight ways each, in a guest."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe.tools import export
from bentpipe.tools.course import course
from helpers.audited import SETUPS, Setup, audited, check, observe_in_guest, record
from rigs.guests import guests

#: Set-ups of `make test`. Those without a rate take less time.
FEW = ("right-delay", "wrong-limit", "wrong-jitter")
#: Repetitions of the right set-ups.
RUNS = 20


@guests
def test_a_right_network_passes_and_faults_are_named() -> None:
    setups = [one for one in SETUPS if one.name in FEW]
    for setup, seen in zip(setups, observe_in_guest(setups, duration=1.0), strict=True):
        check(setup, audited(setup, seen))


@guests
def test_an_exported_path_keeps_its_promises(tmp_path: Path) -> None:
    """The script of `bentpipe export --to netem` imposes the rates and delays of the scenario."""
    ends = {"from": "server", "to": "user"}
    queue = {"kind": "drop-tail", "packets": 100}
    link = {"name": "sat", **ends, "rate": "10 Mbit/s", "delay": "60 ms", "queue": queue}
    flow = {"name": "f", **ends, "app": "bulk", "transport": "tcp"}
    scenario = bp.load({"name": "path", "duration": "60 s", "link": [link], "flow": [flow]})
    (script,) = export(course(scenario, "user", "server"), "netem", tmp_path)
    hosts = ["link a gso_max_segs 1", "link b gso_max_segs 1"]
    setup = Setup("exported", "rate=10 Mbit/s,delay=60 ms,loss=0", [*hosts, f"script {script}"])
    (seen,) = observe_in_guest([setup], duration=1.0)
    audit = audited(setup, seen)
    assert not audit.broken, [row.as_dict() for row in audit.rows]
    assert {row.verdict for row in audit.rows if row.name in ("rate", "delay")} == {"kept"}


@guests
@pytest.mark.slow
def test_every_fault_of_netem_and_tbf_is_named() -> None:
    setups = [one for one in SETUPS if one.fault is not None]
    for setup, seen in zip(setups, observe_in_guest(setups), strict=True):
        check(setup, audited(setup, seen))


@guests
@pytest.mark.slow
def test_right_networks_give_no_false_alarm_in_twenty_runs() -> None:
    setups = [one for one in SETUPS if one.fault is None]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda seed: observe_in_guest(setups, 2.0, seed), range(1, RUNS + 1))
        audits = [[audited(setup, one) for setup, one in zip(setups, seen, strict=True)] for seen in runs]
    alarms = [
        f"{setup.name}, {row.as_dict()}"
        for one in audits
        for setup, audit in zip(setups, one, strict=True)
        for row in audit.broken
    ]
    print(f"{sum(map(len, audits))} audits, {len(alarms)} false alarms")
    assert not alarms, "\n".join(alarms)
    for setup in setups:
        record(setup.network, setup.promise, [], RUNS)
