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
        str, typer.Option(metavar="HOST:PORT", help="Where clients connect; port 0 takes a free one.")
    ] = "127.0.0.1:7000",
    json: Json = False,
) -> None:
    """Serve results of queries to TCP clients such as nc.

    Ends with Ctrl-C or SIGTERM.

    The motes and their channel run on the clock of this machine. A client sends a query as a line, or an empty line
    for the scenario's, and gets a line of comma-separated values for each row; stop ends the query, quit the
    connection.
    """
    import json as text

    from bentpipe.errors import InputError
    from bentpipe.sensors import Server

    from ..dtn.addresses import place
    from ..output import print_json
    from ..stopping import stoppable

    try:
        with stoppable() as stop:
            server = Server(source, overrides or [], flow=flow, address=place(listen, "--listen"))
            where = "{}:{}".format(*server.address)
            print(text.dumps({"listening": [where]}) if json else f"listens on {where}", flush=True)
            server.run(lambda: stop.wanted)
    except OSError as error:
        raise InputError(f"{error}; allowed: an address that this user may use") from error
    counts = {"clients": server.clients, "rows": server.rows}
    if json:
        print_json(counts)
    else:
        print(", ".join(f"{number} {what}" for what, number in counts.items()))
