"""Writes the man pages and shell completions of the command line into a folder ``share``.

    python packaging/pages.py FOLDER

The files are in man/man1, bash-completion/completions, zsh/vendor-completions and
fish/vendor_completions.d.
"""

from __future__ import annotations

import datetime
import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import bentpipe
import click
import typer
from bentpipe.cli import app
from typer.completion import get_completion_script

#: The path of each shell's completion script, relative to ``share``.
SHELLS = {
    "bash": "bash-completion/completions/bentpipe",
    "zsh": "zsh/vendor-completions/_bentpipe",
    "fish": "fish/vendor_completions.d/bentpipe.fish",
}


def main(share: Path) -> None:
    """Writes all man pages and completions below a folder ``share``."""
    pages = share / "man/man1"
    pages.mkdir(parents=True)
    for name, command in commands(typer.main.get_command(app), "bentpipe"):
        text = gzip.compress(page(name, command).encode(), mtime=0)
        (pages / f"{name.replace(' ', '-')}.1.gz").write_bytes(text)
    for shell, place in SHELLS.items():
        file = share / place
        file.parent.mkdir(parents=True)
        script = get_completion_script(prog_name="bentpipe", complete_var="_BENTPIPE_COMPLETE", shell=shell)
        file.write_text(f"{script}\n", encoding="utf-8")


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yields a command and all its subcommands, with their full names."""
    yield name, command
    for sub, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {sub}")


def page(name: str, command: click.Command) -> str:
    """Returns the man page of a command: the text of --help in the layout of man."""
    context = click.Context(command, info_name=name, terminal_width=78, max_content_width=78)
    first, _, rest = command.get_help(context).strip().partition("\n")
    usage = first.removeprefix("Usage: ")
    about = command.get_short_help_str(200).rstrip(".")
    time = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.UTC)
    lines = [
        f'.TH "{name.upper().replace(" ", "-")}" 1 "{time:%Y-%m-%d}" "bentpipe {bentpipe.__version__}" "User commands"',
        ".SH NAME",
        rf"{escaped(name.replace(' ', '-'))} \- {escaped(about)}",
        ".SH SYNOPSIS",
        escaped(usage),
        ".SH DESCRIPTION",
        ".nf",
        *(escaped(line) for line in rest.strip("\n").splitlines()),
        ".fi",
        ".SH SEE ALSO",
        r"bentpipe(1); full documentation: bentpipe docs",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Returns text escaped for troff.

    >>> print(escaped(".a -b \\"))
    \&.a \-b \e
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    main(Path(sys.argv[1]))
