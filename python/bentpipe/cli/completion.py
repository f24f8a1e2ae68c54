"""Shell completion of preset names, and of the keys of the scenario that precedes ``--set``.

The shell itself completes files, so these functions return nothing where only a file is possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer


def presets(incomplete: str) -> list[tuple[str, str]]:
    """Returns the presets that begin with ``incomplete``, each with its description."""
    from bentpipe import _native

    return [(name, about) for name, about, _ in _native.presets() if name.startswith(incomplete)]


def profiles(incomplete: str) -> list[tuple[str, str]]:
    """Returns the profiles that begin with ``incomplete``, each with its description."""
    from bentpipe.profiles import profiles

    return [(one.name, one.about) for one in profiles().values() if one.name.startswith(incomplete)]


def tools(incomplete: str) -> list[str]:
    """Returns the tools that begin with ``incomplete``, to which paths are exported."""
    from bentpipe.tools import TOOLS

    return [name for name in TOOLS if name.startswith(incomplete)]


def starting_points(incomplete: str) -> list[tuple[str, str]]:
    """Returns presets and profiles that begin with ``incomplete``."""
    return [*presets(incomplete), *profiles(incomplete)]


def overrides(ctx: typer.Context, incomplete: str) -> list[str]:
    """Returns the keys that begin with ``incomplete``, of the scenario among the previous words. A
    complete key has its current value. Returns nothing without a readable scenario, since
    completion must not fail."""
    from bentpipe import _native
    from bentpipe.scenario.scenarios import ScenarioText, load
    from bentpipe.scenario.starters import scenario_from

    known = {name: (about, text) for name, about, text in _native.presets()}
    # An option without its value ends the parsing, so the words before it are not parsed yet.
    words = [*ctx.args, str(ctx.params.get("scenario"))]
    named = next((word for word in words if word in known or Path(word).is_file()), "")
    try:
        about = known.get(named)
        data = load(ScenarioText(scenario_from(named, *about), named) if about else named).data
    except (ValueError, OSError):
        return []
    keys = {f"{key}=": value for key, value in _keys(data, "")}
    if incomplete in keys:
        return [f"{incomplete}{keys[incomplete]}"]
    return [key for key in keys if key.startswith(incomplete)]


def _keys(table: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    """Yields the key paths of the values below a table. Entries of a list of tables are named by
    their ``name``."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{above}{key}.")
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            for index, one in enumerate(value):
                yield from _keys(one, f"{above}{key}.{one.get('name', index)}.")
        else:
            yield f"{above}{key}", value
