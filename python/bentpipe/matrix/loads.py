"""The loads of a matrix: downloads of a size."""

from __future__ import annotations

from typing import Final

#: Number of bytes by the name of the load. The largest is the load of picoquic's tests.
LOADS: Final = {"1 MiB": 1 << 20, "10 MiB": 10 << 20, "100 MB": 100_000_000}
