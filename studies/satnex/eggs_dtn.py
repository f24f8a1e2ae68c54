"""The tests ``eggs-dtn`` and ``eggs-dtn-causes`` of EGGS. A DTN/TCP proxy in the orbiter sends
bundles over UDP on the long-haul link (figure 20). It is compared with TCP from end to end.

DTN/TCP counts the measurements that arrive in the 600 s after the first one; TCP counts those of
the first 600 s that arrive up to one delay and 10 s later."""

from __future__ import annotations

import json as text
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.style import figure_function, line
from bentpipe.results.runs import Run
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: One-way propagation delay of the long-haul link, by name.
DELAYS_S: Final = {"125ms": 0.125, "1280ms": 1.28, "10s": 10.0, "50s": 50.0, "200s": 200.0}
#: Duration of the measurements. The last measurements arrive one delay later.
SENDING_S: Final = 600
#: Additional time in which the last measurements can arrive.
REST_S: Final = 10
#: Numbers of motes, each with the number of measurements per mote and second.
NETWORKS: Final = tuple((motes, rate) for motes in (1, 2, 3) for rate in (10, 20))
#: Maximum number of packets in the emulator of the long-haul link, including packets in flight.
BUFFERS: Final = (250, 500, 1000, 1500, 2000)
#: The emulator size whose interruptions the statements describe.
STATED: Final = 1000
#: The network of figure 20: the number of motes, and the number of measurements per mote and
#: second.
DRAWN: Final = (1, 10)
#: Number of measurements per second through the emulator.
EMULATED: Final = 10
#: One-way delay of the proximity link, as in eggs-sensors.toml.
PROXIMITY_S: Final = 0.04
#: The direction of the measurements.
REVERSE: Final = "measures.reverse"
#: The measurements at the proxy in the orbiter, and at the proxy on Earth in eggs-dtn.toml.
AT_ORBITER: Final = f"{REVERSE}@proxy"
AT_EARTH: Final = f"{REVERSE}@receiver"
#: Size of a measurement in bytes.
MEASURE: Final = 25
#: Payload of a datagram on the long-haul link in bytes, as in eggs-dtn.toml: a measurement, 17
#: bytes of the proxy's header, and 54 bytes of bundle headers.
BUNDLE: Final = 96


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the measurements of the motes as bundles and over TCP at each delay, and judges the
    statements."""
    keys = [(name, network) for name in DELAYS_S for network in NETWORKS]
    bundles = {key: _bundles(*key) for key in keys}
    tcp = {key: _tcp(*key) for key in keys}
    with bar("eggs-dtn", shown=not json) as progress:
        done = run_all([*bundles.values(), *tcp.values()], out / "runs", progress)
    ours: dict[str, float | None] = {}
    rows = []
    for name, delay in DELAYS_S.items():
        received = {network: len(_received(done[bundles[name, network]])) for network in NETWORKS}
        delivered = {network: _delivered(done[tcp[name, network]], delay) for network in NETWORKS}
        gaps = {network: _gap_s(_received(done[bundles[name, network]])) for network in NETWORKS}
        ours[f"eggs-dtn-{name}"] = min(received.values())
        ours[f"eggs-dtn-gap-{name}"] = max(gaps.values())
        for motes in (1, 2, 3):
            of = [network for network in NETWORKS if network[0] == motes]
            shares = [
                " / ".join(f"{count[network] / (SENDING_S * network[0] * network[1]):.3f}" for network in of)
                for count in (received, delivered)
            ]
            silence = max(gaps[network] for network in of)
            rows.append([f"{delay:g} s", str(motes), *shares, f"{silence:.2f}"])
    table = Table(
        "Share of the measures of 600 s received, at 10 / 20 a second from each mote",
        ["delay", "motes", "DTN/TCP", "TCP", "silence (s)"],
        rows,
    )
    air = Table(
        "The motes' channel (IEEE 802.15.4) and TCP on the proximity link, at a delay of 125 ms",
        ["motes", "each (1/s)", "time", "air losses", "at orbiter", "energy (J)"],
        [_air(network, done[bundles["125ms", network]]) for network in NETWORKS],
    )
    figure = compared(
        {name: done[bundles[name, DRAWN]] for name in DELAYS_S},
        {name: done[tcp[name, DRAWN]] for name in DELAYS_S},
    )
    return Reproduction(judge(statements, ours), figures={"figure-20-received": figure}, tables=[table, air])


def explain(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Sends the bundles of one node through emulators that hold a limited number of packets, and
    judges the statements."""
    jobs = {(name, buffer): _emulator(name, buffer) for name in ("50s", "200s") for buffer in BUFFERS}
    with bar("eggs-dtn-causes", shown=not json) as progress:
        done = run_all(list(jobs.values()), out / "runs", progress)
    ours: dict[str, float | None] = {
        f"eggs-dtn-buffer-{name}": _gap_s(_times(done[jobs[name, STATED]])) for name in ("50s", "200s")
    }
    rows = [
        [
            f"{DELAYS_S[name]:g} s",
            str(buffer),
            f"{len(_times(done[job])) / (SENDING_S * EMULATED):.3f}",
            f"{_gap_s(_times(done[job])):.1f}",
            f"{max(DELAYS_S[name] - buffer / EMULATED, 0):.0f}",
        ]
        for (name, buffer), job in jobs.items()
    ]
    table = Table(
        "Emulator that holds a limited number of packets, 10 measures a second",
        ["delay", "packets", "received", "longest silence (s)", "D - B / r (s)"],
        rows,
    )
    figure = interrupted({buffer: done[jobs["200s", buffer]] for buffer in BUFFERS})
    return Reproduction(judge(statements, ours), figures={"figure-20-buffers": figure}, tables=[table])


