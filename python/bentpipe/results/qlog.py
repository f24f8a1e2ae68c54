"""qlog of QUIC connections: a file for qvis and other tools, from the traces ``quic_frame`` and
``quic`` of a run.

Format: JSON text sequences of qlog 0.3 (draft-ietf-quic-qlog-main-schema-04 and
draft-ietf-quic-qlog-quic-events-03), the latest version that qvis reads.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bentpipe.errors import InputError, unknown

if TYPE_CHECKING:
    from .runs import Run

#: An event: its time in milliseconds, name and data.
Event: TypeAlias = tuple[float, str, dict[str, object]]

#: A row of a trace.
Row: TypeAlias = dict[str, Any]

_EVENTS: Final = ("transport:packet_sent", "transport:packet_received", "recovery:packet_lost")
_PACKET_TYPES: Final = ("initial", "0RTT", "handshake", "1RTT")

#: Character at the start of each record (RFC 7464).
_SEPARATOR: Final = "\x1e"

#: State of the congestion control in the trace ``quic`` for a recovery period, and for persistent
#: congestion.
_RECOVERY: Final = 3
_PERSISTENT: Final = 4


def qlog(run: Run, flow: str | None = None) -> str:
    """Returns the qlog of one end of a QUIC flow: of its source, or of NAME.destination. By default
    the flow is the only one. Raises :class:`bentpipe.InputError`."""
    end = _end(run, flow)
    name, _, side = end.rpartition(".")
    header = {
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": f"{run.name}: {end}",
        "trace": {
            "vantage_point": {"name": end, "type": "client" if side == "source" else "server"},
            "common_fields": {"time_format": "relative", "reference_time": 0, "protocol_type": ["QUIC"]},
        },
    }
    sender = name if side == "source" else f"{name}.reverse"
    # At equal times, the metrics are those after the packets.
    events = heapq.merge(_packets(run, end), _recovery(run, end, sender), key=lambda event: event[0])
    records = ({"time": time, "name": name, "data": data} for time, name, data in events)
    return "".join(f"{_SEPARATOR}{json.dumps(one, separators=(',', ':'))}\n" for one in (header, *records))


def _end(run: Run, flow: str | None) -> str:
    """Returns the name of the end."""
    ends = sorted(set(run.trace("quic_frame")["flow end"])) if run.has_trace("quic_frame") else []
    flows = [end.removesuffix(".source") for end in ends if end.endswith(".source")]
    if not flows:
        raise InputError(
            f"{run.path} has no frames of QUIC: run a scenario with a flow over QUIC and record.details = true"
        )
    if flow is None and len(flows) > 1:
        raise InputError(f"several flows use QUIC: choose one of {', '.join(flows)} with --flow")
    chosen = flow or flows[0]
    if chosen in flows:
        return f"{chosen}.source"
    if chosen not in ends:
        raise unknown("flow over QUIC", chosen, [*flows, *ends])
    return chosen


def _packets(run: Run, end: str) -> Iterator[Event]:
    """Yields the packets that an end sent, received or considered lost."""
    rows = run.trace("quic_frame", end).iter_rows(named=True)
    columns = ("time", "event", "packet_type", "packet_number")
    for (time, event, kind, number), grouped in groupby(rows, lambda row: [row[name] for name in columns]):
        packet = list(grouped)
        data: dict[str, object] = {
            "header": {"packet_type": _PACKET_TYPES[kind], "packet_number": number},
            "frames": list(_frames(packet)),
        }
        if not _EVENTS[event].endswith("lost"):
            data["raw"] = {"length": packet[0]["packet_size"]}
        yield _milliseconds(time), _EVENTS[event], data


def _frames(packet: list[Row]) -> Iterator[dict[str, object]]:
    """Yields the frames of a packet. The ranges of an acknowledgment are consecutive rows."""
    for kind, grouped in groupby(packet, lambda row: row["frame_type"]):
        same = list(grouped)
        if kind in (0x02, 0x03):
            ranges = [[int(row["first"]), int(row["last"])] for row in same]
            yield {
                "frame_type": "ack",
                "ack_delay": _milliseconds(same[0]["ack_delay"]),
                "acked_ranges": [one[:1] if one[0] == one[1] else one for one in ranges],
            }
        else:
            yield from (_frame(kind, row) for row in same)


def _frame(kind: int, row: Row) -> dict[str, object]:
    """Returns a frame other than an acknowledgment."""
    if kind == 0x06:
        return {"frame_type": "crypto", **_data(row)}
    if 0x08 <= kind <= 0x0F:
        ends = {"fin": True} if kind & 1 else {}
        return {"frame_type": "stream", "stream_id": _stream_id(row), **_data(row), **ends}
    if kind == 0x10:
        return {"frame_type": "max_data", "maximum": int(row["last"])}
    if kind == 0x11:
        return {"frame_type": "max_stream_data", "stream_id": _stream_id(row), "maximum": int(row["last"])}
    if kind in (0x30, 0x31):
        return {"frame_type": "datagram", "length": int(row["last"])}
    names = {0x01: "ping", 0x1A: "path_challenge", 0x1B: "path_response", 0x1E: "handshake_done"}
    if kind in names:
        return {"frame_type": names[kind]}
    return {"frame_type": "unknown", "frame_type_bytes": kind}


def _data(row: Row) -> dict[str, object]:
    first, last = int(row["first"]), int(row["last"])
    return {"offset": first, "length": last - first}


def _stream_id(row: Row) -> int:
    """Returns the identifier of a bidirectional stream of the client (RFC 9000, section 2.1)."""
    return 4 * int(row["stream"])


def _recovery(run: Run, end: str, sender: str) -> Iterator[Event]:
    """Yields the changes of metrics and of the state of congestion control. The trace counts
    packets, qlog bytes: a packet has the size at the end of the run."""
    if not run.has_trace("quic"):
        return
    reports = run.table("quic_connection").iter_rows(named=True)
    size = next(row["mtu"] for row in reports if row["flow end"] == end)
    known: dict[str, object] = {}
    state: str | None = None
    least: float | None = None
    for row in run.trace("quic", sender).iter_rows(named=True):
        time = _milliseconds(row["time"])
        least = min((rtt for rtt in (least, row["rtt"]) if rtt is not None), default=None)
        times = {
            "min_rtt": least,
            "smoothed_rtt": row["srtt"],
            "latest_rtt": row["rtt"],
            "rtt_variance": row["rttvar"],
        }
        values = {name: _milliseconds(value) for name, value in times.items() if value is not None}
        values |= {
            "congestion_window": row["cwnd"] * size,
            "bytes_in_flight": row["inflight"] * size,
            "packets_in_flight": row["inflight"],
        }
        if row["ssthresh"] is not None:
            values["ssthresh"] = round(row["ssthresh"] * size)
        changed: dict[str, object] = {
            name: value for name, value in values.items() if known.get(name) != value
        }
        known |= changed
        if changed:
            yield time, "recovery:metrics_updated", changed
        new = _state(row)
        if new != state:
            trigger = {"trigger": "persistent_congestion"} if row["ca_state"] == _PERSISTENT else {}
            old: dict[str, object] = {} if state is None else {"old": state}
            yield time, "recovery:congestion_state_updated", {**old, "new": new, **trigger}
            state = new


def _state(row: Row) -> str:
    """Returns the state of congestion control by the names of RFC 9002, section 7.3."""
    if row["ca_state"] == _RECOVERY:
        return "recovery"
    threshold = row["ssthresh"]
    return "slow_start" if threshold is None or row["cwnd"] < threshold else "congestion_avoidance"


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1e3, 6)
