"""Waits of packets at a terminal, from the trace ``waits``.

The wait of a packet lasts from its arrival at the terminal to the end of the slot with its last
byte. The sum of its parts is exact to the nanosecond; ``crates/networks/src/dama/waits.rs`` defines
each part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError, in_order, unknown
from bentpipe.scenario.facts import dama_of
from bentpipe.scenario.topology import ranges

from .predictions import facts_of

if TYPE_CHECKING:
    import polars as pl

    from .runs import Run

#: The parts of a wait in order of time: column of the trace, and label.
PARTS: Final = {
    "wait_superframe": "next superframe",
    "wait_earlier": "earlier slots",
    "wait_request": "request slot",
    "wait_lost": "lost requests",
    "wait_propagation": "propagation",
    "wait_controller": "controller",
    "wait_competition": "competition",
    "wait_slot": "slot position",
}

#: Explanation of each part.
ABOUT: Final = {
    "wait_superframe": "the first superframe after its arrival",
    "wait_earlier": "slots that needed no request of its own",
    "wait_request": "an opportunity to send a request",
    "wait_lost": "repetition of lost requests",
    "wait_propagation": "propagation of the request and of the plan",
    "wait_controller": "processing, superframe boundaries, lead time",
    "wait_competition": "slots for other terminals and earlier packets",
    "wait_slot": "position in the superframe, transmission",
}


@dataclass(frozen=True)
class Wait:
    """One packet's passage through a terminal. Times in ns since the start of the run."""

    terminal: str
    flow: str
    packet: int
    size: int
    traffic_class: int
    arrival_ns: int
    asked_ns: int | None
    sent_ns: int
    superframe: int
    carrier: int
    frame: int
    slot: int
    #: Duration of each part, by the columns of :data:`PARTS`.
    parts_ns: dict[str, int]

    @property
    def total_ns(self) -> int:
        """From arrival to the end of the last slot: the sum of the parts."""
        return self.sent_ns - self.arrival_ns

    def timeline(self) -> list[tuple[int, str]]:
        """Times and events, in order."""
        moments = [(self.arrival_ns, "arrived at the terminal")]
        parts = self.parts_ns
        at = self.arrival_ns + parts["wait_superframe"]
        asked = at + parts["wait_request"]
        if parts["wait_lost"]:
            moments.append((asked, "requested; the request was lost"))
        asked += parts["wait_lost"]
        if self.asked_ns is not None:
            moments.append((self.asked_ns, "asked for"))
        after = asked + parts["wait_propagation"] + parts["wait_controller"]
        begins = after + parts["wait_competition"]
        if self.asked_ns is not None and after < begins:
            moments.append((after, "first superframe in which the request could be granted"))
        if self.asked_ns is None:
            begins += parts["wait_earlier"]
        if begins > self.arrival_ns:
            moments.append((begins, f"granted: superframe {self.superframe} begins"))
        carrier = f" of carrier {self.carrier}" if self.carrier else ""
        moments.append((self.sent_ns, f"left in frame {self.frame}, slot {self.slot}{carrier}"))
        return moments

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return {
            "terminal": self.terminal,
            "flow": self.flow,
            "packet": self.packet,
            "size": self.size,
            "class": self.traffic_class,
            "arrival_ns": self.arrival_ns,
            "asked_ns": self.asked_ns,
            "sent_ns": self.sent_ns,
            "superframe": self.superframe,
            "carrier": self.carrier,
            "frame": self.frame,
            "slot": self.slot,
            "total_ns": self.total_ns,
            "parts_ns": self.parts_ns,
            "timeline": [{"time_ns": time, "what": what} for time, what in self.timeline()],
        }


def waits(run: Run, terminal: str | None = None) -> pl.DataFrame:
    """Returns the trace ``waits`` of a terminal. The name may be omitted if there is only one
    terminal. Raises :class:`bentpipe.InputError` if there is no such trace or terminal."""
    if "waits" not in run.traces:
        raise InputError(
            f"{run.path} has no trace waits, which networks with terminals record unless record.traces omits it"
        )
    frame = run.trace("waits")
    names = in_order(frame["terminal"].unique())
    if terminal is None:
        if len(names) != 1:
            raise InputError(
                f"the run has several terminals; choose one with --terminal: {ranges(names)}"
                if names
                else f"no terminal of {run.path} sent anything"
            )
        terminal = names[0]
    elif terminal not in names:
        raise unknown("terminal", terminal, names, str(run.path))
    import polars as pl

    if "wait_superframe" not in frame.columns:  # in runs of versions without this part
        frame = frame.with_columns(pl.lit(0).alias("wait_superframe"))
    return frame.filter(pl.col("terminal") == terminal)


def explain(run: Run, terminal: str | None, at_s: float) -> list[Wait]:
    """Returns the packets that waited in a terminal at a time, in order of departure, or else the
    next packet to arrive. Raises :class:`bentpipe.InputError` if there is none."""
    import polars as pl

    frame = waits(run, terminal)
    at_ns = round(at_s * 1e9)
    frame = frame.with_columns((pl.col("arrival") + pl.sum_horizontal(*PARTS)).alias("sent"))
    there = frame.filter((pl.col("arrival") <= at_ns) & (pl.col("sent") >= at_ns)).sort("sent")
    if there.is_empty():
        there = frame.filter(pl.col("arrival") > at_ns).sort("arrival").head(1)
    if there.is_empty():
        last = frame["sent"].max()
        shown = (
            "there is none" if last is None else (f"the last packet left at {float(str(last)) / 1e9:.3f} s")
        )
        raise InputError(f"no packet waited at {at_s:g} s or arrived later: {shown}")
    flows = run.flow_names
    return [_wait(row, flows) for row in there.iter_rows(named=True)]


def scheme(run: Run, terminal: str) -> str | None:
    """Returns the scheme by which a terminal requests capacity, as in a scenario; None if the
    scenario is from an older version and is refused."""
    hops = (hop for flow in facts_of(run) for hop in (*(flow["there"] or ()), *(flow["back"] or ())))
    for hop in hops:
        # The name includes the network's if several networks have a terminal at this node.
        if terminal in (hop["from"], f"{hop['network']}.{hop['from']}") and (dama := dama_of(hop)):
            return dama["scheme"]
    return None


def summary(frame: pl.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Returns mean (s), 95th percentile (s) and share of the mean wait of each part, over the
    packets of :func:`waits`."""
    sums = {part: float(frame[part].mean() or 0.0) / 1e9 for part in PARTS}  # type: ignore[arg-type]
    total = sum(sums.values())
    result = {}
    for part in PARTS:
        p95 = float(frame[part].quantile(0.95) or 0.0) / 1e9
        result[part] = (sums[part], p95, sums[part] / total if total else math.nan)
    return result


def _wait(row: dict[str, Any], flows: Sequence[str]) -> Wait:
    number = row["of_flow"]
    return Wait(
        terminal=row["terminal"],
        flow=flows[number] if 0 <= number < len(flows) else "",
        packet=row["packet"],
        size=row["packet_bytes"],
        traffic_class=row["class"],
        arrival_ns=row["arrival"],
        asked_ns=None if row["asked"] < 0 else row["asked"],
        sent_ns=row["sent"],
        superframe=row["sent_superframe"],
        carrier=row["sent_carrier"],
        frame=row["sent_frame"],
        slot=row["sent_slot"],
        parts_ns={part: row[part] for part in PARTS},
    )
