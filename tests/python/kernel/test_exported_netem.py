"""A path that is exported to netem, in the guest's kernel: goodput and round-trip time are those of
the scenario."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe.tools import export
from bentpipe.tools.course import course
from rigs.guests import guests, run_in_guest

INSIDE = Path(__file__).with_name("exported_inside.py")
SECONDS = 9

SCENARIO = """
name = "path"
duration = "{seconds} s"
[[link]]
name = "sat"
from = "server"
to = "user"
{down}
[link.return]
rate = "4 Mbit/s"
delay = "{delay} ms"
[[flow]]
name = "f"
from = "server"
to = "user"
app = "bulk"
[flow.transport]
kind = "tcp"
congestion = "cubic"
timestamps = false
send_memory = "1 GiB"
receive_window = "32 MiB"
"""

#: The direction to the user, and the delay of the other one: a GEO link, and a link with other
#: rates from time to time.
PATHS = {
    "constant": (
        'rate = "18 Mbit/s"\ndelay = "280 ms"\nqueue = { kind = "drop-tail", packets = 400 }',
        280,
    ),
    "changing": (
        'rate = "16 Mbit/s"\ndelay = "40 ms"\nqueue = { kind = "drop-tail", packets = 100 }\n'
        'trace = { samples = """time,rate,delay\n0,16e6,0.04\n3,6e6,0.06\n6,10e6,0.03\n""" }',
        40,
    ),
}


@guests
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "constant",
            marks=pytest.mark.skipif(
                "BENTPIPE_LONG" not in os.environ, reason="takes longer: make test-kernel"
            ),
        ),
        "changing",
    ],
)
def test_the_script_imposes_the_path(name: str, tmp_path: Path) -> None:
    down, delay = PATHS[name]
    scenario = bp.load(tomllib.loads(SCENARIO.format(seconds=SECONDS, down=down, delay=delay)))
    observed = course(scenario, "user", "server")
    (script,) = export(observed, "netem", tmp_path)
    output = run_in_guest(INSIDE, script, "cubic", SECONDS)
    said = re.search(r"acknowledged (\d+) (\d+)", output)
    assert said, output
    acknowledged, rtt_us = map(int, said.groups())
    run = bp.emulate(scenario, out=tmp_path / "run", clock="kernel")
    ours = int(run.trace("acknowledged")["acknowledged"][-1])
    print(f"{name}: {acknowledged} bytes, {acknowledged / ours - 1:+.2%} of ours; RTT {rtt_us} us")
    assert acknowledged == pytest.approx(ours, rel=0.05)
    # The path is empty only at the start. A packet of the handshake takes less than 0.2 ms.
    first = observed.steps(100)[0]
    assert rtt_us == pytest.approx(1e6 * (first.down.delay_s + first.up.delay_s), abs=200)
