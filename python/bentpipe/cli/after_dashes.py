"""Commands that run another command, whose words follow ``--`` and are passed on exactly as
typed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import typer

from bentpipe.errors import InputError

from .plain import PlainCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY: Final = "bentpipe.command"


class CommandAfterDashes(PlainCommand):
    """A command with ``-- COMMAND...`` at its end."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Splits off the words after ``--`` before options are parsed."""
        own = args.index("--") if "--" in args else len(args)
        asked = bool({"-h", "--help"} & set(args)) or ctx.resilient_parsing
        if args and own == len(args) and not asked:
            ctx.fail(f"write -- before the command, as in `{ctx.command_path} {_example(args)}`")
        ctx.meta[_KEY] = args[own + 1 :]
        return super().parse_args(ctx, args[:own])

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Returns the parts of the usage line."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def _example(args: list[str]) -> str:
    """Returns the probable intention: the first word is the network or host, the others are the
    command."""
    if len(args) > 1 and not args[0].startswith("-"):
        return shlex.join([args[0], "--", *args[1:]])
    return f"{args[0] if not args[0].startswith('-') else 'geo'} -- ping server"


def command_of(context: typer.Context, example: str) -> Sequence[str]:
    """Returns the words after ``--``."""
    words: list[str] = context.meta.get(_KEY, [])
    if not words:
        raise InputError(f"no command given: write it after --, as in `{example}`")
    return words
