"""The compiled engine. Texts of JSON cross the border, so that nothing is described twice: bentpipe's Python modules
turn them into objects."""

from collections.abc import Callable
from typing import TypedDict

class Problem(TypedDict):
    """One thing that is wrong with a scenario; what is not known is None.

    ``file`` is the file's name, ``preset NAME`` or ``--set N``; ``path`` the key path, ``value`` the value as written,
    ``allowed`` the names to choose from or a description of the range, ``nearest`` the name that was probably meant.
    """

    file: str
    line: int | None
    column: int | None
    path: str
    value: str | None
    message: str
    allowed: list[str]
    nearest: str | None

class ScenarioError(ValueError):
    """A scenario that is refused; as text, the ready message of one or more lines."""

    problems: list[Problem]

def load(source: str | None, text: str | None, overrides: list[str]) -> str:
    """Read, override, resolve and validate a scenario.

    ``source`` is the path to read, or only the name to use in messages when ``text`` is given; ``overrides`` are
    ``key.path=value``, where a table is laid over the one that is there. Returns JSON with every default explicit:
    ``{"scenario": {...}, "toml": "...", "nodes": [...], "stages": N, "warnings": [...]}``. Raises
    :class:`ScenarioError`.
    """

def simulate(
    source: str | None,
    text: str | None,
    overrides: list[str],
    seed: int | None,
    run: int,
    out: str,
    options_json: str,
    progress: Callable[[float], bool] | None,
) -> str:
    """Run a scenario in virtual time and write the run folder ``out``, without the GIL.

    ``progress`` is told the fraction done, 0 to 1, about ten times a second of real time, and returns False to stop:
    the folder is then closed properly and marked incomplete. Returns the summary as JSON. Raises
    :class:`ScenarioError`, or ``OSError`` where the folder cannot be written. ``options_json`` is a JSON object with
    ``command``, the words of the command line, and ``started``, the time in UTC as of RFC 3339; both for the
    provenance, both optional.
    """

def schema() -> str:
    """The scenario's JSON Schema."""

def presets() -> list[tuple[str, str, str]]:
    """Name, what it is, and TOML text of each preset."""

def tables() -> str:
    """JSON: ``{"traces": [...], "reports": [...]}``, each table with its columns, units and descriptions."""

def variants() -> str:
    """JSON: the congestion control variants that are compiled in."""

def version() -> str:
    """The engine's version."""
