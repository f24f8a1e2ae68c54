"""From a resolved scenario to the equations: the arguments of :func:`bentpipe.predict.predict_flow` for each flow.

Only what the equations know is taken from the scenario: one flow alone, the rates and delays on its way, the DAMA
category of a return link, independent errors. What they cannot say is a reason in words instead of a number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from .path import Graph, NoPath, Path, kind_of
from .quantities import base_value

if TYPE_CHECKING:
    from .predict import Prediction, Scheme
    from .scenarios import ScenarioLike

#: Header of a TCP segment without options over IPv4 (RFC 9293, RFC 791), and the option for timestamps (RFC 7323).
HEADER_BYTES: Final = 40
TIMESTAMP_BYTES: Final = 12
#: Congestion controls whose growth or response function the equations describe.
COVERED: Final = ("reno", "cubic", "linux-reno", "linux-cubic")


@dataclass(frozen=True)
class FlowPrediction:
    """What the equations say about one flow: ``prediction``, or None where they have nothing to say. ``note`` is why,
    or what to bear in mind. ``arguments`` are those of :func:`bentpipe.predict.predict_flow`, so that a prediction can
    be repeated and varied by hand."""

    flow: str
    prediction: Prediction | None
    note: str
    arguments: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        # What is infinite is "no limit", which JSON cannot say as a number.
        arguments = {
            key: None if isinstance(value, float) and math.isinf(value) else value
            for key, value in self.arguments.items()
        }
        prediction = None if self.prediction is None else self.prediction.as_dict()
        return {"flow": self.flow, "note": self.note, "arguments": arguments, "prediction": prediction}


def predict_scenario(scenario: ScenarioLike, overrides: Sequence[str] = ()) -> dict[str, FlowPrediction]:
    """The prediction of every flow of a scenario, by the flow's name; nothing is simulated.

    Source: the equations are those of :mod:`bentpipe.predict`; which of them serves is said there. Raises
    :class:`bentpipe.ScenarioError`.

    >>> upload = predict_scenario("examples/dvb-rcs-upload.toml", ["network.sat.return.dama.scheme=vbdc"])["upload"]
    >>> round(upload.prediction.round_trip.mean_s, 3), upload.prediction.limited_by
    (1.581, 'rate')
    """
    from .scenarios import load

    return predict_resolved(load(scenario, overrides).data)


def predict_resolved(scenario: Mapping[str, Any]) -> dict[str, FlowPrediction]:
    """The same of a scenario that is resolved already (``Run.scenario``), which may be an older version's."""
    try:
        graph = Graph(scenario)
    except NoPath:
        # Each flow that needs a path then says why it has none.
        graph = None
    return {flow["name"]: _predict(scenario, flow, graph) for flow in scenario.get("flow", [])}


def _predict(scenario: Mapping[str, Any], flow: Mapping[str, Any], graph: Graph | None) -> FlowPrediction:
    """Of a flow that proxies split, the prediction of the leg that brings least: its legs are in series."""
    legs = [_predict_leg(scenario, leg, graph) for leg in _legs(scenario, flow, graph)]
    known = [leg for leg in legs if leg.prediction is not None]
    if len(legs) == 1 or len(known) < len(legs):
        return next((leg for leg in legs if leg.prediction is None), legs[0])
    slowest = min(known, key=lambda leg: leg.prediction.goodput_bit_s if leg.prediction else 0.0)
    note = f"split in {len(legs)} legs: this is what leg {legs.index(slowest) + 1} would bring alone"
    return replace(slowest, note="; ".join(filter(None, (note, slowest.note))))


def _legs(scenario: Mapping[str, Any], flow: Mapping[str, Any], graph: Graph | None) -> list[dict[str, Any]]:
    """The connections that carry a flow, one after the other, as flows: several where proxies split it."""
    legs = [dict(flow)]
    if kind_of(flow["transport"]) != "tcp":
        return legs
    try:
        hops = (graph or Graph(scenario)).path(flow["from"], flow["to"]).hops
    except NoPath:
        return legs
    for before, after in itertools.pairwise(hops):
        for proxy in scenario.get("proxy", []):
            mechanism = proxy["mechanism"]
            served = flow["name"] in proxy.get("flows", [flow["name"]])
            if kind_of(mechanism) != "split" or proxy["node"] != before.to or not served:
                continue
            transport = mechanism.get("sides", {}).get(after.name, mechanism["transport"])
            legs[-1]["to"] = proxy["node"]
            legs.append({**flow, "from": proxy["node"], "transport": {"kind": "tcp", **transport}})
            # What is under way on either side is also in the proxy's buffer.
            for leg in legs[-2:]:
                windows = (leg["transport"].get("receive_window"), mechanism["buffer"])
                least = min((window for window in windows if window is not None), key=base_value)
                leg["transport"] = {**leg["transport"], "receive_window": least}
    return legs


