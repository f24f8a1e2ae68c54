"""Set-ups of netem and tbf, right and wrong, and their measurement in a guest."""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import bentpipe
from bentpipe.audit import Audit, judge, read_promises
from bentpipe.audit.evidence import numbers
from bentpipe.audit.observing import Observation
from bentpipe.audit.promises import DIRECTIONS
from bentpipe.guest import current

INSIDE: Final = Path(__file__).with_name("guest_inside.py")


def _both(shaper: str) -> list[str]:
    """Returns the commands for a shaper in both directions of the node in the middle. The hosts pass
    single packets to it."""
    hosts = ["link a gso_max_segs 1", "link b gso_max_segs 1"]
    return [*hosts, f"qdisc ma root {shaper}", f"qdisc mb root {shaper}"]


def _setup(name: str, promise: str, commands: list[str], fault: str | None = None) -> dict[str, Any]:
    return {"name": name, "promise": promise, "commands": commands, "fault": fault, "duration": 5.0}


LINK: Final = "rate=10 Mbit/s,delay=100 ms"
#: Each has the words of the cause that the audit must name; None for a right set-up.
SETUPS: Final = [
    _setup("right-delay", "delay=100 ms,jitter=0 ms,loss=0", _both("netem delay 100ms limit 100000")),
    _setup(
        "right-rate",
        f"{LINK},queue=1100 packets",
        # The limit also counts the packets that a burst puts into the delay line.
        _both("netem delay 100ms rate 10mbit limit 1100"),
    ),
    _setup("right-short", "rate=50 Mbit/s,delay=5 ms,loss=0", _both("netem delay 5ms rate 50mbit limit 200")),
    _setup(
        "right-slow", "rate=512 kbit/s,delay=300 ms,loss=0", _both("netem delay 300ms rate 512kbit limit 100")
    ),
    _setup("right-loss", f"{LINK},loss=2 %", _both("netem delay 100ms rate 10mbit limit 1000 loss 2%")),
    _setup(
        "right-jitter", "delay=100 ms,jitter=5.8 ms,order=any", _both("netem delay 100ms 10ms limit 10000")
    ),
    _setup(
        "right-asymmetric",
        "up.rate=2 Mbit/s,down.rate=20 Mbit/s,up.delay=20 ms,down.delay=250 ms",
        [
            *_both("netem")[:2],
            "qdisc mb root netem delay 20ms rate 2mbit limit 200",
            "qdisc ma root netem delay 250ms rate 20mbit limit 1000",
        ],
    ),
    _setup(
        "right-tbf",
        "rate=10 Mbit/s,queue=60 kB",
        _both("tbf rate 10mbit burst 5kb limit 60000"),
    ),
    _setup(
        "wrong-limit",
        f"{LINK},loss=0",
        _both("netem delay 100ms rate 10mbit limit 40"),
        "packet limit below rate x delay",
    ),
    _setup(
        "wrong-one-way",
        "delay=100 ms",
        [*_both("netem")[:2], "qdisc mb root netem delay 100ms limit 100000"],
        "delay in one direction only",
    ),
    _setup(
        "wrong-jitter",
        "delay=100 ms,jitter=5.8 ms",
        _both("netem delay 100ms 10ms limit 10000"),
        "jitter that reorders",
    ),
    _setup(
        "wrong-segments",
        f"{LINK},queue=300 packets",
        [
            "qdisc a root netem delay 100ms rate 10mbit limit 300",
            "qdisc b root netem delay 100ms rate 10mbit limit 300",
        ],
        "segments larger than the shaper accounts for",
    ),
    _setup(
        "wrong-slots",
        "delay=50 ms",
        _both("netem delay 50ms slot 10ms 10ms limit 10000"),
        "timer granularity",
    ),
    _setup(
        "wrong-correlated",
        f"{LINK},loss=2 %",
        _both("netem delay 100ms rate 10mbit limit 1000 loss gemodel 0.5% 25% 100% 0%"),
        "correlated loss",
    ),
    _setup(
        "wrong-bucket", "rate=10 Mbit/s", _both("tbf rate 10mbit burst 1mb latency 200ms"), "token bucket"
    ),
    _setup(
        "wrong-mtu",
        "delay=20 ms",
        [*_both("netem delay 20ms limit 100000"), "link ma mtu 1400", "link mb mtu 1400"],
        "MTU",
    ),
]


def observe_in_guest(setups: list[dict[str, Any]]) -> dict[str, Observation]:
    """Measures set-ups one after the other in one guest."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(setups, file)
        file.flush()
        roots = ":".join(dict.fromkeys([str(Path(bentpipe.__file__).parents[1]), *filter(None, sys.path)]))
        command: list[str | os.PathLike[str]] = [
            current().binary,
            *("mem=1024M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"),
            *("con=null", "con0=fd:0,fd:1", "quiet"),
            *("time-travel=inf-cpu", f"init={os.path.realpath(sys.executable)}", "--", "-I", "-S"),
            *(INSIDE, file.name, roots),
        ]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith("observation "):
            _, name, data = line.split()
            found[name] = pickle.loads(base64.b64decode(data))
    assert len(found) == len(setups), done.stdout[-3000:]
    return found


def verdict(setup: dict[str, Any], seen: Observation) -> Audit:
    """Returns the audit of a set-up's observation."""
    promises = read_promises(setup["promise"])
    rates = {side: promises.value("rate", side) for side in DIRECTIONS}
    return judge(promises, numbers(seen, rates))
