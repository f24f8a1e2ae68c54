"""``bentpipe space``: link budgets, rain and contacts. One file per command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Calculate link budgets, rain attenuation and contacts.",
    ("budget", "rain", "contacts"),
)
