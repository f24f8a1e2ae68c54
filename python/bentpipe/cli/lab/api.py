"""``bentpipe lab api``: any request of the REST interface."""

from __future__ import annotations

from typing import Annotated

import typer

from bentpipe.cli.common import Json

from .common import HERE, Server


def api(
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="GET, POST, PUT, PATCH or DELETE.", show_default=False)
    ],
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="The path of the request, such as /queue or /audit.", show_default=False
        ),
    ],
    body: Annotated[
        str | None, typer.Option(metavar="JSON", help="The body of the request.", show_default=False)
    ] = None,
    server: Server = HERE,
    json: Json = False,  # noqa: ARG001 - the answer is JSON in any case
) -> None:
    """Send an HTTP request, and print the answer.

    The web page sends the same requests; /api/openapi.json describes them.
    """
    import json as codec

    from bentpipe.cli.output import print_json
    from bentpipe.errors import InputError, unknown
    from bentpipe.testbed.client import laboratory

    methods = ("GET", "POST", "PUT", "PATCH", "DELETE")
    if method.upper() not in methods:
        raise unknown("method", method, methods)
    try:
        given = None if body is None else codec.loads(body)
    except ValueError as error:
        raise InputError(f"--body is not JSON: {error}") from None
    if not path.startswith("/"):
        raise InputError(f'"{path}" is not a path; allowed: the part after /api, starting with a slash')
    print_json(laboratory(server).request(method.upper(), path.removeprefix("/api"), given))
