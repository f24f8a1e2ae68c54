#!/usr/bin/env python3
"""ns-3 as a second opinion: the same flow in both, by congestion control.

    benches/second_opinion.py [--seconds 60]

One endless transfer over 10 Mbit/s and 250 ms each way, a drop-tail queue of one bandwidth-delay product, no
timestamps, an acknowledgment for each segment, an initial window of 10. Prints goodput and segments sent again, as the
rows of a table in docs/second-opinion.md, where the differences are explained. ns-3 is Debian's (apt-get install
libns3-dev, then make -C benches/ns3); without it nothing is run, and the reason is said.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import bentpipe as bp

ROOT = Path(__file__).resolve().parent.parent
NS3 = ROOT / "target/ns3/compare"

RATE, DELAY_MS, QUEUE, PAYLOAD = 10_000_000, 250, 417, 1460

#: What both have, by our name.
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


def ours(name: str, seconds: float, folder: Path) -> tuple[float, int]:
    """Goodput in kbit/s and segments sent again, in bentpipe."""
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
transport = {{ kind = "tcp", congestion = "{name}", timestamps = false, delayed_ack = false }}
""",
        encoding="utf-8",
    )
    flow = bp.simulate(file, out=folder / name).flows.to_dicts()[0]
    return flow["goodput"] / 1000, flow["retransmissions"]


def theirs(kind: str, seconds: float) -> tuple[float, int]:
    """The same in ns-3, where what was sent on the link and not delivered was sent again."""
    command = [
        str(NS3),
        f"--congestion=ns3::{kind}",
        f"--rate={RATE}",
        f"--delay={DELAY_MS}",
        f"--duration={seconds}",
    ]
    done = subprocess.run([*command, f"--buffer={QUEUE}"], capture_output=True, text=True, check=True)
    line = json.loads(done.stdout.splitlines()[-1])
    delivered = line["goodput_bytes"]
    return delivered * 8 / seconds / 1000, max(0, line["packets"] - round(delivered / PAYLOAD))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    if not NS3.is_file():
        print(
            f"skipped: there is no {NS3.relative_to(ROOT)} (Debian: apt-get install libns3-dev, make -C benches/ns3)"
        )
        return 0
    print("| | bentpipe kbit/s | ns-3 kbit/s | bentpipe sent again | ns-3 sent again and under way |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as name:
        for variant, kind in THEIRS.items():
            goodput, again = ours(variant, seconds, Path(name))
            try:
                other, other_again = theirs(kind, seconds)
            except subprocess.CalledProcessError as error:
                print(f"| {variant} | {goodput:.0f} | ends with {error.returncode} | {again} | |")
                continue
            print(f"| {variant} | {goodput:.0f} | {other:.0f} | {again} | {other_again} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
