"""The test ``wichmo-kernel``, which the paper does not have: congestion controls over Wi-Fi, and a
relay at the ship that splits the connection. It compares the TCP and the Wi-Fi of a Linux kernel in
virtual time with the models of both."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.style import COLOURS, figure_function
from bentpipe.statistics import mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

from .wichmo import DECLARED, HERE, POSITIONS_DB, inline, positions

if TYPE_CHECKING:
    from bentpipe.results.runs import Run
    from matplotlib.figure import Figure

Clock = Literal["virtual", "kernel"]
#: Label in the figure, by clock.
LABELS: Final[Mapping[Clock, str]] = {"virtual": "models", "kernel": "Linux's TCP and Wi-Fi"}

#: Congestion controls.
CONTROLS: Final = ("reno", "cubic", "bbr", "hybla", "westwood")
#: Name of the split connection in tables.
SPLIT: Final = "cubic, split at the ship"

#: The profile of the guest's kernel, which the models use.
PROFILE: Final = "linux-6.12"

#: Mean signal-to-noise ratio at the position of the receiver.
POSITION_DB: Final = 20
#: Default number of runs of each point.
REPLICATIONS: Final = 5
#: Duration of a transfer.
DURATION_S: Final = 60

#: Maximum number of transmissions of a frame. The kernel's rate control requests three attempts at
#: each of three rates. Here, the three rates are equal.
ATTEMPTS: Final = 9

#: Port of the relay at the ship.
RELAY_PORT: Final = 4000
#: Start time of the sender. The relay listens from the start of the run.
BEGINS_S: Final = 1


def transport(congestion: str) -> dict[str, Any]:
    """Returns the keys of a transport that equals the kernel's TCP."""
    return {
        "kind": "tcp",
        "congestion": congestion,
        "profile": PROFILE,
        "recovery": "rack",
        "segment_size": 1460,
    }


def split(clock: Clock) -> tuple[str, ...]:
    """Returns the overrides for a connection that is split at the ship. The model has a proxy. The
    kernel runs a program that relays data from one connection to another."""
    if clock == "virtual":
        proxy = {"name": "pep", "node": "ship", "mechanism": {"kind": "split", "buffer": "1 MB"}}
        return (f"flow.download.transport={inline(transport('cubic'))}", f"proxy=[{inline(proxy)}]")
    program = shlex.join([sys.executable, str(HERE / "relay.py")])
    onward = {
        "name": "onward",
        "from": "ship",
        "to": "laptop",
        "transport": transport("cubic"),
        "app": {
            "kind": "command",
            "run": f"{program} relay {RELAY_PORT} {{to}} {{port}} cubic",
            "serve": f"{program} receive {{port}}",
        },
    }
    download = {
        "name": "download",
        "from": "shore",
        "to": "ship",
        "start": f"{BEGINS_S} s",
        "transport": transport("cubic"),
        "app": {"kind": "command", "run": f"{program} send {{to}} {RELAY_PORT} cubic"},
    }
    return (f"flow=[{inline(onward)}, {inline(download)}]", f'duration="{DURATION_S + BEGINS_S} s"')


def goodput(run: Run) -> float:
    """Returns the goodput of a run in Mbit/s. With the relay, it is the number of bytes that the
    receiver printed; otherwise the goodput of the only flow."""
    output = run.path / "commands" / "onward.serve.stdout"
    if output.is_file():
        return int(output.read_text()) * 8 / DURATION_S / 1e6
    return float(run.flows["goodput"][0]) / 1e6


def reproduce(
    statements: Sequence[Statement],
    out: Path,
    json: bool,
    replications: int | None = None,
    traces: Path | None = None,
) -> Reproduction:
    """Runs the models and the kernel over the trace of one position, and judges the statements,
    which compare the kernel with the models."""
    receivers = positions(traces)
    position = receivers[len(receivers) // 2] if traces else receivers[POSITIONS_DB.index(POSITION_DB)]
    seeds = range(1, (replications or REPLICATIONS) + 1)
    names = (*CONTROLS, SPLIT)
    jobs = {
        (name, clock, seed): Job(
            f"wichmo-kernel-{number}-{clock}-{seed}",
            HERE / "wichmo.toml",
            (
                f'duration="{DURATION_S} s"',
                f"network.wlan.error={inline(position.error('e'))}",
                f"network.wlan.short_retry_limit={ATTEMPTS}",
                *(('network.wlan.stack="linux"',) if clock == "kernel" else ()),
                *(split(clock) if name == SPLIT else (f"flow.download.transport={inline(transport(name))}",)),
            ),
            seed,
            clock,
            allow_commands=name == SPLIT,
        )
        for number, name in enumerate(names)
        for clock in LABELS
        for seed in seeds
    }
    with bar("TCP and Wi-Fi of the kernel", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    rates: dict[tuple[str, Clock], list[float]] = {}
    for (name, clock, _), job in jobs.items():
        rates.setdefault((name, clock), []).append(goodput(runs[job]))
    means = {key: mean_of(of) for key, of in rates.items()}
    kernel = {name: means[name, "kernel"].value for name in names}
    ours: dict[str, float | None] = {
        f"wichmo-kernel-{name}": kernel[name] / means[name, "virtual"].value for name in CONTROLS
    }
    ours["wichmo-kernel-split"] = kernel[SPLIT] / means[SPLIT, "virtual"].value
    for name in ("bbr", "hybla", "westwood"):
        ours[f"wichmo-kernel-order-{name}"] = kernel[name] / kernel["reno"]
    ours["wichmo-kernel-order-split"] = kernel[SPLIT] / kernel["cubic"]
    title = (
        f"Goodput in Mbit/s over the trace of {position.name}, means of {len(seeds)} runs of {DURATION_S} s"
    )
    rows = [[name, means[name, "virtual"].text(3), means[name, "kernel"].text(3)] for name in names]
    figure = draw(rates)
    first = DECLARED if traces is None else f"The traces are those in {traces}."
    return Reproduction(
        judge(statements, ours),
        figures={"figure-13-kernel": figure},
        notes=[first],
        tables=[Table(title, ["congestion control", "models", "kernel"], rows)],
    )


@figure_function
def draw(rates: Mapping[tuple[str, Clock], Sequence[float]]) -> Figure:
    """Draws the goodput with each congestion control. Circles: runs. Dashes: means of the models
    and of the kernel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(name for name, _ in rates))
    for number, (clock, label) in enumerate(LABELS.items()):
        offset = 0.24 * number - 0.12
        for position, name in enumerate(names):
            of = rates[name, clock]
            axes.plot([position + offset] * len(of), of, "o", color=COLOURS[number], markersize=3, alpha=0.5)
        axes.plot(
            [position + offset for position in range(len(names))],
            [mean_of(rates[name, clock]).value for name in names],
            "_",
            color=COLOURS[number],
            markersize=18,
            markeredgewidth=2,
            label=label,
        )
    axes.set_xticks(range(len(names)), [name.replace(", ", ",\n") for name in names])
    axes.set_ylabel("goodput (Mbit/s)")
    axes.set_ylim(0, None)
    axes.legend()
    return figure
