"""``bentpipe docs``: the site that comes with the package, or the pages of a clone."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from bentpipe.documentation import CLONE, SITE, render
from bentpipe.errors import InputError, unknown

from .common import Json


def docs(
    page: Annotated[
        str | None,
        typer.Argument(
            metavar="PAGE",
            help="The page to open, such as tutorial or reference/presets. If unset, the start page.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--print", help="Print the address of the page instead of opening the page.")
    ] = False,
    json: Json = False,
) -> None:
    """Open the documentation in a browser.

    The pages are files of the package and need no network. In a clone without the site of
    `make docs`, renders plain pages from the Markdown files. Without a graphical session, prints
    the address of the page.
    """
    import webbrowser

    start = SITE / "docs"
    if not (start / "index.html").is_file():
        if not (CLONE / "docs/index.md").is_file():
            raise InputError(
                "this installation has no documentation; build it with `make docs` in a clone of the repository"
            )
        start = render(CLONE) / "docs"
    name = page or "index"
    # The first folder of the site contains the playground and the pages of the repository's root.
    places = [folder / f"{name.removesuffix('.md')}.html" for folder in (start, start.parent)]
    file = next((one for one in places if one.is_file()), None)
    if file is None:
        names = [str(one.relative_to(start).with_suffix("")) for one in start.rglob("*.html")]
        names += [one.stem for one in start.parent.glob("*.html")]
        raise unknown("page", name, names, allowed="the pages that the start page links (bentpipe docs)")
    address = file.as_uri()
    if json:
        from .output import print_json

        print_json({"address": address})
        return
    graphical = any(os.environ.get(one) for one in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if show or not graphical or not webbrowser.open(address):
        typer.echo(address)
