"""Comparison of two runs packet by packet: the agreement of their captures, and the first different
packet of each connection.

The packets of a connection at a node, in both directions, are compared by their numbers: packet 5
of one run with packet 5 of the other. After a difference, only totals are compared, because a
missing packet shifts all others. Sequence numbers are relative to the first sequence number of
their direction, as in Wireshark. Values that always differ between hosts are not compared: initial
sequence numbers, ephemeral ports, timestamps, identifications and, by default, windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from ipaddress import IPv4Address
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from bentpipe.errors import InputError, unknown
from bentpipe.quantities import listed

from . import captures
from .captures import ACK, FIN, FLAGS, PSH, RST, SYN, TCP
from .runs import Run

#: Name of the capture in a run's folder.
FILE: Final = "packets.pcapng"

#: The compared fields of packets, in the order of their names in results. Flags are named
#: individually.
_COMPARED: Final = (
    "direction",
    "flags",
    "sequence",
    "payload",
    "acknowledgment",
    "sack",
    "dscp",
    "ecn",
    "window",
)
#: The fields of packets and the flags that can be excluded from the comparison.
IGNORABLE: Final = (*_COMPARED[1:], *(name.lower() for name in FLAGS))

#: Captures with times above this limit (2001 in nanoseconds) have the time of day.
_TIME_OF_DAY: Final = 10**18

#: Length of the largest IPv4 and TCP headers in bytes. Captures must contain at least this much of
#: each packet.
_HEADERS: Final = 80

#: Port of the first flow at both ends. The ports of the other flows follow. Further connections of
#: a flow have a user port at one end. Flows from number 16383 on have other ports and get no names
#: (crates/core/src/address.rs).
_FIRST_PORT: Final = 49152
_FIRST_USER_PORT: Final = 1024
_FLOWS: Final = 16383

#: Columns that identify a connection within a capture: node, protocol and both ends.
_CONNECTION: Final = ("interface", "protocol", "low", "high")


class UncapturedError(InputError):
    """The packets of two runs cannot be compared: a run captured no packets, other nodes, or
    incomplete headers."""


class Name(NamedTuple):
    """A connection at a node. ``protocol`` is ``"TCP"`` or ``"UDP"``; ``flow`` is the flow's name,
    with a number for its further connections, or both ends for packets that belong to no flow."""

    node: str
    protocol: str
    flow: str


class Packet(NamedTuple):
    """A packet of a connection. ``number`` counts the connection's packets at the node from 1, and
    ``direction`` is ``">"`` for the direction of the first packet, or else ``"<"``. ``time_s`` is
    the time since the start of the run. The edges of SACK blocks are in pairs. ``window`` is in
    bytes."""

    number: int
    time_s: float
    direction: str
    flags: list[str]
    sequence: int
    payload: int
    acknowledgment: int
    sack: list[int]
    dscp: int
    ecn: int
    window: int


_Numbers = npt.NDArray[np.int64]
#: A packet in both runs, or in one of them.
Pair = tuple[Packet | None, Packet | None]


@dataclass(frozen=True)
class Totals:
    """Numbers of a connection's packets at a node: all packets; packets with data; packets whose
    data ends no later than earlier data (``retransmissions``); packets with PSH; pure
    acknowledgments; pure acknowledgments of at most one full segment (``of_one_segment``); and
    packets with SACK blocks."""

    packets: int
    data: int
    retransmissions: int
    pushed: int
    acknowledgments: int
    of_one_segment: int
    with_sack: int


@dataclass(frozen=True)
class Connection:
    """A TCP connection, or a flow of datagrams, at one node in both runs.

    The first ``agree`` packets are the same in both runs. Their times differ by at most
    ``apart_s``; the times of the first ``in_time`` packets differ by at most the tolerance.
    ``first`` is the first packet that differs or, if all packets of the shorter run agree, the
    first packet that is not in time or is in one run only; None if there is no such packet.
    ``differs`` names the differences of this packet, and ``before`` and ``after`` are the packets
    around it. ``until`` has the totals of the packets that agree, and ``a`` and ``b`` the totals of
    all packets.
    """

    name: Name
    agree: int
    in_time: int
    apart_s: float
    differs: list[str]
    before: list[Pair]
    first: Pair | None
    after: list[Pair]
    until: Totals
    a: Totals
    b: Totals

    @property
    def first_s(self) -> float:
        """Time of ``first``; infinity if there is none."""
        return min((one.time_s for one in self.first or () if one), default=float("inf"))

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""

        def of(pairs: Iterable[Pair]) -> list[Any]:
            return [[one and one._asdict() for one in pair] for pair in pairs]

        first = of([self.first])[0] if self.first else None
        around = {"before": of(self.before), "first": first, "after": of(self.after)}
        return asdict(self) | {"name": self.name._asdict()} | around


@dataclass(frozen=True)
class PacketComparison:
    """Captures of two runs at the ``nodes`` that both have. ``only_a`` and ``only_b`` are the
    connections that are missing in the other run, with their numbers of packets."""

    a: Run
    b: Run
    tolerance_s: float
    nodes: list[str]
    connections: list[Connection]
    only_a: dict[Name, int]
    only_b: dict[Name, int]

    @property
    def equal(self) -> bool:
        """True if both runs have the same connections with the same packets, all in time."""
        return not (self.only_a or self.only_b) and all(one.first is None for one in self.connections)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the runs, ready for JSON."""
        only = {
            word: [name._asdict() | {"packets": count} for name, count in having.items()]
            for word, having in (("only_a", self.only_a), ("only_b", self.only_b))
        }
        connections = [one.as_dict() for one in self.connections]
        about = {"equal": self.equal, "tolerance_s": self.tolerance_s, "nodes": self.nodes}
        return about | {"connections": connections} | only


