"""``bentpipe lab``: the test bed of a group from the command line. One file per command."""

from __future__ import annotations

from ..lazy import family

app = family(
    __package__,
    "Use a test bed with the token in BENTPIPE_TOKEN.",
    ("save", "configurations", "launch", "runs", "cancel", "fetch", "api"),
)
