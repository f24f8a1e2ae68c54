"""``bentpipe campaign``: runs many variants and replications of a scenario. One file per
command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Run many variants and replications of a scenario.",
    ("run", "show", "table", "plot", "export", "batches"),
)
