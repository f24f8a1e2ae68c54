"""Profiles of satellite accesses: scenarios whose values have sources.

A profile is a TOML file of this folder, with a description in its first line. The tables
``profile`` hold its sources, the source of each value, published quantities, and the same
quantities of its simulation. The rest is a scenario without flows. The folder is the list of
profiles.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.scenario.scenarios import Scenario

FOLDER: Final = Path(__file__).parent

#: The nodes of every profile: the user's end and the end on the Internet.
USER: Final = "user"
SERVER: Final = "server"

#: Quantities of a profile, with their units. Rates are those of a saturated direction, delays are
#: one way and without load (:mod:`bentpipe.measure.profiled`).
UNITS: Final = {
    "rate_down": "Mbit/s",
    "rate_up": "Mbit/s",
    "delay_down": "ms",
    "delay_up": "ms",
    "rtt": "ms",
}

#: The statistics of a quantity, each with its quantile.
STATISTICS: Final = {"min": 0.0, "p5": 0.05, "p50": 0.5, "p95": 0.95}

#: The flow of a scenario that starts from a profile.
_FLOW: Final = """
[[flow]]
name = "page"
from = "user"
to = "server"
app = { kind = "http", request = "500 B", object = "60 kB" }
transport = { kind = "tcp", congestion = "cubic" }
"""


@dataclass(frozen=True)
class Profile:
    """A profile: its name, its description, and its text."""

    name: str
    text: str

    @property
    def about(self) -> str:
        """The description: the first line of the file."""
        return self.text.partition("\n")[0].removeprefix("# ")

    @property
    def head(self) -> Mapping[str, Any]:
        """The tables ``profile``: ``band``, ``unknown``, ``score``, ``audit`` (promises of its
        emulation, and the finding of their audit; not with a score), ``sources``,
        ``values``, ``published`` and ``quantiles``."""
        head: dict[str, Any] = tomllib.loads(self.text)["profile"]
        return head

    @property
    def scenario_text(self) -> str:
        """The scenario as TOML with one flow: the text without the tables ``profile``, preceded by
        the sources as comments."""
        kept: list[str] = []
        inside = False
        for line in self.text.splitlines():
            if line.startswith("["):
                inside = line.startswith("[profile")
            if not inside and (line or (kept and kept[-1])):
                kept.append(line)
        comments = [f"# {line}" for line in self.source_lines()]
        return "\n".join([kept[0], "#", *comments, "", *kept[1:]]) + "\n" + _FLOW

    def source_lines(self) -> list[str]:
        """Returns a line for each value with its source, and one for each unknown property."""
        lines = []
        for key, origin in self.head["values"].items():
            lines.append(f"{key}: {self.origin(origin)}")
        return lines + [f"unknown: {one}" for one in self.head["unknown"]]

    def origin(self, origin: Mapping[str, str]) -> str:
        """Returns the source of a value, and what the profile assumes, as text."""
        parts = []
        if "source" in origin:
            sources = self.head["sources"]
            names = [sources[one.strip()] for one in origin["source"].split(",")]
            cited = "; ".join(f"{one['authors']}, {one['date']}" for one in names)
            parts.append(f"{cited}{': ' + origin['where'] if 'where' in origin else ''}")
        if "assumed" in origin:
            parts.append(f"assumed: {origin['assumed']}")
        return "; ".join(parts)

    def load(self) -> Scenario:
        """Resolves and validates the scenario."""
        from bentpipe.scenario.scenarios import ScenarioText, load

        return load(ScenarioText(self.scenario_text, f"profile {self.name}"))


@cache
def profiles() -> dict[str, Profile]:
    """Returns the profiles by name."""
    return {
        file.stem: Profile(file.stem, file.read_text(encoding="utf-8"))
        for file in sorted(FOLDER.glob("*.toml"))
    }


def profile_named(name: str) -> Profile:
    """Returns the profile with this name, or else the only one whose name begins with it.

    Raises :class:`bentpipe.InputError`.
    """
    known = profiles()
    meant = [one for one in known if name and one.startswith(name)]
    if name in known or len(meant) == 1:
        return known[name if name in known else meant[0]]
    if meant:
        raise InputError(f'"{name}" is ambiguous; it matches {" or ".join(meant)}')
    raise unknown("profile", name, known)
