"""``bentpipe serve``: the web test bed on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def number_of(group: str) -> int:
    """Returns the number of a group, given by name or number. Raises
    :class:`bentpipe.InputError`."""
    import grp

    from bentpipe.errors import InputError

    try:
        return int(group) if group.isdecimal() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise InputError(f"there is no group {group} on this machine") from None


def serve(
    data: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The folder of the database and of all runs.")
    ] = Path("testbed-data"),
    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address at which to listen.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=1, max=65535, metavar="PORT", help="TCP port at which to listen.")
    ] = 8470,
    socket: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Listen at this Unix socket instead, behind a reverse proxy.",
            show_default=False,
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="BENTPIPE_DATABASE",
            help="The database, such as postgresql://user@/bentpipe.",
            show_default="an SQLite file in the folder of --data",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name or address by which browsers reach this machine. Repeatable.",
            show_default="loopback only",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Number of runs at once.",
            show_default="number of processors minus one",
        ),
    ] = None,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Allow emulation in real time, one run at a time.")
    ] = False,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The group that shares the data, if web and executor run as different users.",
            show_default=False,
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow log-ins over plain HTTP from other machines.")
    ] = False,
    reset: Annotated[
        str | None,
        typer.Option(
            metavar="ACCOUNT",
            help="Print a link that sets a new password of an account, and exit.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[
        Literal["all", "web", "executor"],
        typer.Option(metavar="PART", help="Role of this process: all, web or executor."),
    ] = "all",
) -> None:
    """Start the web test bed, which a group shares in a browser."""
    from bentpipe.errors import InputError

    try:
        from bentpipe.testbed.serving import Address, offer_reset, prepare
        from bentpipe.testbed.serving import serve as serve_
        from bentpipe.testbed.settings import Settings
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("bentpipe"):
            raise
        raise InputError(
            f"the test bed needs the Python package {error.name}: install bentpipe[testbed]"
        ) from error
    given = {} if jobs is None else {"slots": jobs}
    settings = Settings(
        data.resolve(),
        database or "",
        tuple(names or ()),
        insecure=insecure,
        proxied=socket is not None,
        real_time=real_time,
        group=None if group is None else number_of(group),
        **given,
    )
    if socket is not None and not socket.absolute().parent.is_dir():
        raise InputError(
            f"--socket {socket}: there is no folder {socket.parent}; allowed: a file in an existing folder"
        )
    place = Address(address, port, socket)
    if reset is not None:
        typer.echo(f"{'' if socket else place.url}/#/reset/{offer_reset(settings, reset)}")
        return
    secret = prepare(settings, part)

    def ready() -> None:
        if part == "executor":
            typer.echo(f"bentpipe: taking runs from {settings.data}")
            return
        typer.echo(f"The test bed is at {place.url} (end it with Ctrl-C). Data: {settings.data}")
        if secret is not None:
            typer.echo("There is no administrator yet. Create the account with this link; it works once:")
            typer.echo(f"  {'' if socket else place.url}/#/join/{secret}")

    raise typer.Exit(serve_(settings, place, part, ready))
