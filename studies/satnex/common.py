"""Parts that tests share: offsets in the super-frame of VOTOS, and pictures of set-ups."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bentpipe import load
from bentpipe.scenario.topology import drawing
from bentpipe.studies import Table

#: A super-frame of Skyplex DATA with N = 6, M = 8, L = 8 on the low-rate channel.
SUPERFRAME_S: Final = 0.8204
#: Propagation delay in one direction, in seconds.
ONE_WAY_S: Final = 0.25


def offsets_s(count: int, first_s: float) -> list[float]:
    """Returns moments from ``first_s`` on that divide a super-frame evenly."""
    return [round(first_s + SUPERFRAME_S * number / count, 6) for number in range(count)]


def picture(about: str, scenario: Path) -> Table:
    """Returns the nodes and links of a scenario, as ``bentpipe check`` draws them."""
    return Table(about, ["network"], [[line] for line in drawing(load(scenario))])
