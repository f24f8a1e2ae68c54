"""Plans: which probes a measurement sends, and when.

A plan is a TOML file; every key has a default::

    duration = "30 s"
    rate = 20               # probes a second
    schedule = "poisson"    # or "periodic" or "pairs"
    sizes = ["140 B", "1400 B"]
    train = 20              # packets of a train that measures the rate; 0 for none
    train_every = "5 s"
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from bentpipe.errors import InputError, trouble, unknown
from bentpipe.quantities import base_value

#: Sizes of IP and UDP headers, IPv4, in bytes.
HEADERS: Final = 28
#: Size of the packets of trains, in bytes with IP and UDP headers.
TRAIN_BYTES: Final = 1400
#: The smallest and the largest packet, in bytes with IP and UDP headers: of STAMP with a key, and of Ethernet.
SIZES: Final = (140, 1500)


@dataclass(frozen=True)
class Plan:
    """What a measurement sends. Durations in seconds, sizes in bytes with IP and UDP headers."""

    duration: float = 30.0
    #: Mean number of probes a second, trains not counted.
    rate: float = 20.0
    #: Distribution of the times between probes. Poisson probes see time averages and do not alias with frames
    #: (RFC 2330 section 11.1); pairs are two probes without a pause at Poisson times.
    schedule: str = "poisson"
    sizes: tuple[int, ...] = (140, 1400)
    #: Packets of 1400 bytes that leave without a pause, to measure the rate.
    train: int = 20
    train_every: float = 5.0

    def packets(self, seed: int) -> Iterator[tuple[float, int, int]]:
        """Yields each packet's time since the begin in seconds, its size, and the number of its train, or -1."""
        return iter(sorted([*self._probes(random.Random(seed)), *self._trains()]))

    def _probes(self, source: random.Random) -> Iterator[tuple[float, int, int]]:
        together = 2 if self.schedule == "pairs" else 1
        mean, at, number = together / self.rate, 0.0, 0
        while True:
            at += mean if self.schedule == "periodic" else source.expovariate(1 / mean)
            if at >= self.duration:
                return
            for _ in range(together):
                yield at, self.sizes[number % len(self.sizes)], -1
            number += 1

    def _trains(self) -> Iterator[tuple[float, int, int]]:
        if self.train:
            for number in range(int(self.duration / self.train_every)):
                for _ in range(self.train):
                    yield (number + 0.5) * self.train_every, TRAIN_BYTES, number

    @property
    def load(self) -> float:
        """Mean rate of what is sent, in bit/s."""
        probes = self.rate * sum(self.sizes) / len(self.sizes)
        trains = self.train * TRAIN_BYTES / self.train_every if self.train else 0.0
        return 8 * (probes + trains)


#: Plans by name: some minutes on a GEO path; short intervals against the 15 s slots of LEO; a terrestrial path.
PLANS: Final = {
    "short": Plan(duration=10.0),
    "geo": Plan(duration=120.0, rate=10.0, train=10, train_every=10.0),
    "leo": Plan(duration=180.0, rate=100.0, train=30, train_every=7.0),
    "terrestrial": Plan(duration=60.0, rate=50.0, train=50),
}
#: The ends of units of time.
TIMES: Final = ("s", "min", "h", "d")
SCHEDULES: Final = ("poisson", "periodic", "pairs")


def read_plan(name: str) -> Plan:
    """Returns the plan of a name in :data:`PLANS` or of a TOML file. Raises :class:`bentpipe.InputError`."""
    if name in PLANS:
        return PLANS[name]
    file = Path(name)
    if not file.suffix:
        raise unknown("plan", name, PLANS)
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(trouble(error)) from error
    except ValueError as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    return plan_of(table, str(file))


def plan_of(table: dict[str, Any], where: str) -> Plan:
    """Returns the plan of a table of keys. Raises :class:`bentpipe.InputError` that names file, key and value.

    >>> plan_of({"duration": "2 s", "sizes": ["200 B"]}, "plan.toml").duration
    2.0
    >>> plan_of({"rate": -1}, "plan.toml")
    Traceback (most recent call last):
    ...
    bentpipe.errors.InputError: plan.toml: rate = -1; allowed: a number above 0, up to 10000
    """
    known = [field.name for field in fields(Plan)]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise unknown("key", key, known, where)
        values[key] = _value(key, value, where)
    return replace(Plan(), **values)


def _value(key: str, value: Any, where: str) -> Any:
    def refuse(allowed: str) -> InputError:
        return InputError(f"{where}: {key} = {value!r}; allowed: {allowed}")

    number = isinstance(value, int | float) and not isinstance(value, bool)
    if key in ("duration", "train_every"):
        try:
            span = base_value(value) if str(value).endswith(TIMES) and not str(value).endswith("/s") else 0.0
        except (ValueError, TypeError):
            span = 0.0
        if not 0.1 <= span <= 7 * 86400:
            raise refuse('a time from 0.1 s to 7 days, as in "30 s"')
        return span
    if key == "schedule":
        if value not in SCHEDULES:
            raise refuse(", ".join(SCHEDULES))
        return value
    if key == "rate":
        if not number or not 0 < value <= 10_000:
            raise refuse("a number above 0, up to 10000")
        return float(value)
    if key == "train":
        if not isinstance(value, int) or isinstance(value, bool) or not (value == 0 or 2 <= value <= 1000):
            raise refuse("0 for no trains, or a whole number from 2 to 1000")
        return value
    try:
        sizes = tuple(int(base_value(size)) for size in value if str(size).endswith("B"))
    except (ValueError, TypeError):
        sizes = ()
    if not sizes or not all(SIZES[0] <= size <= SIZES[1] for size in sizes):
        raise refuse(f'a list of sizes from {SIZES[0]} B to {SIZES[1]} B, as in ["140 B", "1400 B"]')
    return sizes
