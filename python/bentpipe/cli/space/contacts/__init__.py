"""``bentpipe space contacts``: contact plans and the routes of bundles through them. One file per
command."""

from __future__ import annotations

from ...lazy import family

app = family(
    __package__,
    "Read contact plans, and find the routes of bundles through them.",
    ("route", "show", "geometry"),
)
