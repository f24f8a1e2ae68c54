"""WICHMO beyond the paper with the TCP and the Wi-Fi of a Linux kernel in virtual time, next to the
models of both: congestion controls, and a relay at the ship that splits the connection."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from bentpipe import plots
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.style import COLOURS, figure_function
from bentpipe.statistics import mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

from .wichmo import DECLARED, HERE, POSITIONS_DB, inline, positions

if TYPE_CHECKING:
    from bentpipe.results.runs import Run
    from matplotlib.figure import Figure

Clock = Literal["virtual", "kernel"]
LABELS: Final[Mapping[Clock, str]] = {"virtual": "models", "kernel": "Linux' TCP and Wi-Fi"}

CONTROLS: Final = ("reno", "cubic", "bbr", "hybla", "westwood")
SPLIT: Final = "cubic, split at the ship"

#: The models' TCP stack: that of the guest's kernel.
PROFILE: Final = "linux-6.12"

#: The position of the traces, runs of each point, and their duration.
POSITION_DB: Final = 20
REPLICATIONS: Final = 5
DURATION_S: Final = 60

#: Largest number of transmissions of a frame. The kernel's rate control asks for three attempts at
#: each of three rates, which are one rate here; the model has the same limit.
ATTEMPTS: Final = 9

#: Port of the relay at the ship, and start time of the sender, a second after the relay listens.
RELAY_PORT: Final = 4000
BEGINS_S: Final = 1


def transport(congestion: str) -> dict[str, Any]:
    """Returns the TCP of the kernel as keys of a scenario."""
    return {
        "kind": "tcp",
        "congestion": congestion,
        "profile": PROFILE,
        "recovery": "rack",
        "segment_size": 1460,
    }


def split(clock: Clock) -> tuple[str, ...]:
    """Returns the overrides for a connection that is split at the ship: by a proxy in the model,
    and in the kernel by a program that relays from one connection to another."""
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
    """Returns the goodput in Mbit/s: that of the only flow, or the count of the relay's
    receiver."""
    counted = run.path / "commands" / "onward.serve.stdout"
    if counted.is_file():
        return int(counted.read_text()) * 8 / DURATION_S / 1e6
    return float(run.flows["goodput"][0]) / 1e6


def reproduce(
    statements: Sequence[Statement],
    out: Path,
    json: bool,
    replications: int | None = None,
    traces: Path | None = None,
) -> Reproduction:
    """Runs models and kernel over the trace of one position, and judges. The paper has no values
    for it."""
    places = positions(traces)
    position = places[len(places) // 2] if traces else places[POSITIONS_DB.index(POSITION_DB)]
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
    files = [
        plots.save(figure, out / "figures" / f"wichmo-kernel.{ending}") for ending in ("png", "svg", "pdf")
    ]
    first = DECLARED if traces is None else f"The traces are those in {traces}."
    return Reproduction(
        judge(statements, ours),
        figures=files,
        notes=[first],
        tables=[Table(title, ["congestion control", "models", "kernel"], rows)],
    )


@figure_function
def draw(rates: Mapping[tuple[str, Clock], Sequence[float]]) -> Figure:
    """Draws goodput with each congestion control: every run, and the means of the models and of the
    kernel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(name for name, _ in rates))
    for number, (clock, label) in enumerate(LABELS.items()):
        aside = 0.24 * number - 0.12
        for place, name in enumerate(names):
            of = rates[name, clock]
            axes.plot([place + aside] * len(of), of, "o", color=COLOURS[number], markersize=3, alpha=0.5)
        axes.plot(
            [place + aside for place in range(len(names))],
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
