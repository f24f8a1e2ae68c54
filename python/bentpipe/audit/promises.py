"""Promises of an emulated network, per direction, as ``rate=10 Mbit/s,up.delay=250 ms``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bentpipe.errors import InputError, unknown
from bentpipe.quantities import base_value

#: The directions: "up" leads towards the reflector.
DIRECTIONS: Final = ("up", "down")

#: Promises with a value, and the form of the value.
QUANTITIES: Final = {
    "rate": 'a rate up to 10 Gbit/s, as in "10 Mbit/s"',
    "delay": 'the one-way delay of a small packet, as in "250 ms"',
    "jitter": 'the standard deviation of the one-way delay, as in "5 ms"',
    "loss": 'a fraction of packets, as in "1 %" or "0.01"',
    "queue": 'a number of packets, a size or a time, as in "100 packets", "150 kB" or "50 ms"',
    "granularity": 'the longest interval between bunches of packets, as in "2 ms"',
    "mtu": 'the largest packet that passes unfragmented, as in "1500 B"',
}
#: Promises of a property; "any" promises nothing.
PROPERTIES: Final = ("order", "ecn", "segments")
#: Promises that every transparent link keeps. They apply unless the user promises another value.
IMPLIED: Final = {
    "granularity": "2 ms",
    "mtu": "1500 B",
    "order": "kept",
    "ecn": "kept",
    "segments": "kept",
}


@dataclass(frozen=True)
class Promise:
    """A promise for one direction. The value is in bit/s, seconds, bytes, or a fraction; ``unit``
    is "packets", "B" or "s" for a queue. ``implied`` marks a promise that the user has not
    written."""

    name: str
    direction: str
    value: float
    text: str
    unit: str = ""
    implied: bool = False


@dataclass(frozen=True)
class Promises:
    """All promises, by name and direction."""

    of: dict[tuple[str, str], Promise]

    def value(self, name: str, direction: str) -> float | None:
        """Returns the promised value, or None without such a promise."""
        found = self.of.get((name, direction))
        return None if found is None else found.value


def read_promises(text: str) -> Promises:
    """Parses promises. Raises :class:`bentpipe.InputError`.

    >>> read_promises("rate=10 Mbit/s,down.rate=50 Mbit/s").value("rate", "down")
    50000000.0
    >>> read_promises("loss=1 %").value("loss", "up")
    0.01
    >>> read_promises("rate=fast")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bentpipe.errors.InputError: --promise rate=fast; allowed: a rate up to 10 Gbit/s...
    """
    both, single = dict[str, str](), dict[tuple[str, str], str]()
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, found, value = (part.strip() for part in item.partition("="))
        direction, dot, name = key.rpartition(".")
        known = (*QUANTITIES, *PROPERTIES)
        if name not in known or (dot and direction not in DIRECTIONS):
            names = [*known, *(f"{side}.{one}" for side in DIRECTIONS for one in QUANTITIES)]
            raise unknown("promise", key, names, "--promise")
        if not found or not value:
            raise InputError(f"--promise {item}; allowed: NAME=VALUE, as in rate=10 Mbit/s")
        if dot:
            single[name, direction] = value
        else:
            both[name] = value
    promised: dict[tuple[str, str], Promise] = {}
    for name, given in {**IMPLIED, **both}.items():
        for direction in DIRECTIONS:
            implied = name not in both and (name, direction) not in single
            one = _promise(name, direction, single.get((name, direction), given), implied)
            if one is not None:
                promised[name, direction] = one
    for (name, direction), given in single.items():
        one = _promise(name, direction, given, False)
        if one is not None:
            promised[name, direction] = one
    return Promises(promised)


def _promise(name: str, direction: str, text: str, implied: bool) -> Promise | None:
    if name in PROPERTIES:
        if text not in ("kept", "any"):
            raise InputError(f"--promise {name}={text}; allowed: kept, any")
        return None if text == "any" else Promise(name, direction, 0.0, text, implied=implied)
    value, unit = _value(name, text)
    if value is None:
        raise InputError(f"--promise {name}={text}; allowed: {QUANTITIES[name]}")
    return Promise(name, direction, value, text, unit, implied)


def _value(name: str, text: str) -> tuple[float | None, str]:
    """Returns the value in its base unit and the kind of the unit; None for a value that is not
    allowed."""
    try:
        if name == "loss":
            plain = text.removesuffix("%")
            value = float(plain) / (100 if plain != text else 1)
            return (value if 0 <= value < 1 else None), ""
        if name == "queue" and text.endswith(("packets", "packet")):
            value = float(text.removesuffix("s").removesuffix("packet"))
            return (value if value >= 1 else None), "packets"
        value = base_value(text)
    except ValueError:
        return None, ""
    unit = "bit/s" if text.endswith("bit/s") else "B" if text.endswith("B") else "s"
    allowed = {
        "rate": unit == "bit/s" and 0 < value <= 1e10,
        "queue": unit != "bit/s" and value > 0,
        "mtu": unit == "B" and 68 <= value <= 65_535,
    }
    seconds = unit == "s" and text.endswith("s") and 0 <= value <= 3600
    return (value if allowed.get(name, seconds) else None), unit
