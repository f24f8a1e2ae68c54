"""``bentpipe net ps``: lists emulated networks."""

from __future__ import annotations

import typer

from ..common import Json


def ps(json: Json = False) -> None:
    """List the emulated networks."""
    import time

    from bentpipe.live import state
    from bentpipe.quantities import span_text

    from ..output import print_json, print_table

    records = state.records()
    if json:
        print_json(
            [
                {
                    "run": record.id,
                    "scenario": record.label,
                    "command": record.command,
                    "alive": record.alive,
                    "pid": record.pid,
                    "since": record.since,
                    "internet": record.rules is not None,
                    "hosts": {
                        name: {key: about[key] for key in ("ipv4", "ipv6", "namespace")}
                        for name, about in record.hosts.items()
                    },
                }
                for record in records
            ]
        )
        return
    if not records:
        typer.echo("no network is up")
        return
    rows = [
        [
            record.id,
            record.label,
            record.command if record.alive else "killed",
            str(len(record.hosts)),
            str(record.pid),
            span_text(round(time.time() - record.since)) if record.alive else "-",
        ]
        for record in records
    ]
    print_table(["run", "scenario", "by", "hosts", "process", "age"], rows, text_columns=3)
    for record in records:
        if not record.alive:
            typer.echo(
                f"the process of {record.id} was killed: run `bentpipe net down {record.id}` to remove its "
                "remains"
            )
