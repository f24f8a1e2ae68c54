"""The command line. One file per command; shared code is in ``common``, ``output`` and ``stopping``.

Heavy modules are imported only when needed, so that ``bentpipe --help`` answers immediately.
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

from .after_dashes import CommandAfterDashes
from .budget import budget
from .calibrate import calibrate
from .campaign import app as campaign
from .check import check
from .common import guarded
from .compare import compare
from .contacts import app as contacts
from .docs import docs
from .doctor import doctor
from .down import down
from .emodel import emodel
from .emulate import emulate
from .execute import execute
from .explain import explain
from .fit import fit
from .kernel import app as kernel
from .lab import app as lab
from .listen import listen
from .netpipe import netpipe
from .new import new
from .pabx import pabx
from .pep import pep
from .phone import phone
from .plain import GroupedCommands, PlainCommand
from .plot import plot
from .predict import predict
from .ps import ps
from .rain import rain
from .report import report
from .reproduce import reproduce
from .run import run
from .schema import schema
from .serve import serve
from .set import set_
from .shell import shell
from .show import show
from .simulate import simulate
from .trace import trace
from .up import up
from .variants import variants
from .watch import watch

#: The commands in the order of --help, by what a user wants to do.
GROUPS: Final = {
    "Describe a network": (new, check, show, variants, trace, fit, schema),
    "Run it": (predict, simulate, emulate, campaign, reproduce),
    "Read results": (report, plot, compare, explain, netpipe, listen),
    "Use real programs in it": (run, shell, up, ps, execute, set_, watch, down, pabx, phone),
    "Calculate": (emodel, budget, rain, contacts),
    "Share it": (serve, lab),
    "Read about it": (docs,),
    "Prepare this machine": (doctor, calibrate, pep, kernel),
}

app = typer.Typer(
    name="bentpipe",
    cls=GroupedCommands,
    help="Predict, simulate and emulate Internet traffic over satellites from one scenario, and compare the results.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

for heading, commands in GROUPS.items():
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=heading)
            continue
        style = CommandAfterDashes if command in (run, execute) else PlainCommand
        app.command(cls=style, rich_help_panel=heading)(guarded(command))


def _version(wanted: bool) -> None:
    if wanted:
        from bentpipe import _native

        typer.echo(f"bentpipe {_native.version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: ARG001 - acts as it is read
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Compile congestion controls that a scenario holds as C source, and run them with your rights.",
        ),
    ] = False,
) -> None:
    """Options before the command."""
    if allow_code:
        from bentpipe.prototypes import allow_code as allow

        allow()


def main() -> None:
    """The entry point ``bentpipe``."""
    app()
