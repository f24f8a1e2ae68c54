"""VOTOS, steady state (Table I): pairs of TCP variants over Skyplex and a wireless LAN with frame errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe import plots
from bentpipe.jobs import Job, run_all
from bentpipe.plots.data import trace_of
from bentpipe.plots.style import COLOURS, INK, figure_function, panels
from bentpipe.runs import Run
from bentpipe.statistics import Mean, mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

SEEDS: Final = 8
RATE_BIT_S: Final = 2.112e6
#: Bytes of a packet in which the paper counts windows.
PACKET: Final = 1500
SEGMENT: Final = 1460


@dataclass(frozen=True)
class Flow:
    """A row of Table I: variant, errors of its frames, and what the paper measured, as means."""

    congestion: str
    recovery: str
    frame_errors: float
    rtt_s: float
    cwnd: float
    goodput: float

    @property
    def name(self) -> str:
        """As the paper says."""
        variant = {"reno": "New Reno", "westwood": "Westwood+"}[self.congestion]
        return f"{variant} SACK" if self.recovery == "sack" else variant


#: Table I.
TRIALS: Final = {
    1: (
        Flow("reno", "newreno", 2.6e-3, 1.56, 59.6, 0.32),
        Flow("reno", "sack", 3.3e-3, 2.03, 119, 0.39),
    ),
    2: (
        Flow("westwood", "newreno", 4.6e-3, 1.83, 101, 0.31),
        Flow("westwood", "sack", 3.9e-3, 1.72, 78, 0.32),
    ),
    3: (
        Flow("reno", "newreno", 1.4e-3, 1.90, 58.9, 0.27),
        Flow("westwood", "newreno", 1.1e-3, 1.65, 58.3, 0.30),
    ),
    4: (
        Flow("reno", "sack", 3.1e-4, 3.99, 196, 0.46),
        Flow("westwood", "sack", 4.3e-4, 4.05, 213, 0.50),
    ),
}

#: Frames that are lost in a row, in the mean, where errors come in bursts.
BURST: Final = 8.0

#: Quantities of a flow that there are statements on.
QUANTITIES: Final = ("goodput", "rtt")

Outcome = Mapping[tuple[int, int], Mapping[str, Mean]]


def simulate(name: str, burst: float | None, out: Path, json: bool) -> Outcome:
    """Every trial with several seeds, frame errors being independent or in bursts: means by trial and flow."""
    jobs = {}
    for trial, flows in TRIALS.items():
        changes: list[str] = []
        for number, flow in enumerate(flows):
            transport = f"flow.{('first', 'second')[number]}.transport"
            kind = "packet" if burst is None else "gilbert"
            bursts = "" if burst is None else f", burst = {burst}"
            changes += [
                f"{transport}.congestion={flow.congestion}",
                f"{transport}.recovery={flow.recovery}",
                f'link.wlan{number + 1}.error={{ kind = "{kind}", probability = {flow.frame_errors}{bursts} }}',
            ]
        for seed in range(1, SEEDS + 1):
            jobs[trial, seed] = Job(
                f"{name}-{trial}-{seed}", HERE / "votos-steady.toml", tuple(changes), seed
            )
    with bar(name, shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    measured = {
        (trial, number): [measures(runs[job], flow) for (of, _), job in jobs.items() if of == trial]
        for trial in TRIALS
        for number, flow in enumerate(("first", "second"))
    }
    return {
        key: {quantity: mean_of([one[quantity] for one in of]) for quantity in of[0]}
        for key, of in measured.items()
    }


def measures(run: Run, flow: str) -> dict[str, float]:
    """Goodput over the channel's rate, mean round-trip time in seconds, mean window in packets, time-outs."""
    row = next(row for row in run.flows.to_dicts() if row["flow"] == flow)
    time, window = trace_of(run, "tcp.cwnd")[flow]
    return {
        "goodput": row["goodput"] / RATE_BIT_S,
        "rtt": row["rtt_mean"],
        # A value lasts until the next row.
        "cwnd": float(np.average(window[:-1], weights=np.diff(time))) * SEGMENT / PACKET,
        "timeouts": row["timeouts"],
    }


