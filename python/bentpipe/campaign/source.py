"""Sources of campaign results: the campaign's store, or run folders that another program keeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import polars as pl


class Source(Protocol):
    """A source of results for :class:`bentpipe.campaign.Campaign`, such as
    :class:`bentpipe.campaign.Store`."""

    @property
    def path(self) -> Path:
        """The folder to name in messages."""

    @property
    def about(self) -> Mapping[str, Any]:
        """``name``, ``varied`` (key paths) and ``campaign`` (its settings)."""

    @property
    def tables(self) -> list[str]:
        """Names of the existing tables, the flows first."""

    def read_index(self) -> pl.DataFrame:
        """Returns one row per run: at least ``run``, ``variant``, ``replication``, ``status``,
        ``error`` and a column for each varied key. Only runs with the status ``"complete"`` have
        results."""

    def read_table(self, name: str, index: pl.DataFrame) -> pl.DataFrame:
        """Returns a table with the rows of all runs of an index. The columns ``run`` and
        ``replication`` identify the run of a row. Raises :class:`bentpipe.InputError`."""

    def units(self, name: str) -> dict[str, str]:
        """Returns the unit of each column of a table, ``"1"`` for numbers without one."""

    def folder(self, key: str) -> Path:
        """Returns the folder of a run, if it is kept."""
