"""The test ``ucit`` of UCIT (TATPA), the test bed for transport protocols: its report of a Hybla
transfer (figure 17), and its laboratory with the senders, router panels, proxy and DTN agents that
the paper names. The scenario of the laboratory is a template of ``bentpipe serve``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import bentpipe as bp
import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.plots.network import network
from bentpipe.plots.series import draw_sent, draw_window
from bentpipe.plots.style import figure_function, panels
from bentpipe.results.runs import Run
from bentpipe.statistics import mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent
#: The folder of the templates of ``bentpipe serve``.
TEMPLATES: Final = Path(bp.__file__).parent / "testbed" / "templates"

#: Parameters of Hybla as in Linux's module.
LINUX_HYBLA: Final = "{hoe=0,spacing=0,coarse=1,per_ack=1,from_rho=1}"
#: Overrides of the transfer of figure 17, by sender. "Hybla" is the full Hybla of the paper.
TRANSFERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Hybla": (),
    "Linux's Hybla": (f"flow.hybla.transport.parameters={LINUX_HYBLA}",),
    "Reno": ("flow.hybla.transport.congestion=reno",),
}
#: Rate of the Skyplex channel of the transfer.
RATE_BIT_S: Final = 2.112e6
#: Size of a packet of the transfer in bytes.
PACKET: Final = 1500

#: bentpipe's names of the congestion controls of Linux 2.6, the kernel of the test bed's time.
LINUX: Final[Mapping[str, str]] = {
    "New Reno": "reno",
    "BIC": "bic",
    "CUBIC": "cubic",
    "HighSpeed": "highspeed",
    "H-TCP": "htcp",
    "Hybla": "hybla",
    "Illinois": "illinois",
    "LP": "lp",
    "Scalable": "scalable",
    "Vegas": "vegas",
    "Veno": "veno",
    "Westwood+": "westwood",
    "YeAH": "yeah",
}
#: Overrides of the laboratory's satellite connection, by sender.
SENDERS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: (f"flow.satellite.transport.congestion={one}",) for name, one in LINUX.items()},
    "Hybla": (f"flow.satellite.transport.parameters={LINUX_HYBLA}",),
    "Hybla, full": (),
    "Westwood+ of FreeBSD": (
        "flow.satellite.transport.congestion=westwood",
        "flow.satellite.transport.profile=freebsd",
    ),
}
#: Overrides by the panels of Router 1 and Router 2. The template has the RED panel of the paper.
PANELS: Final[Mapping[str, tuple[str, ...]]] = {
    "RED": (),
    "Drop Tail, 2000 B": ('link.bottleneck.queue={kind="drop-tail",bytes="2000 B"}',),
    "RED, PEPsal": (
        'proxy=[{name="pepsal",node="router2",mechanism={kind="split",buffer="1 MB",'
        'sides.satellite={congestion="hybla"}}}]',
    ),
}
#: Override for the satellite connection alone: the wired connection starts shortly before the end
#: of the run.
ALONE: Final = 'flow.wired.start="59.9 s"'
#: Seeds of the runs of the laboratory.
SEEDS: Final = (1, 2, 3)
#: Upper threshold of the RED panel in bytes.
RED_MAX: Final = 22_500
#: Time from which both connections send.
BOTH_S: Final = 10.0


@dataclass(frozen=True)
class Loss:
    """A reduction of the congestion window by a loss."""

    #: Time of the loss.
    at_s: float
    #: Window before the loss, in segments.
    before: float
    #: Time from the loss until the window has this size again. Infinite if another loss is earlier.
    regained_s: float


def losses(time: FloatArray, cwnd: FloatArray, state: FloatArray) -> list[Loss]:
    """Returns the losses in the log of a connection: times in seconds, windows in segments, and
    Linux's congestion states.

    A loss starts with state 3 (Recovery) or 4 (Loss). The window has recovered when it reaches its
    previous size in a different state."""
    recovering = state >= 3
    starts = np.flatnonzero(recovering & ~np.concatenate(([True], recovering[:-1])))
    found = []
    for start, end in pairwise([*starts, len(time)]):
        before = cwnd[start - 1]
        regained = np.flatnonzero(~recovering[start:end] & (cwnd[start:end] >= before))
        regained_s = float(time[start + regained[0]] - time[start]) if len(regained) else math.inf
        found.append(Loss(float(time[start]), float(before), regained_s))
    return found


def losses_of(run: Run) -> list[Loss]:
    """Returns the losses of the only flow of a run."""
    ((time, cwnd),) = trace_of(run, "tcp.cwnd").values()
    ((_, state),) = trace_of(run, "tcp.ca_state").values()
    return losses(time, cwnd, state)


def reopening(run: Run) -> float:
    """Returns the median time from a loss until the window has recovered, divided by the time that
    Reno needs: half of the window, in round trips without queueing."""
    rtt = float(run.flows["rtt_min"][0])
    ratios = [loss.regained_s / (loss.before / 2 * rtt) for loss in losses_of(run)]
    return float(np.median(ratios)) if ratios else math.nan


def first_threshold(run: Run, rate_bit_s: float) -> float:
    """Returns the first slow-start threshold before the first loss, divided by the bandwidth-delay
    product. Returns infinity if there is no such threshold."""
    ((time, threshold),) = trace_of(run, "tcp.ssthresh").values()
    found = losses_of(run)
    known = threshold[(time < (found[0].at_s if found else math.inf)) & ~np.isnan(threshold)]
    product = rate_bit_s / 8 * float(run.flows["rtt_min"][0]) / PACKET
    return float(known[0] / product) if len(known) else math.inf


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates the transfer of figure 17 and the laboratory, and judges the statements."""
    transfers = {
        name: Job(f"ucit-17-{number}", HERE / "ucit-hybla.toml", changes)
        for number, (name, changes) in enumerate(TRANSFERS.items())
    }
    laboratory = {
        (sender, panel, seed): Job(
            f"ucit-{number}-{panel_number}-{seed}",
            TEMPLATES / "laboratory.toml",
            (
                *of_sender,
                *of_panel,
                'record.traces=["link"]' if sender == "Hybla, full" else "record.traces=[]",
            ),
            seed,
        )
        for number, (sender, of_sender) in enumerate(SENDERS.items())
        for panel_number, (panel, of_panel) in enumerate({"alone": (ALONE,), **PANELS}.items())
        for seed in SEEDS
    }
    agents = Job("ucit-dtn", HERE / "ucit-dtn.toml")
    with bar("ucit", shown=not json) as progress:
        runs = run_all([*transfers.values(), *laboratory.values(), agents], out / "runs", progress)
    hybla = runs[transfers["Hybla"]]
    of = {key: runs[job] for key, job in laboratory.items()}
    full = [of["Hybla, full", "RED", seed] for seed in SEEDS]
    ours: dict[str, float | None] = {
        "ucit-losses": float(len(losses_of(hybla))),
        "ucit-reopening": round(reopening(hybla), 4),
        "ucit-senders": float(sum(works(of, name) for name in LINUX)),
        "ucit-red": round(float(np.mean([waiting(run) for run in full])), 1),
        "ucit-competing": round(
            mean_of([goodput(run, "satellite") for run in full]).value
            / mean_of([goodput(of["Hybla, full", "alone", seed], "satellite") for seed in SEEDS]).value,
            4,
        ),
        "ucit-dtn": float(runs[agents].flows["delivered_packets"][0]),
    }
    figures = {
        "figure-14-laboratory": network(TEMPLATES / "laboratory.toml"),
        "figure-17-hybla": draw(hybla),
    }
    tables = [
        transfer_table(
            "Figure 17: 200 s over Skyplex DATA, 2112 kbit/s (medians over losses)",
            RATE_BIT_S,
            {name: runs[job] for name, job in transfers.items()},
        ),
        laboratory_table(of),
    ]
    return Reproduction(judge(statements, ours), figures=figures, tables=tables)


