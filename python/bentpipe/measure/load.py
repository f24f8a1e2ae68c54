"""Loads: the traffic that a measurement sends in addition to probes, and its order.

A plan lists its loads::

    [[load]]
    kind = "tcp"                    # bulk transfers, one at a time
    direction = "up"                # towards the reflector; or "down"
    congestion = ["cubic", "bbr"]   # default: all controls of the sending host
    duration = "10 s"
    blocks = 2                      # measurements of each
    pause = "2 s"                   # after each

    [[load]]
    kind = "udp"                    # datagrams at a constant rate
    rate = "8 Mbit/s"
    size = "1200 B"                 # with IP and UDP headers

    [[load]]
    kind = "burst"                  # datagrams without pauses, which fill the bottleneck's queue
    packets = 500
    segments = 16                   # of each packet, with segmentation offload; default: 1

    [[load]]
    kind = "impulses"               # pairs of short bursts at random times, for the access scheduler
    packets = 40
    every = "6 s"                   # mean time between pairs

    [[load]]
    kind = "call"                   # a telephone call over RTP, in both directions at once
    codec = "G.711u"

    [[load]]
    kind = "page"                   # web pages over two connections; the reflector is the server
    pages = 5
    objects = 8                     # of each page, the page itself included
    object = "18 kB"
    congestion = "cubic"            # of the reflector; default: the reflector's default

    [[load]]
    kind = "survey"                 # test of DSCP, ECN and sizes, and of a proxy on the path

    [[load]]
    kind = "transports"             # test for blocked or shaped UDP or QUIC, then a bulk transfer
    rate = "5 Mbit/s"               # of each variant, for `duration` in each of two rounds

Repeated loads are measured in randomised blocks: each block has every load once, in random order,
so that changes of the path affect all loads equally.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from . import call, page, survey, transports
from .datagrams import MIN_PAYLOAD, PATTERN, Records

KINDS: Final = ("tcp", "udp", "burst", "impulses", "call", "page", "survey", "transports")
DIRECTIONS: Final = ("up", "down")
#: Time without load before the first load, in seconds.
LEAD_S: Final = 2.0
#: Number of datagrams from another port that follow a burst.
COMPANIONS: Final = 100
#: Interval between these datagrams in seconds.
COMPANION_S: Final = 0.004
#: Number of small datagrams in a burst.
FILLERS: Final = 24
#: Size of a small datagram in bytes, with IP and UDP headers.
FILLER: Final = MIN_PAYLOAD + 28
#: Duration in seconds of the bulk transfer that other transports are compared with.
TCP_S: Final = 5.0
#: Maximum number of segments of one packet. 40 datagrams of 1500 B are below 64 KiB.
MAX_SEGMENTS: Final = 40
#: Length of the IPv4 and UDP headers in bytes.
HEADERS: Final = 28


@dataclass(frozen=True)
class Load:
    """A load of a plan. Durations are in seconds, rates in bit/s, and sizes in bytes with IP and
    UDP headers."""

    kind: str
    direction: str = "up"
    #: Congestion controls of a bulk transfer. Empty means all congestion controls of the sending
    #: host.
    congestion: tuple[str, ...] = ()
    duration: float = 10.0
    blocks: int = 1
    pause: float = 2.0
    rate: float = 1e6
    size: int = 1200
    packets: int = 200
    #: Number of datagrams of a burst that are passed to the kernel as one packet, which the kernel
    #: or the network card divides (UDP segmentation offload).
    segments: int = 1
    #: Time without a datagram after which the load has ended.
    quiet: float = 2.0
    #: Mean time between pairs of impulses.
    every: float = 6.0
    #: Codec of a call.
    codec: str = "G.711u"
    #: Number of pages, objects per page, and size of an object in bytes.
    pages: int = 5
    objects: int = 8
    object: int = 18_000

    @property
    def fillers(self) -> int:
        """Number of small datagrams of a burst; 0 for a burst of segments, which have one size."""
        return min(FILLERS, self.packets // 2) if self.segments == 1 else 0

    def pattern(self, source: np.random.Generator) -> Records:
        """Returns the datagrams of a load, as :data:`bentpipe.measure.datagrams.PATTERN`."""
        if self.kind == "survey":
            return survey.pattern()
        if self.kind == "transports":
            return transports.pattern(self.duration, self.rate, self.size, source)
        if self.kind == "call":
            return call.pattern(call.codec_of(self.codec), self.duration, HEADERS)
        at: NDArray[np.float64]
        if self.kind == "burst":
            at = np.zeros(self.packets + self.fillers)
        elif self.kind == "udp":
            step = 8 * self.size / self.rate
            at = np.arange(max(1, int(self.duration / step)), dtype=np.float64) * step
        else:
            # Impulses come in pairs. The first impulse finds the path idle. The second finds
            # capacity that the first has requested.
            count = max(1, int(self.duration / self.every))
            spread = np.exp(source.uniform(np.log(0.1), np.log(0.5), count))
            first = np.cumsum(self.every * source.uniform(0.75, 1.25, count))
            starts = np.sort([*first, *(first + self.every * spread)])
            at = np.repeat(starts - starts[0], self.packets)
        rows = np.zeros(len(at), dtype=PATTERN)
        rows["at"], rows["size"] = at, self.size
        if self.kind != "burst" or self.segments > 1:
            return rows
        # In the middle of the burst, when the queue is full, small datagrams alternate with large
        # ones. They fill the remaining space of a queue that is limited in bytes. The end of the
        # burst has no small datagrams, because a queue that drops at its front keeps the last
        # datagrams.
        middle = self.packets // 2
        rows["size"][middle : middle + 2 * self.fillers : 2] = FILLER
        # Sparse datagrams from another port follow. With fair queuing, they overtake the burst.
        beside = np.zeros(COMPANIONS, dtype=PATTERN)
        beside["at"] = np.arange(1, COMPANIONS + 1) * COMPANION_S
        beside["size"], beside["lane"] = MIN_PAYLOAD + HEADERS, 1
        return np.concatenate([rows, beside])


@dataclass(frozen=True)
class Item:
    """A load to run: its name, its start in seconds, and its description."""

    name: str
    start: float
    load: Load
    #: Congestion control of a bulk transfer or of a page.
    congestion: str | None = None

    @property
    def end(self) -> float:
        """Earliest start of the next load, in seconds."""
        return self.start + length(self.load) + self.load.pause


def length(load: Load) -> float:
    """Returns the planned duration of a load in seconds. The duration of bursts and pages depends
    on the path, so their planned duration is 0."""
    if load.kind == "transports":
        return transports.ROUNDS * len(transports.WAYS) * (load.duration + transports.GAP_S)
    return 0.0 if load.kind in ("burst", "page") else load.duration


def schedule(loads: Sequence[Load], here: Sequence[str], there: Sequence[str], seed: int) -> list[Item]:
    """Returns the loads in their order, in randomised blocks. ``here`` and ``there`` are the
    congestion controls of this host and of the reflector."""
    source = random.Random(seed)
    items: list[Item] = []
    at, counts = LEAD_S, dict[str, int]()
    for block in range(max((load.blocks for load in loads), default=0)):
        turn: list[tuple[Load, str | None]] = []
        for load in loads:
            if block >= load.blocks:
                continue
            if load.kind not in ("tcp", "page"):
                turn.append((load, None))
                # Transports are compared with TCP.
                if load.kind == "transports" and not _has_tcp(loads, load.direction):
                    beside = Load("tcp", load.direction, duration=TCP_S, pause=load.pause)
                    turn.append((beside, (here if load.direction == "up" else there)[:1][0]))
                continue
            own = there if load.kind == "page" or load.direction == "down" else here
            turn += [(load, name) for name in load.congestion or (own if load.kind == "tcp" else own[:1])]
        source.shuffle(turn)
        for load, congestion in turn:
            direction = None if load.kind in ("call", "page") else load.direction
            stem = "-".join(filter(None, (load.kind, direction, congestion)))
            counts[stem] = counts.get(stem, 0) + 1
            items.append(Item(f"{stem}-{counts[stem]}", at, load, congestion))
            at = items[-1].end
    return items


def _has_tcp(loads: Sequence[Load], direction: str) -> bool:
    return any(load.kind == "tcp" and load.direction == direction for load in loads)


def load_of(table: Any, where: str) -> Load:
    """Parses the table of a load in a plan. ``where`` is the name of the plan for messages. Raises
    :class:`bentpipe.InputError`.

    >>> load_of({"kind": "udp", "rate": "2 Mbit/s"}, "plan.toml").rate
    2000000.0
    >>> load_of({"kind": "udp", "rate": "2 m"}, "plan.toml")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bentpipe.errors.InputError: plan.toml: load.rate = '2 m'; allowed: a rate up to 10 Gbit/s...
    """
    from bentpipe.errors import InputError, unknown
    from bentpipe.voice.emodel import codecs

    from .values import choice, rate, size, span, whole

    if not isinstance(table, dict):
        raise InputError(f"{where}: load = {table!r}; allowed: tables [[load]]")
    kind = choice("load.kind", table.get("kind"), KINDS, where)
    known = KEYS[kind]
    values: dict[str, Any] = {}
    for key, value in table.items():
        named = f"load.{key}"
        if key not in known:
            raise unknown("key", key, known, f"{where}, [[load]] of kind {kind}")
        if key in ("kind", "direction"):
            values[key] = choice(named, value, KINDS if key == "kind" else DIRECTIONS, where)
        elif key in ("duration", "every"):
            values[key] = span(named, value, where)
        elif key == "pause":
            values[key] = span(named, value, where, least=0.0)
        elif key == "rate":
            values[key] = rate(named, value, where)
        elif key == "size":
            least = transports.MIN_DATAGRAM if kind == "transports" else MIN_PAYLOAD + HEADERS
            values[key] = size(named, value, where, least, 1500)
        elif key == "blocks":
            values[key] = whole(named, value, where, 1, 1000)
        elif key == "packets":
            values[key] = whole(named, value, where, 1, 20_000)
        elif key == "segments":
            values[key] = whole(named, value, where, 1, MAX_SEGMENTS)
        elif key in ("pages", "objects"):
            values[key] = whole(named, value, where, 1, 1000)
        elif key == "object":
            values[key] = size(named, value, where, 1, page.MAX_OBJECT)
        elif key == "codec":
            values[key] = choice(named, value, list(codecs()), where)
        else:
            names = [value] if isinstance(value, str) else value
            if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
                raise InputError(
                    f'{where}: {named} = {value!r}; allowed: names of congestion controls, as in ["cubic"]'
                )
            values[key] = tuple(names)
    return replace(DEFAULTS[kind], **values)


#: Keys of each kind, and their defaults.
_ALL: Final = ("kind", "direction", "blocks", "pause")
KEYS: Final = {
    "tcp": (*_ALL, "congestion", "duration"),
    "udp": (*_ALL, "duration", "rate", "size"),
    "burst": (*_ALL, "packets", "size", "segments"),
    "impulses": (*_ALL, "duration", "packets", "size", "every"),
    "call": ("kind", "blocks", "pause", "duration", "codec"),
    "page": ("kind", "blocks", "pause", "congestion", "pages", "objects", "object"),
    "survey": _ALL,
    "transports": (*_ALL, "duration", "rate", "size"),
}
DEFAULTS: Final = {
    "tcp": Load("tcp"),
    "udp": Load("udp"),
    "burst": Load("burst", pause=8.0, size=1400),
    "call": Load("call", duration=30.0),
    "page": Load("page"),
    "survey": Load("survey", duration=2.0, size=200),
    "transports": Load("transports", duration=1.0, rate=5e6, size=1250),
    # More than a constant rate of 64 kbit/s sends during a request over GEO.
    "impulses": Load("impulses", duration=120.0, packets=40, size=600, every=6.0),
}
