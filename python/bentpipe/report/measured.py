"""What a measurement says of its path, as tables of text for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bentpipe.quantities import number, rate_text

if TYPE_CHECKING:
    from bentpipe.runs import Run


@dataclass(frozen=True)
class Table:
    """A table: its title, the names of its columns, and its rows."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def tables(run: Run) -> list[Table]:
    """Returns the tables of a measured run that have rows; none of other runs."""
    if run.clock != "measured":
        return []
    made = (
        _directions(run),
        _loads(run),
        _bottlenecks(run),
        _scheduler(run),
        _slots(run),
        _survey(run),
        _transports(run),
    )
    return [one for one in made if one.rows]


def _rows(run: Run, table: str) -> list[dict[str, Any]]:
    return run.table(table).to_dicts() if table in run.tables else []


def _ms(value: float | None) -> str:
    return number(None if value is None else 1e3 * value)


def _between(low: float, high: float, factor: float) -> str:
    return f"{number(factor * low)} to {number(factor * high)}"


def _directions(run: Run) -> Table:
    return Table(
        "Each direction at rest",
        [
            "direction",
            "least one-way delay, ms",
            "above it: median, ms",
            "95 %, ms",
            "99 %, ms",
            "certain to, ms",
            "lost",
            "loss, %",
        ],
        [
            [
                row["direction"],
                _between(row["delay_least_low"], row["delay_least_high"], 1e3),
                *(_ms(row[f"variation_p{quantile}"]) for quantile in (50, 95, 99)),
                _ms(row["variation_error"]),
                "-" if row["lost"] is None else f"{row['lost']} of {row['packets']}",
                "-" if row["lost"] is None else _between(row["loss_low"], row["loss_high"], 100),
            ]
            for row in _rows(run, "direction")
        ],
    )


def _loads(run: Run) -> Table:
    """What the user of a load has: delay and loss of its datagrams, the rating of a call, the time of a page."""
    rows = []
    for row in run.flows.to_dicts():
        name = row["flow"]
        sent, delivered = row.get("sent_packets"), row.get("delivered_packets")
        if name == "probes" or (sent is None and row.get("transaction_p50") is None):
            continue
        rows.append(
            [
                name,
                "-" if sent is None else f"{sent - delivered} of {sent}",
                *(_ms(row.get(key)) for key in ("delay_mean", "delay_p95", "voice_delay", "voice_jitter")),
                *(number(row.get(key)) for key in ("voice_r", "voice_mos")),
                *(_ms(row.get(f"transaction_{key}")) for key in ("p50", "max")),
            ]
        )
    columns = ["load", "lost", "delay mean, ms", "95 %, ms", "mouth to ear, ms", "jitter, ms", "R", "MOS"]
    title = "Loads of datagrams, calls and pages; one-way delays by the middle of their intervals"
    return Table(title, [*columns, "page median, ms", "at most, ms"], rows)


def _bottlenecks(run: Run) -> Table:
    return Table(
        "Bottlenecks",
        ["load", "direction", "rate", "queue, kB", "between", "policy", "not closer because"],
        [
            [
                row["load"],
                row["direction"],
                rate_text(row["rate"]),
                ("" if row["overflowed"] else "at least ") + number(row["depth"] / 1e3),
                number(row["depth_least"] / 1e3)
                + (" or more" if row["depth_most"] is None else f" to {number(row['depth_most'] / 1e3)}"),
                row["policy"] or "-",
                row["depth_reason"] or "",
            ]
            for row in _rows(run, "bottleneck")
        ],
    )


def _scheduler(run: Run) -> Table:
    return Table(
        "Access scheduler",
        ["direction", "category", "superframe, ms", "wait for capacity, ms", "superframes", "constant rate"],
        [
            [
                row["direction"],
                row["category"] or "-",
                _ms(row["superframe"]),
                "-" if row["wait_min"] is None else _between(row["wait_min"], row["wait_max"], 1e3),
                number(row["response"]),
                rate_text(row["cra"]) if row["cra"] else "-",
            ]
            for row in _rows(run, "scheduler")
        ],
    )


def _slots(run: Run) -> Table:
    return Table(
        "Handovers: the least round-trip time of each level",
        ["begin, s", "round-trip time, ms", "slots, s"],
        [
            [number(row["begin"]), _ms(row["round_trip"]), number(row["period"])]
            for row in _rows(run, "slots")
        ],
    )


def _survey(run: Run) -> Table:
    return Table(
        "What passes: DSCP and ECN, and the largest datagram that arrives",
        ["direction", "sent as", "seen as", "arrived", "largest, B"],
        [
            [
                row["direction"],
                f"{row['sent_as']:#04x}",
                ", ".join(f"{seen:#04x}" for seen in row["seen_as"]) or "-",
                f"{row['arrived']} of {row['sent']}",
                number(row["mtu"]),
            ]
            for row in _rows(run, "survey")
        ],
    )


def _transports(run: Run) -> Table:
    return Table(
        "UDP and QUIC",
        ["direction", "transport", "port", "arrived", "rate", "verdict"],
        [
            [
                row["direction"],
                row["transport"],
                number(row["port"]),
                f"{row['arrived']} of {row['sent']}" if row["sent"] else "-",
                rate_text(row["rate"]) if row["rate"] else "-",
                row["verdict"],
            ]
            for row in _rows(run, "transports")
        ],
    )
