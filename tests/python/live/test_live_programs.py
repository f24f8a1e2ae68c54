"""Common programs through live networks. A test is skipped if its program is not installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rigs.networks import LINK, Bentpipe, needs, networks, until

pytestmark = [networks, pytest.mark.quiet]

RATE = 20e6
DELAY_S = 0.02


@contextmanager
def serving(bentpipe: Bentpipe, *command: str, cwd: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """Runs a server in the host of that name until the end of the block."""
    words = bentpipe.words("net", "exec", "server", "--", *command)
    # `exec` replaces the shell with the program, so signals to its number reach the program.
    process = subprocess.Popen(
        words, env=bentpipe.variables(), cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def listens(bentpipe: Bentpipe, port: int) -> None:
    """Waits until a program listens at the server."""
    # State 0A of /proc/net/tcp is LISTEN.
    probe = ["grep", "-qsE", f":{port:04X} 0+:0000 0A", "/proc/net/tcp", "/proc/net/tcp6"]
    until(lambda: bentpipe.done("net", "exec", "server", "--", *probe).returncode == 0)


@needs("curl")
def test_curl_takes_the_round_trips_of_tcp_and_http(bentpipe: Bentpipe, tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(b"x" * 1000)
    bentpipe("net", "up", "geo", *LINK)
    with serving(bentpipe, sys.executable, "-m", "http.server", "80", cwd=tmp_path):
        listens(bentpipe, 80)
        shown = "%{time_connect} %{time_total} %{size_download}"
        command = ["curl", "-sS", "-o", "/dev/null", "-w", shown, "http://server/page"]
        # A busy machine can only increase a time, so the fastest of three shows the link.
        fetched = [bentpipe("net", "exec", "user", "--", *command).split() for _ in range(3)]
        connect, total, size = min([float(number) for number in one] for one in fetched)
        # One round trip for the connection and one for the page.
        assert connect == pytest.approx(2 * DELAY_S, abs=0.01)
        assert total == pytest.approx(4 * DELAY_S, abs=0.05)
        assert size == 1000


@needs("iperf3")
def test_iperf3_fills_the_link_and_no_more(bentpipe: Bentpipe) -> None:
    bentpipe("net", "up", "geo", *LINK)
    with serving(bentpipe, "iperf3", "-s"):
        listens(bentpipe, 5201)
        text = bentpipe("net", "exec", "user", "--", "iperf3", "-c", "server", "-t", "4", "-J")
    received = json.loads(text)["end"]["sum_received"]["bits_per_second"]
    print(f"iperf3 over 20 Mbit/s and 20 ms: {received / 1e6:.2f} Mbit/s")
    # 1448 of the 1500 bytes of a packet are TCP's data.
    assert 0.7 * RATE < received < RATE * 1448 / 1500 * 1.02


@needs("NPtcp")
def test_netpipe_finds_the_delay_and_the_rate(bentpipe: Bentpipe, tmp_path: Path) -> None:
    bentpipe("net", "up", "geo", *LINK)
    with serving(bentpipe, "NPtcp", "-u", "16384", "-n", "1", cwd=tmp_path):
        listens(bentpipe, 5002)
        out = tmp_path / "np.out"
        bentpipe(
            "net",
            "exec",
            "user",
            "--",
            "NPtcp",
            "-h",
            "server",
            "-u",
            "16384",
            "-n",
            "1",
            "-o",
            out,
            cwd=tmp_path,
        )
    rows = [[float(word) for word in line.split()[:3]] for line in out.read_text().splitlines()]
    size, _, took_s = rows[0]
    assert size <= 4 and took_s == pytest.approx(DELAY_S, abs=0.004)
    size, rate, took_s = rows[-1]
    assert size > 10_000 and took_s > DELAY_S + 8 * size / RATE
    assert rate < RATE / 1e6


@pytest.mark.alone
@needs("tshark", "ping")
def test_tshark_sees_in_a_host_what_the_link_did(bentpipe: Bentpipe, tmp_path: Path) -> None:
    bentpipe("net", "up", "geo", *LINK)
    file = tmp_path / "user.pcapng"
    sniffer = bentpipe.begin(
        "net",
        "exec",
        "user",
        "--",
        "tshark",
        "-q",
        "-i",
        "sat0",
        "-f",
        "icmp",
        "-c",
        "6",
        "-w",
        file,
        stderr=subprocess.PIPE,
    )
    with sniffer:
        until(lambda: file.exists() and file.stat().st_size > 0)
        bentpipe("net", "exec", "user", "--", "ping", "-c", "3", "-i", "0.2", "server")
        assert sniffer.wait(20) == 0
    fields = ["-e", "frame.time_relative", "-e", "icmp.type"]
    text = subprocess.run(
        ["tshark", "-r", file, "-T", "fields", *fields], check=True, capture_output=True, text=True
    ).stdout
    times = [(float(time), kind) for time, kind in (line.split() for line in text.splitlines())]
    assert [kind for _, kind in times] == ["8", "0"] * 3
    for (asked, _), (answered, _) in zip(times[::2], times[1::2], strict=True):
        assert answered - asked == pytest.approx(2 * DELAY_S, abs=0.005)


@needs("chromium")
def test_a_browser_loads_a_page_with_its_parts(bentpipe: Bentpipe, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(
        "<!doctype html><title>there</title><link rel=stylesheet href=look.css><p id=p>before</p>"
        "<script src=do.js></script>"
    )
    (site / "look.css").write_text("p { color: green }")
    (site / "do.js").write_text(
        "const loaded = performance.getEntriesByType('navigation')[0];"
        "document.getElementById('p').textContent = 'came after ' + Math.round(loaded.responseEnd) + ' ms';"
    )
    bentpipe("net", "up", "geo", *LINK)
    names = ("gpu", "quic", "background-networking", "component-update", "sync")
    options = ["--headless", "--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in names)]
    with serving(bentpipe, sys.executable, "-m", "http.server", "80", cwd=site):
        listens(bentpipe, 80)
        begin = time.monotonic()
        text = bentpipe(
            *("net", "exec", "user", "--", "chromium", *options),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", "http://server/"),
        )
        print(f"Chromium was done after {time.monotonic() - begin:.1f} s")
    found = re.search(r"came after (\d+) ms", text)
    assert found is not None, text
    # A connection and a request: two round trips.
    assert int(found[1]) >= 4000 * DELAY_S
