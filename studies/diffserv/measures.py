"""The study's values for the paper's statements, by their ids, and table 3."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean, median
from typing import Final

from bentpipe.predict.response import padhye_approximate_segments_s, padhye_triple_duplicate_segments_s
from bentpipe.studies import Table

from .points import SEGMENT_BITS, WINDOW, Place, Points, mean_over, of_constellation, timers

#: Segments per acknowledgment.
PER_ACK: Final = 1
#: A model fits a point within this distance, as a fraction of the model's value.
NEAR: Final = 0.25

#: Lowest and highest values of the varied parameters.
_ENDS: Final = {
    "rate": ("per_minute", 1.0, 10.0),
    "size": ("size_kb", 500.0, 2000.0),
    "ber": ("ber", 1e-7, 1e-5),
}
#: The paper's measures by the study's.
_GROWING: Final = {"delay": "delay_s", "jitter": "jitter_absolute_s", "loss": "loss"}


def measure(points: Points) -> dict[str, float | None]:
    """Returns every value of ``published.csv`` for the test ``campaign``."""
    ours: dict[str, float | None] = {}
    for constellation in ("LEO", "GEO"):
        own = of_constellation(points, constellation)
        for part in (_growth, _extremes, _throughput, _models):
            ours |= {
                f"{name}-{constellation.lower()}": value for name, value in part(own, constellation).items()
            }
    ours |= _both(points)
    return ours


def _growth(own: Points, _: str) -> dict[str, float]:
    """Returns the growth in figures 2 to 4: ratios of means over all points at the ends of the
    varied parameters."""
    ours = {}
    for name, of in _GROWING.items():
        for end, (key, least, most) in _ENDS.items():
            ours[f"{name}-{end}"] = mean_over(own, of, **{key: most}) / mean_over(own, of, **{key: least})
        ours[f"{name}-divergence"] = _spread(own, of, 10.0) / _spread(own, of, 6.0)
    jitter = [mean_over(own, "jitter_absolute_s", ber=ber) for ber in (1e-7, 1e-6, 1e-5)]
    ours["jitter-gap"] = 1e3 * ((jitter[2] - jitter[1]) - (jitter[1] - jitter[0]))
    return ours


def _extremes(own: Points, constellation: str) -> dict[str, float]:
    worst = max(own, key=lambda place: own[place]["delay_s"].value)
    return {
        "worst-delay": own[worst]["delay_s"].value,
        "worst-delay-size": worst.size_kb,
        "loss-low": own[Place(constellation, 500.0, 1.0, 1e-7)]["loss"].value,
        "loss-high": own[Place(constellation, 2000.0, 10.0, 1e-5)]["loss"].value,
        "loss-most": max(of["loss"].value for of in own.values()),
    }


def _throughput(own: Points, _: str) -> dict[str, float]:
    """Returns the values of figure 5, the throughput."""
    of = "throughput_bit_s"
    rates = {rate: mean_over(own, of, per_minute=rate) for rate in (2.0, 6.0, 10.0)}
    return {
        "throughput-size": fmean(
            mean_over(own, of, size_kb=2000.0, per_minute=rate)
            / mean_over(own, of, size_kb=500.0, per_minute=rate)
            for rate in (1.0, 2.0)
        ),
        "throughput-falls": rates[10.0] / rates[2.0],
        # Each increment is over four more connections a minute.
        "throughput-rapidly": (rates[6.0] - rates[10.0]) / (rates[2.0] - rates[6.0]),
        "throughput-ber": mean_over(own, of, ber=1e-5) / mean_over(own, of, ber=1e-7),
    }


def _models(own: Points, constellation: str) -> dict[str, float]:
    """Returns the values of table 3 and figure 6."""
    of = timers(own, constellation)
    near = [abs(distance) <= NEAR for distance in _distances(own)]
    return {
        "rtt": of.rtt_s,
        "deviation": of.deviation_s,
        "timeout": of.timeout_s,
        "window-limit": of.limit_kbit_s,
        "model-most": 100 * fmean(near),
        "model-td-low": median(
            triple_duplicate(own, constellation, measures["loss"].value) / measures["throughput_bit_s"].value
            for place, measures in own.items()
            if place.ber == 1e-7
        ),
    }


def _both(points: Points) -> dict[str, float]:
    """Returns the values that compare the constellations."""
    leo, geo = (timers(points, name) for name in ("LEO", "GEO"))
    loss = {name: points[Place(name, 2000.0, 10.0, 1e-5)]["loss"].value for name in ("LEO", "GEO")}
    errors = {
        name: fmean(abs(distance) for distance in _distances(of_constellation(points, name)))
        for name in ("LEO", "GEO")
    }
    higher = [
        of["delay_s"].value / points[place._replace(constellation="LEO")]["delay_s"].value
        for place, of in points.items()
        if place.constellation == "GEO"
    ]
    short = [
        of["throughput_bit_s"].value / approximate(points, "LEO", of["loss"].value)
        for place, of in points.items()
        if place.constellation == "LEO" and place.size_kb == 500 and place.ber == 1e-5
    ]
    return {
        "rtt-ratio": geo.rtt_s / leo.rtt_s,
        "deviation-ratio": leo.deviation_s / geo.deviation_s,
        "timeout-ratio": geo.timeout_s / leo.timeout_s,
        "delay-higher-geo": min(higher),
        "loss-ratio": loss["GEO"] / loss["LEO"],
        "model-better-geo": errors["LEO"] - errors["GEO"],
        "model-short-leo": median(short),
    }


def _spread(own: Points, measure: str, per_minute: float) -> float:
    """Returns the standard deviation of a measure over the curves at an arrival rate."""
    values = [of[measure].value for place, of in own.items() if place.per_minute == per_minute]
    mean = fmean(values)
    return math.sqrt(fmean((value - mean) ** 2 for value in values))


def approximate(points: Points, constellation: str, loss: float) -> float:
    """Returns the approximate model in bit/s at a loss ratio, with the round-trip time and time-out
    of table 3."""
    of = timers(points, constellation)
    segments = padhye_approximate_segments_s(
        loss, of.rtt_s, of.timeout_s, segments_per_ack=PER_ACK, window_maximum_segments=WINDOW
    )
    return segments * SEGMENT_BITS


def measure_own_round_trips(points: Points) -> dict[str, float | None]:
    """Returns figure 6 over LEO with the round-trip time and time-out that TCP measured in each
    hour, instead of table 3's."""
    own = of_constellation(points, "LEO")
    over = {
        place: of["throughput_bit_s"].value
        / SEGMENT_BITS
        / padhye_approximate_segments_s(
            of["loss"].value,
            of["rtt_s"].value,
            of["timeout_s"].value,
            segments_per_ack=PER_ACK,
            window_maximum_segments=WINDOW,
        )
        for place, of in own.items()
    }
    short = [value for place, value in over.items() if place.size_kb == 500 and place.ber == 1e-5]
    return {
        "own-model-most-leo": 100 * fmean(abs(value - 1) <= NEAR for value in over.values()),
        "own-model-short-leo": median(short),
    }


