"""``bentpipe predict``: predicts the flows of a scenario by equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from bentpipe.quantities import number, span_text

from .common import Json, Overrides, ScenarioFile

if TYPE_CHECKING:
    from bentpipe.predict import Prediction

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


def predict(scenario: ScenarioFile, overrides: Overrides = None, json: Json = False) -> None:
    """Predict every flow of a scenario by equations."""
    from bentpipe.prediction import predict_scenario

    from .output import print_json, print_table

    predictions = predict_scenario(scenario, overrides or [])
    if json:
        print_json({"flows": [one.as_dict() for one in predictions.values()]})
        return
    known = [(one.flow, one.prediction) for one in predictions.values() if one.prediction is not None]
    if not predictions:
        typer.echo("the scenario has no flow to predict")
    if known:
        print_table(_COLUMNS, [[flow, *_numbers(prediction)] for flow, prediction in known])
    for one in predictions.values():
        if one.note:
            typer.echo(f"{one.flow}: {one.note}")


def _numbers(prediction: Prediction) -> list[str]:
    rtt = prediction.round_trip
    return [
        number(prediction.goodput_bit_s / 1e3),
        f"{number(prediction.goodput_low_bit_s / 1e3)}-{number(prediction.goodput_high_bit_s / 1e3)}",
        prediction.limited_by,
        number(1e3 * rtt.mean_s),
        f"{number(1e3 * rtt.minimum_s)}-{number(1e3 * rtt.maximum_s)}",
        span_text(prediction.time_to_fill_s),
        span_text(prediction.bounded_transfer_s),
    ]
