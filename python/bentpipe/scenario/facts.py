"""The paths of a scenario's flows in numbers, as the engine reads them.

Equations, ``bentpipe check`` and reports take their numbers from here: rates in bit/s at the
network layer, times in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict, cast

from bentpipe.quantities import base_value

from .scenarios import load

if TYPE_CHECKING:
    from .scenarios import Overrides, ScenarioLike

#: Memory of a packet in Linux's send buffer in addition to its payload (docs/notes/linux-tcp.md).
PACKET_BYTES: Final = 960


class Course(TypedDict):
    """A quantity that may change during a run: its value at the start, its mean over time, and its
    range."""

    start: float
    mean: float
    least: float
    greatest: float


class Queue(TypedDict):
    """A queue on a flow's path. ``packets`` and ``bytes`` are its limits, and ``rate`` is a rate
    limit of the discipline. None means no limit."""

    kind: str
    packets: int | None
    bytes: int | None
    rate: float | None
    notes: list[str]


class Dama(TypedDict):
    """Demand assignment on a hop. ``response_superframes`` is L, or its maximum over moving
    satellites. ``access_wait_s`` is the mean wait until a packet may use slots."""

    kind: Literal["dama"]
    scheme: str
    superframe_s: float
    response_superframes: int
    planning: str
    access_wait_s: float
    constant_bit_s: float


class Acm(TypedDict):
    """Adaptive coding and modulation on a hop: the MODCOD at the start, the least and the most
    efficient one of the run (None for an outage), its bits per symbol, the Es/N0 in dB reported to
    the sender, and the start and end of each outage in seconds."""

    kind: Literal["acm"]
    modcod: str | None
    least: str | None
    greatest: str | None
    efficiency: Course
    esn0_db: Course
    outages: list[list[float]]


class Orbit(TypedDict):
    """Moving satellites on a hop: the number of handovers of a run, and the start and end in
    seconds of each outage."""

    kind: Literal["orbit"]
    handovers: int
    outages: list[list[float]]


#: A mechanism of a hop's medium, by ``kind``.
Access = Dama | Acm | Orbit


class Change(TypedDict):
    """A scheduled change to a hop: its time, and a description."""

    at_s: float
    what: str


#: The nodes at which a hop or a flow begins and ends.
Ends = TypedDict("Ends", {"from": str, "to": str})


class Hop(Ends):
    """One hop of a path, from a node to the next over one link, multilink or network.

    ``rate_bit_s`` is the rate for packets of this flow's size, after framing and the queue's rate
    limit. ``loss`` is the expected fraction of corrupted packets. ``access`` are the mechanisms of
    the medium (see :func:`dama_of`). ``shared`` are the media that the hop uses, with the rate of
    each for such packets. ``flows`` is the number of flows that share the media, including this
    one. ``pages_bit_s`` is an upper bound of the mean rate of the pages, files and mails of the
    other flows. ``notes`` describe effects on packets that are in none of the numbers.
    """

    network: str
    part: str
    rate_bit_s: Course
    delay_s: Course
    loss: float
    queue: Queue
    access: list[Access]
    shared: list[tuple[str, float]]
    notes: list[str]
    changes: list[Change]
    flows: int
    pages_bit_s: float


def dama_of(hop: Hop) -> Dama | None:
    """Returns the demand assignment of a hop, if any."""
    return next((access for access in hop["access"] if access["kind"] == "dama"), None)


def acm_of(hop: Hop) -> Acm | None:
    """Returns the adaptive coding and modulation of a hop, if any."""
    return next((access for access in hop["access"] if access["kind"] == "acm"), None)


def orbit_of(hop: Hop) -> Orbit | None:
    """Returns the moving satellites of a hop, if any."""
    return next((access for access in hop["access"] if access["kind"] == "orbit"), None)


class Proxy(TypedDict):
    """A proxy on a flow's path."""

    name: str
    node: str
    kind: str


class Flow(Ends):
    """A flow with the hops of its packets (``there``) and of its destination's packets (``back``),
    or None if there is no path. ``answers`` is the kind of data from the destination in addition to
    acknowledgments: ``"nothing"``, ``"messages"`` or ``"stream"`` (as much as the transport
    carries). ``answer_bytes`` is the size of the largest packets of this data, or 0. ``mean_bit_s``
    is an upper bound of the mean rate of the flow's pages, files or mails, and
    ``answers_mean_bit_s`` of the answers to them; None without any. ``share_bit_s`` is the flow's
    max-min fair share, given the demands of the other flows."""

    name: str
    start_s: float
    packet_bytes: int
    answers: str
    answer_bytes: int
    demand_bit_s: float | None
    mean_bit_s: float | None
    answers_mean_bit_s: float | None
    responsive: bool
    share_bit_s: float | None
    there: list[Hop] | None
    back: list[Hop] | None
    proxies: list[Proxy]
    # Set by predictions: true if the share depends on the round-trip times, which differ between
    # flows.
    by_round_trip: NotRequired[bool]


class QueueOfPart(TypedDict):
    """A queue of a link or network, and the time to drain it when full (None without a limit)."""

    part: str
    rate_bit_s: float
    queue: Queue
    drains_in_s: float | None


class Facts(TypedDict):
    """The facts of a scenario; ``media`` maps the name of a medium to the flows that share it."""

    flows: list[Flow]
    queues: list[QueueOfPart]
    media: dict[str, list[str]]


def facts(scenario: ScenarioLike, overrides: Overrides = ()) -> Facts:
    """Returns the facts of a scenario without running it. Raises :class:`bentpipe.ScenarioError`.

    >>> (upload,) = facts("examples/dvb-rcs-upload.toml")["flows"]
    >>> [(hop["part"], hop["rate_bit_s"]["mean"], hop["delay_s"]["mean"]) for hop in upload["there"]]
    [('sat.st1', 2048000.0, 0.25)]
    """
    return cast("Facts", load(scenario, overrides).facts)


def carried_bytes(transport: Mapping[str, Any]) -> float:
    """Returns the payload that fits into ``send_memory``, for segments that leave in pairs."""
    segment = transport["segment_size"]
    return float(base_value(transport["send_memory"]) * segment / (segment + PACKET_BYTES / 2))
