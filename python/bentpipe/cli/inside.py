"""Shared by ``bentpipe run`` and ``bentpipe shell``: a network for one program in the
foreground."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from . import completion

#: The scenario or preset of a live network.
Wanted = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO|PRESET",
        help="A scenario file, a profile's name, or a preset's name or an unambiguous beginning of it.",
        autocompletion=completion.starting_points,
        show_default=False,
    ),
]
HostName = Annotated[
    str | None,
    typer.Option(
        "--host",
        metavar="NAME",
        help="The host in which to run. If unset, the source of the first flow; without flows, the first "
        "station of a Wi-Fi network, the end `to` of the first link, the first terminal, or a site "
        "with few antennas.",
        show_default=False,
    ),
]
Internet = Annotated[
    bool | None,
    typer.Option(
        "--internet/--no-internet",
        help="Connect the far end of the network to this machine's own network. Default inside a host of "
        "another network, so that networks can be nested.",
        show_default=False,
    ),
]
Mtu = Annotated[
    int,
    typer.Option(
        min=1280,
        max=9000,
        metavar="BYTES",
        help="Largest packet of the hosts' interfaces, 1280 to 9000.",
    ),
]


def run_inside(
    scenario: str,
    command: Sequence[str],
    kind: str,
    host: str | None,
    internet: bool | None,
    mtu: int,
    overrides: list[str],
    tables: Path | None = None,
) -> int:
    """Brings a network up, runs a program in one of its hosts, and takes the network down. Returns
    the exit code.

    ``tables`` is a JSON file for the network's tables, written at the end of the program.
    """
    from bentpipe.errors import InputError
    from bentpipe.live import program
    from bentpipe.live.environment import in_host
    from bentpipe.live.network import LiveNetwork, acquire
    from bentpipe.live.target import target

    program.check(command)
    if tables is not None and (tables.is_dir() or not tables.absolute().parent.is_dir()):
        raise InputError(
            f"--tables {tables}: the file cannot be written; allowed: a file in an existing folder"
        )
    wanted = target(scenario, overrides, host, mtu)
    outside = in_host() if internet is None else internet
    acquire(internet=outside)
    with program.Signals() as signals, LiveNetwork(wanted, kind, internet=outside) as living:
        code = program.run(living, wanted.near, command, signals)
        if tables is not None:
            _write_tables(tables, living.network.status())
        return code


def _write_tables(path: Path, report: str) -> None:
    """Writes the tables of a network's status, given as JSON: for each table its rows."""
    import json

    from bentpipe.errors import InputError

    from .output import plain

    status = json.loads(report)
    tables: dict[str, list[dict[str, object]]] = {}
    for row in status["rows"]:
        tables.setdefault(row["table"], []).append({"entity": row["entity"], **row["values"]})
    text = json.dumps(
        plain({"time": status["time"], "packets": status["packets"], "tables": tables}), indent=2
    )
    try:
        path.write_text(text + "\n")
    except OSError as error:
        raise InputError(f"--tables {path}: {error.strerror}; the program itself has ended") from None
