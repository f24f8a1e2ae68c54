"""The table of measurements: name, command, baseline, figure and target of each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import programs
from figures import (
    cpu_seconds,
    hops_per_second,
    reported,
    simulated_per_second,
    times_less_cpu,
    times_per_packet,
    times_the_cpu,
    times_the_loop,
    times_the_memory,
)
from measure import Figure, Row
from scenarios import beam, bulk_tcp, calls, chain, dvb_rcs, loaded_return_link, saturated_wifi, starlink


@dataclass
class Plan:
    """Settings that apply to all rows."""

    #: The folder into which the scenarios are written.
    folder: Path
    #: Factor on all simulated durations.
    scale: float = 1.0

    def seconds(self, unscaled: float) -> float:
        """Returns a simulated duration in seconds, multiplied by the scale."""
        return unscaled * self.scale

    def bentpipe(self, name: str, scenario: str, *options: str) -> list[str]:
        """Writes a scenario to the folder. Returns the command that runs it."""
        path = self.folder / f"{name}.toml"
        path.write_text(scenario)
        return [str(programs.BENTPIPE), str(path), *options]


def against_ns3(plan: Plan, name: str, seconds: float, *, flows: int, rate_mbps: int) -> Iterator[Row]:
    """Yields two rows: bulk TCP in ns-3, in its cheapest form (two nodes, no timestamp option), and
    the same flows in bentpipe."""
    delay_ms = 250
    command = [str(programs.NS3), f"--flows={flows}", f"--rate={rate_mbps}000000", f"--delay={delay_ms}"]
    yield Row(f"ns3 {name}", [*command, f"--duration={seconds:g}"], simulated_s=seconds)
    scenario = bulk_tcp(seconds, flows=flows, rate_mbps=rate_mbps, delay_ms=delay_ms)
    yield Row(
        name,
        plan.bentpipe(name.removeprefix(f"{flows} "), scenario),
        f"ns3 {name}",
        Figure(times_less_cpu, "x less cpu", at_least=40),
        seconds,
    )


def rows(plan: Plan) -> Iterator[Row]:
    """Yields the rows of all measurements."""
    yield from against_ns3(plan, "geo", plan.seconds(400), flows=1, rate_mbps=10)
    yield from against_ns3(plan, "100 flows", plan.seconds(60), flows=100, rate_mbps=100)

    s = plan.seconds(10)
    yield Row(
        "ns3 50 stations", [str(programs.NS3_WIFI), "--stations=50", f"--duration={s:g}"], simulated_s=s
    )
    yield Row(
        "50 stations",
        plan.bentpipe("stations", saturated_wifi(s, stations=50)),
        "ns3 50 stations",
        Figure(times_less_cpu, "x less cpu", at_least=20),
        s,
    )

    # 40 000 packets are in flight. When slow start overshoots, another 40 000 packets are lost.
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

    # The target of 1.1 allows for the page size, which matters for a small resident set.
    base = None
    for unscaled in (100, 400, 1600):
        s = plan.seconds(unscaled)
        name = f"memory {unscaled} s"
        yield Row(
            name,
            plan.bentpipe(f"memory{unscaled}", bulk_tcp(s, flows=1, rate_mbps=10, delay_ms=250)),
            base,
            Figure(times_the_memory, "x memory", at_most=1.1) if base else None,
            s,
        )
        base = base or name

    for terminals, unscaled in ((1, 1000), (10, 1000), (30, 1000), (100, 400), (1000, 100)):
        s = plan.seconds(unscaled)
        yield Row(
            f"terminals {terminals}",
            plan.bentpipe(f"terminals{terminals}", dvb_rcs(s, terminals)),
            figure=Figure(simulated_per_second, "sim s/s", at_least=1000 if terminals == 30 else None),
            simulated_s=s,
        )

    # 1000 concurrent calls send 28 000 packets per second. The second row records all traces.
    s = plan.seconds(60)
    scenario = calls(s, 1000)
    yield Row(
        "1000 calls",
        plan.bentpipe("calls", scenario),
        figure=Figure(simulated_per_second, "sim s/s", at_least=20),
        simulated_s=s,
    )
    yield Row(
        "1000 calls, traces on",
        plan.bentpipe("calls-traced", scenario, "--traces", str(plan.folder / "calls-traces")),
        "1000 calls",
        Figure(times_the_cpu, "x the cpu", at_most=2),
        s,
    )

    s = plan.seconds(600)
    yield Row(
        "starlink 100",
        plan.bentpipe("starlink", starlink(s, sites=100)),
        figure=Figure(simulated_per_second, "sim s/s", at_least=10),
        simulated_s=s,
    )
    s = plan.seconds(20)
    yield Row(
        "starlink 1000",
        plan.bentpipe("starlink-1000", starlink(s, sites=1000)),
        figure=Figure(simulated_per_second, "sim s/s", at_least=10),
        simulated_s=s,
    )

    # A simulated hour. The second row has 9000 additional idle terminals.
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

    yield from regressions(plan)
    yield from emulation()


def regressions(plan: Plan) -> Iterator[Row]:
    """Yields rows that compare the engine with earlier commits, and congestion controls with
    Reno."""
    # A difference of a few percent is visible only in the median of at least eleven turns.
    turns = 11

    def pair(
        name: str, commit: str, file: str, scenario: str, simulated_s: float, limit: float
    ) -> Iterator[Row]:
        command = plan.bentpipe(file, scenario)
        before = [str(programs.earlier_program(commit)), *command[1:]]
        yield Row(f"{name}, {commit}", before, simulated_s=simulated_s, turns=turns)
        figure = Figure(times_the_loop, "x the loop", at_most=limit)
        yield Row(f"{name} now", command, f"{name}, {commit}", figure, simulated_s)

    s = plan.seconds(400)
    scenario = bulk_tcp(s, flows=1, rate_mbps=10, delay_ms=250)
    yield from pair("engine", programs.FIRST, "first", scenario, s, 1.1)
    yield from pair("linux", programs.BEFORE_LINUX, "linux", scenario, s, 1.1)
    yield Row("reno", plan.bentpipe("reno", scenario), simulated_s=s, turns=turns)
    for congestion in ("cubic", "bbr"):
        yield Row(
            congestion,
            plan.bentpipe(congestion, bulk_tcp(s, 1, 10, 250, congestion)),
            "reno",
            Figure(times_per_packet, "x per packet", at_most=1.3),
            s,
        )
    for terminals in (10, 100):
        s = plan.seconds(10000 / terminals)
        scenario = loaded_return_link(s, terminals)
        yield from pair(f"{terminals} st", programs.BEFORE_ACCESS, f"loaded{terminals}", scenario, s, 1.1)


def emulation() -> Iterator[Row]:
    """Yields rows that measure the data plane of emulations. `floor` is the result of the prototype
    (docs/notes/emulation-ports.md)."""

    def row(name: str, measurement: str, figure: Figure, floor: str = "") -> Row:
        return Row(f"emu-{name}", [str(programs.PLANE), *measurement.split()], figure=figure, floor=floor)

    edge = "packets/s carried under overload"
    for size, target, floor in ((64, 400e3, "405 000"), (1500, 330e3, "337 000")):
        figure = Figure(reported("carried"), "packets/s", at_least=target)
        yield row(f"edge-{size}", f"rate --size {size}", figure, f"{floor} {edge}")
        figure = Figure(reported("lost"), "lost of 900k", at_most=0)
        yield row(f"rate-{size}", f"rate --size {size} --rate 300000", figure)
    figure = Figure(reported("lost"), "lost of 450k", at_most=0)
    yield row("dvb-rcs", "rate --size 1500 --rate 150000 --terminals 1", figure)
    for name, options, limit, floor in (
        ("late-10k", "--rate 10000", 100, "p99 69 us"),
        ("late-80k", "--rate 80000", 100, "p99 119 us"),
        ("busy-10k", "--rate 10000 --busy 1", 1000, ""),
        ("busy-80k", "--rate 80000 --busy 1", 1000, ""),
    ):
        figure = Figure(reported("late_p99_us"), "us late (p99)", at_most=limit)
        yield row(name, f"release {options}", figure, floor)
    yield row("delay", "delay", Figure(reported("added_p50_us"), "us added", at_most=60))
    yield row("idle", "cpu", Figure(reported("cpu_share"), "of a core", at_most=0.01))
    yield row("geo", "cpu --rate 1900000", Figure(reported("cpu_share"), "of a core", at_most=0.05))
    for name, options, target, floor in (
        ("tcp-1g", "--rate 1000000000", 0.95e9, ""),
        ("tcp-2g", "--rate 2200000000", 2e9, "2.5 Gbit/s"),
        ("tcp-jumbo", "--rate 2200000000 --mtu 9000", 2e9, ""),
    ):
        yield row(name, f"tcp {options}", Figure(reported("goodput_bps"), "bit/s", at_least=target), floor)
    # A delay of 200 instead of 5 would take ten minutes.
    yield row("deep", "deep --delay 5", Figure(reported("lost"), "lost", at_most=0))
