"""bentpipe's link compared with the kernel's netem, in the same kernel: the table of
docs/kernel.md."""

from __future__ import annotations

import math
import os
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bentpipe as bp
import numpy as np
import pytest
from helpers import ROOT
from rigs.guests import guests, run_in_guest

INSIDE = Path(__file__).with_name("netem_inside.py")
PAGE = ROOT / "docs" / "kernel.md"

RATE = 10_000_000
SECONDS = 60
VARIANTS = ("reno", "cubic", "hybla", "bbr", "westwood", "vegas")
ROUND_TRIPS_MS = (40, 500, 1200)

#: Allowed difference of the bytes acknowledged.
TOLERANCE = 0.03

#: BBR draws random numbers. The means of its runs may differ by two standard errors of their
#: difference, up to `MAX_DIFFERENCE`.
RUNS, MAX_DIFFERENCE = {"bbr": 5}, 0.07

#: Neither buffer is a limit: the memory that a packet takes depends on the interface, and the
#: interfaces differ. The receive window has its size from the start, because segments that let it
#: grow are acknowledged one by one.
SCENARIO = """
name = "authority"
duration = "{seconds} s"
[[link]]
name = "sat"
from = "a"
to = "b"
rate = "{rate} bit/s"
delay = "{delay} ms"
queue = {{ kind = "drop-tail", packets = {packets} }}
[[flow]]
name = "f"
from = "a"
to = "b"
app = "bulk"
[flow.transport]
kind = "tcp"
congestion = "{congestion}"
timestamps = false
send_memory = "1 GiB"
receive_window = "32 MiB"
"""


def waiting(rtt_ms: int) -> int:
    """Returns the queue in packets: one bandwidth-delay product, but at least 50."""
    return max(50, RATE * rtt_ms // (1000 * 8 * 1500))


def by_netem(congestion: str, rtt_ms: int) -> int:
    """Returns the bytes acknowledged over the kernel's netem."""
    words = [INSIDE, congestion, rtt_ms, RATE, waiting(rtt_ms), SECONDS]
    output = run_in_guest(*words)
    said = re.search(r"acknowledged (\d+)", output)
    assert said, output
    return int(said[1])


def by_ours(congestion: str, rtt_ms: int, seed: int, out: Path) -> int:
    """Returns the bytes acknowledged over bentpipe's link."""
    text = SCENARIO.format(
        seconds=SECONDS, rate=RATE, delay=rtt_ms / 2, packets=waiting(rtt_ms), congestion=congestion
    )
    run = bp.emulate(tomllib.loads(text), out=out, clock="kernel", seed=seed)
    assert run.fidelity["verdict"] == "valid" and run.fidelity["lost"] == 0
    return int(run.trace("acknowledged")["acknowledged"][-1])


@guests
@pytest.mark.skipif("BENTPIPE_LONG" not in os.environ, reason="takes minutes: make test-kernel")
def test_our_link_does_what_netem_does(tmp_path: Path) -> None:
    cases = [(rtt, variant) for rtt in ROUND_TRIPS_MS for variant in VARIANTS]

    def both(case: tuple[int, str]) -> list[tuple[int, int]]:
        rtt, variant = case
        return [
            (by_netem(variant, rtt), by_ours(variant, rtt, seed, tmp_path / f"{variant}-{rtt}-{seed}"))
            for seed in range(1, RUNS.get(variant, 1) + 1)
        ]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = dict(zip(cases, pool.map(both, cases), strict=True))
    lines = ["| RTT | variant | netem | bentpipe | difference |", "| --- | --- | --- | --- | --- |"]
    wrong = []
    for (rtt, variant), runs in outcomes.items():
        netem, ours = np.mean(runs, axis=0)
        difference = ours / netem - 1
        error = math.hypot(*np.std(runs, axis=0, ddof=1)) / math.sqrt(len(runs)) if len(runs) > 1 else 0.0
        megabytes = f"{netem / 1e6:.2f} MB | {ours / 1e6:.2f} MB"
        lines.append(f"| {rtt} ms | {variant} | {megabytes} | {100 * difference:+.2f} % |")
        if abs(difference) > max(TOLERANCE, min(2 * error / netem, MAX_DIFFERENCE)):
            wrong.append(lines[-1])
    print("\n".join(lines))
    if "BENTPIPE_RECORD" in os.environ:
        mark = re.compile(r"(<!-- authority -->\n).*?(<!-- end -->)", re.DOTALL)
        table = "\n".join(lines)
        PAGE.write_text(
            mark.sub(rf"\g<1>\n{table}\n\n\g<2>", PAGE.read_text(encoding="utf-8")), encoding="utf-8"
        )
    assert not wrong, "\n".join(wrong)
