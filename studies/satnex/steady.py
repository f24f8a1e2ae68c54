"""The tests ``votos-steady``, ``votos-steady-packets`` and ``votos-steady-causes`` of VOTOS (table
I): pairs of TCP variants in the steady state, over Skyplex and a wireless LAN with frame errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import duration_s, trace_of
from bentpipe.plots.published import legend_entries, mark_value
from bentpipe.plots.style import COLOURS, INK, figure_function, panels
from bentpipe.results.runs import Run
from bentpipe.statistics import Mean, mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge, read_published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Number of seeds, each with one run per trial.
SEEDS: Final = 8
#: Maximum capacity on demand of a terminal: the "shared satellite capacity of 1.4 Mbit/s" of the
#: paper's section on VoIP, 32 of the 48 slots of a multi-frame.
RATE_BIT_S: Final = 1.408e6
#: Size in bytes of a packet, the paper's unit of windows.
PACKET: Final = 1500
#: Payload of a segment, in bytes.
SEGMENT: Final = 1460
#: The median goodput is the median of means over windows of this length.
WINDOW_S: Final = 10.0


@dataclass(frozen=True)
class Flow:
    """A row of table I: a flow of a trial."""

    #: Congestion control, "reno" or "westwood".
    congestion: str
    #: Loss recovery, "newreno" or "sack".
    recovery: str
    #: Frame error rate.
    frame_errors: float

    @property
    def name(self) -> str:
        """The paper's name of the variant."""
        variant = {"reno": "New Reno", "westwood": "Westwood+"}[self.congestion]
        return f"{variant} SACK" if self.recovery == "sack" else variant


#: The two flows of each trial of table I, by the number of the trial.
TRIALS: Final = {
    1: (
        Flow("reno", "newreno", 2.6e-3),
        Flow("reno", "sack", 3.3e-3),
    ),
    2: (
        Flow("westwood", "newreno", 4.6e-3),
        Flow("westwood", "sack", 3.9e-3),
    ),
    3: (
        Flow("reno", "newreno", 1.4e-3),
        Flow("westwood", "newreno", 1.1e-3),
    ),
    4: (
        Flow("reno", "sack", 3.1e-4),
        Flow("westwood", "sack", 4.3e-4),
    ),
}

#: Quantities of a flow that statements judge.
QUANTITIES: Final = ("goodput", "goodput-median", "rtt", "rtt-median", "cwnd", "cwnd-median", "timeouts")


@dataclass(frozen=True)
class Setup:
    """Our assumptions for the parameters that table I does not state."""

    name: str = "as in the study"
    #: Maximum capacity on demand. The channel has 2112 kbit/s.
    capacity_kbit_s: int = 1408
    #: Mean number of consecutive frames that are lost. 1: independent losses.
    burst: float = 10
    #: Mean time in which all frames are lost. ``None``: losses have bursts of ``burst`` frames.
    lasts_ms: int | None = None
    #: Maximum number of transmissions of a frame.
    transmissions: int = 8
    #: Initial slow-start threshold in segments. ``None``: unlimited.
    ssthresh: int | None = 60
    #: Length of the terminal's queue in packets.
    queue: int = 400
    #: Profile of the TCP stack.
    profile: str = "linux-2.6.32"

    def station(self, laptop: str, frame_errors: float) -> str:
        """Returns a station of the wireless LAN, with the error process of its frames, as an inline
        table."""
        if self.lasts_ms is not None:
            # A chain of two states with steps of 1 ms: no losses, and only losses.
            ends = 1 / self.lasts_ms
            begins = ends * frame_errors / (1 - frame_errors)
            chain = f"[[{1 - begins}, {begins}], [{ends}, {1 - ends}]]"
            error = (
                'kind = "snr-states", step = "1 ms", rates = ["11 Mbit/s"], loss = [[0.0], [1.0]], '
                f"transitions = {chain}"
            )
        elif self.burst > 1:
            error = f'kind = "gilbert", probability = {frame_errors}, burst = {float(self.burst)}'
        else:
            error = f'kind = "packet", probability = {frame_errors}'
        return f'{{ name = "{laptop}", error = {{ {error} }} }}'


