"""The state of a live network as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.quantities import rate_text, span_text

Status = Mapping[str, Any]

#: A table: its headings and its rows.
Shown = tuple[Sequence[str], list[list[str]]]


def rates(now: Status, before: Status | None) -> dict[tuple[str, str], dict[str, float]]:
    """Returns the change per second of each value, by table and entity. The change is since
    ``before``, or since the network came up if ``before`` is None."""
    span = now["time"] - (before["time"] if before else 0.0)
    old = {(row["table"], row["entity"]): row["values"] for row in before["rows"]} if before else {}
    return {
        (row["table"], row["entity"]): {
            name: (value - (old.get((row["table"], row["entity"]), {}).get(name) or 0.0)) / span
            for name, value in row["values"].items()
            if isinstance(value, int | float) and span > 0
        }
        for row in now["rows"]
    }


def links(now: Status, before: Status | None) -> Shown:
    """Returns a table of the links, including the forward links of DVB-RCS networks."""
    per_second = rates(now, before)
    rows = []
    for row in _of(now, "link"):
        values, change = row["values"], per_second["link", row["entity"]]
        rows.append(
            [
                row["entity"],
                rate_text(8 * change.get("bytes", 0.0)),
                _percent(values["utilisation"]),
                span_text(values["wait_mean"]),
                _count(values["queue_max"]),
                _count(values["queue_drops"]),
                _count(values["error_drops"]),
            ]
        )
    return (
        "link",
        "rate",
        "utilisation",
        "mean\nwait",
        "longest queue\npackets",
        "queue\ndrops",
        "error\ndrops",
    ), rows


def terminals(now: Status, before: Status | None) -> Shown:
    """Returns a table of the terminals of DVB-RCS networks, with their requested and granted
    capacity."""
    per_second = rates(now, before)
    rows = []
    for row in _of(now, "terminal"):
        values, change = row["values"], per_second["terminal", row["entity"]]
        rows.append(
            [
                row["entity"],
                rate_text(8 * change.get("used_bytes", 0.0)),
                rate_text(8 * change.get("capacity_bytes", 0.0)),
                _percent(values["efficiency"]),
                _count(values["requests"]),
                span_text(values["delay_mean"]),
                _count(values["queue_drops"]),
            ]
        )
    return ("terminal", "rate", "granted", "used", "requests", "mean\ndelay", "queue\ndrops"), rows


def state(now: Status) -> str:
    """Returns the state of the network as a whole, in one line."""
    late = now["late"]
    return (
        f"up for {now['time']:.0f} s; packets late by {span_text(late['p50'])} (median), "
        f"{span_text(late['p99'])} (99 %), {span_text(late['max'])} (maximum); "
        f"{now['lost']} packets lost outside the model"
    )


def _of(now: Status, table: str) -> list[Mapping[str, Any]]:
    return [row for row in now["rows"] if row["table"] == table]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