def compare_packets(
    a: Run | str | Path,
    b: Run | str | Path,
    *,
    tolerance_s: float = 0.001,
    ignore: Collection[str] = ("window",),
    context: int = 3,
) -> PacketComparison:
    """Compares the captures of two runs, or of the runs in two folders, packet by packet.

    Times that differ by more than ``tolerance_s`` are reported, and the comparison continues.
    Captures of emulations have the time of day, without the start of the run. In this case, the
    first packet of the first connection in both runs is assumed to be simultaneous. ``ignore``
    names the fields to exclude, of :data:`IGNORABLE`. ``context`` is the number of packets to
    return before and after the first different packet. The comparison needs about 400 bytes of
    memory per packet of a run. Raises :class:`bentpipe.InputError` for damaged captures, and its
    subclass :class:`UncapturedError`.

    >>> import bentpipe as bp
    >>> keys = ["duration=5 s", 'record.capture=["user"]', "flow.upload.transport.profile=linux-6.12"]
    >>> other = [*keys, "flow.upload.transport.ack_pushed=false"]
    >>> runs = [bp.simulate(bp.load("examples/geo-upload.toml", each)) for each in (keys, other)]
    >>> [(one.name.flow, one.agree, one.differs) for one in compare_packets(*runs).connections]
    [('upload', 922, ['acknowledgment', 'time'])]
    """
    for name in ignore:
        if name not in IGNORABLE:
            raise unknown("part of packets", name, IGNORABLE)
    one, other = (run if isinstance(run, Run) else Run(run) for run in (a, b))
    nodes = _nodes_in_both(one, other)
    sides = [_Side(run, nodes) for run in (one, other)]
    names = [name for name in sides[0].names if name in sides[1].names]
    only = [side.without(names) for side in sides]
    frames = [side.only(names) for side in sides]
    del sides
    connections = _compared(frames, names, ignore, tolerance_s, context) if names else []
    return PacketComparison(one, other, tolerance_s, nodes, connections, *only)


def _nodes_in_both(a: Run, b: Run) -> list[str]:
    """Returns the nodes at which both runs captured packets. Raises :class:`UncapturedError`."""
    for run in (a, b):
        if not (run.path / FILE).is_file():
            raise UncapturedError(
                f'{run.path} has no {FILE}: record.capture = ["NODE"] in the scenario captures the packets at a node'
            )
        kept = run.scenario.get("record", {}).get("capture_bytes", _HEADERS)
        if kept < _HEADERS:
            raise UncapturedError(
                f"{run.path / FILE} has only {kept} bytes of each packet, which may cut off headers; set "
                f"record.capture_bytes to {_HEADERS} or more"
            )
    names = [captures.nodes(run.path / FILE) for run in (a, b)]
    both = [name for name in names[0] if name in names[1]]
    if not both:
        places = ", ".join(f"{run.path} at {listed(of)}" for run, of in zip((a, b), names, strict=True))
        raise UncapturedError(
            f"packets were captured at different nodes: {places}; use the same nodes in record.capture of "
            "both runs"
        )
    return both


