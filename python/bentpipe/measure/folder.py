"""The run folder of a measurement. It has the same files as the run folders of the other
instruments."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bentpipe
from bentpipe import _native
from bentpipe.errors import InputError, trouble

from . import flows
from .load import HEADERS
from .load_results import echo_times
from .probing import Measured
from .queueing import together
from .summary import Summary, load_bit_s

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.results.runs import Run

#: Name of the flow of probes.
FLOW = "probes"


def free(folder: Path) -> None:
    """Creates the folder of a run. Raises :class:`bentpipe.InputError` if it is not empty or cannot
    be created."""
    try:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} is not empty; allowed: a folder that is empty or does not exist")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(trouble(error)) from error


def clear(folder: Path) -> None:
    """Removes the files of an interrupted measurement from a folder. Files of other commands are
    kept."""
    for name in ("interrupted.npz", "flows.parquet", "tables", "traces"):
        place = folder / name
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


def write(folder: Path, host: str, seed: int, seen: Measured, said: Summary) -> Run:
    """Writes the results into a folder that :func:`free` has created, and returns the run. ``seed``
    is the seed of the times of probes and loads."""
    import polars as pl

    from bentpipe.results.runs import open_run
    from bentpipe.scenario.scenarios import load

    for sub in ("tables", "traces"):
        (folder / sub).mkdir(exist_ok=True)
    span = float(said.time[-1]) if len(said.time) else 0.0
    (folder / "scenario.toml").write_text(load(scenario(host, seen, said)).toml, encoding="utf-8")
    forward = [(one.lost or 0) / one.sent for one in said.directions if one.name == "forward" and one.sent]
    # The direction of a single loss is not known, so the probes get the loss ratio of all packets.
    lost = [{"flow": FLOW, "data": True, "packets": round(part * (seen.train < 0).sum())} for part in forward]
    lost += [
        {"flow": one.name, "data": True, "packets": one.lost} for one in said.loads if len(one.outcome.sent)
    ]
    _json(folder / "summary.json", {"duration_seconds": span, "losses": lost, "tables": {}})
    _json(folder / "fidelity.json", _fidelity(seen, said))
    table = pl.DataFrame(
        [_flow(seen, said), *(row for one in said.loads for row in flows.rows(one, _end(seen, said)))],
        infer_schema_length=None,
    )
    table.write_parquet(folder / "flows.parquet")
    rows = [
        {
            "direction": one.name,
            "delay_least_low": one.least[0],
            "delay_least_high": one.least[1],
            **{f"variation_p{quantile}": value for quantile, value in one.variation.items()},
            "variation_error": one.variation_error,
            "packets": one.sent,
            "lost": one.lost,
            "loss_low": one.loss[0],
            "loss_high": one.loss[1],
        }
        for one in said.directions
    ]
    if rows:
        pl.DataFrame(rows).write_parquet(folder / "tables" / "direction.parquet")
    if said.queues:
        pl.DataFrame([vars(one) for one in said.queues], infer_schema_length=None).write_parquet(
            folder / "tables" / "bottleneck.parquet"
        )
    if said.surveys:
        marks = [
            vars(mark) | {"seen_as": list(mark.seen_as), "kept": mark.kept, "mtu": one.mtu}
            for one in said.surveys
            for mark in one.marks
        ]
        pl.DataFrame(marks, infer_schema_length=None).write_parquet(folder / "tables" / "survey.parquet")
    if said.slots is not None:
        stairs = [
            {"begin": begin, "round_trip": level, "period": said.slots.period}
            for begin, level in said.slots.levels
        ]
        pl.DataFrame(stairs, infer_schema_length=None).write_parquet(folder / "tables" / "slots.parquet")
    if said.ways:
        tried = [vars(way) | {"load": number} for number, own in enumerate(said.ways) for way in own]
        pl.DataFrame(tried, infer_schema_length=None).write_parquet(folder / "tables" / "transports.parquet")
    if said.access:
        access = [
            {key: value for key, value in vars(one).items() if key != "wait"}
            | dict(zip(("wait_min", "wait_p50", "wait_max"), one.wait or [None] * 3, strict=True))
            for one in said.access
        ]
        pl.DataFrame(access, infer_schema_length=None).write_parquet(folder / "tables" / "scheduler.parquet")
    _traces(folder / "traces" / "probe.parquet", seen, said)
    if len(seen.echoes):
        _echoes(seen).write_parquet(folder / "traces" / "icmp.parquet")
    if said.zeros is not None:
        flows.write_traces(folder / "traces", said.loads, said.zeros, _forward(seen, said))
    _json(
        folder / "provenance.json",
        {
            "bentpipe": bentpipe.__version__,
            "commit": None,
            "instrument": "measure",
            "seed": seed,
            "run": 0,
            "status": "complete" if seen.complete else "incomplete",
            "reason": None if seen.complete else "stopped",
            "command": ["bentpipe", *sys.argv[1:]],
            "host": {
                "kernel": f"{platform.system()} {platform.release()}",
                "system": platform.platform(),
                "architecture": platform.machine(),
            },
            "started": _text(int(seen.sent[0]) if len(seen.sent) else round(1e9 * seen.started)),
            "simulated_seconds": span,
            "events": len(seen.sent),
            "wall_seconds": span,
            "cpu_seconds": sum(os.times()[:2]),
            "notes": {},
        },
    )
    return open_run(folder)


def scenario(host: str, seen: Measured, said: Summary) -> dict[str, Any]:
    """Returns a scenario of the path. It has one link with the measured delay, losses and rate, and
    a flow like the probes.

    The delay is half of the minimum round-trip time, because the clocks do not determine the delay
    of each direction. Rate and queue come from loads that filled the bottleneck. Without such
    loads, the rate comes from trains towards the reflector. Without trains, the rate is 100 Mbit/s,
    which hardly limits the flow."""
    data = sum(seen.plan.sizes) / len(seen.plan.sizes) - HEADERS
    sides = {name: _side(seen, said, name) for name in ("up", "down")}
    losses = said.losses_at_rest
    errors = {
        name: {"error": {"kind": "packet", "probability": loss}} for name, loss in losses.items() if loss
    }
    ends = {"from": "here", "to": "there"}
    back = sides["down"] | errors.get("backward", {})
    link = {"name": "path"} | ends | sides["up"] | errors.get("forward", {}) | {"return": back}
    app = {"kind": "cbr", "rate": f"{seen.plan.rate * 8 * data:.0f} bit/s", "datagram": f"{data:.0f} B"}
    if seen.plan.schedule != "periodic":
        app["spacing"] = "exponential"
    flow = {"name": FLOW} | ends | {"app": app, "transport": {"kind": "udp"}}
    duration = f"{_end(seen, said):g} s"
    known = [row["name"] for row in json.loads(_native.variants())]
    loads = [found for one in said.loads if (found := flows.flow(one, known, seen.window_start)) is not None]
    return {"name": f"Path to {host}", "duration": duration, "link": [link], "flow": [flow, *loads]}


def _end(seen: Measured, said: Summary) -> float:
    """Returns the length of the run's scenario in seconds."""
    last = max((one.begin + one.span for one in said.loads), default=0.0)
    return max(1.0, seen.plan.duration, math.ceil(last))


