"""The loads of a measurement as flows: rows of `flows.parquet`, traces, and the flows of the run's scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .inload import Loaded
from .load import HEADERS, Load
from .queueing import available
from .tcplog import COLUMNS

if TYPE_CHECKING:
    import polars as pl

#: Columns of the trace `tcp` that are whole numbers.
WHOLE = ("cwnd", "inflight", "acknowledged", "sent", "retransmissions", "timeouts", "ca_state")


def ends(one: Loaded) -> tuple[str, str]:
    """Returns the nodes between which a load goes: from, to."""
    return ("here", "there") if one.outcome.is_up else ("there", "here")


def row(one: Loaded, end: float) -> dict[str, Any]:
    """Returns the row of a load in a run that ends at ``end`` seconds. The goodput of datagrams is over the time to
    that end, as for any source that has no end of its own; that of a transfer to its last delivery."""
    source, destination = ends(one)
    is_bulk = one.outcome.item.load.kind == "tcp"
    found: dict[str, Any] = {
        "flow": one.name,
        "from": source,
        "to": destination,
        "group": None,
        "dscp": 0,
        "class": None,
        "app": "bulk" if is_bulk else "cbr",
        "transport": "tcp" if is_bulk else "udp",
        "congestion": one.outcome.item.congestion,
        "start": one.begin,
        "goodput": one.goodput if is_bulk else 8 * one.delivered / max(end - one.begin, one.span, 1e-9),
        "delivered_bytes": one.delivered,
    }
    return found | (_bulk(one) if is_bulk else _datagrams(one))


def _bulk(one: Loaded) -> dict[str, Any]:
    rows = one.outcome.tcp
    if not len(rows):
        return {}
    columns = dict(zip(COLUMNS, rows[:, 1:].T, strict=True))
    # TCP_INFO has no samples of single acknowledgments; its smoothed time stands for them.
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


def write_traces(folder: Path, loads: list[Loaded], zeros: tuple[int, int]) -> None:
    """Writes the traces `tcp` and `load`. ``zeros`` are the zeros of this host's clock and the reflector's."""
    import polars as pl

    tcp = [_tcp(one, zeros) for one in loads if len(one.outcome.tcp)]
    if tcp:
        pl.concat(tcp).with_columns(pl.col("flow").cast(pl.Categorical)).write_parquet(folder / "tcp.parquet")
    rates = [_available(one) for one in loads if len(one.outcome.arrived)]
    if rates:
        frame = pl.concat(rates).with_columns(pl.col("flow").cast(pl.Categorical))
        frame.write_parquet(folder / "arrival_rate.parquet")
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


def flow(one: Loaded, known: list[str]) -> dict[str, Any] | None:
    """Returns a load as a flow of a scenario; ``None`` for a survey, and for a congestion control that scenarios do not
    have: ``known`` are those they have."""
    item, (source, destination) = one.outcome.item, ends(one)
    if item.load.kind == "survey":
        return None
    found = {"name": one.name, "from": source, "to": destination, "start": f"{one.begin:.3f} s"}
    if item.load.kind == "tcp":
        if item.congestion not in known:
            return None
        app: dict[str, Any] = {"kind": "bulk", "duration": f"{item.load.duration:g} s"}
        return found | {"app": app, "transport": {"kind": "tcp", "congestion": item.congestion}}
    return found | {"app": _source(item.load), "transport": {"kind": "udp"}}


def _source(load: Load) -> dict[str, Any]:
    """Returns a load of datagrams as an application."""
    payload = load.size - HEADERS
    # A burst leaves this host at once; 1 Gbit/s is more than what follows can take.
    rate = load.rate * payload / load.size if load.kind == "udp" else 1e9
    span = load.duration if load.kind == "udp" else 8 * payload * load.packets / rate
    off = load.every if load.kind == "impulses" else 7 * 86400
    return {
        "kind": "cbr",
        "rate": f"{rate:.0f} bit/s",
        "datagram": f"{payload} B",
        "on": f"{1e9 * span:.0f} ns",
        "off": f"{off:g} s",
    }
