"""Application of the equations to scenarios: the arguments of :func:`bentpipe.predict.predict_flow`
for each flow.

The engine describes the path (:mod:`bentpipe.scenario.facts`). The prediction's note names the
parts of the scenario that the equations ignore. If there is no prediction, the note gives the
reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from bentpipe.quantities import base_value, rate_text, span_text
from bentpipe.scenario.facts import carried_bytes, dama_of
from bentpipe.scenario.handshakes import given_up

if TYPE_CHECKING:
    from bentpipe.scenario.facts import Flow, Hop
    from bentpipe.scenario.scenarios import Overrides, ScenarioLike

    from .flow import Prediction

#: Congestion controls whose growth or response function the equations describe.
COVERED: Final = ("reno", "cubic", "linux-reno", "linux-cubic")
#: Keys of TCP that change a flow's steady-state goodput and are in no equation.
UNUSED: Final = (
    "adapt",
    "freeze",
    "on_handover",
    "parameters",
    "quick_start",
    "segmentation_offload",
)
#: The largest window without window scaling (RFC 7323, section 2.2).
UNSCALED_BYTES: Final = 65_535.0
#: Minimum ratio of round-trip times for unequal shares of flows at a common bottleneck.
UNEQUAL: Final = 1.05


@dataclass(frozen=True)
class FlowPrediction:
    """The prediction for one flow, or None if the equations do not cover it. ``note`` gives the
    reason or the limits of the prediction. ``arguments`` are those of
    :func:`bentpipe.predict.predict_flow`, so that a prediction can be repeated and varied by
    hand."""

    flow: str
    prediction: Prediction | None
    note: str
    arguments: dict[str, Any]
    #: The group to which the flow belongs, if any.
    group: str | None = None
    #: The predictions of the legs of a flow that proxies split, in the order of the path.
    legs: tuple[FlowPrediction, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        # Infinity means "no limit" and cannot be represented in JSON.
        arguments = {
            key: None if isinstance(value, float) and math.isinf(value) else value
            for key, value in self.arguments.items()
        }
        prediction = None if self.prediction is None else self.prediction.as_dict()
        return {
            "flow": self.flow,
            "group": self.group,
            "note": self.note,
            "arguments": arguments,
            "prediction": prediction,
        }


@dataclass(frozen=True)
class Leg:
    """A connection that carries a flow, alone or in series with other connections: its TCP and its
    path."""

    transport: Mapping[str, Any]
    there: Sequence[Hop]
    back: Sequence[Hop]


class NotPredicted(Exception):  # noqa: N818 - not an error: the equations do not cover everything
    """The equations do not cover a flow, for the given reason."""


def predict_scenario(scenario: ScenarioLike, overrides: Overrides = ()) -> dict[str, FlowPrediction]:
    """Returns the prediction for every flow of a scenario, by the flow's name, without simulating.

    Source: the equations of :mod:`bentpipe.predict`, which documents their conditions. Raises
    :class:`bentpipe.ScenarioError`.

    >>> upload = predict_scenario("examples/dvb-rcs-upload.toml", ["network.sat.return.dama.scheme=vbdc"])["upload"]
    >>> round(upload.prediction.round_trip.mean_s, 3), upload.prediction.limited_by
    (1.581, 'rate')
    """
    return predict_all(scenario, overrides)[0]


def predict_all(
    scenario: ScenarioLike, overrides: Overrides = ()
) -> tuple[dict[str, FlowPrediction], list[Flow]]:
    """Returns the predictions of :func:`predict_scenario`, and the facts of the flows from which
    they are computed."""
    from bentpipe.scenario.scenarios import load

    loaded = load(scenario, overrides)
    known = loaded.facts["flows"]
    flows = list(zip(loaded.flows, known, strict=True))
    repeated = _transmissions(flows)
    unequal = _unequal_shares(flows)
    predicted = {
        flow["name"]: replace(
            _predict(loaded.data, flow, cast("Flow", of_flow | unequal.get(flow["name"], {}))),
            group=flow.get("group"),
        )
        for flow, of_flow in flows
    }
    for name, note in repeated.items():
        predicted[name] = replace(predicted[name], note=f"{predicted[name].note}; {note}")
    return predicted, known


def _transmissions(flows: Sequence[tuple[Mapping[str, Any], Flow]]) -> dict[str, str]:
    """Returns a note about the mean number of transmissions of a segment, for each flow over NORM.
    The losses of a receiver are those of its path, independent of the others' losses."""
    from .multicast import transmissions_per_segment

    groups: dict[str, dict[str, float]] = {}
    for flow, known in flows:
        if kind_of(flow["transport"]) == "norm" and known["there"] is not None:
            arriving = math.prod(1 - hop["loss"] for hop in known["there"])
            # A flow without a group has a name of its own.
            group = f"group {flow['multicast']}" if "multicast" in flow else f"flow {flow['name']}"
            groups.setdefault(group, {})[flow["name"]] = 1 - arriving
    notes: dict[str, str] = {}
    for losses in groups.values():
        count = len(losses)
        receivers = "1 receiver" if count == 1 else f"{count} receivers"
        if max(losses.values()) < 1:
            mean = transmissions_per_segment(list(losses.values()))
            text = f"with independent losses, each segment is sent {mean:.3f} times on average to reach {receivers}"
            notes |= dict.fromkeys(losses, text)
    return notes


