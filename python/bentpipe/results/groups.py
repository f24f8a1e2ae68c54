"""Groups of flows: statistics over the flows of a group or of a traffic class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from bentpipe.quantities import display_unit

from .flows import FlowResult, flow_results

if TYPE_CHECKING:
    import polars as pl

    from .runs import Run

#: Maximum number of flows outside of groups. More such flows form a separate group.
MAX_FLOWS: Final = 30

#: Name of the group of flows outside of groups, if there are many.
OTHERS: Final = "other flows"


@dataclass(frozen=True)
class Quantity:
    """A quantity of flows: heading, field of :class:`bentpipe.results.flows.FlowResult` with its
    unit ("1" for a number), and true if higher values are better."""

    name: str
    field: str
    base: str
    more_is_better: bool = False

    @property
    def unit(self) -> str:
        """The unit of display; empty for a number."""
        return display_unit(self.field, self.base)[0].removesuffix("1")

    @property
    def size(self) -> float:
        """The size of the unit of display in the field's unit."""
        return display_unit(self.field, self.base)[1]

    @property
    def about(self) -> str:
        """The quantity with its unit, as a heading."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


#: The quantities of groups, in the order of tables.
QUANTITIES: Final = (
    Quantity("goodput", "goodput", "bit/s", more_is_better=True),
    Quantity("loss", "loss", "1"),
    Quantity("MOS", "voice_mos", "1", more_is_better=True),
    Quantity("lost or late", "voice_loss", "%"),
    Quantity("mouth to ear", "voice_delay", "s"),
    Quantity("video start-up", "video_startup", "s"),
    Quantity("video stalls", "video_stalls", "1"),
    Quantity("video stalled", "video_stalled", "s"),
    Quantity("video bit rate", "video_bitrate", "bit/s", more_is_better=True),
    Quantity("delay mean", "delay_mean", "s"),
    Quantity("delay 95 %", "delay_p95", "s"),
    Quantity("RTT mean", "rtt_mean", "s"),
    Quantity("RTT 95 %", "rtt_p95", "s"),
    Quantity("transaction mean", "transaction_mean", "s"),
    Quantity("transaction 95 %", "transaction_p95", "s"),
    Quantity("unfinished", "unfinished", "1"),
    Quantity("completed", "completed", "s"),
    Quantity("time-outs", "timeouts", "1"),
    Quantity("retransmissions", "retransmissions", "1"),
)


@dataclass(frozen=True)
class Statistics:
    """Statistics of a quantity over the ``count`` flows of a group with this quantity, in the unit
    of ``about``: mean, 5th, 50th and 95th percentile, and the best and worst value with their
    flows."""

    about: str
    count: int
    mean: float
    p05: float
    median: float
    p95: float
    best: float
    worst: float
    best_flow: str
    worst_flow: str


@dataclass(frozen=True)
class GroupResult:
    """The flows of one group, or of one traffic class."""

    name: str
    flows: int
    statistics: tuple[Statistics, ...]
    #: Totals over the flows: pages, files, mails, transfers or calls that were started, finished
    #: and unfinished. None for a group without any.
    started: int | None = None
    finished: int | None = None
    unfinished: int | None = None

    @property
    def tasks(self) -> str:
        """A clause about the started tasks, such as "started 200, finished 100, unfinished 100";
        empty without any."""
        named = {name: getattr(self, name) for name in ("started", "finished", "unfinished")}
        return "" if self.started is None else ", ".join(f"{name} {count}" for name, count in named.items())

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)


def by_group(flows: Iterable[FlowResult]) -> tuple[dict[str, list[FlowResult]], list[FlowResult]]:
    """Returns the flows of each group, and the single flows, including those in groups of one. More
    than :data:`MAX_FLOWS` single flows form a group."""
    groups: dict[str, list[FlowResult]] = {}
    single: list[FlowResult] = []
    for flow in flows:
        (single if flow.group is None else groups.setdefault(flow.group, [])).append(flow)
    single += [flow for members in groups.values() if len(members) == 1 for flow in members]
    groups = {name: members for name, members in groups.items() if len(members) > 1}
    if len(single) > MAX_FLOWS:
        groups[OTHERS if groups else "all flows"] = single
        single = []
    return groups, single


def by_class(flows: Iterable[FlowResult]) -> dict[str, list[FlowResult]]:
    """Returns the flows of each traffic class. A class is a code point, together with the class at
    the terminal if the network has classes. Empty if all flows have the same class."""
    classes: dict[tuple[int, str], list[FlowResult]] = {}
    for flow in flows:
        classes.setdefault((flow.dscp, flow.traffic_class or ""), []).append(flow)
    if len(classes) < 2:
        return {}
    return {
        f"DSCP {dscp}" + (f", class {name}" if name else ""): members
        for (dscp, name), members in sorted(classes.items(), reverse=True)
    }


def classes_beside(flows: Sequence[FlowResult]) -> dict[str, list[FlowResult]]:
    """Returns the flows of each traffic class; empty if the classes are identical with the
    groups."""
    found = [by_class(flows), by_group(flows)[0]]
    classes, groups = (
        {frozenset(flow.flow for flow in members) for members in one.values()} for one in found
    )
    return {} if classes == groups else found[0]


def summarise(name: str, flows: Sequence[FlowResult]) -> GroupResult:
    """Returns the statistics of a group. Quantities that no flow has, or that are 0 for all flows,
    are omitted."""
    rows = []
    for quantity in QUANTITIES:
        known = [(value, flow) for flow in flows if (value := getattr(flow, quantity.field)) is not None]
        if known and (quantity.field == "goodput" or any(value for value, _ in known)):
            rows.append(_statistics(quantity, known))
    with_tasks = [flow for flow in flows if flow.started is not None]
    sums = (
        sum(getattr(flow, field) or 0 for flow in with_tasks) if with_tasks else None
        for field in ("started", "finished", "unfinished")
    )
    return GroupResult(name, len(flows), tuple(rows), *sums)


def _statistics(quantity: Quantity, known: Sequence[tuple[float, FlowResult]]) -> Statistics:
    import numpy as np

    values = np.array([value for value, _ in known]) / quantity.size
    p05, median, p95 = np.quantile(values, (0.05, 0.5, 0.95)).tolist()
    most, least = int(values.argmax()), int(values.argmin())
    best, worst = (most, least) if quantity.more_is_better else (least, most)
    return Statistics(
        quantity.about,
        len(known),
        float(values.mean()),
        p05,
        median,
        p95,
        float(values[best]),
        float(values[worst]),
        known[best][1].flow,
        known[worst][1].flow,
    )


def worst_ends(flows: Sequence[FlowResult], most: int = 5) -> list[tuple[str, float]]:
    """Returns the nodes with the worst goodput, the worst first. The value of a node is the mean,
    over its flows, of the goodput relative to the mean of the flow's group. Ends that all flows
    share, such as the gateway, are omitted."""
    shares: dict[str, list[float]] = {}
    groups, single = by_group(flows)
    for members in [*groups.values(), single]:
        known = [flow for flow in members if flow.goodput is not None]
        mean = sum(flow.goodput or 0.0 for flow in known) / len(known) if known else 0.0
        if mean <= 0:
            continue
        ends = [{flow.source for flow in known}, {flow.destination for flow in known}]
        for flow in known:
            end = flow.source if len(ends[0]) >= len(ends[1]) else flow.destination
            shares.setdefault(end, []).append((flow.goodput or 0.0) / mean)
    if len(shares) < 2:
        return []
    means = {end: sum(parts) / len(parts) for end, parts in shares.items()}
    return sorted(means.items(), key=lambda one: one[1])[:most]


def group_table(run: Run) -> pl.DataFrame:
    """Returns one row per group and quantity: mean, percentiles, best and worst value, and the
    flows with these values.

    >>> import bentpipe as bp
    >>> table = group_table(bp.simulate("examples/hub.toml", overrides=["duration=20 s"]))
    >>> table.filter(table["quantity"] == "goodput, kbit/s").select("group", "flows").rows()
    [('web', 200), ('voice', 100), ('web.reverse', 200)]
    """
    import polars as pl

    groups, single = by_group(flow_results(run))
    if single:
        groups[OTHERS if groups else "all flows"] = single
    rows = [
        {"group": group.name, "flows": group.flows, "quantity": one.about}
        | {key: value for key, value in asdict(one).items() if key != "about"}
        for group in (summarise(name, flows) for name, flows in groups.items())
        for one in group.statistics
    ]
    return pl.DataFrame(rows)
