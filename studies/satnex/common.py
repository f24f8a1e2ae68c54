"""Functions that several tests use: start times over a super-frame of VOTOS, and pictures of
set-ups."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bentpipe import load
from bentpipe.scenario.topology import drawing
from bentpipe.studies import Table

#: Duration of a super-frame of Skyplex DATA with N = 6, M = 8, L = 8 on the low-rate channel.
SUPERFRAME_S: Final = 0.8204
#: One-way propagation delay.
ONE_WAY_S: Final = 0.25


def offsets_s(count: int, first_s: float) -> list[float]:
    """Returns ``count`` times in seconds, equally spaced over a super-frame that starts at
    ``first_s``."""
    return [round(first_s + SUPERFRAME_S * number / count, 6) for number in range(count)]


def picture(about: str, scenario: Path) -> Table:
    """Returns a table with the drawing of a scenario's nodes and links, as printed by ``bentpipe
    check``. ``about`` is the title."""
    return Table(about, ["network"], [[line] for line in drawing(load(scenario))])
