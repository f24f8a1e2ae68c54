"""Programs of the matrix as senders: the server of a stack of QUIC sends in virtual time.

Its packets are encrypted, so that variables of the sender follow from the packets alone. A packet
of the receiver acknowledges all data that had arrived when the packet left, since an ACK frame
reports all packets (RFC 9000, section 13.2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bentpipe.errors import InputError, unknown
from bentpipe.matrix.building import folder_of
from bentpipe.matrix.certificate import certificate
from bentpipe.matrix.stacks import Stack, stacks

from .exceptions import Missing, NotApplicable
from .observation import Observation
from .path import PACKET_BITS, PAYLOAD, Path

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

#: The stack whose client receives, and the option with which its window never limits the sender: no
#: case has so much in flight. Some servers buffer a whole window.
_RECEIVER: Final = "quinn"
_WINDOW: Final = "--window 30000000"
#: Bytes to transfer, more than a case can send.
_BYTES: Final = 10**12

#: Packets of a burst follow each other within this part of the time of a packet at the bottleneck.
_BURST: Final = 0.2

#: Time in round trips over which rates are measured: the timers of the programs are multiples of a
#: millisecond, so that shorter windows show their steps.
_ROUND_TRIPS: Final = 0.5

#: Largest relative difference of the sending rates of two runs in the same phase.
_SAME: Final = 0.1

#: Names of a standard's control in the stacks, the closest version first.
_NAMES: Final = {"bbr3": ("bbr3", "bbr"), "cubic": ("cubic",)}


def senders() -> dict[str, Stack]:
    """Returns the stacks that let a program choose the congestion control, by name."""
    return {name: stack for name, stack in stacks().items() if stack.controls and not stack.unsuited}


def receiver() -> Stack:
    """Returns the stack whose client receives from every stack."""
    return stacks()[_RECEIVER]


def sender(name: str, standard: str, control: str | None) -> Stack:
    """Returns a stack with a control, by default the one that is closest to a standard. Raises
    :class:`bentpipe.InputError` for a stack or a control that does not exist."""
    known = senders()
    if name not in known:
        raise unknown("stack", name, ["engine", "linux", *known])
    stack = known[name]
    if control is None:
        control = next((one for one in _NAMES[standard] if one in stack.controls), None)
    if control is None:
        offered = ", ".join(stack.controls)
        raise InputError(f"{name} has no control for {standard}; choose one with --control: {offered}")
    return stack.with_control(control)


@dataclass(frozen=True)
class _Earlier:
    """The first run of a scenario, and its changes."""

    seen: Observation
    changes: Sequence[Mapping[str, Any]]


def _time(change: Mapping[str, Any]) -> float:
    """Returns the time of a change of :func:`bentpipe.conform.lab.change` in s."""
    return int(change["at"].partition(" ")[0]) / 1e9


def _agree(one: Observation, other: Observation, time: float) -> bool:
    """Returns true if two runs have the same sending rate in half a round trip before a time."""
    rates = [seen.rate(time - seen.path.min_rtt / 2, time) for seen in (one, other)]
    return abs(rates[0] - rates[1]) <= _SAME * max(rates)


@dataclass(frozen=True)
class Programs:
    """Runs scenarios with the server of a stack as the sender, and the client of another one as the
    receiver."""

    server: Stack
    client: Stack
    _earlier: dict[str, _Earlier] = field(default_factory=dict, repr=False)

    def __call__(self, scenario: Mapping[str, Any], folder: File, path: Path) -> Observation:
        """Runs a scenario. Raises :class:`NotApplicable` if it needs an application that pauses, or
        if it contains changes for the times of an earlier run and the runs differ before them."""
        seen = self._run(scenario, folder, path)
        changes = scenario.get("change", [])
        same = {key: value for key, value in scenario.items() if key not in ("change", "duration")}
        earlier = self._earlier.setdefault(json.dumps(same), _Earlier(seen, changes))
        new = [_time(one) for one in changes if one not in earlier.changes]
        if new and not _agree(seen, earlier.seen, min(new)):
            raise NotApplicable("the case needs two equal runs, and those of this stack differ at random")
        return seen

    def _run(self, scenario: Mapping[str, Any], folder: File, path: Path) -> Observation:
        from bentpipe.emulation import emulate

        (flow,) = scenario["flow"]
        if flow["app"] != "bulk":
            raise NotApplicable(
                "the case needs an application that pauses, and the programs send all at once"
            )
        cert, key = certificate()
        app = {
            "kind": "command",
            "run": f"{self.client.command('client', folder_of(self.client), cert=cert, bytes=_BYTES)} {_WINDOW}",
            "serve": self.server.command("server", folder_of(self.server), cert=cert, key=key),
        }
        ends = {"from": flow["to"], "to": flow["from"]}
        run = emulate(
            {
                **scenario,
                "flow": [{"name": flow["name"], **ends, "app": app, "transport": "udp"}],
                "record": {"traces": ["link"], "capture": [flow["from"], flow["to"]]},
            },
            out=folder,
            clock="kernel",
            allow_commands=True,
        )
        return _observation(run, path, flow["from"])


def _observation(run: Run, path: Path, source: str) -> Observation:
    """Returns what the captures at both ends show of the packets from ``source``."""
    import polars as pl

    from bentpipe.results.captures import nodes, packets
    from bentpipe.results.programs import program_results

    for one in program_results(run):
        if one.exit_code:
            raise Missing(f"{'server' if one.serves else 'client'}: {one.outcome}: {one.said or 'no output'}")
    link, file = run.trace("link", "path"), run.path / "packets.pcapng"
    frame = pl.concat([one.select("interface", "time", "source", "size") for one in packets(file)])
    at_sender = frame["interface"] == nodes(file).index(source)
    # The first packet of the run is one of the receiver, which opens the connection.
    from_sender = frame["source"] != frame["source"][0]

    def of(at: pl.Series, from_: pl.Series) -> tuple[Any, Any]:
        """Returns the times in s, counted as in traces, and the cumulative full packets."""
        own = frame.filter(at & from_)
        return (own["time"].to_numpy() - begin) / 1e9, own["size"].to_numpy().cumsum() * 8 / PACKET_BITS

    sent = frame.filter(at_sender & from_sender)["time"]
    if not sent.len():
        raise Missing("the server sent nothing")
    begin = sent[0] - round(link["time"][0] * 1e9)
    _, volume = of(at_sender, from_sender)
    arrivals, arrived = of(~at_sender, from_sender)
    left, _ = of(~at_sender, ~from_sender)
    time, _ = of(at_sender, ~from_sender)
    sends = link["time"].to_numpy()
    # The path back loses and reorders nothing.
    known = np.searchsorted(arrivals, left[: time.size], "right")
    acknowledged = np.concatenate(([0.0], arrived))[known]
    now = np.searchsorted(sends, time + 1e-9, "right")
    total = np.concatenate(([0.0], volume))[now]
    lost = np.concatenate(([0], link["dropped"].to_numpy()))[now]
    columns = {
        "acknowledged": PAYLOAD * acknowledged,
        "sent": PAYLOAD * total,
        "inflight": total - acknowledged - lost,
    }
    first = int(np.searchsorted(sends, sends[0] + path.rtt))
    if first == sends.size:
        raise Missing("the server sent nothing after the handshake")
    burst = _BURST / path.packets_per_s
    return Observation(
        path, link, time, columns, volume=volume, first=first, burst=burst, window=_ROUND_TRIPS
    )
