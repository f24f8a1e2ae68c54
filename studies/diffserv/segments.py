"""The test ``first``: delays from the first transmission of a segment, and equation 4 without
approximation, from captures at both ends of all connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Final

from bentpipe.campaign.jobs import Job, run_all
from bentpipe.results.captures import segments
from bentpipe.studies import Table, bar

from .points import BER, CONSTELLATIONS

HERE: Final = Path(__file__).parent

#: Minimum silence of a connection that has ended. It exceeds most time-outs.
_SILENT_S: Final = 10.0

#: Bit error rates.
RATES: Final = (1e-7, 1e-6, 1e-5)

#: The key of the error model of both satellite links.
_LINK_ERRORS: Final = "network.sky.gsl.error"


@dataclass
class _Connection:
    """The segments of a connection. Times are in seconds."""

    #: Time of the first transmission, by sequence number.
    first_sent: dict[int, float] = field(default_factory=dict)
    #: Time of the last transmission, by sequence number.
    last_sent: dict[int, float] = field(default_factory=dict)
    #: Total bits of the received segments.
    bits: int = 0
    #: Time of the last arrival.
    last_received: float = 0.0


@dataclass(frozen=True)
class Delays:
    """Delays in seconds of the data packets that arrived, in order of arrival."""

    #: Delays from the packet's own transmission.
    own: list[float]
    #: Delays from the first transmission of the packet's segment.
    first: list[float]
    #: Mean throughput by equation 4 of the connections that had ended.
    throughput_bit_s: float


def delays(file: Path) -> Delays:
    """Returns the delays of a capture at the source (interface 0) and at the destination
    (interface 1) of data packets."""
    connections: dict[int, _Connection] = {}
    own, first = [], []
    now = 0.0
    for one in segments(file):
        now = one.time_s
        if one.payload == 0:
            continue
        of = connections.setdefault(one.source, _Connection())
        if one.interface == 0:
            of.first_sent.setdefault(one.sequence, now)
            of.last_sent[one.sequence] = now
        elif one.sequence in of.first_sent:
            own.append(now - of.last_sent[one.sequence])
            first.append(now - of.first_sent[one.sequence])
            of.bits += 8 * one.size
            of.last_received = now
    ended = [of for of in connections.values() if of.bits and of.last_received < now - _SILENT_S]
    rates = [of.bits / (of.last_received - min(of.first_sent.values())) for of in ended]
    return Delays(own, first, fmean(rates))


def jitter_s(values: list[float]) -> float:
    """Returns the mean absolute difference between consecutive delays."""
    return fmean(abs(after - before) for before, after in pairwise(values))


def captures(out: Path, *, quiet: bool) -> tuple[dict[str, float | None], Table]:
    """Runs the test ``first`` and returns its values and its table.

    The test has twelve runs of 12 minutes with files of 1 MB and 6 connections per minute. Six have
    bit errors on one link, six on both satellite links (x2)."""
    jobs = {
        (name, rate, twice): Job(
            f"first-{name.lower()}-{rate:.0e}{'-twice' if twice else ''}",
            HERE / "ftp.toml",
            (
                f"preset={preset}",
                'duration="12 min"',
                'flow.files.app.size="1 MB"',
                'flow.files.app.every="10 s"',
                *(
                    (f"{BER}=0.0", f"{_LINK_ERRORS}={{kind = 'bit', rate = {rate}}}")
                    if twice
                    else (f"{BER}={rate}",)
                ),
                'record.capture=["ftp", "boston"]',
                "record.capture_bytes=60",
            ),
        )
        for twice in (False, True)
        for preset, name in CONSTELLATIONS.items()
        for rate in RATES
    }
    with bar("first", shown=not quiet) as progress:
        runs = run_all(list(jobs.values()), out / "first", progress)
    of = {key: delays(runs[job].path / "packets.pcapng") for key, job in jobs.items()}
    ours: dict[str, float | None] = {}
    rows = []
    for twice, name in ((twice, name) for twice in (False, True) for name in CONSTELLATIONS.values()):
        prefix, small = "twice-first" if twice else "first", name.lower()
        delay = [fmean(of[name, rate, twice].first) for rate in RATES]
        jitter = [jitter_s(of[name, rate, twice].first) for rate in RATES]
        ours[f"{prefix}-delay-ber-{small}"] = delay[2] / delay[0]
        ours[f"{prefix}-jitter-ber-{small}"] = jitter[2] / jitter[0]
        ours[f"{prefix}-jitter-gap-{small}"] = 1e3 * ((jitter[2] - jitter[1]) - (jitter[1] - jitter[0]))
        for rate in RATES:
            one, flow = of[name, rate, twice], runs[jobs[name, rate, twice]].flows.row(0, named=True)
            rows.append(
                [
                    f"{name} x2" if twice else name,
                    f"{rate:.0e}",
                    f"{1e3 * fmean(one.own):.1f}",
                    f"{1e3 * fmean(one.first):.1f}",
                    f"{1e3 * jitter_s(one.own):.2f}",
                    f"{1e3 * jitter_s(one.first):.2f}",
                    f"{one.throughput_bit_s / 1e3:.0f}",
                    f"{flow['transaction_rate'] / 1e3:.0f}",
                ]
            )
    header = [
        "",
        "BER",
        "delay ms",
        "from first ms",
        "jitter ms",
        "from first ms",
        "eq. 4 kbit/s",
        "user kbit/s",
    ]
    about = "Delay and jitter of each transmission, and from the first transmission of its segment (1 MB, 6 a minute)"
    return ours, Table(about, header, rows)
