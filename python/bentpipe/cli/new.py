"""``bentpipe new``: writes a scenario to start from."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Annotated

import typer

from bentpipe.errors import InputError

from . import completion
from .common import Json


def new(
    preset: Annotated[
        str | None,
        typer.Argument(
            metavar="PRESET|PROFILE",
            help="The preset, or an unambiguous beginning of its name, or a profile. If unset, lists the "
            "presets; `bentpipe profiles` lists the profiles.",
            autocompletion=completion.starting_points,
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file to write, or - for standard output. If unset, NAME.toml.",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the presets.")] = False,
    json: Json = False,
) -> None:
    """Write a commented scenario that starts from a preset or profile.

    A scenario from a preset names it, and can override its values. A profile becomes a scenario
    with the source of each value.
    """
    from bentpipe import _native
    from bentpipe.profiles import profiles
    from bentpipe.scenario.starters import SCHEMA, preset_named, scenario_from

    from .output import of_format, print_json, print_table, write_text

    presets = {name: (about, text) for name, about, text in _native.presets()}
    if preset is None or listed:
        if json:
            print_json([{"name": name, "about": about} for name, (about, _) in presets.items()])
        else:
            print_table(
                ["preset", "description"],
                [[name, about] for name, (about, _) in presets.items()],
                text_columns=2,
            )
        return
    profile = profiles().get(preset)
    preset = preset if profile else preset_named(preset)
    about, text = (profile.about, profile.text) if profile else presets[preset]
    if out is not None:
        of_format(out, (".toml",))
    scenario = (
        f"{SCHEMA}\n{profile.scenario_text}" if profile else scenario_from(preset, about, text, editor=True)
    )
    file = out or Path(f"{preset}.toml")
    if json:
        print_json({"name": preset, "about": about, "toml": scenario})
    elif str(file) == "-" or _is_standard_output(file):
        typer.echo(scenario.rstrip("\n"))
    elif file.exists():
        raise InputError(f"{file} already exists and was not changed: choose another name with --out")
    else:
        write_text(file, scenario)
        typer.echo(f"next     bentpipe check {file} && bentpipe simulate {file}", err=True)
        # In a script, messages also go into a log.
        if out is None and _redirected() and sys.stderr.isatty():
            typer.echo(
                "note     standard output is empty; use --out - to write the scenario to standard output",
                err=True,
            )


def _is_standard_output(file: Path) -> bool:
    """Returns true if a shell has already created the file, by ``bentpipe new geo > geo.toml``."""
    try:
        return os.path.samestat(file.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):
        return False


def _redirected() -> bool:
    """Returns true if standard output goes into a file."""
    try:
        return stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):
        return False
