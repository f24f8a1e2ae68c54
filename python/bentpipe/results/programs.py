"""Programs of an emulation: their outcome, the last line of their output, and their packets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import polars as pl

    from .runs import Run

#: Number of bytes at the end of an output that are searched for its last line.
_TAIL: Final = 1 << 16


@dataclass(frozen=True)
class Direction:
    """The packets of one direction: their number, the sum of their sizes with IP headers in bytes,
    and the times of the first and the last packet in seconds. Times count from the first captured
    packet of the run, because a capture of an emulation does not contain the start of the run."""

    packets: int
    bytes: int
    first_s: float | None
    last_s: float | None


@dataclass(frozen=True)
class ProgramResult:
    """One program of a flow. ``serves`` is true for the program at the destination of the flow.
    ``outcome`` is the exit code in words, ``said`` the last line of the output, or of the error
    output of a program that failed or printed nothing else. ``sent`` and ``received`` are the
    TCP and UDP packets of the host, None if neither end of the flow is in ``record.capture``,
    or if other flows use the same hosts and the command does not contain the flow's port."""

    flow: str
    host: str
    serves: bool
    outcome: str
    exit_code: int | None
    said: str
    sent: Direction | None
    received: Direction | None

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)


def program_results(run: Run) -> list[ProgramResult]:
    """Returns the programs of a run, in the order of their flows. Raises
    :class:`bentpipe.InputError` for a damaged capture."""
    noted = _noted(run)
    packets = _captured(run) if noted else None
    found = []
    for about in noted:
        directions = None if packets is None else packets.of(about)
        found.append(
            ProgramResult(
                about["flow"],
                about["host"],
                about["serves"],
                about["outcome"],
                about["exit_code"],
                _said(run, about),
                *(directions or (None, None)),
            )
        )
    return found


def command_texts(run: Run) -> list[str]:
    """Returns a sentence per failed program: its name, its host, the failure, and the location of
    its output."""
    return [
        f'{about["outcome"]}: "{about["flow"]}" at host "{about["host"]}", see {run.path / about["stderr"]}'
        for about in _noted(run)
        # A server normally does not end by itself.
        if about["exit_code"] != 0 and not (about["serves"] and about["outcome"] == "ended with the run")
    ]


def addresses(run: Run) -> dict[str, int]:
    """Returns the IPv4 addresses of the hosts of a run with programs, as numbers. Hosts whose name
    is no valid host name are missing."""
    with suppress(OSError, ValueError):
        lines = (run.path / "commands" / "hosts").read_text(encoding="utf-8").splitlines()
        # The first line is that of the loopback interface.
        return {name: int(IPv4Address(address)) for address, name in map(str.split, lines[1:])}
    return {}


def _noted(run: Run) -> list[dict[str, Any]]:
    noted: list[dict[str, Any]] = run.provenance.get("notes", {}).get("commands", [])
    return noted


def _said(run: Run, about: Mapping[str, Any]) -> str:
    """Returns the last line of a program: of its output, or of its error output if it failed or
    printed nothing else."""
    first, second = ("stderr", "stdout") if about["exit_code"] else ("stdout", "stderr")
    return _last_line(run.path / about[first]) or _last_line(run.path / about[second])


def _last_line(file: Path) -> str:
    """Returns the last line of an output that is not empty."""
    with suppress(OSError), file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - _TAIL))
        lines = stream.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


@dataclass(frozen=True)
class _Captured:
    """The captured packets of a run, and the data that assigns them to programs."""

    frame: pl.DataFrame
    nodes: list[str]
    addresses: Mapping[str, int]
    flows: list[dict[str, Any]]

    def of(self, about: Mapping[str, Any]) -> tuple[Direction, Direction] | None:
        """Returns the packets that the host of a program sent and received; None if they are
        unknown."""
        import polars as pl

        flow = next(one for one in self.flows if one["name"] == about["flow"])
        ends = (flow["from"], flow["to"])
        own, other = about["host"], ends[about["host"] == ends[0]]
        at = next((node for node in (own, other) if node in self.nodes), None)
        if at is None or not {own, other} <= {*self.addresses}:
            return None
        here, there = self.addresses[own], self.addresses[other]
        port = _port(flow["app"]["serve" if about["serves"] else "run"], about["command"])
        sharing = [one for one in self.flows if {one["from"], one["to"]} == {own, other}]
        if port is None and len(sharing) > 1:
            return None
        # The port belongs to the destination of the flow.
        served = own == ends[1]
        captured = self.frame.filter(pl.col("interface") == self.nodes.index(at))

        def direction(source: int, destination: int, column: str) -> Direction:
            of_it = (pl.col("source") == source) & (pl.col("destination") == destination)
            if port is not None and len(sharing) > 1:
                of_it &= pl.col(column) == port
            found = captured.filter(of_it)
            start, times = self.frame["time"][0], found["time"]
            first, last = ((times[place] - start) / 1e9 if len(times) else None for place in (0, -1))
            return Direction(found.height, int(found["size"].cast(pl.UInt64).sum()), first, last)

        ports = ("source_port", "destination_port") if served else ("destination_port", "source_port")
        return direction(here, there, ports[0]), direction(there, here, ports[1])


def _captured(run: Run) -> _Captured | None:
    """Returns the capture of a run, None without one."""
    import polars as pl

    from .captures import nodes, packets

    file = run.path / "packets.pcapng"
    if not file.is_file():
        return None
    wanted = ["interface", "time", "source", "destination", "source_port", "destination_port", "size"]
    frames: Iterator[pl.DataFrame] = (frame.select(wanted) for frame in packets(file))
    found = [frame for frame in frames if frame.height]
    if not found:
        return None
    return _Captured(pl.concat(found), nodes(file), addresses(run), run.flow_tables)


def _port(template: str, words: list[str]) -> int | None:
    """Returns the port of a flow, from a command with placeholders and its words without them; None
    if the command does not contain the port.

    >>> _port("iperf3 -c {to} -p{port} '{{'", ["iperf3", "-c", "198.18.0.2", "-p49152", "{"])
    49152
    >>> _port("ping {to}", ["ping", "198.18.0.2"])
    """
    for given, word in zip(shlex.split(template), words, strict=False):
        before, placeholder, after = given.partition("{port}")
        pattern = f"{_pattern(before)}([0-9]+){_pattern(after)}"
        if placeholder and (found := re.fullmatch(pattern, word)):
            return int(found[1])
    return None


def _pattern(text: str) -> str:
    """Returns a regular expression for text in which any placeholder may stand."""
    kept = re.escape(text.replace("{{", "\0").replace("}}", "\1"))
    return re.sub(r"\\\{(to|from|port)\\\}", "[0-9.]+", kept).replace("\0", r"\{").replace("\1", r"\}")
