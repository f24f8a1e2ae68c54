"""Commands that are given a command: what stands after ``--`` is its words, exactly as they were typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer
from typer.core import TyperCommand

from bentpipe.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY: Final = "bentpipe.command"


class CommandAfterDashes(TyperCommand):
    """A command with ``-- COMMAND...`` at its end."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Take the command's words away before options are looked for."""
        own = args.index("--") if "--" in args else len(args)
        ctx.meta[_KEY] = args[own + 1 :]
        return super().parse_args(ctx, args[:own])

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """What stands in the line of usage."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def command_of(context: typer.Context, example: str) -> Sequence[str]:
    """The words after ``--``."""
    words: list[str] = context.meta.get(_KEY, [])
    if not words:
        raise InputError(f"no command: write it after --, as in `{example}`")
    return words
