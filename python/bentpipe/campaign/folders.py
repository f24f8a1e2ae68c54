"""Campaign results from run folders that another program keeps, such as the test bed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import reading, unknown
from bentpipe.results import old_names
from bentpipe.scenario.variation import Variation

from .metrics import identified, number_columns
from .store import units_of, varied_columns

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class FolderRun:
    """A run in a folder. ``key`` identifies the run, and ``replication`` is its number within its
    variation. Only runs with the status ``"complete"`` count."""

    key: str
    folder: Path
    variation: Variation
    replication: int
    status: str
    error: str = ""


class Folders:
    """Runs in folders, as a source for :class:`bentpipe.campaign.Campaign`. ``confidence`` is the
    confidence level of the intervals.

    Tables are read once, so an instance shows the state of the runs at its creation.
    """

    def __init__(self, name: str, runs: Sequence[FolderRun], confidence: float = 0.95) -> None:
        varied = list(dict.fromkeys(key for run in runs for key in run.variation.columns))
        self.about: Mapping[str, Any] = {
            "name": name,
            "varied": varied,
            "campaign": {"confidence": confidence},
        }
        #: The source has no folder of its own, so messages show its name.
        self.path = Path(name)
        self._runs = {run.key: run for run in runs}
        self._read: dict[str, pl.DataFrame] = {}

    @cached_property
    def tables(self) -> list[str]:
        """Names of the tables of the complete runs, the flows first."""
        complete = [run.folder for run in self._runs.values() if run.status == "complete"]
        reports = {name for folder in complete for name in old_names.files(folder / "tables")}
        return [*(["flows"] if any(self._files("flows")) else []), *sorted(reports)]

    @cached_property
    def metrics(self) -> list[str]:
        """Names of all metrics, those of the flows first."""
        import polars as pl

        found: dict[str, None] = {}
        for name in self.tables:
            for run, file in self._files(name):
                with reading(file.relative_to(run.folder)):
                    schema = pl.read_parquet_schema(file)
                # The first column names the entity.
                numbers = [one for one in number_columns(schema) if one != next(iter(schema))]
                found |= dict.fromkeys(numbers if name == "flows" else [f"{name}.{one}" for one in numbers])
        return list(found)

    def read_index(self) -> pl.DataFrame:
        """Returns one row per run; see :meth:`bentpipe.campaign.source.Source.read_index`."""
        import polars as pl

        runs = self._runs.values()
        columns: dict[str, Any] = {
            "run": [run.key for run in runs],
            "variant": [str(list(run.variation.values.items())) for run in runs],
            "replication": [run.replication for run in runs],
            "status": [run.status for run in runs],
            "error": [run.error for run in runs],
        }
        types = {name: pl.Int64 if name == "replication" else pl.String for name in columns}
        varied = varied_columns(self.about["varied"], [run.variation for run in runs])
        return pl.DataFrame(columns, schema=types).with_columns(varied)

    def read_table(self, name: str, index: pl.DataFrame) -> pl.DataFrame:
        """Returns a table with the rows of the complete runs of an index. Raises
        :class:`bentpipe.InputError`."""
        import polars as pl

        if name not in self.tables:
            raise unknown("table", name, self.tables, str(self.path))
        return self._table(name).filter(pl.col("run").is_in(index["run"].to_list()))

    def units(self, name: str) -> dict[str, str]:
        """Returns the unit of each column of a table, ``"1"`` for numbers without one."""
        if name not in self.tables:
            return {}
        _, file = next(self._files(name))
        return units_of(file)

    def folder(self, key: str) -> Path:
        """Returns the folder of a run."""
        return self._runs[key].folder

    def _files(self, name: str) -> Iterator[tuple[FolderRun, Path]]:
        """Yields each complete run that has a table, with the table's file."""
        for run in self._runs.values():
            files = {"flows": run.folder / "flows.parquet"} | old_names.files(run.folder / "tables")
            if run.status == "complete" and name in files and files[name].is_file():
                yield run, files[name]

    def _table(self, name: str) -> pl.DataFrame:
        """Returns an existing table with the rows of all complete runs."""
        import polars as pl

        if name not in self._read:
            parts = []
            for run, file in self._files(name):
                with reading(file.relative_to(run.folder)):
                    table = pl.read_parquet(file, glob=False, hive_partitioning=False)
                parts.append(identified(table, run.key, run.replication))
            self._read[name] = pl.concat(parts, how="diagonal_relaxed")
        return self._read[name]
