"""Our values of the paper's statements, by their ids, and table 3."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean, median
from typing import Final

from bentpipe.predict.response import padhye_approximate_segments_s, padhye_triple_duplicate_segments_s
from bentpipe.studies import Table

from .points import Place, Points, mean_over

#: The paper's segment: 536 bytes and 40 of header, of which the window is at most 30.
SEGMENT_BITS: Final = 576 * 8
WINDOW: Final = 30
#: Segments for each acknowledgment.
PER_ACK: Final = 2

#: Least and greatest value of what is varied.
_ENDS: Final = {
    "rate": ("per_minute", 1.0, 10.0),
    "size": ("size_kb", 500.0, 2000.0),
    "ber": ("ber", 1e-7, 1e-5),
}
#: The paper's measures by ours.
_GROWING: Final = {"delay": "delay_s", "jitter": "jitter_absolute_s", "loss": "loss"}


def measure(points: Points) -> dict[str, float | None]:
    """Everything that ``published.csv`` asks for."""
    ours: dict[str, float | None] = {}
    for name, of in _GROWING.items():
        for end, (key, least, most) in _ENDS.items():
            ours[f"{name}-{end}"] = mean_over(points, of, **{key: most}) / mean_over(
                points, of, **{key: least}
            )
        ours[f"{name}-divergence"] = _spread(points, of, 10.0) / _spread(points, of, 6.0)
    for constellation in ("LEO", "GEO"):
        small = constellation.lower()
        own = {place: of for place, of in points.items() if place.constellation == constellation}
        worst = max(own, key=lambda place: own[place]["delay_s"].value)
        ours[f"worst-delay-{small}"] = own[worst]["delay_s"].value
        ours[f"worst-delay-size-{small}"] = worst.size_kb
        for end, place in (("low", (500.0, 1.0, 1e-7)), ("high", (2000.0, 10.0, 1e-5))):
            ours[f"loss-{end}-{small}"] = points[next(p for p in own if p[1:] == place)]["loss"].value
        ours[f"loss-most-{small}"] = max(of["loss"].value for of in own.values())
        for column in ("rtt", "rttvar", "rto"):
            ours[f"{column}-{small}"] = mean_over(own, f"{column}_s")
        ours[f"window-limit-{small}"] = WINDOW * SEGMENT_BITS / mean_over(own, "rtt_s") / 1e3
        ours[f"model-error-{small}"] = _error(own)
    ours["throughput-size"] = fmean(
        mean_over(points, "throughput_bit_s", size_kb=2000.0, per_minute=rate)
        / mean_over(points, "throughput_bit_s", size_kb=500.0, per_minute=rate)
        for rate in (1.0, 2.0)
    )
    rates = {rate: mean_over(points, "throughput_bit_s", per_minute=rate) for rate in (2.0, 6.0, 10.0)}
    ours["throughput-falls"] = rates[10.0] / rates[2.0]
    # Each over four more connections a minute.
    ours["throughput-rapidly"] = (rates[6.0] - rates[10.0]) / (rates[2.0] - rates[6.0])
    low = [(place, of) for place, of in points.items() if place.ber == 1e-7]
    ours["model-td-low"] = median(
        triple_duplicate(points, place.constellation, of["loss"].value) / of["throughput_bit_s"].value
        for place, of in low
    )
    ours["model-better-geo"] = _error(_of(points, "LEO")) - _error(_of(points, "GEO"))
    short = [
        of for place, of in points.items() if place[0] == "LEO" and place.size_kb == 500 and place.ber == 1e-5
    ]
    ours["model-short-leo"] = median(
        of["throughput_bit_s"].value / approximate(points, "LEO", of["loss"].value) for of in short
    )
    return ours


def measure_one_link(points: Points) -> dict[str, float | None]:
    """The extremes of loss with bit errors on one link only."""
    return {
        f"one-link-loss-{end}-{constellation.lower()}": points[Place(constellation, *rest)]["loss"].value
        for constellation in ("LEO", "GEO")
        for end, rest in (("low", (500.0, 1.0, 1e-7)), ("high", (2000.0, 10.0, 1e-5)))
    }


def _of(points: Points, constellation: str) -> Points:
    return {place: of for place, of in points.items() if place.constellation == constellation}


def _spread(points: Points, measure: str, per_minute: float) -> float:
    """Standard deviation of a measure over the curves at an arrival rate, mean of both constellations."""
    parts = []
    for constellation in ("LEO", "GEO"):
        values = [
            of[measure].value
            for place, of in points.items()
            if place.constellation == constellation and place.per_minute == per_minute
        ]
        mean = fmean(values)
        parts.append(math.sqrt(fmean((value - mean) ** 2 for value in values)))
    return fmean(parts)


def approximate(points: Points, constellation: str, loss: float) -> float:
    """The approximate model in bit/s at a loss ratio, with the constellation's mean round trip and time-out."""
    own = _of(points, constellation)
    rtt_s, rto_s = mean_over(own, "rtt_s"), mean_over(own, "rto_s")
    segments = padhye_approximate_segments_s(
        loss, rtt_s, rto_s, segments_per_ack=PER_ACK, window_maximum_segments=WINDOW
    )
    return segments * SEGMENT_BITS


def triple_duplicate(points: Points, constellation: str, loss: float) -> float:
    """The model without time-outs in bit/s, likewise."""
    rtt_s = mean_over(_of(points, constellation), "rtt_s")
    return padhye_triple_duplicate_segments_s(loss, rtt_s, segments_per_ack=PER_ACK) * SEGMENT_BITS


def _error(points: Points) -> float:
    """Mean distance of the points from the approximate model, as a part of it."""

    def distances() -> Iterable[float]:
        for place, of in points.items():
            model = approximate(points, place.constellation, of["loss"].value)
            yield abs(of["throughput_bit_s"].value / model - 1)

    return fmean(distances())


def table_3(points: Points) -> Table:
    """Means over all runs of a constellation, with the paper's values."""
    paper = {
        "LEO": (0.19246667, 0.04919397, 0.38924256, 718.25),
        "GEO": (0.58629833, 0.01799251, 0.65826836, 235.78),
    }
    rows = []
    for constellation, (rtt, deviation, rto, limit) in paper.items():
        own = _of(points, constellation)
        mean = mean_over(own, "rtt_s")
        ours = [mean, mean_over(own, "rttvar_s"), mean_over(own, "rto_s"), WINDOW * SEGMENT_BITS / mean / 1e3]
        for name, theirs, value, digits in zip(
            ("RTT s", "RTT deviation s", "RTO s", "window limit kbit/s"),
            (rtt, deviation, rto, limit),
            ours,
            (4, 4, 4, 1),
            strict=True,
        ):
            rows.append([constellation, name, f"{theirs:.{digits}f}", f"{value:.{digits}f}"])
    return Table("Table 3: means over all runs", ["constellation", "mean", "paper", "ours"], rows)
