#!/usr/bin/env python3
"""Whole-run benchmarks: bentpipe beside a stated baseline, in one session.

    benches/run.py [--repeat 3] [--only PATTERN] [--json FILE] [--strict]

What is run stands in one table, `rows()` below: a name, a command, the name of
its baseline. A row and its baseline take turns, so that whatever else the
machine is doing falls on both. CPU time is user + system time of the finished
process as the kernel counted it, start-up included.

The protocol
------------
A command does one run, prints one line of JSON as the last line on standard
output and ends with 0; anything else is a failure, whose standard error is
shown. bentpipe's side is

    target/dist/examples/bench_run SCENARIO.toml [--seed N] [--traces DIR]
    target/dist/examples/bench_plane WHAT [--KEY VALUE]...

The first runs the scenario on the virtual clock. Without --traces nothing is
recorded or written; with it, every trace that the scenario's stages offer is
written to DIR as a real run would write it. The keys of the line:

    cpu_s            user + system time of the event loop alone, in seconds
    events           events executed
    packets          data packets (TCP segments with payload, datagrams) that
                     arrived at their destination host, duplicates included
    peak_rss_bytes   largest resident set: VmHWM of /proc/self/status, since
                     the maxrss of getrusage includes what the parent held
    hops             packets sent by links, over all links; only the chain
                     needs it
    goodput_bytes    payload delivered to applications

The second measures the data plane of emulations: packets of real sockets, and the
time and losses that the engine adds to them. Its keys are in its source.

`cpu_s`, `events`, `packets` and `peak_rss_bytes` are required; keys that are
not named here are kept in the JSON report as they are. benches/ns3/compare
prints the same keys.

A row whose program is not there is reported as skipped, with the reason, and
is no failure. Exit status: 0; 1 when a command failed, or, under --strict, when
a target was missed.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import platform
import random
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Figure, ProtocolError, Row, Summary, judge, ratio, run_once, short

ROOT = Path(__file__).resolve().parent.parent
BENTPIPE = ROOT / "target/dist/examples/bench_run"
PLANE = ROOT / "target/dist/examples/bench_plane"
NS3 = ROOT / "target/ns3/compare"
PACKET_BYTES = 1500


# ---------------------------------------------------------------------------
# Scenarios: one function each, so that a change of the format is made in one
# place. Lengths come in as seconds because --scale shortens them.


def bulk_tcp(seconds: float, flows: int, rate_mbps: int, delay_ms: int) -> str:
    """Endless TCP transfers between two hosts over one bottleneck, buffer of one BDP."""
    return f"""\
name = "{flows} bulk TCP over one bottleneck"
duration = "{seconds:g} s"

[[link]]
name = "bottleneck"
from = "server"
to = "client"
rate = "{rate_mbps} Mbit/s"
delay = "{delay_ms} ms"
queue = {{ kind = "drop-tail", packets = {bdp_packets(rate_mbps, delay_ms)} }}
""" + "".join(
        f"""
[[flow]]
name = "bulk{flow}"
from = "server"
to = "client"
app = {{ kind = "bulk" }}
transport = {{ kind = "tcp", congestion = "reno", delayed_ack = false, timestamps = false }}
"""
        for flow in range(flows)
    )


def chain(seconds: float, links: int, rate_mbps: int) -> str:
    """One datagram stream at the rate of the links, through links in a row."""
    payload = PACKET_BYTES - 28
    rate = rate_mbps * 1_000_000 * payload // PACKET_BYTES
    return (
        f"""\
name = "Chain of {links} links"
duration = "{seconds:g} s"
"""
        + "".join(
            f"""
[[link]]
name = "hop{i}"
from = "h{i}"
to = "h{i + 1}"
rate = "{rate_mbps} Mbit/s"
delay = "1 ms"
queue = {{ kind = "drop-tail", packets = 100 }}
"""
            for i in range(links)
        )
        + f"""
[[flow]]
name = "stream"
from = "h0"
to = "h{links}"
app = {{ kind = "cbr", rate = "{rate} bit/s", datagram = "{payload} B" }}
transport = {{ kind = "udp" }}
"""
    )


def dvb_rcs(seconds: float, terminals: int) -> str:
    """Terminals that each upload without end over one RBDC return link.

    The link is the default one, 32 slots in 2048 kbit/s, and as many times that as gives every terminal
    a slot: with less than a segment per round trip, TCP would measure its time-outs and nothing else.
    """
    times = -(-terminals // 32)
    return f"""\