def goodput(run: Run, flow: str) -> float:
    """Returns the goodput of a flow in bit/s."""
    return float(next(row["goodput"] for row in run.flows.to_dicts() if row["flow"] == flow))


def works(of: Mapping[tuple[str, str, int], Run], sender: str) -> bool:
    """Returns true if a sender delivers data over the satellite with every panel."""
    return all(goodput(run, "satellite") > 0 for (name, _, _), run in of.items() if name == sender)


def waiting(run: Run) -> float:
    """Returns the mean queue length at Router 1 in bytes while both connections send. Samples are
    taken at arrivals and include the arriving packet."""
    time, waits = trace_of(run, "link.queue_bytes")["bottleneck"]
    return float(waits[time >= BOTH_S].mean())


def transfer_table(title: str, rate_bit_s: float, runs: Mapping[str, Run]) -> Table:
    """Returns the table of a transfer over a link with this rate, with each sender."""
    rows = []
    for name, run in runs.items():
        found, flow = losses_of(run), run.flows.to_dicts()[0]
        times = [loss.regained_s for loss in found]
        rows.append(
            [
                name,
                f"{flow['goodput'] / 1e6:.2f}",
                str(len(found)),
                str(flow["timeouts"]),
                f"{np.median([loss.before for loss in found]):.0f}" if found else "-",
                f"{np.median(times):.1f}" if found else "-",
                f"{reopening(run):.3f}" if found else "-",
                f"{first_threshold(run, rate_bit_s):.2f}",
            ]
        )
    header = [
        "sender",
        "goodput Mbit/s",
        "losses",
        "time-outs",
        "window before",
        "regained after s",
        "over Reno's growth",
        "first ssthresh over BDP",
    ]
    return Table(title, header, rows)


def laboratory_table(of: Mapping[tuple[str, str, int], Run]) -> Table:
    """Returns the table of the goodputs of the satellite connection and of the concurrent wired
    connection, by sender and panel."""
    rows = []
    for sender in SENDERS:
        row = [sender]
        for panel in ("alone", *PANELS):
            values = [
                mean_of([goodput(of[sender, panel, seed], flow) for seed in SEEDS]).value / 1e6
                for flow in ("satellite", "wired")
            ]
            row.append(f"{values[0]:.2f}" if panel == "alone" else f"{values[0]:.2f}, {values[1]:.2f}")
        rows.append(row)
    header = ["sender", "RED, alone", *PANELS]
    return Table(
        "The laboratory: goodput over the satellite, and of the wired New Reno beside it, in Mbit/s",
        header,
        rows,
    )


@figure_function
def draw(run: Run) -> Figure:
    """Draws figure 17: sent segments, congestion window and slow-start threshold of the
    transfer."""
    figure, (above, below) = panels([2.4, 2.6])
    draw_sent(above, run)
    draw_window(below, run, predictions=False)
    below.set_xlabel("time (s)")
    below.set_xlim(0, 200)
    return figure
