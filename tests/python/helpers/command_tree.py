"""The tree of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bentpipe.cli import app
from typer.main import get_command


def commands_below(command: Any, path: str = "bentpipe") -> Iterator[tuple[str, Any, Any]]:
    """Yields a command and all below it: its path, itself and its context."""
    yield path, command, command.make_context(path, [], resilient_parsing=True)
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands_below(inner, f"{path} {name}")


#: Every command and its context, by its path.
TREE = {path: (command, context) for path, command, context in commands_below(get_command(app))}
#: The commands with subcommands.
FAMILIES = [path for path, (command, _) in TREE.items() if hasattr(command, "commands")]
#: The commands without subcommands.
LEAVES = [path for path in TREE if path not in FAMILIES]
