"""The results of a measurement, as tables of text for the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bentpipe.quantities import number, rate_text

if TYPE_CHECKING:
    from bentpipe.results.runs import Run


#: A row of a run's table.
_Row: TypeAlias = Mapping[str, Any]
#: The columns of a table of text: their names, and the text of a row in each.
_Columns: TypeAlias = Mapping[str, Callable[[_Row], str]]


@dataclass(frozen=True)
class Table:
    """A table: its title, the names of its columns, and its rows."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def tables(run: Run) -> list[Table]:
    """Returns the non-empty tables of a measured run; empty for other runs."""
    if run.clock != "measured":
        return []
    directions, *others = (
        _table(title, columns, run.table(name).to_dicts() if name in run.tables else [])
        for name, (title, columns) in _TABLES.items()
    )
    loads = _table(_LOADS_TITLE, _LOADS, filter(_is_load, run.flows.to_dicts() if run.has_flows else []))
    return [one for one in (directions, loads, *others) if one.rows]


def _table(title: str, columns: _Columns, rows: Iterable[_Row]) -> Table:
    return Table(title, list(columns), [[_known(cell, row) for cell in columns.values()] for row in rows])


def _known(cell: Callable[[_Row], str], row: _Row) -> str:
    """Returns the text of a cell; "-" for a column that the measuring version did not write."""
    try:
        return cell(row)
    except KeyError:
        return "-"


def _text(key: str) -> Callable[[_Row], str]:
    return lambda row: str(row[key] or "-")


def _number(key: str) -> Callable[[_Row], str]:
    return lambda row: number(row.get(key))


def _ms(key: str) -> Callable[[_Row], str]:
    return lambda row: number(None if row.get(key) is None else 1e3 * row[key])


def _rate(key: str) -> Callable[[_Row], str]:
    return lambda row: rate_text(row[key]) if row[key] else "-"


def _between(low: str, high: str, factor: float) -> Callable[[_Row], str]:
    return lambda row: (
        "-" if row[low] is None else f"{number(factor * row[low])} to {number(factor * row[high])}"
    )


def _arrived(row: _Row) -> str:
    return f"{row['arrived']} of {row['sent']}" if row["sent"] else "-"


def _lost(row: _Row) -> str:
    return "-" if row["lost"] is None else f"{row['lost']} of {row['packets']}"


def _loss(row: _Row) -> str:
    return "-" if row["lost"] is None else _between("loss_low", "loss_high", 100)(row)


def _depth(row: _Row) -> str:
    return ("" if row["overflowed"] else "at least ") + number(row["depth"] / 1e3)


def _depth_bounds(row: _Row) -> str:
    most = row["depth_most"]
    return number(row["depth_least"] / 1e3) + (" or more" if most is None else f" to {number(most / 1e3)}")


def _is_load(row: _Row) -> bool:
    """Returns true if a flow is a load of datagrams, calls or pages."""
    counted = row.get("sent_packets") is not None or row.get("transaction_p50") is not None
    return row["flow"] != "probes" and counted


def _load_lost(row: _Row) -> str:
    sent = row.get("sent_packets")
    return "-" if sent is None else f"{sent - row['delivered_packets']} of {sent}"


_LOADS_TITLE: Final = "Loads of datagrams, calls and pages; one-way delays are the middles of their intervals"

#: Results for the user of a load: delay and loss of its datagrams, the rating of a call, the time
#: of a page.
_LOADS: Final[_Columns] = {
    "load": _text("flow"),
    "lost": _load_lost,
    "delay mean, ms": _ms("delay_mean"),
    "p95, ms": _ms("delay_p95"),
    "mouth to ear, ms": _ms("voice_delay"),
    "jitter, ms": _ms("voice_jitter"),
    "R": _number("voice_r"),
    "MOS": _number("voice_mos"),
    "page median, ms": _ms("transaction_p50"),
    "at most, ms": _ms("transaction_max"),
}

#: Title and columns, by the name of the run's table.
_TABLES: Final[Mapping[str, tuple[str, _Columns]]] = {
    "direction": (
        "Each direction at rest",
        {
            "direction": _text("direction"),
            "minimum one-way delay, ms": _between("delay_least_low", "delay_least_high", 1e3),
            "above the minimum: median, ms": _ms("variation_p50"),
            "p95, ms": _ms("variation_p95"),
            "p99, ms": _ms("variation_p99"),
            "certain to, ms": _ms("variation_error"),
            "lost": _lost,
            "loss, %": _loss,
        },
    ),
    "bottleneck": (
        "Bottlenecks",
        {
            "load": _text("load"),
            "direction": _text("direction"),
            "rate": _rate("rate"),
            "queue, kB": _depth,
            "between": _depth_bounds,
            "policy": _text("policy"),
            "limited by": lambda row: row["depth_reason"] or "",
        },
    ),
    "scheduler": (
        "Access scheduler",
        {
            "direction": _text("direction"),
            "scheme": _text("scheme"),
            "superframe, ms": _ms("superframe"),
            "wait for capacity, ms": _between("wait_min", "wait_max", 1e3),
            "superframes": _number("response"),
            "constant rate": _rate("cra"),
        },
    ),
    "slots": (
        "Handovers: the minimum round-trip time of each level",
        {
            "start, s": _number("begin"),
            "round-trip time, ms": _ms("round_trip"),
            "slots, s": _number("period"),
        },
    ),
    "survey": (
        "Transparency: DSCP and ECN, and the largest datagram that arrives",
        {
            "direction": _text("direction"),
            "sent as": lambda row: f"{row['sent_as']:#04x}",
            "seen as": lambda row: ", ".join(f"{seen:#04x}" for seen in row["seen_as"]) or "-",
            "arrived": _arrived,
            "largest, B": _number("mtu"),
        },
    ),
    "transports": (
        "UDP and QUIC",
        {
            "direction": _text("direction"),
            "transport": _text("transport"),
            "port": _number("port"),
            "arrived": _arrived,
            "rate": _rate("rate"),
            "verdict": _text("verdict"),
        },
    ),
}
