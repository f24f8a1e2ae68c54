"""Our measured values, by the ids of published.csv, and table 3."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean, median
from typing import Final

from bentpipe.predict.response import padhye_approximate_segments_s, padhye_triple_duplicate_segments_s
from bentpipe.studies import Table

from .points import SEGMENT_BITS, WINDOW, PointKey, Points, mean_over, of_constellation, timers

#: Number of segments per acknowledgment.
PER_ACK: Final = 1
#: Maximum distance of a point from a model that fits it, as a fraction of the model's value.
NEAR: Final = 0.25

#: Key, minimum and maximum of the varied parameters, by the name in the ids.
_ENDS: Final = {
    "rate": ("per_minute", 1.0, 10.0),
    "size": ("size_kb", 500.0, 2000.0),
    "ber": ("ber", 1e-7, 1e-5),
}
#: Measures of figures 2 to 4, by the name in the ids.
_GROWING: Final = {"delay": "delay_s", "jitter": "jitter_absolute_s", "loss": "loss"}


def measure(points: Points) -> dict[str, float | None]:
    """Returns the values for the test ``campaign``."""
    ours: dict[str, float | None] = {}
    for constellation in ("LEO", "GEO"):
        own = of_constellation(points, constellation)
        for part in (_growth, _extremes, _throughput, _models):
            ours |= {
                f"{name}-{constellation.lower()}": value for name, value in part(own, constellation).items()
            }
    ours |= _both(points)
    return ours


def measure_few(points: Points) -> dict[str, float | None]:
    """Returns the values for the test ``few``, in percent: means over all points of a
    constellation."""
    return {
        f"few-finished-{name.lower()}": 100 * mean_over(of_constellation(points, name), "finished")
        for name in ("LEO", "GEO")
    }


def measure_bends(points: Points) -> dict[str, float | None]:
    """Returns the values for the test ``bends``, from all points at 1, 6 and 10 connections per
    minute."""
    ours: dict[str, float | None] = {}
    loss = {}
    for name in ("LEO", "GEO"):
        own = of_constellation(points, name)
        jitter = {
            rate: fmean(mean_over(own, "jitter_absolute_s", per_minute=rate, ber=ber) for ber in (1e-7, 1e-6))
            for rate in (1.0, 6.0, 10.0)
        }
        # Growth per additional connection a minute.
        before, above = (jitter[6.0] - jitter[1.0]) / 5, (jitter[10.0] - jitter[6.0]) / 4
        ours[f"bends-jitter-{name.lower()}"] = above / before
        low, middle, high = (mean_over(own, "loss", ber=ber) for ber in (1e-7, 1e-6, 1e-5))
        ours[f"bends-loss-ber-{name.lower()}"] = (high - middle) / (middle - low)
        loss[name] = mean_over(own, "loss")
    ours["bends-loss-ratio"] = loss["GEO"] / loss["LEO"]
    return ours


def _growth(own: Points, _: str) -> dict[str, float]:
    """Returns the values of growth in figures 2 to 4: means over all points at the maximum of a
    varied parameter, divided by means at its minimum."""
    ours = {}
    for name, of in _GROWING.items():
        for end, (parameter, minimum, maximum) in _ENDS.items():
            ours[f"{name}-{end}"] = mean_over(own, of, **{parameter: maximum}) / mean_over(
                own, of, **{parameter: minimum}
            )
    ours["delay-divergence"] = _spread(own, "delay_s", 10.0) / _spread(own, "delay_s", 6.0)
    jitter = [mean_over(own, "jitter_absolute_s", ber=ber) for ber in (1e-7, 1e-6, 1e-5)]
    ours["jitter-gap"] = 1e3 * ((jitter[2] - jitter[1]) - (jitter[1] - jitter[0]))
    return ours


def _extremes(own: Points, _: str) -> dict[str, float]:
    worst = max(own, key=lambda key: own[key]["delay_s"].value)
    return {
        "worst-delay": own[worst]["delay_s"].value,
        "worst-delay-size": worst.size_kb,
        "loss-most": max(of["loss"].value for of in own.values()),
    }


def _throughput(own: Points, _: str) -> dict[str, float]:
    """Returns the values of figure 5 (throughput)."""
    of = "throughput_bit_s"
    rates = {rate: mean_over(own, of, per_minute=rate) for rate in (2.0, 6.0, 10.0)}
    return {
        "throughput-size": fmean(
            mean_over(own, of, size_kb=2000.0, per_minute=rate)
            / mean_over(own, of, size_kb=500.0, per_minute=rate)
            for rate in (1.0, 2.0)
        ),
        "throughput-falls": rates[10.0] / rates[2.0],
        # Both differences are for four more connections per minute.
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
            for key, measures in own.items()
            if key.ber == 1e-7
        ),
    }


def _both(points: Points) -> dict[str, float]:
    """Returns the values that compare the constellations."""
    leo, geo = (timers(points, name) for name in ("LEO", "GEO"))
    errors = {
        name: fmean(abs(distance) for distance in _distances(of_constellation(points, name)))
        for name in ("LEO", "GEO")
    }
    higher = [
        of["delay_s"].value / points[key._replace(constellation="LEO")]["delay_s"].value
        for key, of in points.items()
        if key.constellation == "GEO"
    ]
    short = [
        of["throughput_bit_s"].value / approximate(points, "LEO", of["loss"].value)
        for key, of in points.items()
        if key.constellation == "LEO" and key.size_kb == 500 and key.ber == 1e-5
    ]
    return {
        "rtt-ratio": geo.rtt_s / leo.rtt_s,
        "deviation-ratio": leo.deviation_s / geo.deviation_s,
        "timeout-ratio": geo.timeout_s / leo.timeout_s,
        "delay-higher-geo": min(higher),
        "model-better-geo": errors["LEO"] - errors["GEO"],
        "model-short-leo": median(short),
    }


def _spread(own: Points, measure: str, per_minute: float) -> float:
    """Returns the standard deviation of a measure over all curves of a figure, at one arrival
    rate."""
    values = [of[measure].value for key, of in own.items() if key.per_minute == per_minute]
    mean = fmean(values)
    return math.sqrt(fmean((value - mean) ** 2 for value in values))


def approximate(points: Points, constellation: str, loss: float) -> float:
    """Returns the throughput in bit/s at a loss ratio by Padhye's approximate model, with the RTT
    and the time-out of table 3."""
    of = timers(points, constellation)
    segments = padhye_approximate_segments_s(
        loss, of.rtt_s, of.timeout_s, segments_per_ack=PER_ACK, window_maximum_segments=WINDOW
    )
    return segments * SEGMENT_BITS


def measure_own_round_trips(points: Points) -> dict[str, float | None]:
    """Returns the values of figure 6 for LEO, with the RTT and the time-out that TCP measured in
    each hour instead of the values of table 3."""
    own = of_constellation(points, "LEO")
    ratios = {
        key: of["throughput_bit_s"].value
        / SEGMENT_BITS
        / padhye_approximate_segments_s(
            of["loss"].value,
            of["rtt_s"].value,
            of["timeout_s"].value,
            segments_per_ack=PER_ACK,
            window_maximum_segments=WINDOW,
        )
        for key, of in own.items()
    }
    short = [value for key, value in ratios.items() if key.size_kb == 500 and key.ber == 1e-5]
    return {
        "own-model-most-leo": 100 * fmean(abs(value - 1) <= NEAR for value in ratios.values()),
        "own-model-short-leo": median(short),
    }


def triple_duplicate(points: Points, constellation: str, loss: float) -> float:
    """Returns the throughput in bit/s at a loss ratio by Padhye's model with triple duplicate
    acknowledgments only (without time-outs), with the RTT of table 3."""
    rtt_s = timers(points, constellation).rtt_s
    return padhye_triple_duplicate_segments_s(loss, rtt_s, segments_per_ack=PER_ACK) * SEGMENT_BITS


def _distances(points: Points) -> Iterator[float]:
    """Yields the throughput of each point relative to the approximate model, minus 1."""
    for key, of in points.items():
        yield of["throughput_bit_s"].value / approximate(points, key.constellation, of["loss"].value) - 1


#: Table 3 of the paper: RTT, deviation and time-out in seconds, window limit in kbit/s.
PAPER: Final = {
    "LEO": (0.19246667, 0.04919397, 0.38924256, 718.25),
    "GEO": (0.58629833, 0.01799251, 0.65826836, 235.78),
}


def table_3(points: Points) -> Table:
    """Returns table 3 with the paper's values and ours."""
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
    high = own[PointKey(constellation, 2000.0, 10.0, 1e-5)]["loss"].value
    jitter = [1e3 * mean_over(own, "jitter_absolute_s", ber=ber) for ber in (1e-7, 1e-5)]
    return [
        f"{1e3 * mean_over(own, 'path_s'):.0f}",
        *(f"{value:.3f}" for value in (*of, worst)),
        f"{high:.4f}",
        f"{jitter[0]:.2f} {jitter[1]:.2f}",
    ]
