"""Audits of networks on the real clock: a bridge that sleeps, tbf, our own emulation, mahimahi."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.audited import audit, record
from rigs.networks import Bentpipe, needs, networks

BRIDGE = Path(__file__).with_name("sleeping_bridge.py")
LINK = """
name = "audited"
duration = "1 h"
[[link]]
name = "sat"
from = "user"
to = "server"
rate = "10 Mbit/s"
delay = "100 ms"
queue = { kind = "drop-tail", packets = 100 }
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def connected() -> Iterator[tuple[str, str, str]]:
    """Yields the names of two namespaces, and of one between them without any forwarding between
    its interfaces `left` and `right`."""
    a, m, b = names = [f"audit{os.getpid()}{letter}" for letter in "amb"]
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for host, device, last in ((a, "left", 1), (b, "right", 2)):
            ip("link", "add", "out", "netns", host, "type", "veth", "peer", "name", device, "netns", m)
            ip("-n", host, "addr", "add", f"10.79.0.{last}/24", "dev", "out")
            for name, one in ((host, "out"), (m, device)):
                ip("-n", name, "link", "set", one, "up")
        yield a, b, m
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


@contextmanager
def bridged(*mode: str) -> Iterator[tuple[str, str]]:
    """Yields two namespaces with the sleeping bridge between them."""
    with connected() as (a, b, m):
        words = ["ip", "netns", "exec", m, sys.executable, str(BRIDGE), *mode]
        with subprocess.Popen(words) as process:
            try:
                yield a, b
            finally:
                process.kill()


#: The modes of the bridge, as named on the page.
MODES = {
    "serial": "bridge that sleeps {} ms for each packet",
    "tick": "bridge that sends at a timer's ticks of {} ms",
    "bleach": "bridge that clears ECN",
}


def broken(rows: dict[tuple[str, str], dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows.values() if row["verdict"] == "broken"]


@networks
@pytest.mark.quiet
def test_a_forwarder_that_sleeps_for_each_packet_is_named(bentpipe: Bentpipe, tmp_path: Path) -> None:
    # One packet per 100 ms: ten packets per second, whatever the promised rate.
    report, page = tmp_path / "audit.xml", tmp_path / "audit.html"
    with bridged("serial", "100") as (a, b):
        options = ("--duration", 2, "--junit", report, "--html", page)
        promise = "rate=10 Mbit/s,delay=100 ms"
        code, rows = audit(bentpipe, "--promise", promise, "--namespaces", a, b, *options)
    record(MODES["serial"].format(100), promise, broken(rows))
    rate, delay = rows["rate", "up"], rows["delay", "up"]
    assert code == 1
    assert rate["verdict"] == "broken" and "falls with the delay" in rate["cause"]
    assert delay["verdict"] == "kept" and delay["interval"][0] <= delay["measured"] <= delay["interval"][1]
    (suite,) = ElementTree.parse(report).getroot()
    verdicts = [row["verdict"] for row in rows.values()]
    failures = [case for case in suite if case.find("failure") is not None]
    assert len(failures) == int(suite.get("failures", "")) == verdicts.count("broken")
    assert len(suite.findall("testcase/skipped")) == verdicts.count("not measurable")
    assert rate["cause"] in (failures[0].find("failure").text or "")  # type: ignore[union-attr]
    assert rate["cause"] in page.read_text()


@networks
@pytest.mark.quiet
def test_the_shell_of_a_command_is_audited(bentpipe: Bentpipe) -> None:
    with bridged("serial", "100") as (a, b):
        outside = Bentpipe(bentpipe.state, before=("ip", "netns", "exec", b))
        promise = ("--promise", "up.rate=1 Mbit/s,delay=100 ms", "--duration", 1)
        code, rows = audit(outside, *promise, "--", "ip", "netns", "exec", a, "sh")
    assert code == 1 and "packets per second" in rows["rate", "up"]["cause"]
    assert rows["delay", "down"]["verdict"] == "kept"


@networks
@pytest.mark.quiet
def test_bad_requests_name_the_place(bentpipe: Bentpipe) -> None:
    assert "reads commands" in bentpipe("audit", "--", "true", code=2)
    assert 'no namespace "nowhere"' in bentpipe("audit", "--namespaces", "nowhere", "nothing", code=2)


@networks
@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "promise", "fault"),
    [
        (("tick", "10"), "delay=0 ms", "timer granularity: packets leave every 10 ms"),
        (("bleach", "0"), "delay=0 ms", "bleached ECN"),
        (("serial", "1"), "rate=20 Mbit/s,delay=1 ms,segments=any", "packets per second"),
    ],
)
def test_faults_of_a_bridge_are_named(
    bentpipe: Bentpipe, mode: tuple[str, ...], promise: str, fault: str
) -> None:
    with bridged(*mode) as (a, b):
        code, rows = audit(bentpipe, "--promise", promise, "--namespaces", a, b, "--duration", 2)
    record(MODES[mode[0]].format(mode[1]), promise, broken(rows))
    assert code == 1 and all(fault in row["cause"] for row in broken(rows)), broken(rows)


