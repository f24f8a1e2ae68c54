"""Quantities with units, in the notation of scenarios and of tables.

The engine validates and prints scenarios; this module only parses the engine's output and formats
results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from bentpipe import _native

#: Size of each unit of the engine in its base unit.
UNITS: Final[dict[str, float]] = {
    unit: size for sizes in _native.units().values() for unit, size in sizes.items()
}

_QUANTITY: Final = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(\S+)\s*")


def base_value(text: str) -> float:
    """Returns a quantity in its base unit: bit/s, baud, seconds, bytes, metres, hertz, m/s or
    degrees. Raises ``ValueError``.

    >>> base_value("2048 kbit/s"), base_value("250 ms"), base_value("1.5 MB"), base_value("35786 km")
    (2048000.0, 0.25, 1500000.0, 35786000.0)
    """
    number, size = _parts(text)
    return float(number) * size


def exact_value(text: str) -> Decimal:
    """Returns the same as :func:`base_value`, without rounding.

    >>> exact_value("1700000000.123456789 s")
    Decimal('1700000000.1234567890')
    """
    number, size = _parts(text)
    return Decimal(number) * Decimal(repr(size))


def _parts(text: str) -> tuple[str, float]:
    """Returns the number of a quantity, and the size of its unit."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in UNITS:
        raise ValueError(f'"{text}" is not a number and a unit, such as "250 ms"')
    return match[1], UNITS[match[2]]


def number(value: float | None, digits: int = 3) -> str:
    """Returns a number with at least ``digits`` significant digits, with an exponent only for
    extreme values; "-" for None.

    >>> number(0.12345), number(1898.4), number(0.0), number(None), number(1.0)
    ('0.123', '1898', '0', '-', '1')
    """
    if value is None or math.isnan(value):
        return "-"
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rate_text(bit_s: float | None) -> str:
    """Returns a data rate in the most readable unit.

    >>> rate_text(1_898_400), rate_text(64_000), rate_text(None)
    ('1.9 Mbit/s', '64 kbit/s', '-')
    """
    return _scaled(bit_s, "bit/s")


def span_text(seconds: float | None) -> str:
    """Returns a time span in the most readable unit.

    >>> span_text(0.547), span_text(1.5), span_text(0.00002)
    ('547 ms', '1.5 s', '20 us')
    """
    return _scaled(seconds, "s")


def size_text(count: float | None) -> str:
    """Returns an amount of data in the most readable unit.

    >>> size_text(12_000_000), size_text(752)
    ('12 MB', '752 B')
    """
    return _scaled(count, "bytes")


def listed(names: Sequence[str], most: int = 4) -> str:
    """Returns names as part of a sentence: the first few, and the number of the others.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


#: Units for display by the base unit of a result column, the largest first.
_READABLE: Final = {
    "bit/s": (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)),
    "s": (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)),
    "bytes": (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)),
}


def readable_unit(greatest: float, unit: str) -> tuple[str, float]:
    """Returns the most readable unit for values up to ``greatest``, given in a base unit, and its
    size.

    >>> readable_unit(8.2e6, "bit/s"), readable_unit(0.4, "s"), readable_unit(12, "packets")
    (('Mbit/s', 1000000.0), ('ms', 0.001), ('packets', 1.0))
    """
    units = _READABLE.get(unit, ((unit, 1.0),))
    return next(((name, size) for name, size in units if abs(greatest) >= size), units[-1])


#: Base unit, display unit and size of the display unit, by the prefix of a quantity's name.
_OF_FLOWS: Final = {
    "goodput": ("bit/s", "kbit/s", 1e3),
    "throughput": ("bit/s", "kbit/s", 1e3),
    "transaction_rate": ("bit/s", "kbit/s", 1e3),
    "rtt": ("s", "ms", 1e-3),
    "delay": ("s", "ms", 1e-3),
    "voice_delay": ("s", "ms", 1e-3),
    "jitter": ("s", "ms", 1e-3),
    "transaction": ("s", "ms", 1e-3),
    "completed": ("s", "s", 1.0),
    "transfer": ("s", "s", 1.0),
    "loss": ("1", "%", 1e-2),
}


def display_unit(name: str, base: str, greatest: float = 0.0) -> tuple[str, float]:
    """Returns the unit in which tables, figures, reports and exports show a quantity, and its size
    in the base unit. Quantities of flows have a fixed unit. Other quantities have the most readable
    unit for values up to ``greatest``.

    >>> display_unit("goodput", "bit/s", 8.2e6), display_unit("predicted_rtt", "s")
    (('kbit/s', 1000.0), ('ms', 0.001))
    >>> display_unit("capacity", "bit/s", 8.2e6)
    ('Mbit/s', 1000000.0)
    """
    bare = name.removeprefix("predicted_")
    for start, (known, unit, size) in _OF_FLOWS.items():
        if known == base and bare.startswith(start):
            return unit, size
    return readable_unit(greatest, base)


def _scaled(value: float | None, base: str) -> str:
    if value is None or math.isnan(value):
        return "-"
    unit, size = readable_unit(value, base)
    return f"{number(value / size)} {unit}"
