#!/usr/bin/env python3
"""Compares congestion controls of bentpipe and ns-3 on the same flow.

    benchmarks/second_opinion.py [--seconds 60] [--only NAME]

The flow is one endless transfer over 10 Mbit/s and 250 ms each way, with a drop-tail queue of one
bandwidth-delay product. The receiver acknowledges each segment, and the initial window has 10
segments. Timestamps are on only for congestion controls that need them.

The first table has goodput and retransmitted segments. The second table has experiments, each with
other attributes of ns-3 or other parameters of bentpipe. docs/notes/ns-3.md contains both tables.

Needs Debian's ns-3 (apt-get install libns3-dev, then make -C benchmarks/ns3). If ns-3 is missing,
the program prints the reason.
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

#: Congestion controls that both simulators have: the name in ns-3, by the name in bentpipe.
NS3_NAMES = {
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
TIMESTAMPED = ("ledbat", "lp")

#: An attribute of ns-3 that avoids a time-out during the recovery from slow start's losses.
LONG_RTO = "TcpSocketBase::MinRto=3s"
#: An attribute of ns-3 that replaces the smoothed round-trip time by the last sample.
UNSMOOTHED_RTT = "RttMeanDeviation::Alpha=1"


@dataclass(frozen=True)
class Experiment:
    """A congestion control with changed parameters in bentpipe, or changed attributes in ns-3."""

    name: str
    parameters: str = ""
    attributes: tuple[str, ...] = ()


EXPERIMENTS = (
    Experiment("reno", attributes=("TcpL4Protocol::RecoveryType=ns3::TcpClassicRecovery",)),
    Experiment("cubic", "hystart = 0", (LONG_RTO, "TcpCubic::HyStart=false")),
    Experiment("cubic", attributes=(LONG_RTO, "TcpCubic::HyStartDelayMax=16ms")),
    Experiment("bbr", "rtprop_length = 100000", ("TcpBbr::RttWindowLength=100s",)),
    Experiment("hybla", "rtt0 = 500, hoe = 0, spacing = 0", (LONG_RTO, "TcpHybla::RRTT=500ms")),
    Experiment("hybla", "hoe = 0, spacing = 0", (LONG_RTO, "TcpHybla::RRTT=25ms")),
    Experiment("vegas", attributes=(LONG_RTO, UNSMOOTHED_RTT)),
    Experiment("bic", "beta = 200, s_max = 16, s_min = 200, search = 4", (LONG_RTO,)),
    Experiment("scalable", "a = 20", (LONG_RTO,)),
    Experiment("yeah", attributes=(LONG_RTO, UNSMOOTHED_RTT)),
    Experiment("ledbat", "slow_start = 1", (LONG_RTO,)),
)


def run_bentpipe(name: str, parameters: str, seconds: float, folder: Path) -> tuple[float, int]:
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
timestamps = {str(name in TIMESTAMPED).lower()}
delayed_ack = false
""",
        encoding="utf-8",
    )
    flow = bp.simulate(file, out=Path(tempfile.mkdtemp(dir=folder)) / "run").flows.to_dicts()[0]
    return flow["goodput"] / 1000, flow["retransmissions"]


def run_ns3(name: str, attributes: tuple[str, ...], seconds: float) -> tuple[float, int]:
    """Runs the flow in ns-3. Returns goodput in kbit/s and retransmitted segments."""
    command = [
        str(NS3),
        f"--congestion=ns3::{NS3_NAMES[name]}",
        f"--rate={RATE}",
        f"--delay={DELAY_MS}",
        f"--duration={seconds}",
        f"--buffer={QUEUE}",
        f"--timestamps={int(name in TIMESTAMPED)}",
        "--watch=-",
        *(f"--ns3::{attribute}" for attribute in attributes),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = json.loads(done.stdout.splitlines()[-1])
    return line["goodput_bytes"] * 8 / seconds / 1000, line["resent"]


def cells(*results: tuple[float, int]) -> str:
    """Formats results as cells of a table: goodput, then retransmitted segments."""
    return " | ".join(f"{goodput:.0f} | {retransmitted}" for goodput, retransmitted in results)


def main() -> int:
    """Runs both simulators and prints the tables that compare them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the transfer (60)")
    parser.add_argument("--only", metavar="NAME", choices=NS3_NAMES, help="only this congestion control")
    arguments = parser.parse_args()
    seconds, names = arguments.seconds, [arguments.only] if arguments.only else list(NS3_NAMES)
    if not NS3.is_file():
        print(
            f"skipped: {NS3.relative_to(ROOT)} is missing (Debian: apt-get install libns3-dev, make -C benchmarks/ns3)"
        )
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print(
            "| | bentpipe kbit/s | retransmitted | ns-3 kbit/s | retransmitted "
            "| ns-3 with MinRto = 3 s, kbit/s | retransmitted |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name in names:
            results = cells(
                run_bentpipe(name, "", seconds, folder),
                run_ns3(name, (), seconds),
                run_ns3(name, (LONG_RTO,), seconds),
            )
            print(f"| {name} | {results} |", flush=True)
        print()
        print(
            "| | bentpipe with | kbit/s | retransmitted | ns-3 with | kbit/s | retransmitted |\n"
            "| --- | --- | ---: | ---: | --- | ---: | ---: |"
        )
        for experiment in EXPERIMENTS:
            name, parameters = experiment.name, experiment.parameters
            if name not in names:
                continue
            of_bentpipe = cells(run_bentpipe(name, parameters, seconds, folder))
            of_ns3 = cells(run_ns3(name, experiment.attributes, seconds))
            attributes = ", ".join(f"`{attribute}`" for attribute in experiment.attributes)
            print(
                f"| {name} | {f'`{parameters}`' if parameters else ''} | {of_bentpipe} | {attributes} | {of_ns3} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
