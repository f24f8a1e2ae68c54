"""EGGS with a DTN/TCP proxy in the orbiter: bundles over UDP on the long-haul link (figure 20), beside TCP alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe import plots
from bentpipe.jobs import Job, run_all
from bentpipe.plots.style import figure_function, line
from bentpipe.runs import Run
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: One-way propagation delay of the long-haul link, by name.
DELAYS_S: Final = {"125ms": 0.125, "1280ms": 1.28, "10s": 10.0, "50s": 50.0, "200s": 200.0}
#: Time for which measures are sent; the last ones arrive a delay later.
SENDING_S: Final = 600
#: Time that remains for the last measures beyond the delay.
REST_S: Final = 10
#: Measures a second of all nodes: one to three nodes with 10 or 20 each.
RATES: Final = (10, 20, 30, 40, 60)
#: Packets that the emulator of the long-haul link holds, those on their way included.
BUFFERS: Final = (250, 500, 1000, 1500, 2000)
#: The size whose interruptions are stated and drawn.
STATED: Final = 1000
#: The rate of the figures, in measures a second.
DRAWN: Final = 10
#: Bytes of a measure.
MEASURE: Final = 25
#: Payload of a datagram on the long-haul link, as in eggs-dtn.toml: a measure, 28 bytes of UDP and IP, 54 of a bundle.
BUNDLE: Final = 107


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulate bundles and TCP at each delay and rate."""
    keys = [(name, rate) for name in DELAYS_S for rate in RATES]
    bundles = {key: _bundles(*key) for key in keys}
    tcp = {key: _tcp(*key) for key in keys}
    with bar("eggs-dtn", shown=not json) as progress:
        done = run_all([*bundles.values(), *tcp.values()], out / "runs", progress)
    ours: dict[str, float | None] = {}
    rows = []
    for name, delay in DELAYS_S.items():
        received = {rate: len(_times(done[bundles[name, rate]])) for rate in RATES}
        delivered = {rate: _delivered(done[tcp[name, rate]]) for rate in RATES}
        gap = max(_gap_s(done[bundles[name, rate]]) for rate in RATES)
        ours[f"eggs-dtn-{name}"] = min(received.values())
        ours[f"eggs-dtn-gap-{name}"] = gap
        shares = [
            f"{min(of):.3f} to {max(of):.3f}"
            for of in (
                [count[rate] / (SENDING_S * rate) for rate in RATES] for count in (received, delivered)
            )
        ]
        rows.append([f"{delay:g} s", *shares, f"{gap:.2f}"])
    table = Table(
        "Share of the measures sent in 600 s that was received by a delay and 10 s later, 10 to 60 a second",
        ["delay", "DTN/TCP", "TCP", "silence of DTN/TCP (s)"],
        rows,
    )
    figure = compared(
        {name: done[bundles[name, DRAWN]] for name in DELAYS_S},
        {name: done[tcp[name, DRAWN]] for name in DELAYS_S},
    )
    return Reproduction(
        judge(statements, ours), figures=_save(figure, out, "figure-20-received"), tables=[table]
    )


