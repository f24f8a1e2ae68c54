"""Exports a path to the QUIC network simulator of quic-interop: the variable SCENARIO of its Docker
Compose file."""

from __future__ import annotations

from typing import Final

from .course import SAME_RATE, Course
from .shell import comments

ALWAYS: Final = (
    "Rate and delay are constant: the means over the duration.",
    "Both directions have the same delay: the mean.",
)
SYMMETRIC: Final = (
    "Both directions have the same rate: that of the direction to the client.",
    "Fractions of lost packets are whole percents.",
)
ASYMMETRIC: Final = ("No packets are lost: the simulator's drop-rate has the same rate in both directions.",)


def files(course: Course) -> dict[str, str]:
    """Returns ``scenario.env``, with the scenario drop-rate, or asymmetric-p2p for different
    rates."""
    down, up = course.down, course.up
    rates = [way.mean.rate_bit_s for way in (down, up)]
    delay = f"--delay={5e5 * course.rtt_s:.0f}us"
    if abs(rates[0] - rates[1]) <= SAME_RATE * rates[0]:
        queue = max(down.queue_packets, up.queue_packets)
        words = f"drop-rate {delay} --bandwidth={_rate(rates[0])} --queue={queue}"
        words += f" --rate_to_client={round(100 * down.loss)} --rate_to_server={round(100 * up.loss)}"
        return {"scenario.env": _text(course, (*ALWAYS, *SYMMETRIC), words)}
    words = f"asymmetric-p2p {delay}"
    # Forward is the direction from the server, at the right, to the client.
    for name, way, rate in (("forward", down, rates[0]), ("return", up, rates[1])):
        words += f" --{name}-data-rate={_rate(rate)} --{name}-queue={way.queue_packets}"
    return {"scenario.env": _text(course, (*ALWAYS, *ASYMMETRIC), words)}


def _rate(rate_bit_s: float) -> str:
    return f"{rate_bit_s / 1e3:.0f}kbps"


def _text(course: Course, losses: tuple[str, ...], words: str) -> str:
    usage = "# Use with: CLIENT=... SERVER=... docker compose --env-file scenario.env up\n"
    return f'{comments(course, losses)}\n{usage}SCENARIO="{words}"\n'
