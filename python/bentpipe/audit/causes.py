"""Likely causes of broken promises: known faults of emulators, and the numbers that show each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from bentpipe.quantities import number

from .observing import DATAGRAM, SEGMENTS, SMALL

if TYPE_CHECKING:
    from bentpipe.measure.survey_results import Mark

    from .evidence import Estimate, Evidence, Numbers
    from .promises import Promises

#: Maximum ratio of the packets per second of small and of large datagrams for a limit in packets. A
#: limit in bytes gives the ratio of their sizes.
PACKETS_RATIO: Final = (DATAGRAM / SMALL) ** 0.5
#: Minimum number of packets in a network with a limit in packets; a forwarder that delays one
#: packet after another holds one. Maximum ratio of the delays with and without load, and a
#: difference in seconds: packets wait for a forwarder, but not for a limit.
MIN_HELD: Final = 2.0
MAX_GROWTH: Final = 1.5
GROWTH_S: Final = 5e-3
#: Maximum fraction of a promised delay that counts as no delay.
NO_DELAY: Final = 0.2
#: Minimum number of standard deviations by which losses in a row must exceed independent losses.
DEVIATIONS: Final = 5.0
#: Maximum ratio of the packets that a queue holds with and without segmentation offload.
MAX_SEGMENTS_RATIO: Final = 1.3
#: Number of packets out of order that may be accidental, and the minimum standard deviation of a
#: jitter in seconds.
ACCIDENTAL: Final = 2
MIN_JITTER_S: Final = 2e-4
#: Minimum number of losses that follow a loss.
MIN_RUNS: Final = 3


def cause(name: str, one: Evidence, promises: Promises, seen: Numbers) -> str | None:
    """Returns the likely cause of a broken promise; None if no known fault fits."""
    for explained, find in _CAUSES:
        if name in explained and (found := find(one, promises, seen)) is not None:
            return found
    return None


def _is_in_packets(one: Evidence) -> bool:
    """Returns true if the network passes as many large as small packets per second."""
    return bool(one.packets and one.small_packets and one.small_packets < PACKETS_RATIO * one.packets)


def _packet_limit(one: Evidence, promises: Promises, _: Numbers) -> str | None:
    rate, loaded = promises.value("rate", one.direction), one.loaded_delay
    if one.packets is None or rate is None or loaded is None or not _is_in_packets(one):
        return None
    delay = one.delay.value if one.delay is not None else loaded
    # Little's law: the packets in a network are their rate times their delay.
    held, needed = one.packets * delay, rate * delay / (8 * DATAGRAM)
    if not MIN_HELD <= held < needed or loaded > MAX_GROWTH * delay + GROWTH_S:
        return None
    return (
        f"packet limit below rate x delay: about {held:.0f} packets are in the network at once, the "
        f"promised rate needs {needed:.0f} packets of {DATAGRAM} B"
    )


def _forwarder(one: Evidence, _: Promises, __: Numbers) -> str | None:
    if one.packets is None or not _is_in_packets(one):
        return None
    text = f"a forwarder passes about {number(one.packets)} packets per second, whatever their size"
    if one.delay is not None and 0.4 < one.packets * one.delay.value < 2:
        text += (
            f": it delays one packet after another by {number(1e3 * one.delay.value)} ms, so its rate falls "
            "with the delay"
        )
    return text


def _one_way(one: Evidence, promises: Promises, seen: Numbers) -> str | None:
    other = seen.of["down" if one.direction == "up" else "up"]
    promised = promises.value("delay", one.direction)
    if one.delay is None or other.delay is None or not promised:
        return None
    small, large = sorted((one.delay.value, other.delay.value))
    if small < NO_DELAY * promised and large > 0.8 * promised:
        there, back = seen.of["up"].delay, seen.of["down"].delay
        assert there is not None and back is not None
        return (
            f"delay in one direction only: {number(1e3 * there.value)} ms up, "
            f"{number(1e3 * back.value)} ms down"
        )
    return None


def of_round_trip(up: float, down: float, measured: Estimate) -> str | None:
    """Returns the likely cause of a wrong round-trip time."""
    if abs(measured.value - max(up, down)) < 0.1 * max(up, down) and min(up, down) > 0:
        return "delay in one direction only: the round-trip time is the delay of one direction"
    return None


def _timer(one: Evidence, _: Promises, __: Numbers) -> str | None:
    if not one.tick:
        return None
    return f"timer granularity: packets leave every {number(1e3 * one.tick)} ms"


def _jitter_reorders(one: Evidence, _: Promises, __: Numbers) -> str | None:
    if one.reordered <= ACCIDENTAL or one.jitter is None:
        return None
    if one.jitter.value < MIN_JITTER_S:
        return "several paths or queues that reorder: the delay of packets hardly varies without load"
    return (
        f"jitter that reorders: each packet draws its own delay (standard deviation "
        f"{number(1e3 * one.jitter.value)} ms), so packets overtake each other"
    )


def segments_ratio(one: Evidence) -> tuple[float, float] | None:
    """Returns least and greatest ratio of the datagrams that the queue holds with and without
    segmentation offload; None without both bursts."""
    if one.burst is None or one.segments is None or not one.segments.sent:
        return None
    (least, most), (own_least, own_most) = one.burst.held, one.segments.held
    return own_least / most, own_most / least


def _segments(one: Evidence, _: Promises, __: Numbers) -> str | None:
    ratio = segments_ratio(one)
    if ratio is None or one.burst is None or one.segments is None:
        return None
    # A queue with room for less than a packet of several segments drops all of them.
    if abs(one.segments.arrived - one.burst.arrived) <= 2 * SEGMENTS:
        return None
    if ratio[1] < 1 / MAX_SEGMENTS_RATIO:
        return (
            f"segments larger than the shaper accounts for: it drops packets of {SEGMENTS} segments "
            f"({one.segments.arrived} datagrams arrive, {one.burst.arrived} without segmentation offload)"
        )
    if ratio[0] <= MAX_SEGMENTS_RATIO:
        return None
    least = "at least " if one.segments.arrived == one.segments.sent else ""
    return (
        f"segments larger than the shaper accounts for: a packet of {SEGMENTS} segments counts as one, so "
        f"the queue holds {least}{number(one.segments.arrived / one.burst.arrived)} times as much with "
        "segmentation offload"
    )


def correlated(one: Evidence, *_: object) -> str | None:
    """Returns the text for losses that follow each other more often than independent losses."""
    if one.runs is None or not one.lost:
        return None
    again, share = one.runs
    expected, count = share * one.lost, again * one.lost
    error = (expected * (1 - share)) ** 0.5
    if count < MIN_RUNS or error == 0 or (count - expected) / error < DEVIATIONS:
        return None
    return (
        f"correlated loss: {number(100 * again)} % of losses follow a loss, {number(100 * share)} % if "
        "losses were independent"
    )


def changed_marks(marks: Sequence[Mark]) -> str | None:
    """Returns the text for ECN marks that arrive changed; None if all are kept."""
    names = {0: "not ECN-capable", 1: "ECT(1)", 2: "ECT(0)", 3: "CE"}
    changed = [
        f"{names[mark.sent_as]} arrives as {' or '.join(names[value & 3] for value in mark.seen_as)}"
        for mark in marks
        if mark.arrived and any(value & 3 != mark.sent_as for value in mark.seen_as)
    ]
    bleached = all(value & 3 == 0 for mark in marks for value in mark.seen_as)
    return f"{'bleached ECN' if bleached else 'changed ECN'}: {', '.join(changed)}" if changed else None


#: The faults, in the order of the search: the names of the promises that each explains, and its
#: test.
_CAUSES: Final[tuple[tuple[frozenset[str], Callable[[Evidence, Promises, Numbers], str | None]], ...]] = (
    (frozenset({"rate", "loss", "queue"}), _packet_limit),
    (frozenset({"rate", "delay", "loss", "queue", "jitter"}), _forwarder),
    (frozenset({"delay"}), _one_way),
    (frozenset({"delay", "jitter", "granularity"}), _timer),
    (frozenset({"order", "jitter"}), _jitter_reorders),
    (frozenset({"segments", "queue"}), _segments),
    (frozenset({"loss"}), correlated),
)
