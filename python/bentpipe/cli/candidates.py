"""Options and output of the satellites that may have served a measured path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe.errors import InputError

if TYPE_CHECKING:
    from bentpipe.measure.candidates import Grid, Sky, Slot
    from bentpipe.results.runs import Run

Elements = Annotated[
    Path | None,
    typer.Option(
        "--elements",
        metavar="FILE",
        help="Element sets (TLE or OMM) of a constellation, to find the satellites that may have served "
        "each slot. Needs --terminal.",
        show_default=False,
    ),
]
Terminal = Annotated[
    str | None,
    typer.Option(
        "--terminal",
        metavar="PLACE",
        help="Position of the terminal: latitude and longitude in degrees, optionally height in metres, "
        "such as 47.37,8.54,400.",
        show_default=False,
    ),
]
Gateway = Annotated[
    str | None,
    typer.Option("--gateway", metavar="PLACE", help="Position of the gateway, if known.", show_default=False),
]
Mask = Annotated[
    float,
    typer.Option(
        "--mask", min=-5, max=89, metavar="DEGREES", help="Lowest elevation at which a satellite serves."
    ),
]
Slots = Annotated[
    str | None,
    typer.Option(
        "--slots",
        metavar="SECONDS",
        help="Slots of the operator: length and start within each minute of UTC, in seconds; 15,12 for "
        "Starlink.",
        show_default="the measured slots",
    ),
]
#: Minimum elevation of Starlink's terminals in degrees.
MASK = 25.0

#: Maximum number of printed candidates of a slot.
SHOWN = 3
#: Minimum probability of a printed candidate, and minimum probability of an identified satellite.
LIKELY, IDENTIFIED = 0.05, 0.9


def sky(
    elements: Path | None, terminal: str | None, gateway: str | None, mask: float, slots: str | None
) -> tuple[Sky, Grid | None] | None:
    """Returns the values of the options; ``None`` without element sets."""
    from bentpipe.measure.candidates import Grid, Place, Sky

    if elements is None:
        if (terminal, gateway, slots) != (None, None, None):
            raise InputError(
                "--terminal, --gateway and --slots need the satellites' element sets: add --elements FILE"
            )
        return None
    if terminal is None:
        raise InputError("--elements needs the position of the terminal: add --terminal LATITUDE,LONGITUDE")
    near = Place.read("--terminal", terminal)
    far = None if gateway is None else Place.read("--gateway", gateway)
    return Sky.read(elements, near, far, mask), None if slots is None else Grid.read(slots)


def find_candidates(run: Run, seen: Sky, grid: Grid | None) -> tuple[list[Slot], list[str]]:
    """Finds the satellites that may have served a run, and adds them to it as the table
    `candidates`."""
    from bentpipe.measure import candidates

    found, notes = candidates.candidates(run, seen, grid)
    candidates.write(run, found)
    return found, notes


def show(found: list[Slot], notes: list[str]) -> None:
    """Prints the likeliest satellites of each slot."""
    from .output import print_note, print_table

    rows = []
    for slot in found:
        likely = [one for one in slot.candidates[:SHOWN] if one.probability >= LIKELY] or slot.candidates[:1]
        rows += [
            [
                f"{slot.begin:.1f}" if number == 0 else "",
                one.satellite,
                f"{one.elevation:.0f}",
                f"{one.azimuth:.0f}",
                f"{1e3 * one.least:.2f}",
                f"{1e3 * one.change:+.3f}",
                f"{1e3 * slot.change:+.3f}" if number == 0 else "",
                f"{100 * one.probability:.0f}",
            ]
            for number, one in enumerate(likely)
        ]
    columns = (
        "slot\ns",
        "satellite",
        "elevation\ndeg",
        "azimuth\ndeg",
        "minimum\nms",
        "change\nms",
        "measured\nms",
        "probability\n%",
    )
    print_table(columns, rows, text_columns=2, title="Satellites that may have served each slot")
    sure = sum(bool(slot.candidates) and slot.candidates[0].probability >= IDENTIFIED for slot in found)
    seen = sum(len(slot.candidates) for slot in found) / max(1, len(found))
    print_note(
        f"{sure} of {len(found)} slots have a satellite that is at least {100 * IDENTIFIED:.0f} % likely; "
        f"{seen:.0f} satellites per slot are possible on average."
    )
    for note in notes:
        print_note(f"* {note}")