#: The set-up of the study.
STUDY: Final = Setup()

#: The second set-up of the study: the frame error rate of table I is that of packets that the link
#: layer has lost, in bursts.
PACKETS: Final = replace(STUDY, name="packets lost in bursts of 10", transmissions=1)

#: Set-ups with one changed assumption each; the last three also have no retransmissions.
SETUPS: Final = (
    STUDY,
    replace(STUDY, name="all of the channel, 2112 kbit/s", capacity_kbit_s=2112),
    replace(STUDY, name="frames lost independently, 7 retransmissions", burst=1),
    replace(STUDY, name="bursts of 5 frames", burst=5),
    replace(STUDY, name="bursts of 20 frames", burst=20),
    replace(STUDY, name="frames lost independently, no retransmissions", burst=1, transmissions=1),
    replace(STUDY, name="no initial ssthresh", ssthresh=None),
    replace(STUDY, name="queue of 700 packets", queue=700),
    replace(STUDY, name="all frames of 20 ms lost", lasts_ms=20),
    replace(STUDY, name="all frames of 100 ms lost", lasts_ms=100),
    replace(STUDY, name="all frames of 500 ms lost", lasts_ms=500),
    replace(STUDY, name="profile classic", profile="classic"),
    # The frame error rate counts packets that the link layer has lost: the second reading of
    # "Wireless FER".
    replace(STUDY, name="packets lost in bursts of 5", burst=5, transmissions=1),
    PACKETS,
    replace(STUDY, name="packets lost in bursts of 20", burst=20, transmissions=1),
)

#: Means over seeds by quantity, for each trial and flow (0 or 1).
Outcome = Mapping[tuple[int, int], Mapping[str, Mean]]


