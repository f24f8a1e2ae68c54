"""``bentpipe dtn``: a bundle agent for real hosts. One file per command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Run a bundle agent (BPv7) on this host, and send bundles to one.",
    ("agent", "send", "proxy"),
)