name = "{terminals} terminals on one return link"
duration = "{seconds:g} s"

[network.sat]
kind = "dvb-rcs"
forward = {{ rate = "{10 * times} Mbit/s" }}
terminals = [{{ prefix = "st", count = {terminals} }}]
gateway = "gw"

[network.sat.return]
rate = "{2048 * times} kbit/s"
slots_per_frame = {32 * times}
dama = {{ scheme = "rbdc", cra = "0 bit/s" }}
""" + "".join(
        f"""
[[flow]]
name = "upload{i}"
from = "st{i}"
to = "gw"
app = {{ kind = "bulk" }}
transport = {{ kind = "tcp", congestion = "reno" }}
"""
        for i in range(1, terminals + 1)
    )


def starlink(seconds: float, sites: int) -> str:
    """Flows of 1 Mbit/s between sites all over Starlink's first shell: 1584 satellites in a grid of links."""
    chosen = random.Random(7)
    places = [
        (math.degrees(math.asin(chosen.uniform(-0.82, 0.82))), chosen.uniform(-180, 180))
        for _ in range(sites)
    ]
    return f"""\
name = "{sites} sites under Starlink's first shell"
duration = "{seconds:g} s"
preset = "starlink-shell1"
""" + "".join(
        f"""
[network.sky.sites.s{i:02d}]
latitude = "{latitude:.3f} deg"
longitude = "{longitude:.3f} deg"

[[flow]]
name = "f{i}"
from = "s{i:02d}"
to = "s{(37 * i + 11) % sites:02d}"
app = {{ kind = "cbr", rate = "1 Mbit/s", datagram = "1472 B" }}
transport = {{ kind = "udp" }}
"""
        for i, (latitude, longitude) in enumerate(places)
    )


def beam(seconds: float, terminals: int, carriers: int, idle: int = 0) -> str:
    """Terminals on a beam of several carriers, each with files of 100 kB on average that begin at moments of a Poisson
    process, half a minute apart in the mean beyond the transfers; and others that are logged on and idle."""
    every = 60 * terminals / carriers / 32
    return f"""\
name = "{terminals} terminals on {carriers} carriers, {idle} idle"
duration = "{seconds:g} s"

[network.sat]
kind = "dvb-rcs"
forward = {{ rate = "200 Mbit/s" }}
terminals = [{{ prefix = "st", count = {terminals} }}, {{ prefix = "idle", count = {max(idle, 1)} }}]
gateway = "gw"

[network.sat.return]
rate = "2048 kbit/s"
carriers = [{{ rate = "2048 kbit/s", count = {carriers} }}]
dama = {{ scheme = "avbdc", cra = "0 bit/s", allocator = "max-min" }}
""" + "".join(
        f"""
[[flow]]
name = "files{i}"
from = "st{i}"
to = "gw"
app = {{ kind = "ftp", size = "100 kB", distribution = "exponential", every = "{every:g} s" }}
transport = {{ kind = "tcp", congestion = "reno" }}
"""
        for i in range(1, terminals + 1)
    )


def bdp_packets(rate_mbps: int, delay_ms: int) -> int:
    """Packets in a bandwidth-delay product, both directions, as benches/ns3 rounds it."""
    return round(rate_mbps * 1e6 / 8 * 2 * delay_ms / 1e3 / PACKET_BYTES)


# ---------------------------------------------------------------------------
# The table


@dataclass
class Plan:
    """Where scenarios go and how much shorter than stated they are."""

    folder: Path
    scale: float = 1.0

    def seconds(self, stated: float) -> float:
        """Simulated seconds for a row that states so many."""
        return stated * self.scale

    def bentpipe(self, name: str, scenario: str, *options: str) -> list[str]:
        """The command for a scenario, which is written to the folder."""
        path = self.folder / f"{name}.toml"
        path.write_text(scenario)
        return [str(BENTPIPE), str(path), *options]


