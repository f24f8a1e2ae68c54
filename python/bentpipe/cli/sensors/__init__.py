"""``bentpipe sensors``: queries of sensor networks. One file per command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Explain queries in sensor networks, or serve their results.",
    ("explain", "serve"),
)
