"""Commands that are given a command: what stands after ``--`` is its words, exactly as they were typed."""

from __future__ import annotations

import shlex
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
        if args and own == len(args) and not {"-h", "--help"} & set(args):
            ctx.fail(f"put -- before the command, as in `{ctx.command_path} {_example(args)}`")
        ctx.meta[_KEY] = args[own + 1 :]
        return super().parse_args(ctx, args[:own])

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """What stands in the line of usage."""
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def _example(args: list[str]) -> str:
    """What was probably meant: the first word is the network or the host, the others are the command."""
    if len(args) > 1 and not args[0].startswith("-"):
        return shlex.join([args[0], "--", *args[1:]])
    return f"{args[0] if not args[0].startswith('-') else 'geo'} -- ping server"


def command_of(context: typer.Context, example: str) -> Sequence[str]:
    """The words after ``--``."""
    words: list[str] = context.meta.get(_KEY, [])
    if not words:
        raise InputError(f"no command: write it after --, as in `{example}`")
    return words