class _Side:
    """The packets of a run, and the numbers of its connections."""

    def __init__(self, run: Run, nodes: Sequence[str]) -> None:
        captured = captures.nodes(run.path / FILE)
        places = {captured.index(node): place for place, node in enumerate(nodes)}
        ends = [
            pl.col(end).cast(pl.UInt64) * 65536 + pl.col(f"{end}_port") for end in ("source", "destination")
        ]
        frame = pl.concat(
            batch.filter(pl.col("interface").is_in(list(places))).select(
                pl.col("interface").replace_strict(places, return_dtype=pl.UInt16),
                *(
                    "protocol",
                    "time",
                    "flags",
                    "sequence",
                    "acknowledgment",
                    "payload",
                    "window",
                    "scale",
                    "sack",
                ),
                low=pl.min_horizontal(ends),
                high=pl.max_horizontal(ends),
                up=ends[0] < ends[1],
                dscp=pl.col("class") // 4,
                ecn=pl.col("class") % 4,
            )
            for batch in captures.packets(run.path / FILE)
        )
        directions = _directions(frame)
        self.names = _names(directions, run, nodes)
        self.frame = _with_kinds(_relative(frame, directions))

    def only(self, names: Iterable[Name]) -> pl.DataFrame:
        """Returns the packets of these connections. The index in ``names`` replaces the
        connection's number."""
        places = {self.names[name]: place for place, name in enumerate(names)}
        place = pl.col("connection").replace_strict(places, default=None, return_dtype=pl.UInt32)
        return self.frame.with_columns(place).drop_nulls("connection").sort("connection", maintain_order=True)

    def without(self, names: Iterable[Name]) -> dict[Name, int]:
        """Returns the numbers of packets of all other connections."""
        counts, known = np.bincount(self.frame["connection"].to_numpy()), set(names)
        return {name: int(counts[number]) for name, number in self.names.items() if name not in known}


def _has(flags: int) -> pl.Expr:
    return (pl.col("flags") & flags) != 0


