"""The path of a case in numbers; `path.toml` is its scenario."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Bits of a full packet of `path.toml`, and its payload in bytes.
PACKET_BITS: Final = 1500 * 8
PAYLOAD: Final = 1448


@dataclass(frozen=True)
class Path:
    """A path: rate of the bottleneck in bit/s, two-way propagation delay in s, and the size of the
    queue in packets (default: four times the bandwidth-delay product)."""

    rate: float = 25e6
    rtt: float = 0.04
    queue: int | None = None

    @property
    def packets_per_s(self) -> float:
        """The rate in full packets per second."""
        return self.rate / PACKET_BITS

    @property
    def min_rtt(self) -> float:
        """The round-trip time of a full packet without queues, in s."""
        return self.rtt + 1 / self.packets_per_s

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product in packets."""
        return self.packets_per_s * self.min_rtt