def triple_duplicate(points: Points, constellation: str, loss: float) -> float:
    """Returns the model without time-outs in bit/s at a loss ratio, with the round-trip time of
    table 3."""
    rtt_s = timers(points, constellation).rtt_s
    return padhye_triple_duplicate_segments_s(loss, rtt_s, segments_per_ack=PER_ACK) * SEGMENT_BITS


def _distances(points: Points) -> Iterator[float]:
    """Yields the distance of each point from the approximate model, as a fraction of the model's
    value."""
    for place, of in points.items():
        yield of["throughput_bit_s"].value / approximate(points, place.constellation, of["loss"].value) - 1


#: Table 3 of the paper: RTT, deviation and time-out in seconds, window limit in kbit/s.
PAPER: Final = {
    "LEO": (0.19246667, 0.04919397, 0.38924256, 718.25),
    "GEO": (0.58629833, 0.01799251, 0.65826836, 235.78),
}


def table_3(points: Points) -> Table:
    """Returns table 3 of the points, next to the paper's."""
    rows = []
    for constellation, paper in PAPER.items():
        of = timers(points, constellation)
        names = ("RTT s", "RTT deviation s", "time-out s", "window limit kbit/s")
        for name, theirs, value, digits in zip(
            names, paper, (*of, of.limit_kbit_s), (4, 4, 4, 1), strict=True
        ):
            rows.append([constellation, name, f"{theirs:.{digits}f}", f"{value:.{digits}f}"])
    return Table("Table 3 over all runs", ["constellation", "quantity", "paper", "ours"], rows)


def row_of(points: Points, constellation: str) -> list[str]:
    """Returns a constellation's row in the table of assumptions."""
    own = of_constellation(points, constellation)
    of, worst = timers(own, constellation), max(one["delay_s"].value for one in own.values())
    high = own[Place(constellation, 2000.0, 10.0, 1e-5)]["loss"].value
    jitter = [1e3 * mean_over(own, "jitter_absolute_s", ber=ber) for ber in (1e-7, 1e-5)]
    return [
        f"{1e3 * mean_over(own, 'path_s'):.0f}",
        *(f"{value:.3f}" for value in (*of, worst)),
        f"{high:.4f}",
        f"{jitter[0]:.2f} {jitter[1]:.2f}",
    ]