def _unequal_shares(flows: Sequence[tuple[Mapping[str, Any], Flow]]) -> dict[str, dict[str, Any]]:
    """Returns changes of the facts, by flow, for TCP flows with a common bottleneck and different
    round-trip times. If only Reno flows share a drop-tail queue, the change is the flow's share;
    otherwise the share is unknown (None)."""
    from .sharing import round_trip_shares_bit_s

    hops: dict[tuple[str, str, str], list[tuple[Mapping[str, Any], Flow, Hop]]] = {}
    for flow, known in flows:
        for hop in known["there"] or ():
            hops.setdefault((hop["network"], hop["from"], hop["to"]), []).append((flow, known, hop))
    found: dict[str, dict[str, Any]] = {}
    paths = {known["name"]: _path_s(known) for _, known in flows}
    for users in hops.values():
        hop, everyone = users[0][2], [known for _, known, _ in users]
        rate, rtts = hop["rate_bit_s"]["mean"], [paths[known["name"]] for known in everyone]
        # Flows with a further limit have other max-min shares.
        equal = all(math.isclose(known["share_bit_s"] or 0.0, rate / len(users)) for known in everyone)
        transports = [flow["transport"] for flow, _, _ in users]
        if not equal or len(users) != hop["flows"] or any(kind_of(one) != "tcp" for one in transports):
            continue
        if min(rtts) <= 0 or max(rtts) < UNEQUAL * min(rtts):
            continue
        room = _room_bytes(hop, everyone[0]["packet_bytes"])
        reno = all(one["congestion"].endswith("reno") for one in transports)
        plain = hop["queue"]["kind"] == "drop-tail" and not any(known["proxies"] for known in everyone)
        shares: Sequence[float | None] = [None] * len(users)
        if reno and plain and math.isfinite(room):
            shares = round_trip_shares_bit_s(rate, rtts, 8 * room / rate).tolist()
        for known, share in zip(everyone, shares, strict=True):
            found[known["name"]] = {"by_round_trip": share is not None} | (
                {} if share is None else {"share_bit_s": share}
            )
    return found


def _path_s(known: Flow) -> float:
    """Returns the mean round-trip time of a flow's path without queues."""
    hops = (*(known["there"] or ()), *(known["back"] or ()))
    return float(sum(hop["delay_s"]["mean"] for hop in hops))


def _room_bytes(hop: Hop, packet_bytes: int) -> float:
    """Returns the bytes that a queue holds; infinite without a limit."""
    queue = hop["queue"]
    limits = [None if queue["packets"] is None else queue["packets"] * packet_bytes, queue["bytes"]]
    return min((limit for limit in limits if limit is not None), default=math.inf)


def kind_of(variant: str | Mapping[str, Any]) -> str:
    """Returns the name of a variant, written as a table with the key ``kind`` or as the name
    alone."""
    return variant if isinstance(variant, str) else str(variant["kind"])


