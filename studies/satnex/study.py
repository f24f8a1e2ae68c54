"""Reproduces the study of the SatNEx experimental platform by de Cola et al. See README.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bentpipe.errors import InputError
from bentpipe.studies import PaperFigure, Reproduction, read_published

from . import (
    eggs,
    eggs_channel,
    eggs_dtn,
    eggs_mars_day,
    impulse,
    quickstart,
    skyplex,
    startup,
    steady,
    ucit,
    ucit_kernel,
    voip,
    wichmo,
    wichmo_kernel,
)

HERE: Final = Path(__file__).parent

#: The function of each test. It takes the test's statements, the folder for runs and figures, and
#: ``json`` (true: it must not print to standard output).
TESTS: Final[dict[str, Callable[..., Reproduction]]] = {
    "eggs-channel": eggs_channel.reproduce,
    "eggs-dtn": eggs_dtn.reproduce,
    "eggs-dtn-causes": eggs_dtn.explain,
    "eggs-mars-day": eggs_mars_day.reproduce,
    "eggs-tcp": eggs.reproduce,
    "eggs-tcp-virtual": eggs.simulate,
    "skyplex": skyplex.reproduce,
    "ucit": ucit.reproduce,
    "ucit-kernel": ucit_kernel.reproduce,
    "voip": voip.reproduce,
    "voip-causes": voip.explain,
    "votos-startup": startup.reproduce,
    "votos-startup-causes": startup.explain,
    "votos-impulse": impulse.reproduce,
    "votos-quickstart": quickstart.reproduce,
    "votos-quickstart-causes": quickstart.explain,
    "votos-steady": steady.reproduce,
    "votos-steady-packets": steady.reproduce_packets,
    "votos-steady-causes": steady.explain,
    "wichmo": wichmo.reproduce,
    "wichmo-kernel": wichmo_kernel.reproduce,
}

#: The figures, by label.
FIGURES: Final = {
    "3": PaperFigure(
        "votos-startup",
        "Slow start over demand assignment: acknowledged data. Dashed: the analytical model with the equivalent "
        "delay that fits our connections up to 90 segments; band: with the delay of the paper.",
    ),
    "4": PaperFigure(
        "votos-impulse",
        "Response of demand assignment to impulses of UDP traffic. Dashed: four times the mean response to 300 "
        "kbit/s, as the paper states. Triangles: the response ends later than with half the super-frame.",
    ),
    "5": PaperFigure(
        "votos-quickstart",
        "Delay of TFRC with and without Quick-Start. Level: the paper's cut of our median delay without "
        "Quick-Start. Circles with bars: the end of the start-up by the paper.",
    ),
    "table-i": PaperFigure(
        "votos-steady",
        "Goodput, round-trip time, window and time-outs of competing flows; means and medians, with 95 % "
        "confidence intervals. Circles: the paper's values with the tolerances of the statements.",
    ),
    "6": PaperFigure("voip", "The test bed of one call or several calls, with interfering traffic"),
    "conference": PaperFigure("voip", "The test bed of a conference"),
    "8": PaperFigure(
        "voip", "Distribution of the rate of a call; the paper's distribution is that of G.711u"
    ),
    "9": PaperFigure(
        "voip",
        "Rate of a call with GSM over SIP (9a) and IAX2 (9b), alone and beside traffic that fills the link. "
        "Levels: our mean rate over IAX2, which is not significantly different by the paper.",
    ),
    "table-ii": PaperFigure(
        "voip",
        "Mean opinion scores and calls that are set up beside interfering traffic, by codec. The paper's X at 1.4 "
        "Mbit/s is no call, and LAGGED at 1.2 a score of at most 1.5, as we read it.",
    ),
    "10": PaperFigure(
        "wichmo", "Mean lengths of bursts and gaps of frame errors; both exceed those of independent losses"
    ),
    "11": PaperFigure("wichmo", "Goodput with the traces (e) and with fitted loss processes (a) to (d)"),
    "12": PaperFigure("wichmo", "States of the signal-to-noise ratio, with the loss in each state"),
    "13": PaperFigure(
        "wichmo",
        "Error bursts and success bursts under rate adaptation; dotted: mean lengths. Triangles: by the paper, the "
        "mean success burst is shorter with ARF than without, and shorter with LD-ARF than with ARF.",
    ),
    "14": PaperFigure("ucit", "The laboratory"),
    "17": PaperFigure("ucit", "A Hybla transfer of 200 s over Skyplex"),
    "18": PaperFigure("eggs-tcp-virtual", "Instants at which measurements are sent"),
    "19": PaperFigure("eggs-tcp-virtual", "Congestion window against the number of the measurement"),
    "20": PaperFigure("eggs-dtn", "Bundles received over the long-haul link, and the same over TCP"),
    "mars-day": PaperFigure("eggs-mars-day", "Measurements of a Martian day, by transport"),
}

#: The tests that need a kernel of virtual time.
KERNEL: Final = ("eggs-tcp", "ucit-kernel", "wichmo-kernel")

#: The tests that take a folder of traces and a number of replications.
TRACED: Final = ("wichmo", "wichmo-kernel")


def reproduce(
    test: str,
    out: Path,
    json: bool,
    replications: int | None = None,
    traces: Path | None = None,
) -> Reproduction:
    """Runs a test and judges its statements. ``replications`` and ``traces`` apply
    to the tests of :data:`TRACED` only."""
    options = {"replications": replications, "traces": traces}
    for option, value in options.items():
        if value is not None and test not in TRACED:
            raise InputError(
                f"--{option} is only for the tests {' and '.join(TRACED)} of the study satnex; leave out --{option}"
            )
    statements = read_published(HERE / "published.csv", test)
    return TESTS[test](statements, out, json, **(options if test in TRACED else {}))