def _directions(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the directions of connections in the order of their first packets: the number of the
    connection; ``>`` or ``<``; the first sequence numbers of this and of the other direction; the
    window scale; and the largest payload of the other direction."""
    own = frame.group_by(*_CONNECTION, "up", maintain_order=True).agg(
        base=pl.col("sequence").first(),
        # If the other direction was not captured, this gives its first sequence number.
        acknowledged=pl.col("acknowledgment").filter(_has(ACK)).first() - 1,
        scale=pl.col("scale").drop_nulls().first(),
        segment=pl.col("payload").max(),
    )
    other, key = own.with_columns(~pl.col("up")), [*_CONNECTION, "up"]
    both = own.join(other, on=key, how="left", suffix="_other", maintain_order="left")
    first = own.unique(_CONNECTION, keep="first", maintain_order=True).with_row_index("connection")
    first = first.select(*_CONNECTION, "connection", opener="up")
    return both.join(first, on=_CONNECTION, maintain_order="left").select(
        *(*key, "connection", "base"),
        base_other=pl.coalesce("base_other", "acknowledged", 0),
        # Windows are scaled if both ends announce a scale (RFC 7323, section 2.2).
        scale=pl.when(pl.col("scale_other").is_not_null()).then("scale").fill_null(0),
        segment=pl.col("segment_other").fill_null(0),
        direction=pl.when(pl.col("up") == pl.col("opener")).then(ord(">")).otherwise(ord("<")).cast(pl.UInt8),
    )


def _names(directions: pl.DataFrame, run: Run, nodes: Sequence[str]) -> dict[Name, int]:
    """Returns the numbers of connections by name. Connections of a flow are numbered in the order
    of their first packets. A connection that belongs to no flow is named by both ends, without the
    ephemeral port."""
    flows, seen, names = run.flow_names, Counter[Name](), {}
    for row in directions.filter(pl.col("direction") == ord(">")).iter_rows(named=True):
        source, destination = (row["low"], row["high"]) if row["up"] else (row["high"], row["low"])
        least, most = sorted((source % 65536, destination % 65536))
        number = most - _FIRST_PORT
        if 0 <= number < min(len(flows), _FLOWS) and (
            least == most or _FIRST_USER_PORT <= least < _FIRST_PORT
        ):
            flow = flows[number]
        else:
            flow = f"{IPv4Address(source >> 16)} to {IPv4Address(destination >> 16)}:{destination % 65536}"
        name = Name(nodes[row["interface"]], "TCP" if row["protocol"] == TCP else "UDP", flow)
        seen[name] += 1
        further = name._replace(flow=f"{flow} ({seen[name]})")
        names[name if seen[name] == 1 else further] = int(row["connection"])
    return names


def _relative(frame: pl.DataFrame, directions: pl.DataFrame) -> pl.DataFrame:
    """Returns packets with connection and direction, relative sequence numbers, and windows in
    bytes."""
    joined = frame.drop("scale").join(directions, on=[*_CONNECTION, "up"], how="left", maintain_order="left")
    scale = pl.when(_has(SYN)).then(0).otherwise("scale")
    return joined.select(
        *("connection", "direction", "protocol", "time", "flags", "payload", "dscp", "ecn", "segment"),
        sequence=pl.col("sequence") - pl.col("base"),
        acknowledgment=pl.when(_has(ACK)).then(pl.col("acknowledgment") - pl.col("base_other")).otherwise(0),
        sack=pl.col("sack") - pl.col("base_other"),
        window=pl.col("window").cast(pl.UInt32) * pl.lit(2, pl.UInt32).pow(scale),
    )


def _with_kinds(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns packets with a column for each number of :class:`Totals`."""

    def steps(column: str) -> pl.Expr:
        # Sequence numbers wrap at 32 bits.
        return (pl.col(column).cast(pl.Int64).diff() + 2**31) % 2**32 - 2**31

    data = pl.col("payload") > 0
    ends = steps("sequence").fill_null(0).cum_sum() + pl.col("payload")
    new = steps("acknowledgment")
    acknowledges = ~data & _has(ACK) & ~_has(SYN | FIN | RST)
    each = ("connection", "direction")
    return frame.with_columns(
        packets=pl.lit(True),
        data=data,
        retransmissions=(pl.col("protocol") == TCP) & data & (ends <= ends.shift(1).cum_max()).over(each),
        pushed=_has(PSH),
        acknowledgments=acknowledges,
        # An acknowledgment number of 1 acknowledges a SYN.
        of_one_segment=acknowledges
        & (pl.col("acknowledgment") != 1)
        & ((new > 0) & (new <= pl.col("segment"))).over(each),
        with_sack=pl.col("sack").is_not_null(),
    ).drop("protocol", "segment")


def _compared(
    frames: Sequence[pl.DataFrame],
    names: Sequence[Name],
    ignore: Collection[str],
    tolerance_s: float,
    context: int,
) -> list[Connection]:
    """Compares the packets of connections that are in both frames."""
    zeros = _zeros(*(int(frame["time"][0]) for frame in frames))
    of = [frame["connection"].to_numpy() for frame in frames]
    counts = [np.bincount(places, minlength=len(names)) for places in of]
    starts = [np.cumsum(count) - count for count in counts]
    numbers = [np.arange(len(places)) - start[places] for places, start in zip(of, starts, strict=True)]

    # Use the same number of packets of each connection in both runs, so that packets with the same
    # number are in the same row.
    least = np.minimum(*counts)
    kept = [number < least[places] for places, number in zip(of, numbers, strict=True)]
    heads = [frame.filter(pl.Series(rows)) for frame, rows in zip(frames, kept, strict=True)]
    connection, number = of[0][kept[0]], numbers[0][kept[0]]
    flags = sum(1 << bit for bit, flag in enumerate(FLAGS) if flag.lower() not in ignore)
    differ = np.zeros(len(number), bool)
    for part in _COMPARED:
        if part not in ignore:
            one, other = (head[part] & flags if part == "flags" else head[part] for head in heads)
            differ |= one.ne_missing(other).to_numpy()
    apart = np.abs((heads[0]["time"] - heads[1]["time"]).to_numpy() - zeros[0] + zeros[1])
    del heads

    agree, in_time, most = least.copy(), least.copy(), np.zeros(len(names), np.int64)
    np.minimum.at(agree, connection[differ], number[differ])
    late = apart > tolerance_s * 1e9
    np.minimum.at(in_time, connection[late], number[late])
    in_time = np.minimum(agree, in_time)
    same = number < agree[connection]
    np.maximum.at(most, connection[same], apart[same])
    until = _totals(frames[0].filter(pl.Series(numbers[0] < agree[of[0]])), len(names))
    totals = [_totals(frame, len(names)) for frame in frames]

    # A difference of times is reported in preference to a later end of one run.
    at = np.where(agree < least, agree, in_time)
    begins = np.where(at < np.maximum(*counts), np.maximum(at - context, 0), at)
    around = [
        _packets(frame, start, begins, np.minimum(at + context + 2, count), zero)
        for frame, start, count, zero in zip(frames, starts, counts, zeros, strict=True)
    ]
    found = []
    for place, name in enumerate(names):
        before = int(at[place] - begins[place])
        a, b = (side[place] for side in around)
        differs, pairs = _difference(a[before:], b[before:], ignore, tolerance_s)
        found.append(
            Connection(
                name,
                agree=int(agree[place]),
                in_time=int(in_time[place]),
                apart_s=int(most[place]) / 1e9,
                differs=differs,
                before=list(zip(a[:before], b[:before], strict=True)),
                first=pairs[0] if pairs else None,
                after=pairs[1 : context + 1],
                until=until[place],
                a=totals[0][place],
                b=totals[1][place],
            )
        )
    return found


def _zeros(a: int, b: int) -> tuple[int, int]:
    """Returns the start of each run in the time of its capture, given the times of the first common
    packet. A capture with the time of day does not contain the start of the run. Then the start is
    derived from the other run, or else is the time of the packet."""
    first = next((time for time in (a, b) if time < _TIME_OF_DAY), 0)
    return a - first if a >= _TIME_OF_DAY else 0, b - first if b >= _TIME_OF_DAY else 0


def _totals(frame: pl.DataFrame, connections: int) -> list[Totals]:
    """Returns the totals of each connection."""
    of = frame["connection"].to_numpy()
    kinds = [
        np.bincount(of[frame[one.name].to_numpy()], minlength=connections).tolist() for one in fields(Totals)
    ]
    return [Totals(*row) for row in zip(*kinds, strict=True)]


def _packets(
    frame: pl.DataFrame, starts: _Numbers, begins: _Numbers, ends: _Numbers, zero: int
) -> list[list[Packet]]:
    """Returns the packets from ``begins`` to ``ends`` of each connection. The first packet of a
    connection is at ``starts`` in the frame."""
    ranges = list(zip(begins.tolist(), ends.tolist(), strict=True))
    places = [np.arange(begin, end) + start for (begin, end), start in zip(ranges, starts, strict=True)]
    rows = frame[np.concatenate(places)].iter_rows(named=True)
    return [[_packet(next(rows), number + 1, zero) for number in range(*one)] for one in ranges]


def _packet(row: Mapping[str, Any], number: int, zero: int) -> Packet:
    own = {name: row[name] for name in Packet._fields if name in row} | {
        "number": number,
        "time_s": (row["time"] - zero) / 1e9,
        "direction": chr(row["direction"]),
        "flags": [flag for bit, flag in enumerate(FLAGS) if row["flags"] >> bit & 1],
        "sack": row["sack"] or [],
    }
    return Packet(**own)


def _difference(
    a: list[Packet], b: list[Packet], ignore: Collection[str], tolerance_s: float
) -> tuple[list[str], list[Pair]]:
    """Returns the differences of the first packets of two lists, and the packets of both lists in
    pairs; empty for empty lists."""

    def differing(one: Packet, other: Packet) -> list[str]:
        flags = [
            flag
            for flag in FLAGS
            if flag.lower() not in ignore and (flag in one.flags) != (flag in other.flags)
        ]
        parts = [
            part for part in _COMPARED if part not in ignore and getattr(one, part) != getattr(other, part)
        ]
        return [word for part in parts for word in (flags if part == "flags" else [part])]

    if not a and not b:
        return [], []
    if a and b and not differing(a[0], b[0]):
        return ["time"], list(zip_longest(a, b))
    # Check if the following packet equals that of the other run.
    only_a = not b or (len(a) > 1 and not differing(a[1], b[0]))
    only_b = not a or (len(b) > 1 and not differing(a[0], b[1]))
    if only_a and only_b:
        return ["order"], list(zip_longest(a, b))
    if only_a:
        return ["only in A"], [(a[0], None), *zip_longest(a[1:], b)]
    if only_b:
        return ["only in B"], [(None, b[0]), *zip_longest(a, b[1:])]
    late = ["time"] if abs(a[0].time_s - b[0].time_s) > tolerance_s else []
    return differing(a[0], b[0]) + late, list(zip_longest(a, b))
