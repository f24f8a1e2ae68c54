"""Help of commands without the Python types of their arguments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

if TYPE_CHECKING:
    import typer


class PlainCommand(TyperCommand):
    """A command whose help is in words: no Python types, ranges and defaults without symbols of programs."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """The command's parameters, with their texts in words."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            # Where a default is in words, Typer puts them in parentheses, and nothing else.
            if isinstance(param.show_default, str):
                param._get_default_string = partial(_same, param.show_default)
            param._get_number_range_help_str = partial(_range, param)
            if param.param_type_name == "argument":
                param.display_type_rich = partial(_same, "")
                param.get_usage_pieces = partial(_usage, param)
            elif param.metavar is None:
                # The values of a choice without the angle brackets of a type.
                param.display_type_rich = partial(_same, (param.display_type_rich(ctx) or "").strip("<>"))
        return params


def _same(text: str, *_: Any, **__: Any) -> str:
    return text


def _range(param: Any) -> str | None:
    """Returns the range of a number in words."""
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    if least is None and most is None:
        return None
    if most is None:
        return f"at least {least:g}"
    return f"at most {most:g}" if least is None else f"{least:.10g} to {most:.10g}"


def _usage(param: Any, _ctx: typer.Context) -> list[str]:
    """Returns an argument for the line of usage: in brackets if it may be left out, with dots if it repeats."""
    name = param.display_name_raw
    if not param.required and not name.startswith("["):
        name = f"[{name}]"
    return [f"{name}..." if param.nargs != 1 and not name.endswith(("...", "...]")) else name]
