#!/usr/bin/env python3
"""Compares congestion controls of bentpipe and ns-3 on the same flow.

    benchmarks/second_opinion.py [--seconds 60] [--only NAME]

The flow is one endless transfer over 10 Mbit/s and 250 ms each way, with a drop-tail queue of one
bandwidth-delay product, an acknowledgment for each segment, an initial window of 10, and timestamps
only if a congestion control needs them. The first table has goodput and retransmitted segments. The
second table has experiments, each of which changes an attribute of ns-3 or a parameter of bentpipe.
Both are tables of docs/notes/ns-3.md. Needs Debian's ns-3 (apt-get install libns3-dev, then make -C
benchmarks/ns3); if ns-3 is missing, the program prints the reason.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import bentpipe as bp

ROOT = Path(__file__).resolve().parent.parent
NS3 = ROOT / "target/ns3/compare"

RATE, DELAY_MS, QUEUE = 10_000_000, 250, 417

#: Names of ns-3 for the congestion controls that both have, by bentpipe's name.
THEIRS = {
    "reno": "TcpLinuxReno",
    "cubic": "TcpCubic",
    "bbr": "TcpBbr",
    "hybla": "TcpHybla",
    "vegas": "TcpVegas",
    "veno": "TcpVeno",
    "illinois": "TcpIllinois",
    "htcp": "TcpHtcp",
    "bic": "TcpBic",
    "scalable": "TcpScalable",
    "highspeed": "TcpHighSpeed",
    "yeah": "TcpYeah",
    "ledbat": "TcpLedbat",
    "lp": "TcpLp",
}

#: Congestion controls that need timestamps. In ns-3 they behave as NewReno without timestamps.
STAMPED = ("ledbat", "lp")

#: An attribute of ns-3 that avoids a time-out during the recovery from slow start's losses.
PATIENT = "TcpSocketBase::MinRto=3s"
#: An attribute of ns-3 that replaces the smoothed round-trip time by the last sample.
SAMPLED = "RttMeanDeviation::Alpha=1"


@dataclass(frozen=True)
class Experiment:
    """A congestion control with changed parameters in bentpipe, or changed attributes in ns-3."""

    name: str
    ours: str = ""
    theirs: tuple[str, ...] = ()


EXPERIMENTS = (
    Experiment("reno", theirs=("TcpL4Protocol::RecoveryType=ns3::TcpClassicRecovery",)),
    Experiment("cubic", "hystart = 0", (PATIENT, "TcpCubic::HyStart=false")),
    Experiment("cubic", theirs=(PATIENT, "TcpCubic::HyStartDelayMax=16ms")),
    Experiment("bbr", "rtprop_length = 100000", ("TcpBbr::RttWindowLength=100s",)),
    Experiment("hybla", "rtt0 = 500, hoe = 0, spacing = 0", (PATIENT, "TcpHybla::RRTT=500ms")),
    Experiment("hybla", "hoe = 0, spacing = 0", (PATIENT, "TcpHybla::RRTT=25ms")),
    Experiment("vegas", theirs=(PATIENT, SAMPLED)),
    Experiment("bic", "beta = 200, s_max = 16, s_min = 200, search = 4", (PATIENT,)),
    Experiment("scalable", "a = 20", (PATIENT,)),
    Experiment("yeah", theirs=(PATIENT, SAMPLED)),
    Experiment("ledbat", "slow_start = 1", (PATIENT,)),
)


def ours(name: str, parameters: str, seconds: float, folder: Path) -> tuple[float, int]:
    """Runs the flow in bentpipe. Returns goodput in kbit/s and retransmitted segments."""
    file = folder / f"{name}.toml"
    file.write_text(
        f"""name = "{name}"
duration = "{seconds} s"
[[link]]
name = "sat"
from = "a"
to = "b"
rate = "{RATE} bit/s"
delay = "{DELAY_MS} ms"
queue = {{ kind = "drop-tail", packets = {QUEUE} }}
[[flow]]
name = "f"
from = "a"
to = "b"
app = "bulk"
[flow.transport]
kind = "tcp"
congestion = "{name}"
parameters = {{ {parameters} }}
timestamps = {str(name in STAMPED).lower()}
delayed_ack = false
""",
        encoding="utf-8",
    )
    flow = bp.simulate(file, out=Path(tempfile.mkdtemp(dir=folder)) / "run").flows.to_dicts()[0]
    return flow["goodput"] / 1000, flow["retransmissions"]


def theirs(name: str, attributes: tuple[str, ...], seconds: float) -> tuple[float, int]:
    """Runs the flow in ns-3. Returns goodput in kbit/s and retransmitted segments."""
    command = [
        str(NS3),
        f"--congestion=ns3::{THEIRS[name]}",
        f"--rate={RATE}",
        f"--delay={DELAY_MS}",
        f"--duration={seconds}",
        f"--buffer={QUEUE}",
        f"--timestamps={int(name in STAMPED)}",
        "--watch=-",
        *(f"--ns3::{attribute}" for attribute in attributes),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = json.loads(done.stdout.splitlines()[-1])
    return line["goodput_bytes"] * 8 / seconds / 1000, line["resent"]


def cells(*results: tuple[float, int]) -> str:
    """Returns the table cells of results."""
    return " | ".join(f"{goodput:.0f} | {again}" for goodput, again in results)


def main() -> int:
    """Runs both simulators and prints the tables that compare them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the transfer (60)")
    parser.add_argument("--only", metavar="NAME", choices=THEIRS, help="only this congestion control")
    arguments = parser.parse_args()
    seconds, names = arguments.seconds, [arguments.only] if arguments.only else list(THEIRS)
    if not NS3.is_file():
        print(
            f"skipped: {NS3.relative_to(ROOT)} is missing (Debian: apt-get install libns3-dev, make -C benchmarks/ns3)"
        )
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        print(
            "| | bentpipe kbit/s | retransmitted | ns-3 kbit/s | retransmitted | ns-3, patient kbit/s | retransmitted |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name in names:
            results = cells(
                ours(name, "", seconds, folder),
                theirs(name, (), seconds),
                theirs(name, (PATIENT,), seconds),
            )
            print(f"| {name} | {results} |", flush=True)
        print()
        print(
            "| | bentpipe with | kbit/s | retransmitted | ns-3 with | kbit/s | retransmitted |\n"
            "| --- | --- | ---: | ---: | --- | ---: | ---: |"
        )
        for one in EXPERIMENTS:
            if one.name not in names:
                continue
            here = cells(ours(one.name, one.ours, seconds, folder))
            there = cells(theirs(one.name, one.theirs, seconds))
            attributes = ", ".join(f"`{attribute}`" for attribute in one.theirs)
            print(
                f"| {one.name} | {f'`{one.ours}`' if one.ours else ''} | {here} | {attributes} | {there} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