def _tcp(name: str, network: tuple[int, int]) -> Job:
    """Returns the job that sends the measurements of the motes to Earth over TCP."""
    delay = DELAYS_S[name]
    changes = (f"link.long-haul.delay={delay} s", *_motes(network, delay))
    return Job(f"eggs-sensors-{name}-{network[0]}-{network[1]}", HERE / "eggs-sensors.toml", changes)


def _bundles(name: str, network: tuple[int, int]) -> Job:
    """Returns the job that sends the measurements of the motes to the orbiter over TCP, and to
    Earth as bundles."""
    delay = DELAYS_S[name]
    contacts = "".join(f"{pair},0,100000,64000,{delay}\\n" for pair in ("orbiter,station", "station,orbiter"))
    plan = f'network.long-haul.plan="src,dst,start,end,rate_bps,owlt_s\\n{contacts}"'
    return Job(
        f"eggs-dtn-{name}-{network[0]}-{network[1]}",
        HERE / "eggs-dtn.toml",
        (plan, *_motes(network, delay)),
    )


def _motes(network: tuple[int, int], delay: float) -> tuple[str, ...]:
    """Returns the settings of the motes. They start when the query has arrived, for which at most
    three one-way delays of both links are necessary."""
    motes, rate = network
    return (
        f"duration={3 * (PROXIMITY_S + delay) + SENDING_S + delay + REST_S} s",
        f"flow.measures.app.motes={text.dumps([f'm{number}' for number in range(1, motes + 1)])}",
        f"flow.measures.app.period={1000 // rate} ms",
    )


