"""Help texts and refusals of arguments in words, without Python types."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

from .renamed import refuse_old_option


class PlainCommand(TyperCommand):
    """A command whose help describes types, ranges and defaults in words. It refuses empty file
    names, which would mean the current folder."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Refuses the old name of an option with its new name."""
        if not ctx.resilient_parsing:
            refuse_old_option(ctx, args)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Returns the command's parameters, with their texts in words."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            param.process_value = partial(processed, param)
            # Typer puts a default in words in parentheses.
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


def processed(param: Any, ctx: typer.Context, value: Any) -> Any:
    """Returns the value of a parameter as its function gets it. Raises ``typer.BadParameter``."""
    texts = value if isinstance(value, list | tuple) else [value]
    types = _types(param.type_descriptor.annotation)
    if Path in types and "" in texts:
        raise typer.BadParameter(
            "the value is empty; allowed: the name of a file or folder", ctx=ctx, param=param
        )
    param._runtime_param = _conversion(types, value)
    try:
        return type(param).process_value(param, ctx, value)
    except typer.BadParameter as error:
        number = next((one for one in (int, float) if one in types), None)
        wrong = next((text for text in texts if number and not _is(number, text)), None)
        if number is None:
            raise
        what = "a whole number" if number is int else "a number"
        allowed = ", ".join(filter(None, (what, _range(param))))
        why = f"{texts[0]} is out of range" if wrong is None else f"{wrong} is not {what}"
        raise typer.BadParameter(f"{why}; allowed: {allowed}", ctx=ctx, param=param) from error


class _Unchecked:
    """Converts texts and paths without pydantic, whose import takes longer than most commands."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:  # noqa: ARG002
        """Returns the value of a parameter as its function gets it."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        return [self._kind(one) for one in value] if several else self._kind(value)


def _conversion(types: set[Any], value: Any) -> _Unchecked | None:
    """Returns the conversion of a value that needs no check: a missing value, a text, a path, or a
    default of the parameter's type. Returns None for other values, which typer converts."""
    if value is None:
        return _Unchecked(str)
    if any(get_origin(one) in (tuple, Literal) for one in types):
        return None
    kinds = {one for one in types if isinstance(one, type)} - {type(None)}
    if kinds in ({str}, {Path}):
        return _Unchecked(*kinds)
    return _Unchecked(type(value)) if type(value) in kinds - {str} else None


def _types(annotation: Any) -> set[Any]:
    """Returns the types of which an annotation consists, such as those of ``list[int] | None``."""
    return {annotation}.union(*map(_types, get_args(annotation)))


def _is(number: type, text: Any) -> bool:
    try:
        number(text)
    except ValueError:
        return False
    return True


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
    """Returns an argument for the usage line, in brackets if it is optional, and with dots if it
    can be repeated."""
    name = param.display_name_raw
    if not param.required and not name.startswith("["):
        name = f"[{name}]"
    return [f"{name}..." if param.nargs != 1 and not name.endswith(("...", "...]")) else name]
