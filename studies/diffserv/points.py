"""The result of each hour: one point per constellation, file size, arrival rate and bit error
rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple

import bentpipe as bp
from bentpipe.results.runs import Run
from bentpipe.statistics import Mean, mean_of
from bentpipe.studies import bar

#: Presets by the paper's names.
CONSTELLATIONS: Final = {"big-leo": "LEO", "geo-five": "GEO"}

#: The keys of the bit error rate: for the link before the satellites, and for the links to and from
#: the ground.
BER: Final = "link.backhaul.error.rate"
BER_TWICE: Final = "network.sky.gsl.error.rate"

#: The paper's segment on the wire: 536 bytes of payload, at most 30 of them per window, and a
#: 40-byte header.
PAYLOAD: Final = 536
SEGMENT_BITS: Final = 576 * 8
WINDOW: Final = 30

#: Measures of an hour that are columns of the flow table.
_COLUMNS: Final = {
    "delay_s": "delay_mean",
    "path_s": "path_delay",
    "rtt_s": "rtt_mean",
    "timeout_s": "rto_mean",
    "jitter_signed_s": "jitter_signed",
    "jitter_absolute_s": "jitter_absolute",
    "jitter_rfc3550_s": "jitter_rfc3550",
    "user_throughput_bit_s": "transaction_rate",
}


class Place(NamedTuple):
    """The parameters of a point."""

    constellation: str
    size_kb: float
    per_minute: float
    ber: float


#: Measures of all points, over replications.
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
    """Runs the scenario's campaign, or its missing runs, and collects its points.

    ``vary`` replaces varied values; ``None`` removes a key."""
    base = bp.campaign.plan(scenario).settings["vary"]
    varied = {key: values for key, values in {**base, **(vary or {})}.items() if values is not None}
    plan = bp.campaign.plan(scenario, overrides, vary=varied, replications=replications)
    with bar(out.name, shown=not quiet) as progress:
        campaign = bp.campaign.run(plan, out, progress=lambda standing: progress(standing.fraction))
    rows = campaign.flows.filter(flow="files")
    points: dict[Place, list[dict[str, float]]] = {}
    for row in rows.iter_rows(named=True):
        points.setdefault(_place(row), []).append(_measures(row, campaign.run(row["run"])))
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
        float(row.get(BER_TWICE, row.get(BER))),
    )


def _measures(row: Mapping[str, Any], run: Run) -> dict[str, float]:
    values = {
        name: float("nan") if row[column] is None else float(row[column]) for name, column in _COLUMNS.items()
    }
    sent = float(row["sent_packets"])
    values["loss"] = (sent - float(row["delivered_packets"])) / sent if sent else float("nan")
    values["throughput_bit_s"] = throughput_bit_s(run, values["delay_s"], values["path_s"])
    return values


def throughput_bit_s(run: Run, delay_s: float, path_s: float) -> float:
    """Returns equation 4: the mean over the completed files of the bits of received packets,
    headers included, over the time from the first packet sent to the last one received.

    The trace gives the time from the user's request to the last acknowledgment. Compared with
    equation 4, this adds the handshake (a one-way delay and a path back) and the path of the last
    acknowledgment back. The run's means stand for these; see README, "Equation 4"."""
    trace = run.trace("transaction").to_dict()
    rates = [
        -(-size // PAYLOAD) * SEGMENT_BITS / (took - delay_s - 2 * path_s)
        for size, took, complete in zip(trace["bytes"], trace["took"], trace["complete"], strict=True)
        if complete and size > 0
    ]
    return fmean(rates) if rates else float("nan")


class Timers(NamedTuple):
    """Table 3 of a constellation by the paper's definitions."""

    rtt_s: float
    deviation_s: float
    timeout_s: float

    @property
    def limit_kbit_s(self) -> float:
        """The window over the round-trip time."""
        return WINDOW * SEGMENT_BITS / self.rtt_s / 1e3


def timers(points: Points, constellation: str) -> Timers:
    """Returns the timers of table 3. RTT_i of a run is twice its mean one-way delay. RTT is the
    mean over the runs, the deviation is the standard deviation over the runs, and the time-out is
    RTT + 4 deviations."""
    trips = [2 * of["delay_s"].value for place, of in points.items() if place.constellation == constellation]
    rtt, deviation = fmean(trips), stdev(trips)
    return Timers(rtt, deviation, rtt + 4 * deviation)


def of_constellation(points: Points, constellation: str) -> Points:
    """Returns the points of one constellation."""
    return {place: of for place, of in points.items() if place.constellation == constellation}


def mean_over(points: Points, measure: str, **where: object) -> float:
    """Returns the mean of a measure over all points with these values."""
    chosen = [
        of[measure].value
        for place, of in points.items()
        if all(getattr(place, k) == v for k, v in where.items())
    ]
    chosen = [value for value in chosen if value == value]
    return fmean(chosen) if chosen else float("nan")
