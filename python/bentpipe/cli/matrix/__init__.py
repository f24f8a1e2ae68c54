"""``bentpipe matrix``: transfers with many stacks over many paths. One file per command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Compare implementations of QUIC, and controls of TCP.",
    ("quic", "tcp"),
)
