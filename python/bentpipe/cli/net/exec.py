"""``bentpipe net exec``: runs a command in a host of a network that is up."""

from __future__ import annotations

import os
from typing import Annotated, Final

import typer

from bentpipe.errors import InputError, unknown

from ..after_dashes import CommandAfterDashes, command_of

#: The words after ``--`` are not this program's.
COMMAND_CLASS: Final = CommandAfterDashes


def exec_(
    context: typer.Context,
    where: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN] HOST",
            help="The host, preceded by the network's id if several networks are up.",
            show_default=False,
        ),
    ],
) -> None:
    """Run a command in a host of a network that is up.

    The command replaces this process, so it keeps your terminal, files, user and signals.
    """
    from bentpipe import _native
    from bentpipe.live import program, state
    from bentpipe.live.environment import environment, overlays

    command = command_of(context, "bentpipe net exec HOST -- ping server")
    if len(where) > 2:
        raise InputError(f"too many words before --: {' '.join(where)}; allowed: [RUN] HOST")
    *run, host = where
    if not run and any(record.id == host for record in state.records()):
        raise InputError(
            f"{host} is a network: also name the host, as in `bentpipe net exec {host} HOST -- true`"
        )
    record = state.find(run[0] if run else None)
    if not record.alive:
        raise InputError(
            f"the process of {record.id} was killed: run `bentpipe net down {record.id}` to remove its remains"
        )
    if host not in record.hosts:
        raise unknown("host", host, record.hosts, record.id)
    program.check(command)
    namespace = record.hosts[host]["namespace"]
    try:
        _native.exec_in_host(
            record.pid, namespace, list(command), overlays(record), environment(record, host)
        )
    except PermissionError as error:
        if os.access(f"/proc/{record.pid}/ns/net", os.R_OK):
            raise
        raise OSError(f"{record.id} cannot be reached from here: {error.strerror or error}") from None