def _side(seen: Measured, said: Summary, direction: str) -> dict[str, Any]:
    """Returns the rate, the delay and the queue of a direction. The queue is missing if no load has
    filled it."""
    found = together(said.queues, direction)
    rate = found.rate if found is not None else said.rate[0] if said.rate else 1e8
    side: dict[str, Any] = {"rate": f"{rate:.0f} bit/s", "delay": f"{1e9 * delay(seen, said):.0f} ns"}
    if found is not None and found.overflowed:
        # A queue with AQM or fair queuing holds at least this much; its parameters are not known.
        kind = found.policy if found.policy == "drop-front" else "drop-tail"
        side["queue"] = {"kind": kind} | (
            {"packets": found.packets} if found.in_packets else {"bytes": f"{max(1500, found.depth)} B"}
        )
    return side


def delay(seen: Measured, said: Summary) -> float:
    """Returns half of the minimum round-trip time in seconds. If a rate is known, the transmission
    time of a packet is subtracted."""
    trains = said.rate[0] if said.rate else None
    rates = [
        one.rate if (one := together(said.queues, way)) is not None else trains for way in ("up", "down")
    ]
    sending = sum(8 * seen.size / rate for rate in rates if rate)
    ways = (said.rtt - sending) / 2
    return max(0.0, float(np.nanmin(ways))) if np.isfinite(ways).any() else 0.0


