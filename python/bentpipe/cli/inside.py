"""What ``bentpipe run`` and ``bentpipe shell`` have in common: a network for one program in the foreground."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

#: The scenario or preset of a network that lives.
Wanted = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO|PRESET",
        help="The file of a scenario, or a preset by its name or the beginning of it.",
        show_default=False,
    ),
]
HostName = Annotated[
    str | None,
    typer.Option(
        "--host",
        metavar="NAME",
        help="The host in which it runs; the source of the first flow, the beginning of the first link or the "
        "first terminal if not given.",
        show_default=False,
    ),
]
Internet = Annotated[
    bool | None,
    typer.Option(
        "--internet/--no-internet",
        help="Let the network lead to this machine's own, behind the far end of it. In a host of another network "
        "that is the default, so that one leads into the other.",
        show_default=False,
    ),
]
Mtu = Annotated[
    int,
    typer.Option(
        min=1280,
        max=9000,
        metavar="BYTES",
        help="The largest packet of the hosts' interfaces, 1280 to 9000.",
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
) -> int:
    """Bring a network up, run a program in one of its hosts, and take it down: the program's exit code."""
    from bentpipe.live import program
    from bentpipe.live.living import Living, acquire
    from bentpipe.live.surroundings import in_host
    from bentpipe.live.target import target

    program.check(command)
    wanted = target(scenario, overrides, host, mtu)
    outside = in_host() if internet is None else internet
    acquire(internet=outside)
    with program.Signals() as signals, Living(wanted, kind, internet=outside) as living:
        return program.run(living, wanted.near, command, signals)
