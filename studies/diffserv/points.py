"""What each hour came to: one point per constellation, file size, arrival rate and bit error rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

import bentpipe as bp
from bentpipe.statistics import Mean, mean_of
from bentpipe.studies import bar

#: Presets by the paper's names.
CONSTELLATIONS: Final = {"big-leo": "LEO", "geo-five": "GEO"}

#: The keys of the bit error rate: of the links to and from the ground, and of a link before them.
BER: Final = "network.sky.gsl.error.rate"
ONE_LINK: Final = "link.backhaul.error.rate"

#: What is measured of an hour: the column, and its factor to the paper's unit.
_COLUMNS: Final = {
    "delay_s": "delay_mean",
    "jitter_signed_s": "jitter_signed",
    "jitter_absolute_s": "jitter_absolute",
    "jitter_rfc3550_s": "jitter_rfc3550",
    "rtt_s": "rtt_mean",
    "rttvar_s": "rttvar_mean",
    "rto_s": "rto_mean",
    "throughput_bit_s": "transaction_rate",
}


class Place(NamedTuple):
    """Where a point lies."""

    constellation: str
    size_kb: float
    per_minute: float
    ber: float


#: Measures of all places, over replications.
Points = Mapping[Place, Mapping[str, Mean]]


def points_of(
    scenario: Path,
    out: Path,
    replications: int,
    *,
    overrides: Sequence[str] = (),
    vary: Mapping[str, Any] | None = None,
    quiet: bool = False,
) -> Points:
    """Run the campaign of the scenario, or what is missing of it, and collect its points.

    ``vary`` replaces some of the values that it varies."""
    base = bp.campaign.plan(scenario).settings["vary"]
    plan = bp.campaign.plan(scenario, overrides, vary={**base, **(vary or {})}, replications=replications)
    with bar(out.name, shown=not quiet) as progress:
        campaign = bp.campaign.run(plan, out, progress=lambda standing: progress(standing.fraction))
    rows = campaign.flows.filter(flow="files")
    points: dict[Place, list[dict[str, float]]] = {}
    for row in rows.iter_rows(named=True):
        points.setdefault(_place(row), []).append(_measures(row))
    return {
        place: {
            key: mean_of([one[key] for one in of if one[key] == one[key]] or [float("nan")]) for key in of[0]
        }
        for place, of in sorted(points.items())
    }


def _place(row: Mapping[str, Any]) -> Place:
    every_s = float(str(row["flow.files.app.every"]).split()[0])
    size, unit = str(row["flow.files.app.size"]).split()
    return Place(
        CONSTELLATIONS[row["preset"]],
        float(size) * {"kB": 1, "MB": 1000}[unit],
        round(60 / every_s, 3),
        float(row.get(ONE_LINK, row[BER])),
    )


def _measures(row: Mapping[str, Any]) -> dict[str, float]:
    values = {
        name: float("nan") if row[column] is None else float(row[column]) for name, column in _COLUMNS.items()
    }
    sent = float(row["sent_packets"])
    values["loss"] = (sent - float(row["delivered_packets"])) / sent if sent else float("nan")
    return values


def mean_over(points: Points, measure: str, **where: object) -> float:
    """Mean of a measure over all places that have these values."""
    chosen = [
        of[measure].value
        for place, of in points.items()
        if all(getattr(place, k) == v for k, v in where.items())
    ]
    chosen = [value for value in chosen if value == value]
    return fmean(chosen) if chosen else float("nan")
