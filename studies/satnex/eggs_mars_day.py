"""The test ``eggs-mars-day``, which the paper does not have: a Martian day of EGGS with the passes
of an orbiter, over TCP, over split TCP, and as bundles over UDP and over LTP."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.style import COLOURS, figure_function
from bentpipe.results.runs import Run
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Duration of the measurements: a Martian day.
DAY_S: Final = 88_775
#: Number of measurements per second.
RATE: Final = 10
#: Size of a measurement in bytes.
MEASURE: Final = 25
#: Size of a block of measurements in bytes.
BLOCK: Final = 500
#: Power of the transmitter during transmission, by direction. It is 8.5 W for the UHF radios of
#: rover and orbiter (radiated power) and 100 W for the orbiter's X-band amplifier. These are
#: assumptions in the range of missions to Mars. The station on the Earth is not counted.
POWER_W: Final = {"rover.orbiter": 8.5, "orbiter.rover": 8.5, "orbiter.earth": 100.0, "earth.orbiter": 0.0}
#: Name in eggs-mars-day.toml and eggs-mars-day-split.toml, and rate in bit/s, of the link in each
#: direction.
LINKS: Final = {
    "rover.orbiter": ("proximity", 256_000),
    "orbiter.rover": ("proximity.return", 256_000),
    "orbiter.earth": ("long-haul", 64_000),
    "earth.orbiter": ("long-haul.return", 64_000),
}

#: Jobs by the transport of the measurements.
JOBS: Final = {
    "TCP": Job("eggs-mars-day-tcp", HERE / "eggs-mars-day.toml"),
    "TCP split at the orbiter": Job("eggs-mars-day-split", HERE / "eggs-mars-day-split.toml"),
    "bundles over UDP": Job(
        "eggs-mars-day-udp", HERE / "eggs-mars-day-dtn.toml", ('network.space.convergence="udp"',)
    ),
    "bundles over LTP": Job("eggs-mars-day-ltp", HERE / "eggs-mars-day-dtn.toml"),
}

#: Arrival time and delay of each block, in seconds.
Arrivals = list[tuple[float, float]]


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the day over each transport. There are no statements, because the paper has no such
    experiment."""
    with bar("eggs-mars-day", shown=not json) as progress:
        done = run_all(list(JOBS.values()), out / "runs", progress)
    arrivals = {name: _arrivals(done[job]) for name, job in JOBS.items()}
    rows = []
    for name, job in JOBS.items():
        delays = sorted(delay for _, delay in arrivals[name])
        blocks = len(delays)
        rows.append(
            [
                name,
                f"{100 * blocks * BLOCK / (DAY_S * RATE * MEASURE):.1f} %",
                f"{delays[blocks // 2] / 3600:.1f}" if delays else "-",
                f"{delays[-1] / 3600:.1f}" if delays else "-",
                f"{sum(sent for sent, _ in _sent(done[job]).values()) / (blocks * BLOCK):.2f}"
                if delays
                else "-",
                f"{_energy_j(done[job]) / 1000:.1f}",
                f"{1000 * _energy_j(done[job]) * MEASURE / (blocks * BLOCK):.0f}" if delays else "-",
            ]
        )
    table = Table(
        "A Martian day: 10 measures a second, delivered by 5.3 h after its end; energy of the transmitters",
        ["transport", "delivered", "p50 (h)", "max (h)", "sent/byte", "kJ", "mJ each"],
        rows,
    )
    figure = day(arrivals)
    return Reproduction(judge(statements, {}), figures={"mars-day": figure}, tables=[table])


def _arrivals(run: Run) -> Arrivals:
    """Returns the arrival times and delays of the blocks of a run, with any transport."""
    flow = run.flows
    if "bundles_created" in flow.columns and flow["bundles_created"][0]:
        trace = run.trace("datagram")
        return list(zip(trace["time"].to_list(), trace["delay"].to_list(), strict=True))
    trace = run.trace("delivered")
    if not len(trace):
        return []
    arrivals: Arrivals = []
    for time, delivered in zip(trace["time"].to_list(), trace["delivered"].to_list(), strict=True):
        while (len(arrivals) + 1) * BLOCK <= delivered:
            # Block n was complete n block intervals after block 0.
            measured_s = len(arrivals) * BLOCK / (RATE * MEASURE)
            arrivals.append((time, time - measured_s))
    return arrivals


def _sent(run: Run) -> dict[str, tuple[float, float]]:
    """Returns the transmitted bytes and the transmission time in seconds by direction, including
    acknowledgments and reports."""
    tables = run.summary["tables"]
    if "bundle_hops" in tables:
        hops = {row["hop"].partition(".")[2]: row for row in tables["bundle_hops"]}
        return {hop: (float(row["hop_bytes"]), float(row["hop_transmitting"])) for hop, row in hops.items()}
    links = {row["link"]: float(row["bytes"]) for row in tables["link"]}
    return {hop: (links[link], 8 * links[link] / rate) for hop, (link, rate) in LINKS.items()}


def _energy_j(run: Run) -> float:
    """Returns the energy of the transmitters of rover and orbiter, in joules."""
    return sum(POWER_W[hop] * seconds for hop, (_, seconds) in _sent(run).items())


@figure_function
def day(arrivals: dict[str, Arrivals]) -> Figure:
    """Draws the number of delivered measurements against time, and the distribution of their
    delays."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    per = BLOCK / MEASURE / 1e6
    left.plot([0, DAY_S / 3600], [0, DAY_S * RATE / 1e6], color="0.6", linestyle=":", label="taken")
    for colour, (name, blocks) in zip(COLOURS, arrivals.items(), strict=False):
        times = [0.0, *(time / 3600 for time, _ in blocks), 30.0]
        counts = [*range(len(blocks) + 1), len(blocks)]
        left.step(times, [count * per for count in counts], where="post", color=colour, label=name)
        delays = sorted(delay / 3600 for _, delay in blocks)
        total = DAY_S * RATE * MEASURE / BLOCK
        shares = [(number + 1) / total for number in range(len(delays))]
        right.step(delays, shares, where="post", color=colour, label=name)
    left.set(title="Measures at the Earth", xlabel="time (h)", ylabel="million measures")
    right.set(
        title="Delay, of all measures taken", xlabel="delay (h)", ylabel="cumulative fraction", ylim=(0, 1.02)
    )
    left.legend(fontsize="small", loc="upper left")
    return figure
