"""Old names of commands and options, which are refused with the new names."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import typer

from bentpipe.errors import BAD_INPUT

#: The new name of each command by its old name.
COMMANDS: Final = {
    "emodel": "voice emodel",
    "listen": "voice listen",
    "pabx": "voice pabx",
    "phone": "voice phone",
    "budget": "space budget",
    "rain": "space rain",
    "contacts": "space contacts",
    "up": "net up",
    "ps": "net ps",
    "exec": "net exec",
    "set": "net set",
    "watch": "net watch",
    "down": "net down",
    "doctor": "machine doctor",
    "calibrate": "machine calibrate",
    "pep": "machine pep",
    "kernel": "machine kernel",
    "netpipe": "export RUN np.out",
}

#: The new name of each option by its command and its old name.
OPTIONS: Final = {
    "predict": {"--flows": "--all-flows"},
    "simulate": {"--flows": "--all-flows"},
    "emulate": {"--flows": "--all-flows"},
    "reflect": {"--bind": "--address", "--rate": "--max-replies"},
    "trace": {"--step": "--bin SECONDS", "--runs": "--run-lengths"},
    "fit": {"--figure": "--draw"},
    "campaign run": {"--workers": "--jobs"},
    "campaign plot": {"--kind": "--figure"},
    "compare": {"--figures": "--figure NAME", "--no-figures": "--figure none"},
    "run": {"--report": "--tables"},
    "serve": {"--host": "--address", "--slots": "--jobs"},
    "net watch": {"--every": "--interval"},
    "voice pabx": {"--seconds": "--duration"},
    "voice phone": {"--seconds": "--duration"},
    "space contacts route": {"--bytes": "--size"},
    "space contacts geometry": {"--hours": "--duration SECONDS", "--longest": "--max-contact"},
    "dtn agent": {"--longest": "--max-bundle", "--margin": "--ltp-margin"},
    "dtn send": {"--report": "--report-to"},
    "machine pep": {"--workers": "--threads"},
}


def refuse_old_command(name: str) -> None:
    """Ends the program with a message if ``name`` is the old name of a command."""
    if name in COMMANDS:
        _refuse(f"bentpipe {name} is now bentpipe {COMMANDS[name]}")


def refuse_old_option(ctx: Any, words: list[str]) -> None:
    """Ends the program with a message if the words after a command include the old name of one of
    its options."""
    names: list[str] = []
    above = ctx
    while above.parent is not None:
        names.insert(0, above.info_name)
        above = above.parent
    command = " ".join(names)
    old_names = OPTIONS.get(command, {})
    for word in words[: words.index("--")] if "--" in words else words:
        if new := old_names.get(word.partition("=")[0]):
            _refuse(f"bentpipe {command} {word.partition('=')[0]} is now {new}")


def _refuse(message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(BAD_INPUT)