def _air(network: tuple[int, int], run: Run) -> list[str]:
    """Returns the row of a network in the table of the path from the motes to the orbiter."""
    motes, rate = network
    flow = run.flows.row(0, named=True)
    lost = flow["sensor_messages_lost"] / flow["sensor_messages"]
    arrived = run.trace("delivered", AT_ORBITER)["delivered"]
    return [
        str(motes),
        str(rate),
        run.scenario["duration"],
        f"{100 * lost:.2f} %",
        str(int(arrived[-1]) // MEASURE),
        f"{flow['sensor_energy']:.2f}",
    ]


def _emulator(name: str, buffer: int) -> Job:
    changes = (
        f"duration={SENDING_S + DELAYS_S[name] + REST_S} s",
        f'link.long-haul.delay="{DELAYS_S[name]} s"',
        f"link.long-haul.holds={buffer}",
        f"flow.measures.app.bundles={SENDING_S * EMULATED}",
        f'flow.measures.app.rate="{EMULATED * BUNDLE * 8} bit/s"',
    )
    return Job(f"eggs-emulator-{name}-{buffer}", HERE / "eggs-emulator.toml", changes)


def _received(run: Run) -> list[float]:
    """Returns the arrival times of bundles on Earth, in the 600 s after the first, in seconds."""
    times: list[float] = run.trace("delivered", AT_EARTH)["time"].to_list()
    return [time for time in times if time < times[0] + SENDING_S]


def _times(run: Run) -> list[float]:
    """Returns the arrival times of the datagrams of an emulator, in seconds."""
    return run.trace("datagram")["time"].to_list()


def _gap_s(times: Sequence[float]) -> float:
    """Returns the maximum time between the arrivals of two consecutive datagrams, in seconds."""
    return max(later - earlier for earlier, later in pairwise(times))


def _delivered(run: Run, delay: float) -> float:
    """Returns the number of measurements of the first 600 s that TCP delivered."""
    delivered = run.trace("delivered", REVERSE)["delivered"]
    if not len(delivered):
        return 0.0
    rows = run.flows["sensor_rows"][0]
    # The motes continue at the same rate during the delay and the additional time.
    share = SENDING_S / (SENDING_S + delay + REST_S)
    return min(float(delivered[-1]) / MEASURE, float(rows) * share)


@figure_function
def compared(bundles: Mapping[str, Run], tcp: Mapping[str, Run]) -> Figure:
    """Draws figure 20 for each delay with one mote. Left: bundles. Right: the same measurements
    over TCP from end to end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for number, (name, run) in enumerate(bundles.items()):
        _draw(left, _received(run), f"{DELAYS_S[name]:g} s", _style(number))
    for number, (name, run) in enumerate(tcp.items()):
        trace = run.trace("delivered", REVERSE)
        measures = (trace["delivered"] / MEASURE).to_list() if len(trace) else []
        times = trace["time"].to_list() if len(trace) else []
        label = f"{DELAYS_S[name]:g} s" if times else f"{DELAYS_S[name]:g} s: no connection"
        right.plot(times, measures, label=label, **_style(number))
    left.set(title="DTN/TCP: bundles over UDP", xlabel="time (s)", ylabel="measures received")
    right.set(title="TCP from the sink to Earth", xlabel="time (s)")
    for axes in (left, right):
        axes.legend(loc="upper left", title="one-way delay", fontsize="small", alignment="left")
    return figure


@figure_function
def interrupted(runs: Mapping[int, Run]) -> Figure:
    """Draws figure 20 at a delay of 200 s for emulators of several sizes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for number, (buffer, run) in enumerate(runs.items()):
        _draw(axes, _times(run), f"{buffer}", _style(number))
    axes.set(title="200 s one way, 10 measures a second", xlabel="time (s)", ylabel="measures received")
    axes.legend(loc="upper left", title="packets held", fontsize="small", alignment="left")
    return figure


def _style(number: int) -> dict[str, Any]:
    """Returns colour and dashes of a curve. Every second curve is dashed, because the curves of the
    shortest delays overlap."""
    return line(number) | {"linestyle": (0, (4, 4)) if number % 2 else "-"}


def _draw(axes: Axes, times: Sequence[float], label: str, style: dict[str, Any]) -> None:
    """Draws the number of received datagrams against time."""
    axes.step(times, range(1, len(times) + 1), where="post", label=label, **style)
