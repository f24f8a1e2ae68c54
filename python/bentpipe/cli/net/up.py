"""``bentpipe net up``: brings up an emulated network that stays."""

from __future__ import annotations

from typing import Annotated

import typer

from ..common import Json, Overrides
from ..inside import Internet, Mtu, Wanted


def up(
    scenario: Wanted,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the network. If unset, made from the scenario's name.",
            show_default=False,
        ),
    ] = None,
    internet: Internet = None,
    hosts_at: Annotated[
        list[str] | None,
        typer.Option(
            "--host-at",
            metavar="NAME=ADDRESS",
            help="Place this host on another machine, which joins over VXLAN with the printed commands. The "
            "delay of the tunnel is subtracted from the delay of its link. Repeatable.",
            show_default=False,
        ),
    ] = None,
    mtu: Mtu = 1500,
    process: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    overrides: Overrides = None,
    json: Json = False,
) -> None:
    """Bring up an emulated network that stays until `bentpipe net down`.

    Flows with endpoints = "model" run in this network. Run the programs of other flows with
    `bentpipe net exec`.
    """
    # --process is for the pytest plug-in: the network ends with this process.
    from bentpipe.live import daemon
    from bentpipe.live.environment import in_host
    from bentpipe.live.target import elsewhere, target

    from ..output import print_json, print_table

    wanted = target(scenario, overrides or [], mtu=mtu)
    outside = in_host() if internet is None else internet
    record = daemon.start(
        wanted,
        name=name,
        internet=outside,
        elsewhere=elsewhere(wanted, hosts_at or []),
        process=process,
    )
    if json:
        addresses = {
            host: {"ipv4": about["ipv4"], "ipv6": about["ipv6"]} for host, about in record.hosts.items()
        }
        joining = {name: {"join": about["join"]} for name, about in record.elsewhere.items()}
        answer = {
            "run": record.id,
            "pid": record.pid,
            "near": record.near,
            "hosts": addresses,
            "elsewhere": joining,
        }
        print_json(answer)
        return
    typer.echo(f"{record.id} is up")
    shown = list(record.hosts.items())[:_SHOWN]
    print_table(
        ["host", "IPv4", "IPv6"],
        [[host, about["ipv4"], about["ipv6"]] for host, about in shown],
        text_columns=3,
    )
    if len(record.hosts) > _SHOWN:
        typer.echo(f"and {len(record.hosts) - _SHOWN} more hosts; `bentpipe net ps --json` lists all")
    for host, about in record.elsewhere.items():
        typer.echo(f"to join {host}, run these commands as root on {about['machine'].rpartition(':')[0]}:")
        typer.echo("\n".join(f"    {command}" for command in about["join"]))
    others = [*record.hosts, *record.elsewhere]
    other = next((host for host in others if host != record.near), record.near)
    typer.echo(f"next     bentpipe net exec {record.id} {record.near} -- ping {other}", err=True)
    typer.echo(f"         bentpipe net watch {record.id}; bentpipe net down {record.id}", err=True)


#: Maximum number of hosts in the table.
_SHOWN = 20
