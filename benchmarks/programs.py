"""Builds the measured programs, or reports the reason why they cannot run on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from measure import Row

ROOT = Path(__file__).resolve().parent.parent
BENTPIPE = ROOT / "target/dist/examples/bench_run"
PLANE = ROOT / "target/dist/examples/bench_plane"
NS3 = ROOT / "target/ns3/compare"
NS3_WIFI = ROOT / "target/ns3/wifi"
EARLIER = ROOT / "target/earlier"

#: Baseline of the engine: the last commit of the first issue.
FIRST = "9d8f3fc"
#: Baseline of the engine: the last commit before TCP behaved like Linux.
BEFORE_LINUX = "f2c4c65"
#: Baseline of the engine: the last commit before the access layer had all schemes.
BEFORE_ACCESS = "b865601"


def earlier_program(commit: str) -> Path:
    """Returns the path of `bench_run`, built from an earlier commit."""
    return EARLIER / commit / "target/dist/examples/bench_run"


def build_earlier(program: Path) -> str | None:
    """Builds `bench_run` of an earlier commit if it is missing, which takes some minutes. Returns
    the reason if the build fails, otherwise None."""
    if os.access(program, os.X_OK):
        return None
    folder = EARLIER / program.relative_to(EARLIER).parts[0]
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    build = ["cargo", "build", "--quiet", "--profile", "dist", "--package", "bentpipe-sim", "--example"]
    for command, options in (
        (["git", "-C", str(ROOT), "archive", "--output", str(folder / "source.tar"), folder.name], {}),
        (["tar", "--extract", "--touch", "--file", str(folder / "source.tar")], {"cwd": source}),
        ([*build, "bench_run", "--target-dir", str(folder / "target")], {"cwd": source}),
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}"
        if done.returncode != 0:
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            return f"{folder.name} cannot be built: {command[0]}: {last[0]}"
    return None


def build_ns3() -> str | None:
    """Builds the ns-3 programs. Returns the reason if the build fails, otherwise None."""
    try:
        done = subprocess.run(
            ["make", "-s", "-C", str(ROOT / "benchmarks/ns3"), f"OUT={NS3.parent}"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return f"make cannot be started: {error.strerror}"
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return "the ns-3 program does not build: " + (lines[0] if lines else "no message")
    if done.stdout.startswith("skipped: "):
        return done.stdout.strip().removeprefix("skipped: ")
    return None


def unavailable(row: Row, ns3: str | None) -> str | None:
    """Returns the reason why a row cannot run on this machine, or None if it can run."""
    program = Path(row.command[0])
    if program in (NS3, NS3_WIFI) and ns3:
        return ns3
    if program.is_relative_to(EARLIER):
        return build_earlier(program)
    if program == PLANE and not (os.geteuid() == 0 and os.access("/dev/net/tun", os.R_OK | os.W_OK)):
        return "needs root and /dev/net/tun"
    if not os.access(program, os.X_OK):
        return f"{program.relative_to(ROOT)} has not been built"
    return None