def simulate(setup: Setup, name: str, out: Path, json: bool, seeds: int = SEEDS) -> Outcome:
    """Simulates every trial with ``seeds`` seeds and returns the means over the seeds. ``name``
    starts the names of the runs."""
    jobs = {}
    for trial, flows in TRIALS.items():
        stations = ", ".join(
            setup.station(f"laptop{number}", flow.frame_errors) for number, flow in enumerate(flows, 1)
        )
        changes = [
            f'network.sat.terminals=[{{ name = "st1", max = "{setup.capacity_kbit_s} kbit/s" }}]',
            f"network.sat.return.queue.packets={setup.queue}",
            f"network.wlan.stations=[{stations}]",
            f"network.wlan.short_retry_limit={setup.transmissions}",
        ]
        for number, flow in enumerate(flows):
            transport = f"flow.{('first', 'second')[number]}.transport"
            changes += [
                f"{transport}.profile={setup.profile}",
                f"{transport}.congestion={flow.congestion}",
                f"{transport}.recovery={flow.recovery}",
            ]
            if setup.ssthresh is not None:
                changes.append(f"{transport}.initial_ssthresh={setup.ssthresh}")
        for seed in range(1, seeds + 1):
            jobs[trial, seed] = Job(
                f"{name}-{trial}-{seed}", HERE / "votos-steady.toml", tuple(changes), seed
            )
    with bar(name, shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    measured = {
        (trial, number): [measures(runs[job], flow, setup) for (of, _), job in jobs.items() if of == trial]
        for trial in TRIALS
        for number, flow in enumerate(("first", "second"))
    }
    return {
        key: {quantity: mean_of([one[quantity] for one in of]) for quantity in of[0]}
        for key, of in measured.items()
    }


def measures(run: Run, flow: str, setup: Setup) -> dict[str, float]:
    """Returns the quantities of a flow: goodput as a fraction of the capacity, round-trip times in
    seconds, and windows in packets."""
    row = next(row for row in run.flows.to_dicts() if row["flow"] == flow)
    time, window = trace_of(run, "tcp.cwnd")[flow]
    # A value is valid until the next row.
    durations, window = np.diff(time), window[:-1] * SEGMENT / PACKET
    order = np.argsort(window)
    middle = int(np.searchsorted(np.cumsum(durations[order]), durations.sum() / 2))
    acknowledged_at, acknowledged = trace_of(run, "tcp.acknowledged")[flow]
    edges = np.arange(0.0, duration_s(run) + 1e-9, WINDOW_S)
    totals = np.concatenate(([0.0], acknowledged))[np.searchsorted(acknowledged_at, edges, side="right")]
    capacity = setup.capacity_kbit_s * 1e3
    return {
        "goodput": row["goodput"] / capacity,
        "goodput-median": float(np.median(np.diff(totals))) * 8 / WINDOW_S / capacity,
        "rtt": row["rtt_mean"],
        "rtt-median": row["rtt_p50"],
        "cwnd": float(np.average(window, weights=durations)),
        "cwnd-median": float(window[order[middle]]),
        "timeouts": row["timeouts"],
    }


def row_of(trial: int, number: int) -> str:
    """Returns the begin of the ids of statements about a flow (0 or 1) of a trial.

    >>> row_of(1, 0)
    'steady-1a'
    """
    return f"steady-{trial}{'ab'[number]}"


def ours_of(outcome: Outcome) -> dict[str, float | None]:
    """Returns the values for the rows of table I, by the ids of statements."""
    return {
        f"{row_of(trial, number)}-{quantity}": round(of[quantity].value, 4)
        for (trial, number), of in outcome.items()
        for quantity in QUANTITIES
    }


def ratios(outcome: Outcome) -> dict[str, float | None]:
    """Returns the values that compare trials, and the flows of a trial, by the ids of
    statements."""
    goodput = {key: of["goodput"].value for key, of in outcome.items()}
    total = {trial: goodput[trial, 0] + goodput[trial, 1] for trial in TRIALS}
    shares = [min(pair) / max(pair) for trial in TRIALS for pair in [(goodput[trial, 0], goodput[trial, 1])]]
    few = np.mean([outcome[4, number]["rtt"].value for number in (0, 1)])
    many = np.mean([outcome[trial, number]["rtt"].value for trial in (1, 2, 3) for number in (0, 1)])
    return {
        "steady-rare": round(total[4] / float(np.mean([total[1], total[2], total[3]])), 4),
        "steady-rtt-rare": round(float(few / many), 4),
        "steady-fair": round(min(shares), 4),
        "steady-west-aggressive": round(goodput[4, 1] / goodput[4, 0], 4),
        "steady-west-robust": round(goodput[3, 1] / goodput[3, 0], 4),
        "steady-reno-best": round(goodput[1, 1] / max(goodput[1, 0], goodput[2, 0], goodput[2, 1]), 4),
        "steady-west-timeouts": round(outcome[3, 1]["timeouts"].value - outcome[3, 0]["timeouts"].value, 4),
    }


def table_of(title: str, outcome: Outcome, statements: Sequence[Statement]) -> Table:
    """Returns table I with our values, and the values of the paper's statements in brackets."""
    paper = {statement.id: statement.value for statement in statements}
    rows = []
    for (trial, number), of in outcome.items():
        flow = TRIALS[trial][number]

        def both(
            quantity: str, digits: int, row: str = row_of(trial, number), of: Mapping[str, Mean] = of
        ) -> str:
            mean, middle = of[quantity], of[f"{quantity}-median"]
            stated = f"{paper[f'{row}-{quantity}']:g}, {paper[f'{row}-{quantity}-median']:g}"
            return f"{mean.text(digits)}, {middle.value:.{digits}f} ({stated})"

        rows.append(
            [
                str(trial),
                flow.name,
                f"{flow.frame_errors:.1e}",
                both("goodput", 2),
                both("rtt", 2),
                both("cwnd", 0),
                f"{of['timeouts'].value:.1f} ({paper[f'{row_of(trial, number)}-timeouts']:g})",
            ]
        )
    return Table(title, ["trial", "variant", "FER", "goodput", "RTT s", "cwnd", "RTOs"], rows)


def explain(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Returns the table of the effect of each assumption: the number of statements of table I that
    hold, and several measures, with four seeds."""
    known = read_published(HERE / "published.csv", "votos-steady")
    paper = {statement.id: statement.value for statement in known}
    claims = {statement.id for statement in known if statement.role == "claim"}
    rows = []
    for number, setup in enumerate(SETUPS):
        outcome = simulate(setup, f"votos-steady-{number}", out, json, SEEDS // 2)
        verdicts = judge(known, ours_of(outcome) | ratios(outcome))
        held = sum(verdict.outcome == "holds" and verdict.statement.id in claims for verdict in verdicts)
        errors = [abs(of["goodput"].value - paper[f"{row_of(*key)}-goodput"]) for key, of in outcome.items()]
        rtt = [np.mean([outcome[trial, flow]["rtt"].value for flow in (0, 1)]) for trial in (1, 4)]
        timeouts = [sum(outcome[trial, flow]["timeouts"].value for flow in (0, 1)) for trial in TRIALS]
        # Median window divided by mean window, for each flow.
        medians = [of["cwnd-median"].value / of["cwnd"].value for of in outcome.values()]
        rows.append(
            [
                setup.name,
                f"{held} of {len(claims)}",
                f"{np.mean(errors):.2f}",
                *(f"{one:.2f}" for one in rtt),
                ", ".join(f"{one:.1f}" for one in timeouts),
                f"{np.mean(medians):.2f}",
            ]
        )
    header = [
        "set-up",
        "hold",
        "mean error of goodput",
        "RTT of trial 1 s (1.8)",
        "of trial 4 s (4.0)",
        "time-outs of each trial (27, 33, 32, 3)",
        "window: median over mean (0.79)",
    ]
    return Reproduction(
        judge(statements, {}), tables=[Table("Effect of each assumption (four seeds)", header, rows)]
    )


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the trials of table I and judges the statements."""
    outcome = simulate(STUDY, "votos-steady", out, json)
    figure = draw(outcome, statements)
    title = "Table I, ours (paper): means over seeds with 95 % confidence intervals, medians"
    return Reproduction(
        judge(statements, ours_of(outcome) | ratios(outcome)),
        figures={"table-i-steady": figure},
        tables=[table_of(title, outcome, statements)],
    )


def reproduce_packets(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Judges the statements of table I with the set-up :data:`PACKETS`."""
    outcome = simulate(PACKETS, "votos-steady-packets", out, json)
    ours = {f"packets-{name}": value for name, value in (ours_of(outcome) | ratios(outcome)).items()}
    return Reproduction(judge(statements, ours))


@figure_function
def draw(outcome: Outcome, statements: Sequence[Statement]) -> Figure:
    """Draws table I: goodput, round-trip time, window and time-outs of each flow. Bars: our values
    with confidence intervals. Circles: the paper's values with their tolerances."""
    figure, all_four = panels([2.0, 2.0, 2.0, 1.6])
    positions = [3 * trial + number for trial, number in outcome]
    names = [f"{trial}: {TRIALS[trial][number].name}" for trial, number in outcome]
    paper = {statement.id: statement for statement in statements}
    for axes, quantity, label in zip(
        all_four,
        ("goodput", "rtt", "cwnd", "timeouts"),
        ("goodput / 1408 kbit/s", "RTT (s)", "cwnd (packets)", "time-outs"),
        strict=True,
    ):
        bars = {"mean": quantity, "median": f"{quantity}-median"}
        if quantity == "timeouts":
            bars = {"number": quantity}
        for index, (name, measure) in enumerate(bars.items()):
            at = np.array(positions) + 0.42 * (index - (len(bars) - 1) / 2)
            axes.bar(
                at,
                [of[measure].value for of in outcome.values()],
                0.4,
                yerr=[of[measure].half_width for of in outcome.values()],
                color=COLOURS[0 if index == 0 else 5],
                error_kw={"elinewidth": 0.8, "ecolor": INK, "capsize": 2},
                label=f"{name}, simulated",
            )
            for position, (trial, number) in zip(at, outcome, strict=True):
                if (stated := paper.get(f"{row_of(trial, number)}-{measure}")) is not None:
                    mark_value(axes, stated, float(position), face="white")
        axes.set_ylabel(label)
        axes.set_ylim(0, None)
        axes.grid(visible=False, axis="x")
        axes.set_xticks(positions, [""] * len(positions))
    figure.legend(handles=legend_entries(all_four[0]), loc="outside upper right", ncols=3)
    all_four[-1].set_xticks(positions, names, rotation=30, ha="right")
    return figure
