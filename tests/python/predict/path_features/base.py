"""A row of the table, and the link that most rows vary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

FLOW: Final = {"name": "f", "from": "a", "to": "b", "app": "bulk"}


TCP: Final = {"kind": "tcp", "congestion": "reno", "initial_ssthresh": 40}


QUIET: Final[dict[str, Any]] = {"record": {"traces": []}}


#: A link that loses nothing during the run.
LINK: Final[dict[str, Any]] = {
    "name": "link",
    "duration": "30 s",
    **QUIET,
    "link": [{"name": "w", "from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "50 ms"}],
    "flow": [{**FLOW, "transport": TCP}],
}


@dataclass(frozen=True)
class Row:
    """Keys, the scenario that uses them, and the word by which a note names them if the numbers
    omit them."""

    keys: str
    base: dict[str, Any]
    sets: tuple[str, ...] = ()
    word: str | None = None