@networks
@pytest.mark.slow
def test_two_hosts_with_a_key_are_audited(bentpipe: Bentpipe, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    with bridged("bleach", "0") as (a, b):
        far = Bentpipe(bentpipe.state, before=("ip", "netns", "exec", b))
        with far.begin("reflect", "--key", key, stderr=subprocess.PIPE) as reflector:
            try:
                assert reflector.stderr is not None and "listening" in reflector.stderr.readline()
                near = Bentpipe(bentpipe.state, before=("ip", "netns", "exec", a))
                ends = ("--hosts", "10.79.0.1", "10.79.0.2", "--key", key, "--duration", 1)
                code, rows = audit(near, "--promise", "delay=0 ms", *ends)
            finally:
                reflector.kill()
    assert code == 1 and rows["delay", "both"]["verdict"] == "kept"
    assert {row["promise"] for row in broken(rows)} == {"ecn"}


@networks
@needs("tc")
@pytest.mark.slow
@pytest.mark.parametrize(("burst", "runs"), [("5kb", 20), ("1mb", 1)])
def test_the_burst_of_tbf_decides(bentpipe: Bentpipe, burst: str, runs: int) -> None:
    with connected() as (a, b, m):
        # Each host's interface goes to the other host instead of into the bridge.
        for name, device in ((m, "left"), (m, "right")):
            ip("-n", name, "link", "del", device)
        ip("link", "add", "out", "netns", a, "type", "veth", "peer", "name", "out", "netns", b)
        for name, last in ((a, 1), (b, 2)):
            ip("-n", name, "addr", "add", f"10.79.0.{last}/24", "dev", "out")
            ip("-n", name, "link", "set", "out", "up")
            shaper = ["tbf", "rate", "10mbit", "burst", burst, "limit", "60000"]
            subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "out", "root", *shaper], check=True)
        for seed in range(1, runs + 1):
            promise = "rate=10 Mbit/s,delay=0 ms,loss=0"
            words = ("--promise", promise, "--namespaces", a, b, "--duration", 2, "--seed", seed)
            code, rows = audit(bentpipe, *words)
            assert code == bool(broken(rows)) == (burst == "1mb"), (seed, broken(rows))
            assert all("token bucket" in row["cause"] for row in broken(rows)), broken(rows)
        record(f"`tbf rate 10mbit burst {burst}`, real clock", promise, broken(rows), runs)


@networks
@pytest.mark.slow
def test_our_emulation_keeps_its_promises_in_twenty_runs(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK)
    bentpipe("net", "up", tmp_path / "link.toml", "--name", "own")
    promise = "rate=10 Mbit/s,delay=100 ms,jitter=0 ms,loss=0,queue=100 packets"
    for seed in range(1, 21):
        words = ("--namespaces", "own/user", "own/server", "--duration", 2, "--seed", seed)
        code, rows = audit(bentpipe, "--promise", promise, *words)
        assert code == 0, (seed, broken(rows))
    record("link of `bentpipe net up`", promise, [], 20)


@networks
@pytest.mark.slow
def test_the_shell_of_our_emulation_is_audited(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "link.toml").write_text(LINK)
    shell = [*bentpipe.start, "run", tmp_path / "link.toml", "--host", "user", "--internet", "--", "sh"]
    promise = "rate=10 Mbit/s,delay=100 ms"
    code, rows = audit(bentpipe, "--promise", promise, "--duration", 2, "--", *shell)
    record("shell in `bentpipe run --internet`", promise, broken(rows))
    assert code == 0, broken(rows)


@needs("mm-delay")
@pytest.mark.skipif(os.geteuid() == 0, reason="mahimahi does not run as root")
@pytest.mark.quiet
def test_mahimahi_delays_both_directions(bentpipe: Bentpipe) -> None:
    code, rows = audit(bentpipe, "--promise", "delay=50 ms", "--duration", 1, "--", "mm-delay", "50")
    assert code == 0, rows
