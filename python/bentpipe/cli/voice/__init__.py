"""``bentpipe voice``: telephone calls. One file per command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Rate, hear and answer telephone calls.",
    ("emodel", "listen", "pabx", "phone"),
)