def rows(plan: Plan) -> Iterator[Row]:
    """Everything that is measured."""
    # ns-3 is given its cheapest equal: two nodes, and no timestamp option.
    s = plan.seconds(400)
    yield Row(
        "ns3 geo",
        [str(NS3), "--flows=1", "--rate=10000000", "--delay=250", f"--duration={s:g}"],
        simulated_s=s,
    )
    yield Row(
        "geo",
        plan.bentpipe("geo", bulk_tcp(s, flows=1, rate_mbps=10, delay_ms=250)),
        "ns3 geo",
        Figure(times_less_cpu, "x less cpu", at_least=40),
        s,
    )

    s = plan.seconds(60)
    yield Row(
        "ns3 100 flows",
        [str(NS3), "--flows=100", "--rate=100000000", "--delay=250", f"--duration={s:g}"],
        simulated_s=s,
    )
    yield Row(
        "100 flows",
        plan.bentpipe("flows", bulk_tcp(s, flows=100, rate_mbps=100, delay_ms=250)),
        "ns3 100 flows",
        Figure(times_less_cpu, "x less cpu", at_least=40),
        s,
    )

    # 40 000 packets in flight, and as many lost when slow start overshoots.
    s, longer = plan.seconds(20), plan.seconds(60)
    yield Row(
        "large windows",
        plan.bentpipe("large", bulk_tcp(s, flows=10, rate_mbps=1000, delay_ms=250)),
        figure=Figure(cpu_seconds, "cpu s", at_most=3),
        simulated_s=s,
    )
    yield Row(
        "large windows, longer",
        plan.bentpipe("larger", bulk_tcp(longer, flows=10, rate_mbps=1000, delay_ms=250)),
        "large windows",
        Figure(times_the_cpu, "x the cpu", at_most=4.5),
        longer,
    )

    s = plan.seconds(60)
    yield Row(
        "chain of 10",
        plan.bentpipe("chain", chain(s, links=10, rate_mbps=1000)),
        figure=Figure(hops_per_second, "hops/s", at_least=15e6),
        simulated_s=s,
    )

    s = plan.seconds(400)
    scenario = bulk_tcp(s, flows=1, rate_mbps=10, delay_ms=250)
    yield Row("traces off", plan.bentpipe("off", scenario), simulated_s=s)
    yield Row(
        "traces on",
        plan.bentpipe("on", scenario, "--traces", str(plan.folder / "traces")),
        "traces off",
        Figure(times_the_cpu, "x the cpu", at_most=2),
        s,
    )

    # A tenth more allows for the page granularity of a small resident set.
    base = None
    for stated in (100, 400, 1600):
        s = plan.seconds(stated)
        name = f"memory {stated} s"
        yield Row(
            name,
            plan.bentpipe(f"memory{stated}", bulk_tcp(s, flows=1, rate_mbps=10, delay_ms=250)),
            base,
            Figure(times_the_memory, "x memory", at_most=1.1) if base else None,
            s,
        )
        base = base or name

    for terminals, stated in ((1, 1000), (10, 1000), (30, 1000), (100, 400), (1000, 100)):
        s = plan.seconds(stated)
        yield Row(
            f"terminals {terminals}",
            plan.bentpipe(f"terminals{terminals}", dvb_rcs(s, terminals)),
            figure=Figure(simulated_per_second, "sim s/s", at_least=1000 if terminals == 30 else None),
            simulated_s=s,
        )

    s = plan.seconds(600)
    yield Row(
        "starlink 100",
        plan.bentpipe("starlink", starlink(s, sites=100)),
        figure=Figure(simulated_per_second, "sim s/s", at_least=10),
        simulated_s=s,
    )

    # A simulated hour; and the same with nine thousand terminals more that do nothing.
    s = plan.seconds(3600)
    name = "1000 terminals, 32 carriers"
    yield Row(
        name,
        plan.bentpipe("beam", beam(s, 1000, 32)),
        figure=Figure(simulated_per_second, "sim s/s"),
        simulated_s=s,
    )
    yield Row(
        "and 9000 idle",
        plan.bentpipe("beam-idle", beam(s, 1000, 32, idle=9000)),
        name,
        Figure(times_the_cpu, "x the cpu", at_most=1.2),
        s,
    )

    yield from emulation()


