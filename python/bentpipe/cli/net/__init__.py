"""``bentpipe net``: emulated networks that stay up. One file per command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Keep emulated networks up, and run programs in their hosts.",
    ("up", "ps", "exec", "set", "watch", "down"),
)
