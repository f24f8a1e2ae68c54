"""The cells of a matrix. A cell is one run: its scenario, and the inputs that determine its
packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from bentpipe.campaign.keys import run_key
from bentpipe.scenario.scenarios import Scenario, load

from .building import built, folder_of
from .certificate import certificate
from .loads import LOADS, Load
from .paths import MatrixPath
from .stacks import Stack

#: Number of the evaluation of runs. It is part of the keys of cells, so raise it when the same
#: packets have a different outcome.
_EVALUATION: Final = 1

#: The end of a transfer that opens the connection.
Opener = Literal["client", "server"]

#: The modes of `bentpipe matrix tcp`: the columns of its grid.
DIRECT: Final = "direct"
PROXY: Final = "proxy"

#: Congestion controls of Linux in the order of tables.
CONTROLS: Final = (
    *("reno", "cubic", "bbr", "hybla", "westwood", "vegas", "veno", "illinois"),
    *("htcp", "bic", "scalable", "yeah", "highspeed", "lp"),
)


@dataclass(frozen=True)
class Cell:
    """A cell: ``row`` and ``column`` of the grid, which are client and server, or the congestion
    control and the mode; its path and load. ``reason`` is the reason why the cell cannot run,
    ``inputs`` are the inputs of the run besides its scenario."""

    row: str
    column: str
    path: MatrixPath
    load: str
    opener: Opener
    scenario: dict[str, Any] | None = None
    inputs: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def name(self) -> str:
        """Name of the cell in messages and of its file."""
        return f"{self.path.name}, {self.load}, {self.row}, {self.column}"

    @property
    def size(self) -> int:
        """Number of bytes to transfer."""
        return LOADS[self.load].bytes

    def resolved(self) -> Scenario:
        """Resolves the scenario. Raises :class:`bentpipe.ScenarioError`."""
        assert self.scenario is not None, "cells with a reason are not run"
        return load(self.scenario)

    def key(self, kernel: str) -> str:
        """Returns the hash of everything that determines the packets of the run, with the identity
        of the guest's kernel."""
        return run_key(self.resolved().toml, *self.inputs, kernel, _EVALUATION)


def quic_cells(
    clients: Iterable[Stack], servers: Iterable[Stack], paths: Iterable[MatrixPath], loads: Iterable[str]
) -> Iterator[Cell]:
    """Yields the cells of a matrix of QUIC: each client with each server of its protocol over each
    path, with the loads that the path carries."""
    cert, key = certificate()
    clients, servers, loads = list(clients), list(servers), list(loads)
    for path in paths:
        for name in (one for one in loads if one in path.limits):
            for client in clients:
                for server in (one for one in servers if one.protocol == client.protocol):
                    cell = Cell(client.label, server.label, path, name, "client")
                    if reason := _missing(client) or _missing(server):
                        yield replace(cell, reason=reason)
                        continue
                    places = {"cert": cert, "key": key, "bytes": LOADS[name].argument}
                    app = {
                        "kind": "command",
                        "run": client.command("client", folder_of(client), **places),
                        "serve": server.command("server", folder_of(server), **places),
                    }
                    flow = {"from": path.client, "to": path.server, "app": app, "transport": "udp"}
                    yield replace(
                        cell,
                        scenario=path.with_flow(name, flow),
                        inputs=(*_inputs(client), *_inputs(server)),
                    )


def _inputs(stack: Stack) -> tuple[str, ...]:
    """Returns the identity of a built stack."""
    done = built(stack)
    return (stack.hash, "" if done is None else done.lock)


def _missing(stack: Stack) -> str | None:
    """Returns the reason for which a stack cannot run, None if it can."""
    if stack.unsuited:
        return f"{stack.name}: {stack.unsuited}"
    done = built(stack)
    if done is None:
        return f"{stack.name} is not built: add --build"
    return None if done.failure is None else f"{stack.name} could not be built: {done.failure}"


def tcp_cells(controls: Iterable[str], paths: Iterable[MatrixPath], loads: Iterable[str]) -> Iterator[Cell]:
    """Yields the cells of a matrix of TCP: each congestion control of Linux without and with a
    proxy that splits the connection and uses the same control on both sides."""
    controls, loads = list(controls), list(loads)
    for path in paths:
        for name in (one for one in loads if one in path.limits):
            opener, app = _tcp_load(LOADS[name])
            ends = (path.client, path.server) if opener == "client" else (path.server, path.client)
            for control in controls:
                transport = {"kind": "tcp", "congestion": control}
                flow = {"from": ends[0], "to": ends[1], "app": app, "transport": transport}
                side = {"sat": {"congestion": control}, "ground": {"congestion": control}}
                split = {"kind": "split", "buffer": "32 MB", "sides": side}
                proxy = {"name": "pep", "node": path.proxy, "mechanism": split}
                for mode, tables in ((DIRECT, {}), (PROXY, {"proxy": [proxy]})):
                    yield Cell(control, mode, path, name, opener, path.with_flow(name, flow, **tables))


def _tcp_load(load: Load) -> tuple[Opener, dict[str, Any]]:
    """Returns the end that opens the connection, and the application. A page is loaded over the six
    connections of a browser with HTTP/1.1."""
    if len(load.sizes) == 1:
        return "server", {"kind": "bulk", "size": f"{load.bytes} B"}
    size = f"{load.sizes[0]} B"
    number = len(load.sizes)
    objects = {"objects": number, "objects_min": number, "objects_max": number}
    sizes = {"object": size, "object_min": size, "object_max": size}
    return "client", {"kind": "http", "connections": 6, **objects, **sizes}