def emulation() -> Iterator[Row]:
    """The data plane of emulations, with what prototypes reached (docs/decisions/0009-ports.md)."""

    def row(name: str, what: str, figure: Figure, floor: str = "") -> Row:
        return Row(f"emu-{name}", [str(PLANE), *what.split()], figure=figure, floor=floor)

    edge = "packets/s carried when more are offered"
    for size, target, floor in ((64, 400e3, "405 000"), (1500, 330e3, "337 000")):
        figure = Figure(said("carried"), "packets/s", at_least=target)
        yield row(f"edge-{size}", f"rate --size {size}", figure, f"{floor} {edge}")
        figure = Figure(said("lost"), "lost of 900k", at_most=0)
        yield row(f"rate-{size}", f"rate --size {size} --rate 300000", figure)
    figure = Figure(said("lost"), "lost of 450k", at_most=0)
    yield row("dvb-rcs", "rate --size 1500 --rate 150000 --terminals 1", figure)
    for name, what, most, floor in (
        ("late-10k", "--rate 10000", 100, "p99 69 us"),
        ("late-80k", "--rate 80000", 100, "p99 119 us"),
        ("busy-10k", "--rate 10000 --busy 1", 1000, ""),
        ("busy-80k", "--rate 80000 --busy 1", 1000, ""),
    ):
        figure = Figure(said("late_p99_us"), "us late (p99)", at_most=most)
        yield row(name, f"release {what}", figure, floor)
    yield row("delay", "delay", Figure(said("added_p50_us"), "us added", at_most=60))
    yield row("idle", "cpu", Figure(said("cpu_share"), "of a core", at_most=0.01))
    yield row("geo", "cpu --rate 1900000", Figure(said("cpu_share"), "of a core", at_most=0.05))
    for name, what, least, floor in (
        ("tcp-1g", "--rate 1000000000", 0.95e9, ""),
        ("tcp-2g", "--rate 2200000000", 2e9, "2.5 Gbit/s"),
        ("tcp-jumbo", "--rate 2200000000 --mtu 9000", 2e9, ""),
    ):
        yield row(name, f"tcp {what}", Figure(said("goodput_bps"), "bit/s", at_least=least), floor)
    # With --delay 200 it takes ten minutes.
    yield row("deep", "deep --delay 5", Figure(said("lost"), "lost", at_most=0))


# ---------------------------------------------------------------------------
# Figures


def said(key: str) -> Callable[[Summary, Summary | None], float]:
    """A number that the runs print."""
    return lambda own, _: own.median(key)


def times_less_cpu(own: Summary, base: Summary | None) -> float:
    """How many times the own CPU time the baseline needs."""
    return ratio(base.cpu_s, own.cpu_s) if base else math.nan


def times_the_cpu(own: Summary, base: Summary | None) -> float:
    """CPU time in that of the baseline."""
    return ratio(own.cpu_s, base.cpu_s) if base else math.nan


def cpu_seconds(own: Summary, _: Summary | None) -> float:
    """CPU time in seconds."""
    return own.cpu_s


def times_the_memory(own: Summary, base: Summary | None) -> float:
    """Peak memory in that of the baseline."""
    return ratio(own.rss_bytes, base.rss_bytes) if base else math.nan


def hops_per_second(own: Summary, _: Summary | None) -> float:
    """Packet-hops per second of the event loop's CPU time."""
    return ratio(own.median("hops"), own.median("cpu_s"))


def simulated_per_second(own: Summary, _: Summary | None) -> float:
    """Simulated seconds per second of CPU time."""
    return ratio(own.row.simulated_s, own.cpu_s)


# ---------------------------------------------------------------------------
# Running


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


def groups(table: list[Row]) -> list[list[Row]]:
    """Rows that are compared with each other, baselines first."""
    found: dict[str, list[Row]] = {}
    for row in table:
        found.setdefault(row.baseline or row.name, []).append(row)
    return list(found.values())


def selected(table: list[Row], pattern: str) -> list[Row]:
    """Rows whose names match, and the baselines that they need."""
    chosen = [row for row in table if fnmatch.fnmatch(row.name, pattern)]
    names = {row.name for row in chosen} | {row.baseline for row in chosen}
    return [row for row in table if row.name in names]


def measure(
    group: list[Row],
    repeat: int,
    limit_s: float,
    ns3: str | None,
    progress: Callable[[str], None],
) -> list[Summary]:
    """Runs the rows of a group in turn, `repeat` times, in alternating order."""
    found = [Summary(row, skipped=unavailable(row, ns3)) for row in group]
    for turn in range(repeat):
        for summary in found if turn % 2 == 0 else reversed(found):
            if summary.skipped or summary.failed:
                continue
            progress(f"{summary.row.name}, {turn + 1} of {repeat}")
            try:
                summary.runs.append(run_once(summary.row.command, limit_s))
            except ProtocolError as fault:
                summary.failed = str(fault)
    return found


