"""Results of a run per flow, beside the prediction: the rows of tables, reports and comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from .prediction import predict_run

if TYPE_CHECKING:
    from .runs import Run

#: Reason why TCP aborted a connection, by the number in column ``failure`` of the table ``tcp_connection``.
FAILURES: Final = {1: "reset by the other end", 2: "no answer to the handshake", 3: "too many retries"}

#: With more flows than this in a run, tables and reports show quantiles over the flows instead of each flow.
MOST_FLOWS: Final = 30


@dataclass(frozen=True)
class FlowResult:
    """One flow of one run. Rates are payload in bit/s, times in seconds; ``None`` for a number that does not exist,
    such as the round-trip time of a datagram flow.

    ``efficiency`` is used over assigned capacity of the flow's terminal on the return link (equation 15 of the DAMA
    study), which all flows of that terminal share. ``predicted_goodput`` and ``predicted_rtt`` are for the mean delay.
    """

    flow: str
    source: str
    destination: str
    goodput: float | None
    rtt_mean: float | None
    rtt_p95: float | None
    efficiency: float | None
    timeouts: int | None
    retransmissions: int | None
    completed: float | None
    predicted_goodput: float | None
    predicted_rtt: float | None
    #: Why the first failed connection failed, according to its source or else its destination.
    failure: str | None

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)


def flow_results(run: Run) -> list[FlowResult]:
    """Returns the flows of a run, in the order of the scenario."""
    predictions = predict_run(run)
    efficiencies, failures = terminal_efficiency(run), connection_failures(run)
    results = []
    for row in run.flows.iter_rows(named=True):
        prediction = predictions[row["flow"]].prediction if row["flow"] in predictions else None
        ends = (row["from"], row["to"])
        results.append(
            FlowResult(
                flow=row["flow"],
                source=row["from"],
                destination=row["to"],
                goodput=_value(row, "goodput"),
                rtt_mean=_value(row, "rtt_mean"),
                rtt_p95=_value(row, "rtt_p95"),
                efficiency=next((efficiencies[end] for end in ends if end in efficiencies), None),
                timeouts=_count(row, "timeouts"),
                retransmissions=_count(row, "retransmissions"),
                completed=_value(row, "completed"),
                predicted_goodput=None if prediction is None else prediction.goodput_bit_s,
                predicted_rtt=None if prediction is None else prediction.round_trip.mean_s,
                failure=failures.get(row["flow"]),
            )
        )
    return results


@dataclass(frozen=True)
class OverFlows:
    """A quantity over the flows that have it: the minimum, 10th percentile, median, 90th percentile and maximum, in the
    unit of ``about``, and the names of the flows with the minimum and the maximum."""

    about: str
    count: int
    quantiles: tuple[float, ...]
    least: str
    greatest: str


#: Heading, field of :class:`FlowResult`, factor to the heading's unit.
_SUMMARISED: Final = (
    ("goodput, kbit/s", "goodput", 1e-3),
    ("RTT mean, ms", "rtt_mean", 1e3),
    ("RTT 95 %, ms", "rtt_p95", 1e3),
    ("completed, s", "completed", 1.0),
    ("time-outs", "timeouts", 1.0),
    ("retransmissions", "retransmissions", 1.0),
)


def over_flows(flows: Sequence[FlowResult]) -> list[OverFlows]:
    """Returns quantiles over flows for each quantity that any of them has."""
    import numpy as np

    rows = []
    for about, quantity, factor in _SUMMARISED:
        known = [(value, flow.flow) for flow in flows if (value := getattr(flow, quantity)) is not None]
        if known:
            values = factor * np.array([value for value, _ in known])
            quantiles = tuple(np.quantile(values, (0.0, 0.1, 0.5, 0.9, 1.0)).tolist())
            least, greatest = (chosen(known, key=lambda one: one[0])[1] for chosen in (min, max))
            rows.append(OverFlows(about, len(known), quantiles, least, greatest))
    return rows


def connection_failures(run: Run) -> dict[str, str]:
    """Returns why connections failed, by flow, for flows with failed connections."""
    if "tcp_connection" not in run.tables:
        return {}
    rows = run.table("tcp_connection").select("of_flow", "end", "failure").iter_rows()
    flows = [flow["name"] for flow in run.scenario["flow"]]
    # The source comes after the destination and overrides it.
    failed = sorted(((end, flow, number) for flow, end, number in rows if number), reverse=True)
    return {flows[flow]: FAILURES[number] for _, flow, number in failed}


def terminal_efficiency(run: Run) -> dict[str, float]:
    """Returns used over assigned capacity for each terminal that was assigned any; empty without a return link."""
    if "terminal" not in run.tables:
        return {}
    rows = run.table("terminal").iter_rows(named=True)
    return {
        row["terminal"]: row["used_bytes"] / row["capacity_bytes"] for row in rows if row["capacity_bytes"]
    }


def _value(row: dict[str, Any], column: str) -> float | None:
    value = row.get(column)
    return None if value is None or math.isnan(value) else float(value)


def _count(row: dict[str, Any], column: str) -> int | None:
    value = _value(row, column)
    return None if value is None else int(value)