def _predict(scenario: Mapping[str, Any], flow: Mapping[str, Any], known: Flow) -> FlowPrediction:
    """Predicts a flow. For a flow that proxies split, returns the prediction of the slowest leg,
    since legs are in series."""
    try:
        legs = [_predict_leg(scenario, flow, known, leg) for leg in _legs(scenario, flow, known)]
    except NotPredicted as reason:
        return FlowPrediction(known["name"], None, str(reason), {})
    if len(legs) == 1:
        return legs[0]
    predicted = [leg for leg in legs if leg.prediction is not None]
    for number, leg in enumerate(legs, 1):
        if leg.prediction is None:
            note = f"split in {len(legs)} legs, but leg {number} is not predicted: {leg.note}"
            return replace(leg, note=note, legs=tuple(legs))
    slowest = min(predicted, key=lambda leg: leg.prediction.goodput_bit_s if leg.prediction else 0.0)
    note = (
        f"split in {len(legs)} legs: this is the prediction for leg {legs.index(slowest) + 1} alone, the "
        "slowest leg"
    )
    return replace(slowest, note="; ".join(filter(None, (note, slowest.note))), legs=tuple(legs))


def _legs(scenario: Mapping[str, Any], flow: Mapping[str, Any], known: Flow) -> list[Leg]:
    """Returns the connections that carry a flow in series: several if proxies split it."""
    if kind_of(flow["transport"]) != "tcp":
        raise NotPredicted(f"the equations describe TCP, and this flow uses {kind_of(flow['transport'])}")
    if kind_of(flow["app"]) != "bulk":
        raise NotPredicted(f"the equations describe bulk transfers, and this flow is {kind_of(flow['app'])}")
    there, back = known["there"], known["back"]
    if there is None or back is None:
        raise NotPredicted(f"there is no path from {flow['from']} to {flow['to']} and back")
    bundled = [proxy["name"] for proxy in known["proxies"] if proxy["kind"] == "dtn"]
    if bundled:
        raise NotPredicted(
            f"the proxies {' and '.join(bundled)} carry this flow as bundles, without an equation"
        )
    legs = [Leg(flow["transport"], there, back)]
    proxies = {proxy["name"]: proxy for proxy in scenario.get("proxy", [])}
    for passed in (proxy for proxy in known["proxies"] if proxy["kind"] == "split"):
        mechanism, node, last = proxies[passed["name"]]["mechanism"], passed["node"], legs.pop()
        place = next(place for place, hop in enumerate(last.there) if hop["from"] == node)
        returned = next(place for place, hop in enumerate(last.back) if hop["from"] == node)
        beyond = mechanism.get("sides", {}).get(last.there[place]["network"], mechanism["transport"])
        before = Leg(_within(last.transport, mechanism), last.there[:place], last.back[returned:])
        # A side without its own congestion control uses that of the flow.
        own = {
            key: flow["transport"][key] for key in ("congestion", "parameters") if key in flow["transport"]
        }
        beyond = {**(own if "congestion" not in beyond else {}), **beyond}
        after = Leg(_within(beyond, mechanism), last.there[place:], last.back[:returned])
        legs += [before, after]
    return legs