# ---------------------------------------------------------------------------
# Printing

HEADER = (
    f"{'row':<15}{'cpu s':>8}{'least':>8}{'MB':>6}{'ev/pkt':>7}{'ns/pkt':>8}  {'figure':<17}{'target':>9}"
)


def line(summary: Summary) -> str:
    """A row as it is printed."""
    row = summary.row
    if not summary.done:
        why = f"skipped: {summary.skipped}" if summary.skipped else f"FAILED: {summary.failed}"
        return textwrap.fill(f"{row.name:<15} {why}", 80, subsequent_indent=" " * 16)
    text = (
        f"{row.name:<15}{summary.cpu_s:>8.3f}{summary.min_cpu_s:>8.3f}"
        f"{summary.rss_bytes / 1e6:>6.0f}"
        f"{summary.events_per_packet:>7.1f}{summary.ns_per_packet:>8.0f}  "
    )
    if row.figure is None:
        return text + "baseline"
    if summary.figure is None:
        return text + "no baseline"
    text += f"{short(summary.figure) + ' ' + row.figure.unit:<17}"
    mark = {"MISSED": " !", "met": ""}.get(summary.verdict, "")
    return (text + f"{row.figure.target() if summary.verdict else '':>7}{mark}").rstrip()


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    model = next(
        (
            text.split(":", 1)[1].strip()
            for text in read("/proc/cpuinfo").splitlines()
            if text.startswith("model name")
        ),
        platform.machine(),
    )
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "commit": commit or None,
        "utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def read(path: str) -> str:
    """A file's text; empty when it cannot be read."""
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def positive(kind: type[int | float]) -> Callable[[str], Any]:
    """For argparse: a finite number above 0."""

    def convert(text: str) -> Any:
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"{text} is not greater than 0")
        return value

    return convert


def main(arguments: list[str] | None = None) -> int:
    """Measures, prints, reports; returns the exit status."""
    parser = argparse.ArgumentParser(description="Whole-run benchmarks beside their baselines.")
    parser.add_argument("--repeat", type=positive(int), default=3, help="runs of each row (3)")
    parser.add_argument("--only", default="*", help="rows by name, with * and ?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure here")
    parser.add_argument("--strict", action="store_true", help="a missed target is a failure")
    parser.add_argument(
        "--scale",
        type=positive(float),
        default=1.0,
        help="simulated lengths times this; targets are judged only at 1",
    )
    parser.add_argument(
        "--limit", type=positive(float), default=600.0, help="seconds that one run may take (600)"
    )
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    options = parser.parse_args(arguments)

    about = machine()
    found: list[Summary] = []

    def progress(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="bentpipe-bench-") as folder:
        table = selected(list(rows(Plan(Path(folder), options.scale))), options.only)
        if options.list:
            for row in table:
                print(f"{row.name:<15}{f'against {row.baseline}' if row.baseline else ''}".rstrip())
            return 0
        if not table:
            print(f"run.py: no row is named {options.only!r}; see --list", file=sys.stderr)
            return 2
        ns3 = build_ns3() if any(row.command[0] == str(NS3) for row in table) else None
        print(f"{about['processor']}, {about['cores']} cores, load {about['load']:.1f}")
        print(HEADER)
        for group in groups(table):
            summaries = measure(group, options.repeat, options.limit, ns3, progress)
            judge(summaries, to_target=options.scale == 1.0)
            progress("")
            for summary in summaries:
                print(line(summary), flush=True)
            found += summaries

    print(
        f"cpu s: user + system, median of {options.repeat}, start-up included; least: smallest;\n"
        "ev/pkt, ns/pkt: events and event-loop time per data packet; !: target missed"
    )
    for summary in found:
        if summary.row.floor:
            print(f"{summary.row.name}: prototypes reached {summary.row.floor}")
    if options.json:
        report = {
            "machine": about,
            "repeat": options.repeat,
            "scale": options.scale,
            "rows": [summary.report() for summary in found],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    failed = any(summary.failed for summary in found)
    missed = any(summary.verdict == "MISSED" for summary in found)
    return 1 if failed or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
