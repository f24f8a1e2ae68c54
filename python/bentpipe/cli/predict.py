"""``bentpipe predict``: predicts the flows of a scenario by equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from bentpipe.quantities import listed, number, span_text

from .common import AllFlows, Json, Overrides, ScenarioFile

if TYPE_CHECKING:
    from bentpipe.predict import Prediction
    from bentpipe.predict.prediction import FlowPrediction

_COLUMNS = (
    "flow",
    "goodput\nkbit/s",
    "range\nkbit/s",
    "limited\nby",
    "RTT\nms",
    "range\nms",
    "link full\nafter",
    "transfer\ntime",
)


def predict(
    scenario: ScenarioFile, overrides: Overrides = None, flows: AllFlows = False, json: Json = False
) -> None:
    """Predict every flow of a scenario by equations."""
    from bentpipe.predict.prediction import predict_scenario

    from .output import print_json, print_note, print_table

    predictions = predict_scenario(scenario, overrides or [])
    if json:
        print_json({"flows": [one.as_dict() for one in predictions.values()]})
        return
    if not predictions:
        typer.echo("the scenario has no flows, so there is nothing to predict")
    groups: dict[str, list[FlowPrediction]] = {}
    for one in predictions.values():
        groups.setdefault(one.flow if flows or one.group is None else one.group, []).append(one)
    known = [
        (name if len(members) == 1 else f"{name} ({len(members)})", there)
        for name, members in groups.items()
        if (there := [one.prediction for one in members if one.prediction is not None])
    ]
    if known:
        print_table(_COLUMNS, [[name, *_numbers(there)] for name, there in known])
    about: dict[str, list[str]] = {}
    for name, members in groups.items():
        for note in dict.fromkeys(one.note for one in members if one.note):
            about.setdefault(note, []).append(name)
    for note, names in about.items():
        print_note(f"{listed(names)}: {note}")


def _numbers(members: Sequence[Prediction]) -> list[str]:
    """Returns the predicted values of a flow or, for a group, means and the range over its
    flows."""

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    rtts = [one.round_trip for one in members]
    low, high = min(one.goodput_low_bit_s for one in members), max(one.goodput_high_bit_s for one in members)
    fills = [one.time_to_fill_s for one in members]
    transfers = [one.bounded_transfer_s for one in members]
    return [
        number(mean([one.goodput_bit_s for one in members]) / 1e3),
        f"{number(low / 1e3)}-{number(high / 1e3)}",
        ", ".join(dict.fromkeys(one.limited_by for one in members)),
        number(1e3 * mean([rtt.mean_s for rtt in rtts])),
        f"{number(1e3 * min(rtt.minimum_s for rtt in rtts))}-{number(1e3 * max(rtt.maximum_s for rtt in rtts))}",
        span_text(None if None in fills else mean([fill for fill in fills if fill is not None])),
        span_text(None if None in transfers else mean([one for one in transfers if one is not None])),
    ]
