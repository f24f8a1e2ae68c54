"""Reproduces the study of the SatNEx experimental platform by de Cola et al. See README.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bentpipe.errors import InputError, unknown
from bentpipe.studies import Reproduction, read_published

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
    "votos-steady-causes": steady.explain,
    "wichmo": wichmo.reproduce,
    "wichmo-kernel": wichmo_kernel.reproduce,
}

#: The tests that need a kernel of virtual time.
KERNEL: Final = ("eggs-tcp", "ucit-kernel", "wichmo-kernel")

#: The tests that take a folder of traces and a number of replications.
TRACED: Final = ("wichmo", "wichmo-kernel")


def reproduce(
    test: str | None,
    out: Path,
    json: bool,
    replications: int | None = None,
    traces: Path | None = None,
) -> Reproduction:
    """Runs a test, or all tests, and judges its statements. ``replications`` and ``traces`` apply
    to the tests of :data:`TRACED` only."""
    options = {"replications": replications, "traces": traces}
    for option, value in options.items():
        if value is not None and test not in TRACED:
            raise InputError(
                f"--{option} is only for the tests {' and '.join(TRACED)} of the study satnex; leave out --{option}"
            )
    if test not in (None, *TESTS):
        raise unknown("test", test or "", TESTS, str(HERE))
    statements = read_published(HERE / "published.csv")
    parts = [
        TESTS[name](
            [statement for statement in statements if statement.test == name],
            out,
            json,
            **(options if name in TRACED else {}),
        )
        for name in (TESTS if test is None else (test,))
    ]
    return Reproduction(
        [verdict for part in parts for verdict in part.verdicts],
        [figure for part in parts for figure in part.figures],
        [note for part in parts for note in part.notes],
        [table for part in parts for table in part.tables],
    )
