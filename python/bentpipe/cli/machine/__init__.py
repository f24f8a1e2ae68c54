"""``bentpipe machine``: preparation of this machine. One file per command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Check this machine, and set up its kernels and its TCP proxy.",
    ("doctor", "calibrate", "pep", "kernel"),
)