def explain(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Send the bundles of one node through an emulator that holds a limited number of packets."""
    jobs = {(name, buffer): _emulator(name, buffer) for name in ("50s", "200s") for buffer in BUFFERS}
    with bar("eggs-dtn-causes", shown=not json) as progress:
        done = run_all(list(jobs.values()), out / "runs", progress)
    ours: dict[str, float | None] = {
        f"eggs-dtn-buffer-{name}": _gap_s(done[jobs[name, STATED]]) for name in ("50s", "200s")
    }
    rows = [
        [
            f"{DELAYS_S[name]:g} s",
            str(buffer),
            f"{len(_times(done[job])) / (SENDING_S * DRAWN):.3f}",
            f"{_gap_s(done[job]):.1f}",
            f"{max(DELAYS_S[name] - buffer / DRAWN, 0):.0f}",
        ]
        for (name, buffer), job in jobs.items()
    ]
    table = Table(
        "Emulator that holds a limited number of packets, 10 measures a second",
        ["delay", "packets", "received", "longest silence (s)", "D - B / r (s)"],
        rows,
    )
    figure = interrupted({buffer: done[jobs["200s", buffer]] for buffer in BUFFERS})
    return Reproduction(
        judge(statements, ours), figures=_save(figure, out, "figure-20-buffers"), tables=[table]
    )


def _save(figure: Figure, out: Path, name: str) -> list[Path]:
    return [plots.save(figure, out / "figures" / f"{name}.{ending}") for ending in ("png", "svg", "pdf")]


def _duration(name: str) -> str:
    return f"duration={SENDING_S + DELAYS_S[name] + REST_S} s"


def _bundles(name: str, rate: int) -> Job:
    contacts = "".join(
        f"{pair},0,100000,64000,{DELAYS_S[name]}\\n" for pair in ("orbiter,earth", "earth,orbiter")
    )
    changes = (
        _duration(name),
        f'network.long-haul.plan="src,dst,start,end,rate_bps,owlt_s\\n{contacts}"',
        f"flow.measures.app.bundles={SENDING_S * rate}",
        *(f'flow.{flow}.app.rate="{rate * MEASURE * 8} bit/s"' for flow in ("sink", "measures")),
    )
    return Job(f"eggs-dtn-{name}-{rate}", HERE / "eggs-dtn.toml", changes)


def _tcp(name: str, rate: int) -> Job:
    changes = (
        _duration(name),
        f'link.long-haul.delay="{DELAYS_S[name]} s"',
        f'flow.measures.app.rate="{rate * MEASURE * 8} bit/s"',
        f"flow.measures.app.on={SENDING_S} s",
        "flow.measures.app.off=1 d",
    )
    return Job(f"eggs-full-tcp-{name}-{rate}", HERE / "eggs-tcp.toml", changes)


def _emulator(name: str, buffer: int) -> Job:
    changes = (
        _duration(name),
        f'link.long-haul.delay="{DELAYS_S[name]} s"',
        f"link.long-haul.holds={buffer}",
        f"flow.measures.app.bundles={SENDING_S * DRAWN}",
        f'flow.measures.app.rate="{DRAWN * BUNDLE * 8} bit/s"',
    )
    return Job(f"eggs-emulator-{name}-{buffer}", HERE / "eggs-emulator.toml", changes)


def _times(run: Run) -> list[float]:
    """When bundles arrived, in seconds."""
    return run.trace("datagram")["time"].to_list()


def _gap_s(run: Run) -> float:
    """The longest time between two datagrams."""
    times = _times(run)
    return max(later - earlier for earlier, later in pairwise(times))


def _delivered(run: Run) -> float:
    """Measures that TCP delivered."""
    return float(run.flows["delivered_bytes"][0]) / MEASURE


@figure_function
def compared(bundles: Mapping[str, Run], tcp: Mapping[str, Run]) -> Figure:
    """Figure 20 for each delay, and the same measures over TCP from end to end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for number, (name, run) in enumerate(bundles.items()):
        _draw(left, _times(run), f"{DELAYS_S[name]:g} s", _style(number))
    for number, (name, run) in enumerate(tcp.items()):
        trace = run.trace("delivered")
        measures = (trace["delivered"] / MEASURE).to_list() if len(trace) else []
        times = trace["time"].to_list() if len(trace) else []
        label = f"{DELAYS_S[name]:g} s" if times else f"{DELAYS_S[name]:g} s: no connection"
        right.plot(times, measures, label=label, **_style(number))
    left.set(title="DTN/TCP: bundles over UDP", xlabel="time (s)", ylabel="measures received")
    right.set(title="TCP from the sink to Earth", xlabel="time (s)")
    for axes in (left, right):
        axes.legend(title="one-way delay", fontsize="small", alignment="left")
    return figure


@figure_function
def interrupted(runs: Mapping[int, Run]) -> Figure:
    """Figure 20 at 200 s, through emulators of several sizes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for number, (buffer, run) in enumerate(runs.items()):
        _draw(axes, _times(run), f"{buffer}", _style(number))
    axes.set(title="200 s one way, 10 measures a second", xlabel="time (s)", ylabel="measures received")
    axes.legend(title="packets held", fontsize="small", alignment="left")
    return figure


def _style(number: int) -> dict[str, Any]:
    """Colour and dashes of a curve: every second one is dashed, as those of the shortest delays lie over each other."""
    return line(number) | {"linestyle": (0, (4, 4)) if number % 2 else "-"}


def _draw(axes: Axes, times: Sequence[float], label: str, style: dict[str, Any]) -> None:
    """A step for each datagram."""
    axes.step(times, range(1, len(times) + 1), where="post", label=label, **style)