def ours_of(prefix: str, outcome: Outcome) -> dict[str, float | None]:
    """Values by the names of statements."""
    return {
        f"{prefix}-{trial}{'ab'[number]}-{quantity}": round(of[quantity].value, 4)
        for (trial, number), of in outcome.items()
        for quantity in QUANTITIES
    }


def ratios(prefix: str, outcome: Outcome) -> dict[str, float | None]:
    """What the table says of all trials: how many losses cost, and how a pair shares."""
    total = {trial: sum(outcome[trial, number]["goodput"].value for number in (0, 1)) for trial in TRIALS}
    shares = [
        min(pair) / max(pair)
        for trial in TRIALS
        for pair in [[outcome[trial, number]["goodput"].value for number in (0, 1)]]
    ]
    few = np.mean([outcome[4, number]["rtt"].value for number in (0, 1)])
    many = np.mean([outcome[trial, number]["rtt"].value for trial in (1, 2, 3) for number in (0, 1)])
    return {
        f"{prefix}-rare": round(total[4] / float(np.mean([total[1], total[2], total[3]])), 4),
        f"{prefix}-rtt-rare": round(float(few / many), 4),
        f"{prefix}-fair": round(min(shares), 4),
    }


def table_of(title: str, outcome: Outcome) -> Table:
    """Table I with ours beside the paper's."""
    rows = []
    for (trial, number), of in outcome.items():
        flow = TRIALS[trial][number]

        def both(quantity: str, paper: float, digits: int, of: Mapping[str, Mean] = of) -> str:
            mean = of[quantity]
            return f"{mean.value:.{digits}f} ± {mean.half_width:.{digits}f} ({paper:g})"

        rows.append(
            [
                str(trial),
                flow.name,
                f"{flow.frame_errors:.1e}",
                both("goodput", flow.goodput, 2),
                both("rtt", flow.rtt_s, 2),
                both("cwnd", flow.cwnd, 0),
                f"{of['timeouts'].value:.1f}",
            ]
        )
    return Table(title, ["trial", "variant", "FER", "goodput", "RTT s", "cwnd", "RTOs"], rows)


def explain(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """The same with frame errors in bursts."""
    outcome = simulate("votos-steady-causes", BURST, out, json)
    title = f"Table I with errors in bursts of {BURST:g} frames, ours (paper): means over seeds, 95 %"
    ours = ours_of("steady-burst", outcome) | ratios("steady-burst", outcome)
    return Reproduction(judge(statements, ours), tables=[table_of(title, outcome)])


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulate the trials with independent frame errors."""
    outcome = simulate("votos-steady", None, out, json)
    figure = draw(outcome)
    files = [
        plots.save(figure, out / "figures" / f"table-1-steady.{ending}") for ending in ("png", "svg", "pdf")
    ]
    title = "Table I with independent frame errors, ours (paper): means over seeds, 95 %"
    ours = ours_of("steady", outcome) | ratios("steady", outcome)
    return Reproduction(judge(statements, ours), figures=files, tables=[table_of(title, outcome)])


@figure_function
def draw(outcome: Outcome) -> Figure:
    """Goodput and round-trip time of each flow of Table I: ours as bars, with confidence intervals, and the paper's."""
    figure, both = panels([2.5, 2.5])
    places = [3 * trial + number for trial, number in outcome]
    names = [TRIALS[trial][number].name for trial, number in outcome]
    for axes, quantity, label, paper in (
        (both[0], "goodput", "goodput / 2112 kbit/s", [TRIALS[t][n].goodput for t, n in outcome]),
        (both[1], "rtt", "mean RTT (s)", [TRIALS[t][n].rtt_s for t, n in outcome]),
    ):
        values = [of[quantity].value for of in outcome.values()]
        widths = [of[quantity].half_width for of in outcome.values()]
        axes.bar(places, values, yerr=widths, color=COLOURS[0], label="simulated, independent errors")
        axes.plot(places, paper, linestyle="", marker="D", color=INK, label="Table I")
        axes.set_ylabel(label)
        axes.set_ylim(0, None)
        axes.set_xticks(places, [""] * len(places))
    both[0].legend(loc="upper left")
    both[1].set_xticks(places, names, rotation=30, ha="right")
    return figure
