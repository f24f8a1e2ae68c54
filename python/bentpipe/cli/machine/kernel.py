"""``bentpipe machine kernel``: builds and manages the kernels of the clock `kernel`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import TROUBLE, Json, guarded
from ..plain import PlainCommand

app = typer.Typer(
    name="kernel",
    help="Build and list the kernels of `emulate --clock kernel`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


def build(
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="NUMBER", help="Number of compilers at once.", show_default="one per processor"
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Another source of the kernel: a package linux-source-*.deb or an archive linux-*.tar.*.",
            show_default="the distribution's newest",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Build the kernel from the distribution's source package.

    Uses the installed source package, or downloads it with apt-get. As root, also installs missing
    build tools. The build takes a few minutes. Repeat the command to resume an interrupted build.
    """
    from bentpipe.guest.build import BuildStopped
    from bentpipe.guest.build import build as build_one

    from ..output import print_json
    from ..progress import shown
    from ..stopping import stoppable

    with stoppable() as stop, shown("building the kernel", stop) as bar:
        try:
            kernel = build_one(bar.describe, jobs, source)
        except BuildStopped:
            typer.echo("interrupted; run `bentpipe machine kernel build` again to resume", err=True)
            raise typer.Exit(stop.exit_code) from None
    if json:
        print_json(kernel.as_dict())
    else:
        typer.echo(f"kernel   Linux {kernel.version}, {kernel.seconds:.0f} s to build")
        typer.echo(f"in       {kernel.folder}")


def status(json: Json = False) -> None:
    """List the kernels, and check that one fits this machine. The exit code is 1 if none fits."""
    from bentpipe.guest import kernels
    from bentpipe.guest.store import HOW, fitting, place

    from ..output import print_json

    used = fitting()
    if json:
        print_json(
            {"place": place(), "used": used and used.folder, "kernels": [k.as_dict() for k in kernels()]}
        )
    for kernel in [] if json else kernels():
        state = (
            "used"
            if kernel == used
            else "fits"
            if kernel.fits
            else "built for another processor or version of bentpipe"
        )
        typer.echo(f"kernel   Linux {kernel.version}, {kernel.package}, {state}")
        typer.echo(f"in       {kernel.folder}")
        for adjustment in kernel.adjustments:
            typer.echo(f"with     {adjustment}")
    if used is None:
        if not json:
            typer.echo(f"no kernel in {place()} fits: {HOW}")
        raise typer.Exit(TROUBLE)


def use(
    version: Annotated[
        str,
        typer.Argument(
            metavar="VERSION", help="The version, or its first numbers, such as 6.12.", show_default=False
        ),
    ],
    json: Json = False,
) -> None:
    """Choose one of several kernels for all future runs."""
    from bentpipe.guest.store import use as choose

    from ..output import print_json

    kernel = choose(version)
    if json:
        print_json(kernel.as_dict())
        return
    typer.echo(f"used     Linux {kernel.version}, {kernel.folder}")


def remove(json: Json = False) -> None:
    """Remove all kernels and unfinished builds."""
    from bentpipe.guest import remove as remove_all

    from ..output import print_json

    removed = remove_all()
    if json:
        print_json({"removed": removed})
    elif not removed:
        typer.echo("no kernel was installed")
    else:
        for folder in removed:
            typer.echo(f"removed  {folder}")


for command in (build, status, use, remove):
    app.command(cls=PlainCommand)(guarded(command))
