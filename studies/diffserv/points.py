"""The points of the campaign: results by constellation, file size, arrival rate and bit error rate.
A point is one run of an hour, or its replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple

import bentpipe as bp
from bentpipe.results.runs import Run
from bentpipe.statistics import Mean, mean_of
from bentpipe.studies import bar

#: The paper's names of the constellations, by preset.
CONSTELLATIONS: Final = {"big-leo": "LEO", "geo-five": "GEO"}

#: The key of the bit error rate of the link before the satellites.
BER: Final = "link.backhaul.error.rate"
#: The key of the bit error rate of both satellite links, the uplink and the downlink.
BER_TWICE: Final = "network.sky.gsl.error.rate"

#: Payload of the paper's segment, in bytes.
PAYLOAD: Final = 536
#: Size of the paper's segment on the wire, in bits: 536 bytes of payload and a 40-byte header.
SEGMENT_BITS: Final = 576 * 8
#: The paper's maximum window, in segments.
WINDOW: Final = 30

#: Columns of ``flows.parquet``, by the name of the measure.
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


class PointKey(NamedTuple):
    """The parameters that identify a point."""

    #: "LEO" or "GEO".
    constellation: str
    #: File size.
    size_kb: float
    #: Mean number of new connections per minute.
    per_minute: float
    #: Bit error rate.
    ber: float


#: The measures of each point by name, as means over replications.
Points = Mapping[PointKey, Mapping[str, Mean]]


def points_of(
    scenario: Path,
    out: Path,
    replications: int,
    *,
    overrides: Sequence[str] = (),
    vary: Mapping[str, Any] | None = None,
    quiet: bool = False,
) -> Points:
    """Runs the scenario's campaign and returns its points. Complete runs are reused.

    ``vary`` replaces the values of a varied key. ``None`` removes the key."""
    defaults = bp.campaign.plan(scenario).settings["vary"]
    varied = {key: values for key, values in {**defaults, **(vary or {})}.items() if values is not None}
    plan = bp.campaign.plan(scenario, overrides, vary=varied, replications=replications)
    with bar(out.name, shown=not quiet) as progress:
        campaign = bp.campaign.run(plan, out, progress=lambda standing: progress(standing.fraction))
    rows = campaign.flows.filter(flow="files")
    points: dict[PointKey, list[dict[str, float]]] = {}
    for row in rows.iter_rows(named=True):
        points.setdefault(_key_of(row), []).append(_measures(row, campaign.run(row["run"])))
    return {
        key: {
            name: mean_of([run[name] for run in runs if not isnan(run[name])] or [float("nan")])
            for name in runs[0]
        }
        for key, runs in sorted(points.items())
    }


def _key_of(row: Mapping[str, Any]) -> PointKey:
    every_s = float(str(row["flow.files.app.every"]).split()[0])
    size, unit = str(row["flow.files.app.size"]).split()
    return PointKey(
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
    values["finished"] = finished(run)
    return values


def finished(run: Run) -> float:
    """Returns the fraction of connections that complete before the next connection starts. The last
    connection does not count. Returns NaN for fewer than two connections."""
    trace = run.trace("transaction").sort("started").to_dict()
    ends = [
        started + duration_s if complete else float("inf")
        for started, duration_s, complete in zip(
            trace["started"], trace["took"], trace["complete"], strict=True
        )
    ]
    pairs = list(zip(ends, list(trace["started"])[1:], strict=False))
    return fmean(end <= start for end, start in pairs) if pairs else float("nan")


def throughput_bit_s(run: Run, delay_s: float, path_s: float) -> float:
    """Returns the mean throughput of completed files by equation 4: the bits of received packets,
    headers included, divided by the time from the first sent to the last received packet.

    The trace has the time from the user's request to the last acknowledgment. In addition to the
    time of equation 4, it includes the handshake (a one-way delay forward and the return path) and
    the return path of the last acknowledgment. They are subtracted as the run's mean one-way delay
    ``delay_s`` and twice its mean path delay ``path_s``; see README, "Equation 4"."""
    trace = run.trace("transaction").to_dict()
    rates = [
        -(-size // PAYLOAD) * SEGMENT_BITS / (duration_s - delay_s - 2 * path_s)
        for size, duration_s, complete in zip(trace["bytes"], trace["took"], trace["complete"], strict=True)
        if complete and size > 0
    ]
    return fmean(rates) if rates else float("nan")


class Timers(NamedTuple):
    """The values of table 3 for a constellation, by the paper's definitions."""

    #: RTT: mean over the runs of twice a run's mean one-way delay.
    rtt_s: float
    #: Standard deviation over the runs of twice a run's mean one-way delay.
    deviation_s: float
    #: Time-out: RTT + 4 deviations.
    timeout_s: float

    @property
    def limit_kbit_s(self) -> float:
        """The throughput limit of the window: the window divided by the RTT."""
        return WINDOW * SEGMENT_BITS / self.rtt_s / 1e3


def timers(points: Points, constellation: str) -> Timers:
    """Returns the timers of a constellation."""
    trips = [
        2 * measures["delay_s"].value
        for key, measures in points.items()
        if key.constellation == constellation
    ]
    rtt, deviation = fmean(trips), stdev(trips)
    return Timers(rtt, deviation, rtt + 4 * deviation)


def of_constellation(points: Points, constellation: str) -> Points:
    """Returns the points of one constellation."""
    return {key: measures for key, measures in points.items() if key.constellation == constellation}


def mean_over(points: Points, measure: str, **where: object) -> float:
    """Returns the mean of a measure over all points with these parameters, without points at which
    the measure is NaN. Returns NaN if no point remains."""
    values = [
        measures[measure].value
        for key, measures in points.items()
        if all(getattr(key, name) == value for name, value in where.items())
    ]
    values = [value for value in values if not isnan(value)]
    return fmean(values) if values else float("nan")
