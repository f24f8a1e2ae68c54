"""Start times over a super-frame of VOTOS, for several tests."""

from __future__ import annotations

from typing import Final

#: Duration of a super-frame of Skyplex DATA with N = 6, M = 8, L = 8 on the low-rate channel.
SUPERFRAME_S: Final = 0.8204
#: One-way propagation delay.
ONE_WAY_S: Final = 0.25


def offsets_s(count: int, first_s: float) -> list[float]:
    """Returns ``count`` times in seconds, equally spaced over a super-frame that starts at
    ``first_s``."""
    return [round(first_s + SUPERFRAME_S * number / count, 6) for number in range(count)]
