"""G.711: samples of 16 bits to and from the bytes of mu-law (PCMU) and A-law (PCMA)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Number of samples in a second.
RATE: Final = 8000
ENCODINGS: Final = ("PCMU", "PCMA")

Linear = NDArray[np.int32]


def _mu_law() -> Linear:
    """Returns the samples of the 256 values of mu-law, on the scale of 16 bits."""
    value = ~np.arange(256) & 0xFF
    magnitude = (((value & 0x0F) << 3) + 0x84 << ((value & 0x70) >> 4)) - 0x84
    return np.where(value & 0x80, -magnitude, magnitude).astype(np.int32)


def _a_law() -> Linear:
    """Returns the samples of the 256 values of A-law, on the scale of 16 bits."""
    value = np.arange(256) ^ 0x55
    exponent = (value & 0x70) >> 4
    mantissa = ((value & 0x0F) << 4) + 8
    magnitude = np.where(exponent == 0, mantissa, (mantissa + 0x100) << np.maximum(exponent - 1, 0))
    return np.where(value & 0x80, magnitude, -magnitude).astype(np.int32)


def _nearest(table: Linear) -> NDArray[np.uint8]:
    """Returns the value with the nearest sample for each of the 65536 samples of 16 bits."""
    order = np.argsort(table, kind="stable")
    samples = np.arange(-32768, 32768)
    above = np.clip(np.searchsorted(table[order], samples), 1, 255)
    low, high = order[above - 1], order[above]
    return np.where(samples - table[low] <= table[high] - samples, low, high).astype(np.uint8)


TABLES: Final = {"PCMU": _mu_law(), "PCMA": _a_law()}
NEAREST: Final = {name: _nearest(table) for name, table in TABLES.items()}


def decode(encoding: str, payload: bytes) -> Linear:
    """Returns the samples of 16 bits that G.711 encodes."""
    return TABLES[encoding][np.frombuffer(payload, np.uint8)]


def encode(encoding: str, samples: Linear) -> bytes:
    """Returns the samples in G.711. Samples beyond 16 bits are clipped."""
    return NEAREST[encoding][np.clip(samples, -32768, 32767) + 32768].tobytes()
