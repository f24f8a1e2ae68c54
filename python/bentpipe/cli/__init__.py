"""The command line. One file per command; what they share is in ``common``, ``output`` and ``stopping``.

Nothing heavy is imported before it is needed, so that ``bentpipe --help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from .calibrate import calibrate
from .check import check
from .common import guarded
from .compare import compare
from .doctor import doctor
from .emulate import emulate
from .new import new
from .plot import plot
from .predict import predict
from .report import report
from .reproduce import reproduce
from .schema import schema
from .show import show
from .simulate import simulate

app = typer.Typer(
    name="bentpipe",
    help="How the Internet behaves over satellites: one scenario, predicted and simulated, side by side.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

for command in (
    simulate,
    emulate,
    check,
    show,
    predict,
    reproduce,
    plot,
    report,
    compare,
    new,
    schema,
    doctor,
    calibrate,
):
    app.command()(guarded(command))


def _version(wanted: bool) -> None:
    if wanted:
        from bentpipe import _native

        typer.echo(f"bentpipe {_native.version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """What stands before the command."""


def main() -> None:
    """The entry point ``bentpipe``."""
    app()
