"""Results of a run per flow, with predictions, for tables, reports and comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from .predictions import predict_run

if TYPE_CHECKING:
    from bentpipe.predict.prediction import FlowPrediction

    from .runs import Run

#: Reasons of aborted TCP connections, by the number in the column ``failure`` of the table
#: ``tcp_connection``.
FAILURES: Final = {1: "reset by the other end", 2: "no answer to the handshake", 3: "too many retries"}


@dataclass(frozen=True)
class FlowResult:
    """One flow of one run. Rates are payload in bit/s, and times in seconds. Values that do not
    exist, such as the round-trip time of a datagram flow, are ``None``. ``group`` and
    ``traffic_class`` are None for a flow without them.

    A flow that proxies split has a row for its whole path, from source to destination, and one for
    each leg: each of the connections in series. Leg 1 is ``NAME@NODE``, named after the sending
    node at which the flow begins. The other legs are ``NAME@PROXY``, named after the sending proxy.
    Delays and round-trip times are those of a leg. In the row of the whole path, retransmissions,
    time-outs and loss are totals over all legs.

    ``efficiency`` is the ratio of used to assigned capacity of the flow's terminal on the return
    link (equation 15 of the DAMA study), which is common to all flows of that terminal. ``loss`` is
    the fraction of the data packets of this direction that the network dropped; None for a flow of
    real hosts, since the network cannot assign their packets to flows. A task is a page, file,
    mail, bulk transfer of a given size, or call. ``started`` is the number of the flow's tasks that
    began, ``finished`` the number of complete tasks (for calls: answered and heard), and
    ``unfinished`` the number of the others. Transaction times are those of finished tasks. They are
    None for a flow without tasks. ``voice_mos`` is the mean opinion score (ITU-T G.107) of a call
    at its destination, or 1 if the destination hears nothing. For a flow of calls, it is the mean
    over the calls. ``voice_loss`` is the percentage of lost and late packets, and ``voice_delay``
    the mean mouth-to-ear delay. ``transfer`` is the time from the start of a completed bulk
    transfer to the delivery of its last byte. ``post_dial_delay`` and ``post_dial_delay_p95`` are
    the mean and the 95th percentile of the time until the caller of a call hears that it rings, and
    ``answer_delay`` is the mean time until the caller knows that it is answered; None for a flow
    without answered calls. Of a video, ``video_startup`` is the time until playback started,
    ``video_stalls`` and ``video_stalled`` are the number and the total duration of its stalls, and
    ``video_bitrate`` is the mean bit rate of its segments in bit/s. All times are in seconds.
    ``predicted_goodput`` and ``predicted_rtt`` are for the mean delay.
    """

    flow: str
    source: str
    destination: str
    group: str | None
    app: str | None
    transport: str | None
    dscp: int
    traffic_class: str | None
    leg: int | None
    goodput: float | None
    loss: float | None
    delay_mean: float | None
    delay_p95: float | None
    transaction_mean: float | None
    transaction_p95: float | None
    rtt_mean: float | None
    rtt_p95: float | None
    efficiency: float | None
    voice_mos: float | None
    voice_loss: float | None
    voice_delay: float | None
    post_dial_delay: float | None
    post_dial_delay_p95: float | None
    answer_delay: float | None
    video_startup: float | None
    video_stalls: int | None
    video_stalled: float | None
    video_bitrate: float | None
    timeouts: int | None
    retransmissions: int | None
    completed: float | None
    started: int | None
    finished: int | None
    unfinished: int | None
    predicted_goodput: float | None
    predicted_rtt: float | None
    transfer: float | None
    predicted_transfer: float | None
    #: Reason for the first failed connection, according to its source or else its destination.
    failure: str | None

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)


def flow_results(run: Run) -> list[FlowResult]:
    """Returns the flows of a run, in the order of the scenario."""
    predictions = predict_run(run)
    efficiencies, failures, lost = terminal_efficiency(run), connection_failures(run), losses(run)
    set_up = call_set_up(run)
    return [
        _result(row, predictions.get(row["flow"].partition("@")[0]), efficiencies, failures, lost, set_up)
        for row in run.flows.iter_rows(named=True)
    ]


def planned_results(run: Run) -> list[FlowResult]:
    """Returns the flows of a run that was killed before it wrote its results, with their names,
    ends and predictions."""
    predictions = predict_run(run)
    rows = (
        {"flow": flow["name"], "from": flow["from"], "to": flow["to"], "group": flow.get("group")}
        for flow in run.flow_tables
    )
    return [_result(row, predictions.get(row["flow"]), {}, {}, {}, {}) for row in rows]


def _result(
    row: Mapping[str, Any],
    predicted: FlowPrediction | None,
    efficiencies: Mapping[str, float],
    failures: Mapping[str, str],
    lost: Mapping[str, float],
    set_up: Mapping[str, Mapping[str, Any]],
) -> FlowResult:
    calls = set_up.get(row["flow"], {})
    prediction = None if predicted is None else predicted.prediction
    leg = _count(row, "leg")
    # With several legs, the round-trip time belongs to a leg, and goodput and transfers to the
    # whole path.
    round_trip = None if predicted is not None and predicted.legs else prediction
    if leg is not None:
        legs = () if predicted is None else predicted.legs
        prediction, round_trip = None, legs[leg - 1].prediction if leg <= len(legs) else None
    ends = (row["from"], row["to"])
    return FlowResult(
        flow=row["flow"],
        source=row["from"],
        destination=row["to"],
        group=row.get("group"),
        app=row.get("app"),
        transport=row.get("transport"),
        dscp=row.get("dscp") or 0,
        traffic_class=row.get("class"),
        leg=leg,
        goodput=_value(row, "goodput"),
        loss=lost.get(row["flow"]),
        delay_mean=_value(row, "delay_mean"),
        delay_p95=_value(row, "delay_p95"),
        transaction_mean=_value(row, "transaction_mean"),
        transaction_p95=_value(row, "transaction_p95"),
        rtt_mean=_value(row, "rtt_mean"),
        rtt_p95=_value(row, "rtt_p95"),
        efficiency=next((efficiencies[end] for end in ends if end in efficiencies), None),
        voice_mos=_value(row, "voice_mos"),
        voice_loss=_value(row, "voice_loss"),
        voice_delay=_value(row, "voice_delay"),
        post_dial_delay=_value(calls, "post_dial_delay_mean"),
        post_dial_delay_p95=_value(calls, "post_dial_delay_p95"),
        answer_delay=_value(calls, "answer_mean"),
        video_startup=_value(row, "video_startup"),
        video_stalls=_count(row, "video_stalls"),
        video_stalled=_value(row, "video_stalled"),
        video_bitrate=_value(row, "video_bitrate"),
        timeouts=_count(row, "timeouts"),
        retransmissions=_count(row, "retransmissions"),
        completed=_value(row, "completed"),
        started=_count(row, "started"),
        finished=_count(row, "finished"),
        unfinished=_count(row, "unfinished"),
        predicted_goodput=None if prediction is None else prediction.goodput_bit_s,
        predicted_rtt=None if round_trip is None else round_trip.round_trip.mean_s,
        transfer=_transfer(row),
        predicted_transfer=None if prediction is None else prediction.bounded_transfer_s,
        failure=failures.get(row["flow"]),
    )


def _transfer(row: Mapping[str, Any]) -> float | None:
    if row.get("app") != "bulk" or _value(row, "completed") is None:
        return None
    start, end = _value(row, "start"), _value(row, "last_delivery")
    return None if start is None or end is None else end - start


def losses(run: Run) -> dict[str, float]:
    """Returns the fraction of each flow's data packets that were dropped or corrupted in the
    network. Only simulated flows have a value, since the network cannot assign packets of real
    hosts to flows. Runs of older versions do not record the direction of lost packets, so only
    flows with data in one direction have a value."""
    flows = run.flows
    if "loss" in flows.columns:
        return {flow: loss for flow, loss in flows.select("flow", "loss").iter_rows() if loss is not None}
    if run.provenance.get("instrument") != "simulate" or "sent_packets" not in flows.columns:
        return {}
    dropped: dict[str, int] = {}
    for loss in run.summary.get("losses", []):
        if loss["data"]:
            dropped[loss["flow"]] = dropped.get(loss["flow"], 0) + loss["packets"]
    sent: Mapping[str, Any] = dict(flows.select("flow", "sent_packets").iter_rows())
    single = {
        flow
        for flow in run.flow_names
        if not any(name.startswith((f"{flow}.reverse", f"{flow}@")) for name in sent)
    }
    return {
        flow: dropped.get(flow, 0) / packets
        for flow, packets in sent.items()
        if flow in single and packets and not math.isnan(packets)
    }


def connection_failures(run: Run) -> dict[str, str]:
    """Returns the reasons of failed connections, by flow, for flows with failed connections."""
    wanted = ["of_flow", "end", "failure"]
    if "tcp_connection" not in run.tables or not {*wanted} <= {*run.table("tcp_connection").columns}:
        return {}
    rows = run.table("tcp_connection").select(wanted).iter_rows()
    flows = run.flow_names
    # The source follows the destination and overrides its reason.
    failed = sorted(((end, flow, number) for flow, end, number in rows if number), reverse=True)
    return {flows[flow]: FAILURES[number] for _, flow, number in failed}


def call_set_up(run: Run) -> dict[str, dict[str, Any]]:
    """Returns the times of call set-up at the callers' end (columns of the table ``calls``, in
    seconds), by flow, for flows of calls."""
    wanted = ["flow end", "post_dial_delay_mean", "post_dial_delay_p95", "answer_mean"]
    if "calls" not in run.tables or not {*wanted} <= {*run.table("calls").columns}:
        return {}
    rows = run.table("calls").select(wanted).iter_rows(named=True)
    callers = {row["flow end"]: row for row in rows if row["flow end"].endswith(".source")}
    return {end.removesuffix(".source"): row for end, row in callers.items()}


def terminal_efficiency(run: Run) -> dict[str, float]:
    """Returns the ratio of used to assigned capacity for each terminal with assigned capacity;
    empty without a return link."""
    wanted = ["terminal", "used_bytes", "capacity_bytes"]
    if "terminal" not in run.tables or not {*wanted} <= {*run.table("terminal").columns}:
        return {}
    rows = run.table("terminal").select(wanted).iter_rows()
    return {terminal: used / capacity for terminal, used, capacity in rows if capacity}


def _value(row: Mapping[str, Any], column: str) -> float | None:
    value = row.get(column)
    return None if value is None or math.isnan(value) else float(value)


def _count(row: Mapping[str, Any], column: str) -> int | None:
    value = _value(row, column)
    return None if value is None else int(value)