def _within(transport: Mapping[str, Any], mechanism: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the transport of a leg at a proxy, where data in flight also occupies the proxy's
    buffer."""
    windows = (transport.get("receive_window"), mechanism["buffer"])
    least = min((window for window in windows if window is not None), key=base_value)
    return {**transport, "receive_window": least}


def _predict_leg(
    scenario: Mapping[str, Any], flow: Mapping[str, Any], known: Flow, leg: Leg
) -> FlowPrediction:
    from .flow import predict_flow

    name = known["name"]
    arguments = flow_arguments(scenario, flow, known, leg)
    notes = [
        f"traffic of service {service['name']} at {service['node']} ({kind_of(service['role'])}) is not "
        "counted"
        for service in scenario.get("service", [])
    ]
    notes += _notes(base_value(scenario["duration"]), known, leg, arguments)
    if arguments["rtt0_s"] <= 0:
        return FlowPrediction(name, None, "the equations need a path with a delay", arguments)
    if reason := given_up(leg.transport, arguments["rtt0_s"]):
        return FlowPrediction(name, None, reason, arguments)
    try:
        prediction = predict_flow(**arguments)
    except ValueError as refused:
        # A valid scenario may be unsuitable for the equations, for example one with links without
        # delay.
        return FlowPrediction(name, None, f"the equations do not apply: {refused}", arguments)
    congestion = leg.transport["congestion"]
    if prediction.limited_by == "loss" and congestion not in COVERED:
        # Reno's goodput may be a tenth of this congestion control's goodput.
        return FlowPrediction(
            name,
            None,
            f"losses limit this flow, and no equation describes the response of {congestion} to losses",
            arguments,
        )
    if prediction.limited_by == "rate":
        notes += [note for hop in leg.there for note in _bottleneck(hop, known, arguments)]
    return FlowPrediction(name, prediction, "; ".join(dict.fromkeys(notes)), arguments)


def flow_arguments(
    scenario: Mapping[str, Any], flow: Mapping[str, Any], known: Flow, leg: Leg
) -> dict[str, Any]:
    """Returns the arguments of :func:`bentpipe.predict.predict_flow`. Raises :class:`NotPredicted`
    with the reason if the equations do not cover the flow."""
    from .dama import SCHEMES

    transport, app = leg.transport, flow["app"]
    segment = int(transport["segment_size"])
    duration_s = base_value(scenario["duration"]) - known["start_s"]
    if duration_s <= 0:
        raise NotPredicted("the flow does not start before the end of the run")
    if isinstance(app, Mapping) and "duration" in app:
        duration_s = min(duration_s, base_value(app["duration"]))
    dama = next(filter(None, map(dama_of, (*leg.there, *leg.back))), None)
    if dama is not None and dama["scheme"] not in SCHEMES:
        raise NotPredicted(f"no equation describes the scheme {dama['scheme']}")
    rates = [hop["rate_bit_s"]["mean"] for hop in leg.there]
    share = known["share_bit_s"]
    rate_bit_s = min(*rates, _acknowledged_bit_s(known, leg), math.inf if share is None else share)
    if rate_bit_s <= 0:
        raise NotPredicted("the path has no capacity left for this flow")
    window_bytes = _window_bytes(transport)
    delays = {
        which: sum(hop["delay_s"][which] for hop in (*leg.there, *leg.back))
        for which in ("least", "mean", "greatest")
    }
    return {
        "rate_bit_s": rate_bit_s,
        "rtt0_s": delays["mean"],
        "rtt0_range_s": _range(**delays),
        "scheme": "none" if dama is None else dama["scheme"],
        "superframe_s": 0.0 if dama is None else dama["superframe_s"],
        "response_superframes": 0 if dama is None else dama["response_superframes"],
        "segment_bytes": segment,
        "header_bytes": known["packet_bytes"] - int(flow["transport"]["segment_size"]),
        "initial_window": float(transport["initial_window"]),
        "ssthresh": float(transport.get("initial_ssthresh", math.inf)),
        "size_bytes": round(base_value(app["size"])) if isinstance(app, Mapping) and "size" in app else None,
        "duration_s": duration_s,
        "loss_probability": 1 - math.prod(1 - hop["loss"] for hop in leg.there),
        # TCP sends whole segments.
        "window_bytes": None if math.isinf(window_bytes) else window_bytes // segment * segment,
        # With byte counting (RFC 3465), the window grows by every segment, regardless of the number
        # of acknowledgments.
        "segments_per_ack": 1 if transport["byte_counting"] else _segments_per_ack(transport),
        "rto_minimum_s": base_value(transport["rto_min"]),
        "rto_variation_floor_s": base_value(transport["rto_variance_min"]),
        "response": "cubic" if transport["congestion"].endswith("cubic") else "padhye",
    }


def _range(least: float, mean: float, greatest: float) -> tuple[float, float] | None:
    """Returns the range of a time that changes during the run; None if it is constant, or 0 at
    times."""
    return (min(least, mean), max(greatest, mean)) if 0 < least < greatest else None


def _segments_per_ack(transport: Mapping[str, Any]) -> int:
    return int(transport.get("ack_every", 2)) if transport["delayed_ack"] else 1


def _acknowledged_bit_s(known: Flow, leg: Leg) -> float:
    """Returns the rate of data whose acknowledgments fit into the return path."""
    slowest = min(hop["rate_bit_s"]["mean"] for hop in leg.back)
    return slowest / known["answer_bytes"] * _segments_per_ack(leg.transport) * known["packet_bytes"]


def _window_bytes(transport: Mapping[str, Any]) -> float:
    """Returns the smallest window that limits the data in flight; infinite without a limit."""
    named = ("receive_window", "send_buffer")
    given = [base_value(transport[key]) for key in named if transport.get(key) is not None]
    if transport.get("send_memory") is not None:
        given.append(carried_bytes(transport))
    unscaled = [] if transport["window_scaling"] else [UNSCALED_BYTES]
    return min((*given, *unscaled), default=math.inf)


def _notes(duration_s: float, known: Flow, leg: Leg, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yields a clause for each part of the scenario that the equations ignore."""
    congestion = leg.transport["congestion"]
    if congestion not in COVERED:
        yield f"no equation for {congestion}: this is the prediction for Reno"
    if arguments["loss_probability"] > 0:
        yield "the effect of losses is an estimate by a response function"
    unused = [key for key in UNUSED if leg.transport.get(key)]
    if unused:
        yield f"not in the equations: {', '.join(unused)}"
    window = arguments["window_bytes"]
    if leg.transport.get("send_memory") is not None and window is not None:
        room = arguments["rate_bit_s"] * arguments["rtt0_s"] / 8
        if carried_bytes(leg.transport) < min(window + arguments["segment_bytes"], room):
            yield "the equations use send_memory as the limit; a large congestion window may exceed it"
    for proxy in known["proxies"]:
        if proxy["kind"] != "split":
            yield f"not in the equations: the effect of proxy {proxy['name']} ({proxy['kind']})"
    for hop in (*leg.there, *leg.back):
        yield from _about(hop, duration_s)
    yield from _shared(known, leg)
    if _acknowledged_bit_s(known, leg) <= arguments["rate_bit_s"]:
        yield f"the return path carries acknowledgments for only {rate_text(arguments['rate_bit_s'])}"


def _about(hop: Hop, duration_s: float) -> Iterator[str]:
    """Yields the properties of a hop that are in none of its numbers."""
    name = hop["network"]
    for note in (*hop["notes"], *hop["queue"]["notes"]):
        yield f"{name}: {note}"
    changes = [change for change in hop["changes"] if change["at_s"] <= duration_s]
    if changes:
        first, more = changes[0], len(changes) - 1
        times = f" and {more} more time{'s' if more > 1 else ''}" if more else ""
        yield (
            f"{name} changes at {span_text(first['at_s'])} ({first['what']}){times}; the prediction is for "
            "its first state"
        )


def _shared(known: Flow, leg: Leg) -> Iterator[str]:
    for hop in leg.there:
        if hop["flows"] > 1:
            share = rate_text(known["share_bit_s"])
            by_round_trip = known.get("by_round_trip")
            rule = (
                "a share proportional to 1 / RTT^2 (Reno, simultaneous losses)"
                if by_round_trip
                else "a max-min share"
            )
            rest = "; a flow with a shorter round-trip time gets more" if by_round_trip is False else ""
            yield f"{hop['network']} is shared by {hop['flows']} flows: predicted for {rule} of {share}{rest}"
        if hop["pages_bit_s"] > 0:
            yield (
                f"{hop['network']}: pages, files and mails of other flows are counted at their mean rate of "
                f"up to {rate_text(hop['pages_bit_s'])}; during a transfer they take more"
            )


def _bottleneck(hop: Hop, known: Flow, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yields the effect of the queue at the bottleneck on a flow that fills it: on the goodput if
    the queue is shorter than a bandwidth-delay product, and otherwise on the round-trip time."""
    rate = hop["rate_bit_s"]["mean"]
    if rate > arguments["rate_bit_s"] * (1 + 1e-9) and hop["flows"] == 1:
        return
    room = _room_bytes(hop, known["packet_bytes"])
    product = rate * arguments["rtt0_s"] / 8
    if room < 0.9 * product:
        yield (
            f"{hop['network']}: the queue holds {100 * room / product:.2g} % of a bandwidth-delay product, "
            "so a window does not always fill the link after a loss"
        )
    else:
        added = f"up to {span_text(8 * room / rate)}" if math.isfinite(room) else "without a limit"
        yield f"{hop['network']}: the queue adds to the round-trip time, {added}"
