"""Set-ups of netem and tbf, right and wrong, and their measurement in a guest."""

from __future__ import annotations

import base64
import json
import os
import pickle
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import bentpipe
from bentpipe.audit import Audit, judge, read_promises
from bentpipe.audit.evidence import numbers
from bentpipe.audit.observing import Observation
from bentpipe.audit.promises import DIRECTIONS
from rigs.guests import run_in_guest
from rigs.networks import Bentpipe

from . import ROOT

INSIDE: Final = Path(__file__).parents[1] / "audit" / "guest_inside.py"


#: The page with the table of audited networks.
PAGE: Final = ROOT / "docs" / "how-to" / "audit.md"


@dataclass(frozen=True)
class Setup:
    """A network: its name, its promises, the commands of :mod:`guest_inside`, and the words of the
    cause that an audit must name; None for a network that keeps its promises."""

    name: str
    promise: str
    commands: list[str]
    fault: str | None = None

    @property
    def network(self) -> str:
        """The shapers of the network, for the page."""
        shapers = [
            f"`{' '.join(words[3:])}`" for one in self.commands if (words := one.split())[0] == "qdisc"
        ]
        others = [f"`{' '.join(words[2:])}`" for one in self.commands if "mtu" in (words := one.split())]
        text = ", ".join(dict.fromkeys([*shapers, *others]))
        sides = " in one direction" if len(shapers) == 1 else ""
        return text + sides + (" on the hosts' interfaces" if self.commands[0].startswith("qdisc a ") else "")


def _both(shaper: str) -> list[str]:
    """Returns the commands for a shaper in both directions of the node in the middle. The hosts
    pass single packets to it."""
    hosts = ["link a gso_max_segs 1", "link b gso_max_segs 1"]
    return [*hosts, f"qdisc ma root {shaper}", f"qdisc mb root {shaper}"]


LINK: Final = "rate=10 Mbit/s,delay=100 ms"
#: Eight right and eight wrong networks.
SETUPS: Final = [
    Setup("right-delay", "delay=100 ms,jitter=0 ms,loss=0", _both("netem delay 100ms limit 100000")),
    Setup(
        "right-rate",
        f"{LINK},queue=1100 packets",
        # The limit also counts the packets that a burst puts into the delay line.
        _both("netem delay 100ms rate 10mbit limit 1100"),
    ),
    Setup("right-short", "rate=50 Mbit/s,delay=5 ms,loss=0", _both("netem delay 5ms rate 50mbit limit 200")),
    Setup(
        "right-slow", "rate=512 kbit/s,delay=300 ms,loss=0", _both("netem delay 300ms rate 512kbit limit 100")
    ),
    Setup("right-loss", f"{LINK},loss=2 %", _both("netem delay 100ms rate 10mbit limit 1000 loss 2%")),
    Setup(
        "right-jitter", "delay=100 ms,jitter=5.8 ms,order=any", _both("netem delay 100ms 10ms limit 10000")
    ),
    Setup(
        "right-asymmetric",
        "up.rate=2 Mbit/s,down.rate=20 Mbit/s,up.delay=20 ms,down.delay=250 ms",
        [
            *_both("netem")[:2],
            "qdisc mb root netem delay 20ms rate 2mbit limit 200",
            "qdisc ma root netem delay 250ms rate 20mbit limit 1000",
        ],
    ),
    Setup(
        "right-tbf",
        "rate=10 Mbit/s,queue=60 kB",
        _both("tbf rate 10mbit burst 5kb limit 60000"),
    ),
    Setup(
        "wrong-limit",
        f"{LINK},loss=0",
        _both("netem delay 100ms rate 10mbit limit 40"),
        "packet limit below rate x delay",
    ),
    Setup(
        "wrong-one-way",
        "delay=100 ms",
        [*_both("netem")[:2], "qdisc mb root netem delay 100ms limit 100000"],
        "delay in one direction only",
    ),
    Setup(
        "wrong-jitter",
        "delay=100 ms,jitter=5.8 ms",
        _both("netem delay 100ms 10ms limit 10000"),
        "jitter that reorders",
    ),
    Setup(
        "wrong-segments",
        f"{LINK},queue=300 packets",
        [
            "qdisc a root netem delay 100ms rate 10mbit limit 300",
            "qdisc b root netem delay 100ms rate 10mbit limit 300",
        ],
        "segments larger than the shaper accounts for",
    ),
    Setup(
        "wrong-slots",
        "delay=50 ms",
        _both("netem delay 50ms slot 10ms 10ms limit 10000"),
        "timer granularity",
    ),
    Setup(
        "wrong-correlated",
        f"{LINK},loss=2 %",
        _both("netem delay 100ms rate 10mbit limit 1000 loss gemodel 0.5% 25% 100% 0%"),
        "correlated loss",
    ),
    Setup("wrong-bucket", "rate=10 Mbit/s", _both("tbf rate 10mbit burst 1mb latency 200ms"), "token bucket"),
    Setup(
        "wrong-mtu",
        "delay=20 ms",
        [*_both("netem delay 20ms limit 100000"), "link ma mtu 1400", "link mb mtu 1400"],
        "MTU",
    ),
]


