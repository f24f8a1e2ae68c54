"""Help of commands: arguments without their Python types, and a list of commands in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typing import Any

    import typer


class PlainCommand(TyperCommand):
    """A command whose help does not show the types of arguments."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """The command's parameters, arguments without their types."""
        params = super().get_params(ctx)
        for param in params:
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: ""  # type: ignore[attr-defined]  # noqa: ARG005
        return params


class GroupedCommands(TyperGroup):
    """A command whose help lists its subcommands under the headings of their help panels."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # noqa: ARG002
        """Write the groups of commands."""
        groups: dict[str, list[tuple[str, str]]] = {}
        width = formatter.width - 4 - max(map(len, self.commands))
        for name, command in self.commands.items():
            about = command.get_short_help_str(width)
            groups.setdefault(getattr(command, "rich_help_panel", "Commands"), []).append((name, about))
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows)
