"""The paths of a matrix: one scenario without flows per file of the folder ``paths``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from bentpipe.errors import text_of

FOLDER: Final = Path(__file__).with_name("paths")

#: Order of the paths in tables. Further files of the folder follow.
_ORDER: Final = ("geo", "geo-loss", "picoquic", "dvb-rcs", "leo", "moon")


@dataclass(frozen=True)
class MatrixPath:
    """A path: the nodes of client and server, the node at which a proxy splits TCP, and the time
    limits of the loads that the path carries. ``scenario`` has the links and networks."""

    name: str
    about: str
    source: str
    client: str
    server: str
    proxy: str
    limits: dict[str, str]
    scenario: dict[str, Any]

    def with_flow(self, load: str, flow: dict[str, Any], **tables: Any) -> dict[str, Any]:
        """Returns the scenario of a run: the path with a flow, whose packets are captured at client
        and server."""
        return {
            "name": f"{self.name}, {load}",
            "duration": self.limits[load],
            **self.scenario,
            "flow": [{"name": "transfer", **flow}],
            "record": {"capture": [self.client, self.server], "traces": []},
            **tables,
        }


@cache
def paths() -> dict[str, MatrixPath]:
    """Returns the paths by name."""
    files = {file.stem: file for file in sorted(FOLDER.glob("*.toml"))}
    return {name: _path(files[name]) for name in dict.fromkeys((*_ORDER, *files))}


def _path(file: Path) -> MatrixPath:
    text = text_of(file)
    scenario = tomllib.loads(text)
    about = text.partition("\n")[0].removeprefix("# ")
    return MatrixPath(name=file.stem, about=about, scenario=scenario, **scenario.pop("path"))
