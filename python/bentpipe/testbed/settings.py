"""Settings of ``bentpipe serve`` for both of its processes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """The data folder, and settings that differ from the defaults.

    ``database`` is a URL of SQLAlchemy (default: an SQLite file in ``data``). ``names`` are the
    host names of the page, in addition to the loopback addresses. ``slots`` is the number of
    concurrent runs. ``insecure`` allows log-ins over plain HTTP from other machines, with a cookie
    that browsers accept there. ``proxied`` is set if an encrypting proxy passes requests to a Unix
    socket. ``group`` is the number of the group that shares the data, if web process and executor
    are different users.
    """

    data: Path
    database: str = ""
    names: tuple[str, ...] = ()
    slots: int = max(1, (os.cpu_count() or 2) - 1)
    insecure: bool = False
    proxied: bool = False
    real_time: bool = False
    group: int | None = None

    @property
    def url(self) -> str:
        """The URL of the database for SQLAlchemy."""
        return self.database or f"sqlite:///{self.file}"

    @property
    def file(self) -> Path:
        """The file of the database, for SQLite."""
        return self.data / "testbed.sqlite"

    @property
    def runs(self) -> Path:
        """The folder of all runs, with one subfolder per owner."""
        return self.data / "runs"

    @property
    def holds_test_bed(self) -> bool:
        """True if the folder contains the database of a test bed, or its runs if the database is
        elsewhere."""
        return self.runs.is_dir() if self.database else self.file.is_file()

    @property
    def socket(self) -> Path:
        """The Unix socket that notifies the executor of new work."""
        return self.data / "executor.socket"

    @property
    def instruments(self) -> Path:
        """The executor's file of missing features of its machine
        (:mod:`bentpipe.testbed.instruments`)."""
        return self.data / "instruments.json"

    @property
    def checks(self) -> Path:
        """The executor's file of findings about its machine."""
        return self.data / "machine.json"

    def folder(self, owner: int, run: str) -> Path:
        """Returns the folder of a run. Both parts are chosen by this program, never by a user."""
        return self.folder_of(owner) / run

    def folder_of(self, owner: int) -> Path:
        """Returns the folder of all runs of an account."""
        return self.runs / str(owner)
