"""``bentpipe sensors serve``: the sink of a sensor network as a TCP server."""

from __future__ import annotations

from typing import Annotated

import typer

from ..common import Json, Overrides
from .explain import FlowName, ScenarioFile


def serve(
    source: ScenarioFile,
    overrides: Overrides = None,
    flow: FlowName = None,
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT", help="Address at which clients connect. Port 0 selects a free port."
        ),
    ] = "127.0.0.1:7000",
    json: Json = False,
) -> None:
    """Serve the results of queries to TCP clients such as nc.

    Runs until Ctrl-C or SIGTERM.

    The motes and their channel run in real time. A client sends a query as a line, or an empty line
    for the scenario's query, and receives a line of comma-separated values for each row of the
    result. The line stop ends the query, and the line quit ends the connection.
    """
    from bentpipe.errors import InputError
    from bentpipe.sensors import Server

    from ..dtn.addresses import place
    from ..output import print_json_line
    from ..stopping import stoppable

    try:
        with stoppable() as stop:
            server = Server(source, overrides or [], flow=flow, address=place(listen, "--listen"))
            where = "{}:{}".format(*server.address)
            if json:
                print_json_line({"listening": [where]})
            else:
                print(f"listens on {where}", flush=True)
            server.run(lambda: stop.wanted)
    except OSError as error:
        raise InputError(f"{error}; allowed: a free address that this user may use") from error
    counts = {"clients": server.clients, "rows": server.rows}
    if json:
        print_json_line(counts)
    else:
        print(", ".join(f"{number} {what}" for what, number in counts.items()))
