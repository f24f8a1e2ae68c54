"""Commands that are imported when they are used, in a list with headings.

typer takes about 4 ms to build a command from its function, and the program has more than fifty
commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperGroup

from .common import guarded
from .interrupts import quietly
from .plain import PlainCommand, processed

if TYPE_CHECKING:
    from collections.abc import Sequence


class GroupedCommands(TyperGroup):
    """A command whose subcommands are files of this folder, listed under headings."""

    #: The names of the commands by their heading.
    groups: ClassVar[Mapping[str, Sequence[str]]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Files([name for names in self.groups.values() for name in names])  # type: ignore[assignment]

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Returns the options before the command."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            param.process_value = partial(processed, param)
        return params

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Writes the groups of commands."""
        width = formatter.width - 4 - max(map(len, self.commands))
        for heading, names in self.groups.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(width)) for name in names])


class _Files(Mapping[str, Any]):
    """Commands by their names, each built at first use."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return _command(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def _command(name: str) -> Any:
    """Returns the command of a file: its ``app`` if it has subcommands, else the function of the
    file's name.

    If the name is reserved or built into Python, the function's name ends in an underscore.
    """
    with quietly():
        module = import_module(f".{name}", __package__)
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        function = getattr(module, name, None) or getattr(module, f"{name}_")
        app.command(name, cls=getattr(module, "COMMAND_CLASS", PlainCommand))(guarded(function))
    return typer.main.get_command(app)
