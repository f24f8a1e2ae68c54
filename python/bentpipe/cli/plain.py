"""Help of commands without the Python types of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperCommand

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
