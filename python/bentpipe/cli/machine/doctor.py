"""``bentpipe machine doctor``: checks whether this machine can emulate."""

from __future__ import annotations

import textwrap
from typing import Annotated, Any

import typer

from bentpipe.errors import InputError

from ..common import TROUBLE, Json

WIDTH = 80
INDENT = 29


def doctor(
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="List the limits of measurements instead: clock, time stamps, buffers."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Check whether this machine can emulate.

    Lists missing and limited features, with a remedy for each. The exit code is 0 if emulation is
    possible.
    """
    import json as codec

    from bentpipe import _native

    from ..output import print_json

    if measure:
        from bentpipe.measure.accuracy import examine

        findings = examine()
        if json:
            print_json({"findings": findings})
            return
        for finding in findings:
            for line in explain(finding):
                typer.echo(line)
        return
    examination = codec.loads(_native.examine())
    examination["findings"].append(_kernel())
    if json:
        print_json(examination)
    else:
        for finding in examination["findings"]:
            for line in explain(finding):
                typer.echo(line)
        possible = "possible" if examination["possible"] else "impossible"
        typer.echo(f"emulation is {possible} on this machine")
    if not examination["possible"]:
        raise typer.Exit(TROUBLE)


def _kernel() -> dict[str, Any]:
    """Returns the finding about the kernel for emulation in virtual time. Real time does not need
    this kernel."""
    from bentpipe.guest import store

    finding: dict[str, Any] = {"what": "virtual time", "needed": False}
    try:
        found = f"Linux {store.current().version} for --clock kernel"
    except InputError:
        how = "build one with `bentpipe machine kernel build`, once, in a few minutes"
        return finding | {"status": "limited", "found": "no kernel for --clock kernel", "remedy": how}
    return finding | {"status": "ok", "found": found, "remedy": None}


def explain(finding: dict[str, Any]) -> list[str]:
    """Returns a finding as lines of at most 80 columns, with the remedy below.

    >>> explain({"status": "ok", "what": "TUN device", "found": "it is there", "remedy": None})
    ['ok       TUN device          it is there']
    """
    heads = [f"{finding['status']:<9}{finding['what']:<20}", " " * INDENT]
    return [
        line
        for head, text in zip(heads, (finding["found"], finding["remedy"]), strict=True)
        if text
        for line in textwrap.wrap(
            text,
            WIDTH,
            initial_indent=head,
            subsequent_indent=" " * INDENT,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
