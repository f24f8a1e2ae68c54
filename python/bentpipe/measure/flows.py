"""Converts the loads of a measurement to flows: to rows of `flows.parquet`, to traces, and to flows
of the run's scenario."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .call import codec_of
from .clock import Times
from .load import HEADERS, Load
from .load_results import Loaded
from .page import REQUEST
from .queueing import available
from .tcplog import COLUMNS, WHOLE

if TYPE_CHECKING:
    import polars as pl

#: The application in scenarios for each kind of load. Kinds that are missing here are "cbr".
APPS: Final = {"tcp": "bulk", "page": "http", "call": "voice"}


def ends(one: Loaded) -> tuple[str, str]:
    """Returns the source and the destination node of a load."""
    return ("here", "there") if one.outcome.is_up else ("there", "here")


def rows(one: Loaded, end: float) -> list[dict[str, Any]]:
    """Returns the rows of a load in a run that ends at ``end`` seconds. Pages have a row for
    requests and a row for objects."""
    if one.outcome.item.load.kind != "page":
        return [row(one, end)]
    pages = one.outcome.pages
    requests = row(one, end)
    asked = int(np.ceil(pages["bytes"] / one.outcome.item.load.object).sum()) * REQUEST if len(pages) else 0
    span = max(one.span, 1e-9)
    # The server's flow begins with the first request, as in a simulation: one and a half round
    # trips later.
    later = 1.5 * float(np.nanmin(one.probes)) if np.isfinite(one.probes).any() else 0.0
    objects = requests | {"flow": f"{one.name}.reverse", "from": requests["to"], "to": requests["from"]}
    objects["start"] = one.begin + later
    objects["goodput"] = 8 * one.delivered / max(one.span - later, 1e-9)
    took = pages["took"][pages["complete"]] / 1e9
    requests |= {"delivered_bytes": asked, "goodput": 8 * asked / span, "transactions": len(took)}
    requests["broken_off"] = len(pages) - len(took)
    if len(took):
        requests |= {
            "transaction_bytes": int(pages["bytes"][pages["complete"]].sum()),
            "transaction_mean": float(took.mean()),
            **_quantiles("transaction", took, {"min": 0, "p50": 0.5, "p95": 0.95, "max": 1}),
        }
    return [requests, objects]


def row(one: Loaded, end: float) -> dict[str, Any]:
    """Returns the row of a load in a run that ends at ``end`` seconds. The goodput of datagrams is
    averaged until that end, as for any source without an end of its own; the goodput of a transfer
    until its last delivery."""
    source, destination = ends(one)
    kind = one.outcome.item.load.kind
    is_tcp = kind in ("tcp", "page")
    found: dict[str, Any] = {
        "flow": one.name,
        "from": source,
        "to": destination,
        "group": None,
        "dscp": 0,
        "class": None,
        "app": APPS.get(kind, "cbr"),
        "transport": "tcp" if is_tcp else "udp",
        "congestion": one.outcome.item.congestion,
        "start": one.begin,
        "goodput": one.goodput if is_tcp else 8 * one.delivered / max(end - one.begin, one.span, 1e-9),
        "delivered_bytes": one.delivered,
    }
    if kind == "call":
        found |= rated(one)
    return found | (_bulk(one) if is_tcp else _datagrams(one))


def _bulk(one: Loaded) -> dict[str, Any]:
    rows = one.outcome.tcp
    if not len(rows):
        return {}
    columns = dict(zip(COLUMNS, rows[:, 1:].T, strict=True))
    # TCP_INFO has no samples of single acknowledgments; the smoothed round-trip time replaces them.
    samples = columns["rtt"] if np.isfinite(columns["rtt"]).any() else columns["srtt"]
    samples = samples[np.isfinite(samples)]
    timeouts = columns["timeouts"][-1]
    found: dict[str, Any] = {
        "sent_bytes": int(columns["sent"][-1]),
        "retransmissions": int(columns["retransmissions"][-1]),
        "timeouts": None if np.isnan(timeouts) else int(timeouts),
    }
    if len(samples):
        found |= {
            "rtt_mean": float(samples.mean()),
            "rtt_deviation": float(samples.std()),
            **_quantiles("rtt", samples, {"min": 0, "p50": 0.5, "p95": 0.95, "max": 1}),
        }
    return found


def _datagrams(one: Loaded) -> dict[str, Any]:
    delay = one.delay[np.isfinite(one.delay)]
    sent = one.outcome.sent > 0
    found: dict[str, Any] = {
        "sent_packets": int(sent.sum()),
        "sent_bytes": int(one.outcome.pattern["size"][: len(sent)][sent].sum()) - HEADERS * int(sent.sum()),
        "delivered_packets": len(delay),
    }
    if len(delay):
        found |= {"delay_mean": float(delay.mean()), **_quantiles("delay", delay, {"p95": 0.95, "max": 1})}
    return found


def _quantiles(name: str, values: np.ndarray[Any, Any], which: dict[str, float]) -> dict[str, float]:
    found = np.quantile(values, list(which.values()))
    return {f"{name}_{key}": float(value) for key, value in zip(which, found, strict=True)}


@dataclass(frozen=True)
class Datagrams:
    """The arrived datagrams of a flow: arrival times in seconds, numbers, one-way delays in seconds
    (the middles of their intervals), and payloads in bytes."""

    flow: str
    time: Times
    number: np.ndarray[Any, Any]
    delay: Times
    payload: np.ndarray[Any, Any]

    @classmethod
    def of(cls, one: Loaded) -> Datagrams:
        """Returns the datagrams of a load, without those that follow a burst at another port."""
        number = np.flatnonzero(np.isfinite(one.low) & (one.outcome.pattern["lane"][: len(one.low)] == 0))
        payload = one.outcome.pattern["size"][number].astype(np.int64) - HEADERS
        delay = one.delay[number]
        return cls(one.name, one.time[number] + delay, number, delay, payload)

    def frame(self) -> pl.DataFrame:
        """Returns the datagrams with the columns of the trace `datagram`."""
        import polars as pl

        order = np.argsort(self.time, kind="stable")
        payload = self.payload[order]
        return pl.DataFrame(
            {
                "time": (self.time[order] * 1e9).astype(np.int64),
                "flow": [self.flow] * len(order),
                "number": self.number[order].astype(np.int64),
                "delay": self.delay[order],
                "payload": payload,
                "received": np.cumsum(payload),
            }
        )


def write_traces(folder: Path, loads: list[Loaded], zeros: tuple[int, int], probes: Datagrams) -> None:
    """Writes the traces of loads and the datagrams of probes. ``zeros`` are the zeros of this
    host's clock and of the reflector's clock."""
    import polars as pl

    arrived = [one.frame() for one in (probes, *map(Datagrams.of, loads)) if len(one.time)]
    if arrived:
        frame = pl.concat(arrived).with_columns(pl.col("flow").cast(pl.Categorical))
        frame.write_parquet(folder / "datagram.parquet")
    delivered = [_delivered(one) for one in loads if len(one.ends)]
    if delivered:
        frame = pl.concat(delivered).with_columns(pl.col("flow").cast(pl.Categorical))
        frame.write_parquet(folder / "delivery.parquet")
    tcp = [_tcp(one, zeros) for one in loads if len(one.outcome.tcp)]
    if tcp:
        pl.concat(tcp).with_columns(pl.col("flow").cast(pl.Categorical)).write_parquet(folder / "tcp.parquet")
    rates = [_available(one) for one in loads if len(one.outcome.arrived)]
    if rates:
        frame = pl.concat(rates).with_columns(pl.col("flow").cast(pl.Categorical))
        frame.write_parquet(folder / "arrival_rate.parquet")
    pages = [_transactions(one) for one in loads if len(one.outcome.pages)]
    if pages:
        frame = pl.concat(pages).with_columns(pl.col("flow").cast(pl.Categorical))
        frame.write_parquet(folder / "transaction.parquet")
    datagrams = [_load(one) for one in loads if len(one.time)]
    if datagrams:
        frame = pl.concat(datagrams).with_columns(pl.col("flow").cast(pl.Categorical))
        frame.write_parquet(folder / "load.parquet")


def _tcp(one: Loaded, zeros: tuple[int, int]) -> pl.DataFrame:
    import polars as pl

    rows = one.outcome.tcp
    shift = zeros[0] if one.outcome.is_up else zeros[1]
    columns: dict[str, Any] = {
        "time": (rows[:, 0] - shift).astype(np.int64),
        "flow": [one.name] * len(rows),
    }
    for name, values in zip(COLUMNS, rows[:, 1:].T, strict=True):
        column = pl.Series(values).fill_nan(None)
        columns[name] = column.cast(pl.UInt64) if name in WHOLE else column
    return pl.DataFrame(columns)


def _delivered(one: Loaded) -> pl.DataFrame:
    import polars as pl

    total = np.cumsum(one.outcome.counted["bytes"])
    time = (one.ends * 1e9).astype(np.int64)
    return pl.DataFrame({"time": time, "flow": [one.name] * len(time), "delivered": total})


def _transactions(one: Loaded) -> pl.DataFrame:
    import polars as pl

    pages = one.outcome.pages
    started = one.begin + (pages["at"] - pages["at"][0]) / 1e9
    took = pages["took"] / 1e9
    return pl.DataFrame(
        {
            "time": ((started + took) * 1e9).astype(np.int64),
            "flow": [one.name] * len(pages),
            "started": started,
            "took": took,
            "bytes": pages["bytes"],
            "parts": np.full(len(pages), one.outcome.item.load.objects),
            "complete": pages["complete"].astype(np.int64),
        }
    )


def _available(one: Loaded) -> pl.DataFrame:
    import polars as pl

    at, rate = available(one)
    time = ((one.begin + at) * 1e9).astype(np.int64)
    return pl.DataFrame({"time": time, "flow": [one.name] * len(time), "arrival_rate": rate})


def _load(one: Loaded) -> pl.DataFrame:
    import polars as pl

    number = np.flatnonzero(one.outcome.sent > 0)
    return pl.DataFrame(
        {
            "time": (one.time[number] * 1e9).astype(np.int64),
            "flow": [one.name] * len(number),
            "sequence": number,
            "size": one.outcome.pattern["size"][number],
            "lane": one.outcome.pattern["lane"][number],
            "arrived": np.isfinite(one.low[number]),
            "delay_low": pl.Series(one.low[number]).fill_nan(None),
            "delay_high": pl.Series(one.high[number]).fill_nan(None),
        }
    )


def flow(one: Loaded, known: list[str], window_start: int | None = None) -> dict[str, Any] | None:
    """Returns a load as a flow of a scenario.

    ``known`` are the congestion controls of scenarios. ``window_start`` is the initial receive
    window of connections, if the window grows. Returns ``None`` for a survey, for a test of
    transports, for the return direction of a call (the call is one flow), and for a congestion
    control that is not in ``known``.
    """
    item, (source, destination) = one.outcome.item, ends(one)
    load = item.load
    if load.kind in ("survey", "transports") or (load.kind == "call" and not one.outcome.is_up):
        return None
    # A busy machine may send the first probe, at time zero, after a load has begun.
    begin = max(0.0, one.begin)
    found = {"name": one.name, "from": source, "to": destination, "start": f"{begin:.3f} s"}
    if load.kind == "call":
        voice = {"kind": "voice", "codec": load.codec, "silence_suppression": False, "rtcp": "0 s"}
        voice["length"] = f"{load.duration:g} s"
        return found | {"app": voice, "transport": {"kind": "udp"}}
    transport = {"kind": "tcp", "congestion": item.congestion}
    if window_start is not None:
        transport["receive_window_start"] = f"{window_start} B"
    if load.kind == "page":
        if item.congestion not in known:
            return None
        http: dict[str, Any] = {"kind": "http", "pages": load.pages, "request": f"{REQUEST} B"}
        for name, value in (("object", f"{load.object} B"), ("objects", load.objects)):
            http |= {name: value, f"{name}_min": value, f"{name}_max": value}
        return found | {"app": http, "transport": transport}
    if load.kind == "tcp":
        if item.congestion not in known:
            return None
        app: dict[str, Any] = {"kind": "bulk", "duration": f"{item.load.duration:g} s"}
        return found | {"app": app, "transport": transport}
    return found | {"app": _source(item.load), "transport": {"kind": "udp"}}


def _source(load: Load) -> dict[str, Any]:
    """Returns a load of datagrams as an application."""
    payload = load.size - HEADERS
    # A burst leaves this host without pauses; 1 Gbit/s is more than the path can carry.
    rate = load.rate * payload / load.size if load.kind == "udp" else 1e9
    span = load.duration if load.kind == "udp" else 8 * payload * load.packets / rate
    # Impulses come in pairs.
    off = load.every / 2 if load.kind == "impulses" else 7 * 86400
    return {
        "kind": "cbr",
        "rate": f"{rate:.0f} bit/s",
        "datagram": f"{payload} B",
        "on": f"{1e9 * span:.0f} ns",
        "off": f"{off:g} s",
    }


def rated(one: Loaded) -> dict[str, float]:
    """Returns the rating of one direction of a call by column of the flow. The rating is empty if
    no packet arrived.

    Mouth-to-ear delays use the middle of the interval of the one-way delay. If the host sent a
    packet late, only the path's delay is added to the time at which it was due: a late host is not
    a property of the path.
    """
    from bentpipe import _native

    codec, good = codec_of(one.outcome.item.load.codec), np.flatnonzero(np.isfinite(one.low))
    if not len(good):
        return {}
    step = codec.packet_ms / 1e3
    # A packet leaves when all of its speech has been recorded.
    arrival = (good + 1) * step + codec.lookahead_ms / 1e3 + one.delay[good]
    order = np.argsort(arrival)
    packets = zip(good[order].tolist(), np.maximum(0, arrival[order]).tolist(), strict=True)
    heard: dict[str, Any] = json.loads(_native.hear(codec.name, list(packets)))
    assumed = int(codec.assumed is not None)
    return {f"voice_{key}": value for key, value in heard.items()} | {"voice_assumed": assumed}
