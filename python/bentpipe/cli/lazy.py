"""Commands that are imported when they are used, in a list with headings.

typer takes about 4 ms to build a command from its function, and the program has more than seventy
commands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup

from .common import guarded
from .interrupts import quietly
from .plain import PlainCommand, processed


class Section(NamedTuple):
    """A part of a list of commands: a sentence, and the names of the commands."""

    about: str
    names: Sequence[str]


class GroupedCommands(TyperGroup):
    """A command whose subcommands are files of a folder, listed under headings."""

    #: The package of the files.
    package: ClassVar[str]
    #: The sections by their heading.
    sections: ClassVar[Mapping[str, Section]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        names = [name for section in self.sections.values() for name in section.names]
        self.commands = _Files(self.package, names)  # type: ignore[assignment]

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Returns the options before the command."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            param.process_value = partial(processed, param)
        return params

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Writes the sections of commands."""
        width = formatter.width - 4 - max(map(len, self.commands))
        for heading, (about, names) in self.sections.items():
            with formatter.section(heading):
                if about:
                    formatter.write_text(about)
                    formatter.write_paragraph()
                formatter.write_dl([(name, self.commands[name].get_short_help_str(width)) for name in names])


def family(package: str, about: str, names: Sequence[str]) -> typer.Typer:
    """Returns a command whose subcommands ``names`` are the files of a package."""

    class Family(GroupedCommands):
        """The commands of one package."""

    Family.package = package
    Family.sections = {"Commands": Section("", names)}
    return typer.Typer(
        name=package.rpartition(".")[2],
        cls=Family,
        help=about,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )


class _Files(Mapping[str, Any]):
    """Commands by their names, each built at first use."""

    def __init__(self, package: str, names: Sequence[str]) -> None:
        self._package = package
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return _command(self._package, name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def _command(package: str, name: str) -> Any:
    """Returns the command of a file: its ``app`` if it has subcommands, else the function of the
    file's name.

    If the name is reserved or built into Python, the function's name ends in an underscore.
    """
    with quietly():
        module = import_module(f".{name}", package)
    app = getattr(module, "app", None)
    if app is not None:
        return typer.main.get_group(app)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    function = getattr(module, name, None) or getattr(module, f"{name}_")
    app.command(name, cls=getattr(module, "COMMAND_CLASS", PlainCommand))(guarded(function))
    return typer.main.get_command(app)