def observe_in_guest(setups: list[Setup], duration: float = 5.0, seed: int = 1) -> list[Observation]:
    """Measures set-ups one after the other in one guest."""
    requests = [
        {
            "name": str(number),
            "promise": one.promise,
            "commands": one.commands,
            "duration": duration,
            "seed": seed,
        }
        for number, one in enumerate(setups)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(requests, file)
        file.flush()
        roots = dict.fromkeys([str(Path(bentpipe.__file__).parents[1]), *filter(None, sys.path)])
        output = run_in_guest(INSIDE, file.name, ":".join(roots))
    found: dict[int, Observation] = {}
    for line in output.splitlines():
        if line.startswith("observation "):
            _, number, data = line.split()
            found[int(number)] = pickle.loads(base64.b64decode(data))
    assert len(found) == len(setups), output[-3000:]
    return [found[number] for number in range(len(setups))]


def audited(setup: Setup, seen: Observation) -> Audit:
    """Returns the audit of a set-up's observation."""
    promises = read_promises(setup.promise)
    rates = {side: promises.value("rate", side) for side in DIRECTIONS}
    return judge(promises, numbers(seen, rates))


def check(setup: Setup, audit: Audit, runs: int = 1) -> None:
    """Fails if the audit of a right set-up reports a fault, or if the audit of a wrong one does not
    name its fault as the cause of every broken promise."""
    rows = [row.as_dict() for row in audit.rows]
    record(setup.network, setup.promise, [row.as_dict() for row in audit.broken], runs)
    assert bool(audit.broken) == (setup.fault is not None), (setup, rows)
    for row in audit.broken:
        assert setup.fault is not None and row.cause and setup.fault in row.cause, (setup, rows)


def record(network: str, promise: str, broken: list[dict[str, Any]], runs: int = 1) -> None:
    """Writes the row of an audited network into the page if BENTPIPE_RECORD is set."""
    if "BENTPIPE_RECORD" not in os.environ:
        return
    texts = [re.split(r": | of at least ", row["cause"] or "unknown cause")[0] for row in broken]
    # Both directions have the same cause with other numbers.
    causes = {re.sub(r"[\d.]+", "", text): text for text in reversed(texts)}
    kept = f"all promises kept in {runs} run{'s' if runs > 1 else ''}"
    found = "; ".join(causes.values()) or kept
    text, head = PAGE.read_text(encoding="utf-8"), "| network | promise | finding |\n| --- | --- | --- |\n"
    begin, end = (text.index(mark) for mark in ("<!-- audits -->", "<!-- end -->"))
    rows = [line for line in text[begin:end].splitlines() if line.startswith("| ")][2:]
    rows = [row for row in rows if not row.startswith(f"| {network} | {promise} |")]
    table = "\n".join(sorted([*rows, f"| {network} | {promise} | {found} |"]))
    PAGE.write_text(f"{text[:begin]}<!-- audits -->\n\n{head}{table}\n\n{text[end:]}", encoding="utf-8")


def audit(bentpipe: Bentpipe, *words: object) -> tuple[int, dict[tuple[str, str], dict[str, Any]]]:
    """Returns the exit code of an audit, and its rows by promise and direction."""
    done = bentpipe.done("audit", "--json", *words, timeout=600)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stdout + done.stderr
    rows = json.loads(done.stdout)["promises"]
    return done.returncode, {(row["promise"], row["direction"]): row for row in rows}