def _predict_leg(scenario: Mapping[str, Any], flow: Mapping[str, Any], graph: Graph | None) -> FlowPrediction:
    from .predict import predict_flow

    name = str(flow["name"])
    try:
        arguments = flow_arguments(scenario, flow, graph)
    except (NoPath, NotPredicted) as reason:
        return FlowPrediction(name, None, str(reason), {})
    congestion = flow["transport"]["congestion"]
    note = "" if congestion in COVERED else f"{congestion} is not predicted: this is what Reno would do"
    try:
        return FlowPrediction(name, predict_flow(**arguments), note, arguments)
    except ValueError as refused:
        # A scenario may be right and still have nothing to say to the equations, such as links without delay.
        return FlowPrediction(name, None, f"the equations refuse {refused}", arguments)


class NotPredicted(Exception):  # noqa: N818 - not an error: the equations do not cover everything
    """Why there is no prediction."""


def flow_arguments(
    scenario: Mapping[str, Any], flow: Mapping[str, Any], graph: Graph | None = None
) -> dict[str, Any]:
    """The arguments of :func:`bentpipe.predict.predict_flow`. Raises :class:`NotPredicted` with the reason where the
    equations have nothing to say, and :class:`bentpipe.path.NoPath` where the way of the flow is not clear."""
    transport, app = flow["transport"], flow["app"]
    if kind_of(transport) != "tcp":
        raise NotPredicted(f"the equations are about TCP, and this flow uses {kind_of(transport)}")
    if kind_of(app) != "bulk":
        raise NotPredicted(f"the equations are about bulk transfers, and this flow is {kind_of(app)}")
    graph = graph or Graph(scenario)
    there, back = graph.path(flow["from"], flow["to"]), graph.path(flow["to"], flow["from"])
    segment = int(transport["segment_size"])
    header = HEADER_BYTES + (TIMESTAMP_BYTES if transport["timestamps"] else 0)
    start_s = base_value(flow["start"]) if "start" in flow else 0.0
    duration_s = base_value(scenario["duration"]) - start_s
    if duration_s <= 0:
        raise NotPredicted("it does not start within the run")
    window = transport.get("receive_window")
    demand = _demand(there, back)
    return {
        "rate_bit_s": there.rate_bit_s,
        "rtt0_s": there.delay_s + back.delay_s,
        "scheme": demand.scheme,
        "superframe_s": demand.superframe_s,
        "response_superframes": demand.response_superframes,
        "segment_bytes": segment,
        "header_bytes": header,
        "initial_window": float(transport["initial_window"]),
        "ssthresh": float(transport.get("initial_ssthresh", math.inf)),
        "size_bytes": round(base_value(app["size"])) if isinstance(app, Mapping) and "size" in app else None,
        "duration_s": duration_s,
        "loss_probability": there.loss_probability(segment + header),
        "window_bytes": None if window is None else base_value(window),
        "segments_per_ack": 2 if transport["delayed_ack"] else 1,
        "response": "cubic" if transport["congestion"].endswith("cubic") else "padhye",
    }


@dataclass(frozen=True)
class _Demand:
    scheme: Scheme = "none"
    superframe_s: float = 0.0
    response_superframes: int = 0


def _demand(there: Path, back: Path) -> _Demand:
    """Demand assignment on the way of the data, or else on that of the acknowledgements."""
    from .predict import SCHEMES

    dama = there.dama or back.dama
    if dama is None:
        return _Demand()
    if dama.scheme not in SCHEMES:
        raise NotPredicted(f"the equations know no category {dama.scheme}")
    return _Demand(dama.scheme, dama.superframe_s, dama.response_superframes)
