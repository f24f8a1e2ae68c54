"""The programs that are measured, and whether they can be run here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from measure import Row

ROOT = Path(__file__).resolve().parent.parent
BENTPIPE = ROOT / "target/dist/examples/bench_run"
PLANE = ROOT / "target/dist/examples/bench_plane"
NS3 = ROOT / "target/ns3/compare"


def build_ns3() -> str | None:
    """Builds the ns-3 program; the reason when that cannot be."""
    try:
        made = subprocess.run(
            ["make", "-s", "-C", str(ROOT / "benches/ns3"), f"OUT={NS3.parent}"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return f"make cannot be run: {error.strerror}"
    if made.returncode != 0:
        lines = made.stderr.strip().splitlines()
        return "the ns-3 program does not build: " + (lines[0] if lines else "no message")
    if made.stdout.startswith("skipped: "):
        return made.stdout.strip().removeprefix("skipped: ")
    return None


def unavailable(row: Row, ns3: str | None) -> str | None:
    """Why `row` cannot be run here."""
    program = Path(row.command[0])
    if program == NS3 and ns3:
        return ns3
    if program == PLANE and not (os.geteuid() == 0 and os.access("/dev/net/tun", os.R_OK | os.W_OK)):
        return "it needs root and /dev/net/tun"
    if not os.access(program, os.X_OK):
        return f"{program.relative_to(ROOT)} has not been built"
    return None
