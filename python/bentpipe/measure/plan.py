"""Plans: the probes of a measurement, and their times.

A plan is a TOML file; every key has a default::

    duration = "30 s"
    rate = 20               # probes a second
    schedule = "poisson"    # or "periodic" or "pairs"
    sizes = ["140 B", "1400 B"]
    train = 20              # packets of a train that measures the rate; 0 for none
    train_every = "5 s"

If the loads take longer than ``duration``, probes continue until the loads end;
:mod:`bentpipe.measure.load` has the keys of loads.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from bentpipe.errors import InputError, text_of, unknown

from .load import LEAD_S, Load, load_of
from .values import choice, refused, size, span

#: Size of the packets of trains, in bytes with IP and UDP headers.
TRAIN_BYTES: Final = 1400
#: Minimum and maximum size of a packet in bytes with IP and UDP headers. The minimum is an
#: authenticated STAMP packet, and the maximum is the MTU of Ethernet.
SIZES: Final = (140, 1500)


@dataclass(frozen=True)
class Plan:
    """The packets of a measurement. Durations are in seconds, and sizes in bytes with IP and UDP
    headers."""

    duration: float = 30.0
    #: Mean number of probes per second, without trains.
    rate: float = 20.0
    #: Distribution of the times between probes. Poisson probes see time averages and do not alias
    #: with frames (RFC 2330 section 11.1); pairs are two probes without a pause at Poisson times.
    schedule: str = "poisson"
    sizes: tuple[int, ...] = (140, 1400)
    #: Number of packets in a train. They have 1400 bytes and are sent without pauses, to measure
    #: the rate. 0 sends no trains.
    train: int = 20
    train_every: float = 5.0
    #: Mean number of ICMP echo requests per second, at random times. 0 sends none.
    icmp: float = 2.0
    #: Loads in addition to probes.
    loads: tuple[Load, ...] = ()

    def packets(self, seed: int, duration: float | None = None) -> Iterator[tuple[float, int, int]]:
        """Yields each packet's time since the start in seconds, its size, and the number of its
        train, or -1. ``duration`` replaces the plan's duration."""
        span = self.duration if duration is None else duration
        return iter(sorted([*self._probes(random.Random(seed), span), *self._trains(span)]))

    def _probes(self, source: random.Random, duration: float) -> Iterator[tuple[float, int, int]]:
        together = 2 if self.schedule == "pairs" else 1
        mean, at, number = together / self.rate, 0.0, 0
        while True:
            at += mean if self.schedule == "periodic" else source.expovariate(1 / mean)
            if at >= duration:
                return
            for _ in range(together):
                yield at, self.sizes[number % len(self.sizes)], -1
            number += 1

    def _trains(self, duration: float) -> Iterator[tuple[float, int, int]]:
        if self.train:
            # Loads begin after LEAD_S.
            first = min(LEAD_S / 2, self.train_every / 2) if self.loads else self.train_every / 2
            for number in range(int(duration / self.train_every)):
                for _ in range(self.train):
                    yield first + number * self.train_every, TRAIN_BYTES, number

    @property
    def load(self) -> float:
        """Mean rate of probes and trains, in bit/s."""
        probes = self.rate * sum(self.sizes) / len(self.sizes)
        trains = self.train * TRAIN_BYTES / self.train_every if self.train else 0.0
        return 8 * (probes + trains)


#: Plans by name. The short intervals between the probes of `leo` resolve slots of 15 s.
PLANS: Final = {
    "short": Plan(duration=10.0),
    "geo": Plan(duration=120.0, rate=10.0, train=10, train_every=10.0),
    "leo": Plan(duration=180.0, rate=100.0, train=30, train_every=7.0),
    "terrestrial": Plan(duration=60.0, rate=50.0, train=50),
}
SCHEDULES: Final = ("poisson", "periodic", "pairs")


def read_plan(name: str) -> Plan:
    """Returns a plan by its name in :data:`PLANS`, or reads a plan from a TOML file. Raises
    :class:`bentpipe.InputError`."""
    if name in PLANS:
        return PLANS[name]
    file = Path(name)
    if not file.suffix:
        raise unknown("plan", name, PLANS)
    try:
        table = tomllib.loads(text_of(file))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    return plan_of(table, str(file))


def plan_of(table: dict[str, Any], where: str) -> Plan:
    """Parses a table of keys. Raises :class:`bentpipe.InputError`, which names the file, the key
    and the value.

    >>> plan_of({"duration": "2 s", "sizes": ["200 B"]}, "plan.toml").duration
    2.0
    >>> plan_of({"rate": -1}, "plan.toml")
    Traceback (most recent call last):
    ...
    bentpipe.errors.InputError: plan.toml: rate = -1; allowed: a number above 0, up to 10000
    """
    names = {"loads": "load"}
    known = [names.get(field.name, field.name) for field in fields(Plan)]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise unknown("key", key, known, where)
        if key == "load":
            tables = value if isinstance(value, list) else [value]
            values["loads"] = tuple(load_of(one, where) for one in tables)
        else:
            values[key] = _value(key, value, where)
    return replace(Plan(), **values)


def _value(key: str, value: Any, where: str) -> Any:
    if key in ("duration", "train_every"):
        return span(key, value, where)
    if key == "schedule":
        return choice(key, value, SCHEDULES, where)
    if key == "rate":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= 10_000:
            raise refused(key, value, "a number above 0, up to 10000", where)
        return float(value)
    if key == "icmp":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= 100:
            raise refused(key, value, "a number from 0 to 100", where)
        return float(value)
    if key == "train":
        if value != 0 or isinstance(value, bool):
            allowed = "0 for no trains, or a whole number from 2 to 1000"
            if not isinstance(value, int) or isinstance(value, bool) or not 2 <= value <= 1000:
                raise refused(key, value, allowed, where)
        return value
    allowed = f'a list of sizes from {SIZES[0]} B to {SIZES[1]} B, as in ["140 B", "1400 B"]'
    if not isinstance(value, list) or not value:
        raise refused(key, value, allowed, where)
    try:
        return tuple(size(key, one, where, *SIZES) for one in value)
    except InputError:
        raise refused(key, value, allowed, where) from None