def _flow(seen: Measured, said: Summary) -> dict[str, Any]:
    """Returns the row of the probes, without trains."""
    probes = seen.train < 0
    replied = probes & seen.replied
    known = said.rtt[replied]
    quantiles = np.quantile(known, (0, 0.5, 0.95, 1)).tolist() if len(known) else [None] * 4
    middle = np.empty(0)
    if said.delays is not None:
        middle = ((said.delays.forward_low + said.delays.forward_high) / 2)[probes[seen.replied]]
    span = float(said.time[-1]) if len(said.time) > 1 else 1.0
    payload = seen.size - HEADERS
    return {
        "flow": FLOW,
        "from": "here",
        "to": "there",
        "group": None,
        "dscp": 0,
        "class": None,
        "app": "cbr",
        "transport": "udp",
        "congestion": None,
        "start": 0.0,
        "goodput": 8 * float(payload[replied].sum()) / span,
        "sent_bytes": int(payload[probes].sum()),
        "sent_packets": int(probes.sum()),
        "rtt_mean": float(known.mean()) if len(known) else None,
        **dict(zip(("rtt_min", "rtt_p50", "rtt_p95", "rtt_max"), quantiles, strict=True)),
        "delivered_bytes": int(payload[replied].sum()),
        "delivered_packets": int(replied.sum()),
        "delay_mean": float(middle.mean()) if len(middle) else None,
        "delay_p95": float(np.quantile(middle, 0.95)) if len(middle) else None,
        "delay_max": float(middle.max()) if len(middle) else None,
    }


def _traces(file: Path, seen: Measured, said: Summary) -> None:
    import polars as pl

    count, ok = len(seen.sent), seen.replied
    columns: dict[str, Any] = {
        "time": (said.time * 1e9).astype(np.int64),
        "flow": pl.Series([FLOW] * count, dtype=pl.Categorical),
        "size": seen.size,
        "train": seen.train,
        "replied": ok,
        "quiet": said.quiet,
        "round_trip": said.rtt,
    }
    for name in ("forward_low", "forward_high", "backward_low", "backward_high"):
        values = np.full(count, np.nan)
        if said.delays is not None:
            values[ok] = getattr(said.delays, name)
        columns[name] = values
    pl.DataFrame(columns).write_parquet(file)


def _echoes(seen: Measured) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(
        {
            "time": seen.echoes[:, 0] - int(seen.sent[0] if len(seen.sent) else seen.echoes[0, 0]),
            "flow": pl.Series(["icmp"] * len(seen.echoes), dtype=pl.Categorical),
            "replied": seen.echoes[:, 1] > 0,
            "round_trip": pl.Series(echo_times(seen)).fill_nan(None),
        }
    )


def _forward(seen: Measured, said: Summary) -> flows.Datagrams:
    """Returns the probes that a reflector has answered, as the datagrams of a flow."""
    ok = np.flatnonzero(seen.replied)
    delay = np.full(len(ok), np.nan)
    if said.delays is not None:
        delay = (said.delays.forward_low + said.delays.forward_high) / 2
    return flows.Datagrams(FLOW, said.time[ok] + delay, ok, delay, seen.size[ok] - HEADERS)


def _fidelity(seen: Measured, said: Summary) -> dict[str, Any]:
    widths = [one.least[1] - one.least[0] for one in said.directions]
    return {
        "verdict": "valid"
        if said.directions and not said.notes
        else "degraded"
        if said.directions
        else "void",
        "reasons": said.notes,
        "clock_error_s": seen.clock_error_s,
        "reflector_clock_error_s": seen.reflector_error_s,
        "clock_moved_s": seen.clock_moved_s,
        "one_way_width_s": max(widths, default=None),
        "skew": [list(part.skew) for part in said.delays.parts] if said.delays else [],
        "kernel_timestamps": seen.kernel_sent and seen.kernel_received,
        "hardware_timestamps": {
            "sent": seen.hardware_sent,
            "received": seen.hardware_received,
            "reason": seen.no_hardware,
        },
        "tcp_window_start": seen.window_start,
        "probe_load_bit_s": load_bit_s(seen),
        "queue_depth": [
            {"load": one.load, "least": one.depth_least, "most": one.depth_most, "reason": one.depth_reason}
            for one in said.queues
            if one.depth_reason
        ],
        "proxy": said.proxy,
        "interruptions_s": [list(one) for one in said.interruptions],
        "path_changed_s": said.slots.steps if said.slots is not None else [],
        "path_changed_off_slots_s": said.slots.odd if said.slots is not None else [],
        "icmp": seen.no_echoes or f"{(seen.echoes[:, 1] > 0).sum()} of {len(seen.echoes)} had a reply",
    }


def _text(begin_ns: int) -> str:
    """Formats a time in nanoseconds since 1970, with a resolution of a millisecond. A satellite
    moves 7 m in a millisecond.

    >>> _text(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20.123Z'
    """
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(begin_ns // 10**9))}.{begin_ns // 10**6 % 1000:03d}Z"


def _json(file: Path, document: dict[str, Any]) -> None:
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
