"""The store of a campaign: a folder of Parquet files that DuckDB or Polars queries directly, intact
even if the process is killed at any time.

::

    campaign.toml                        the campaign as last run, with its scenario
    index.parquet                        one row per run: varied values, seed, status, error
    flows/variant=ID/RUN.parquet         the flows of each run, with its key in the column ``run``
    tables/NAME/variant=ID/RUN.parquet   its reports
    runs/RUN/                            its whole folder, if the campaign keeps folders
    done/RUN.json                        the run's note, written last
    scratch/                             while the campaign runs: runs in progress whose folders are not kept

A run counts if it has a note in ``done``. Files are written under temporary names and renamed, so a
run is stored completely or not at all, and repeating it yields the same file. Runs of earlier
versions of the campaign stay in the store and are identified by their keys.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import tarfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError, reading, unknown
from bentpipe.scenario.scenarios import toml_text, toml_value
from bentpipe.scenario.variation import Variation, parsed_value

from .plan import Plan, PlannedRun
from .work import Outcome

if TYPE_CHECKING:
    import polars as pl

#: The file that the process running the campaign locks.
_LOCK: Final = ".lock"

#: Columns of the index from the note of a run, with their values before the note exists.
WAITING: Final[Mapping[str, Any]] = {"status": "waiting", "error": "", "seconds": None, "place": ""}


class Store:
    """A campaign's folder. Raises :class:`bentpipe.InputError` for any other folder."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder)
        self._notes: dict[str, dict[str, Any]] = {}
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; allowed: a folder")
        names = {file.name for file in self.path.iterdir()} if self.path.is_dir() else set()
        if names - {_LOCK} and not self._about.is_file():
            raise InputError(
                f"{self.path} is not empty and is not a campaign's folder; it was not changed. Choose "
                "another folder"
            )

    @property
    def _about(self) -> Path:
        return self.path / "campaign.toml"

    @property
    def exists(self) -> bool:
        """True if the folder exists and is not empty."""
        return self._about.is_file()

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """The contents of ``campaign.toml``: ``name``, ``varied`` (key paths), ``campaign`` (its
        settings), ``scenario``."""
        try:
            return tomllib.loads(self._about.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{self._about} cannot be read: {error}") from error

    def begin(self, plan: Plan) -> None:
        """Prepares the store for this plan. Raises :class:`bentpipe.InputError` if it belongs to
        another campaign."""
        if self.exists and self.about["name"] != plan.name:
            raise InputError(
                f'{self.path} is the store of the campaign "{self.about["name"]}", not of "{plan.name}"; choose '
                "another folder with --out"
            )
        about = {"name": plan.name, "varied": plan.varied, "scenario": plan.base.toml}
        text = toml_text(about) + "\n\n[campaign]\n" + toml_text(plan.settings) + "\n"
        self.path.mkdir(parents=True, exist_ok=True)
        _write(self._about, text.encode())
        self.__dict__.pop("about", None)
        for left in self.path.rglob("*.part"):
            left.unlink(missing_ok=True)
        self.clear_scratch()

    @property
    def scratch(self) -> Path:
        """The folder of temporary run folders. Its contents are of no use to other processes."""
        return self.path / "scratch"

    def clear_scratch(self) -> None:
        """Removes the temporary folders, including those of killed processes."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Context manager that keeps other processes from running the campaign. The kernel releases
        the lock when the process ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / _LOCK).open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"{self.path} is in use by another process that runs this campaign"
                ) from None
            yield

    def status(self, key: str) -> str:
        """Returns the status of a run: ``"complete"``, ``"failed"`` or ``"waiting"``."""
        return str(self.note(key)["status"])

    def note(self, key: str) -> Mapping[str, Any]:
        """Returns the note of a run: ``status``, ``error``, ``seconds``, ``place``."""
        if key not in self._notes:
            try:
                self._notes[key] = json.loads((self.path / "done" / f"{key}.json").read_bytes())
            except FileNotFoundError:
                return WAITING
        return self._notes[key]

    def folder(self, key: str) -> Path:
        """Returns the folder of a run, if it is kept."""
        return self.path / "runs" / key

    def commit(self, run: PlannedRun, outcome: Outcome) -> None:
        """Stores the outcome of a run."""
        for name, content in outcome.tables.items():
            _write(self._tables(name) / f"variant={run.variant.id}" / f"{run.key}.parquet", content)
        if outcome.folder:
            shutil.rmtree(self.folder(run.key), ignore_errors=True)
            with tarfile.open(fileobj=io.BytesIO(outcome.folder)) as tar:
                tar.extractall(self.folder(run.key), filter="data")
        note = {
            "status": outcome.status,
            "error": outcome.error,
            "seconds": round(outcome.seconds, 6),
            "place": outcome.place,
        }
        _write(self.path / "done" / f"{run.key}.json", json.dumps(note).encode())
        self._notes[run.key] = note

    def forget(self, key: str) -> None:
        """Removes the note of a run, so that it runs again."""
        (self.path / "done" / f"{key}.json").unlink(missing_ok=True)
        self._notes.pop(key, None)

    def table(self, name: str, run: PlannedRun) -> pl.DataFrame:
        """Returns a table of one run, which may be empty. Raises :class:`bentpipe.InputError` for
        an unknown table."""
        import polars as pl

        file = self._tables(name) / f"variant={run.variant.id}" / f"{run.key}.parquet"
        if not file.is_file():
            raise unknown("table", name, self.tables, str(self.path))
        with reading(file):
            return pl.read_parquet(file, glob=False, hive_partitioning=False)

    def units(self, name: str) -> dict[str, str]:
        """Returns the unit of each column of a table, ``"1"`` for numbers without one."""
        file = next(self._tables(name).rglob("*.parquet"), None)
        return {} if file is None else units_of(file)

    @property
    def tables(self) -> list[str]:
        """Returns the names of the existing tables, the flows first."""
        reports = sorted(place.name for place in (self.path / "tables").glob("*"))
        return [*(["flows"] if self._tables("flows").is_dir() else []), *reports]

    def _tables(self, name: str) -> Path:
        return self.path / name if name == "flows" else self.path / "tables" / name

    def read_index(self) -> pl.DataFrame:
        """Returns the index, updated with the runs that have ended since it was written."""
        import polars as pl

        with reading(self.path / "index.parquet"):
            index = pl.read_parquet(self.path / "index.parquet", glob=False)
        notes = [self.note(key) for key in index["run"]]
        return index.with_columns(
            pl.Series(name, [note[name] for note in notes], dtype=index.schema[name]) for name in WAITING
        )

    def read_table(self, name: str, index: pl.DataFrame) -> pl.DataFrame:
        """Returns a table with the rows of all runs of an index. Raises
        :class:`bentpipe.InputError`."""
        import polars as pl

        if name not in self.tables:
            raise unknown("table", name, self.tables, str(self.path))
        place = self._tables(name)
        files = [
            place / f"variant={variant}" / f"{run}.parquet"
            for run, variant in index["run", "variant"].iter_rows()
        ]
        existing = []
        for file in files:
            if file.is_file():
                with reading(file):
                    existing.append(pl.read_parquet(file, glob=False, hive_partitioning=False))
        if not existing:
            return pl.DataFrame(schema={"run": pl.String, "replication": pl.Int64})
        return pl.concat(existing, how="diagonal_relaxed")

    def write_index(self, plan: Plan, runs: Iterable[PlannedRun]) -> None:
        """Writes the index of these runs, which must be all runs of the campaign."""
        buffer = io.BytesIO()
        index_of(self, plan, runs).write_parquet(buffer)
        _write(self.path / "index.parquet", buffer.getvalue())


def index_of(store: Store, plan: Plan, runs: Iterable[PlannedRun]) -> pl.DataFrame:
    """Returns one row per run: ``run`` (its key), ``variant``, ``replication``, ``seed``,
    ``status`` (complete, failed or waiting), ``error``, ``seconds``, ``place``, and a column for
    each varied key, named by its path."""
    import polars as pl

    runs = list(runs)
    notes = [store.note(run.key) for run in runs]
    columns: dict[str, Any] = {
        "run": [run.key for run in runs],
        "variant": [run.variant.id for run in runs],
        "replication": [run.replication for run in runs],
        "seed": [run.variant.seed for run in runs],
        **{name: [note[name] for note in notes] for name in WAITING},
    }
    texts = {"run", "variant", "status", "error", "place"}
    types = {name: pl.String if name in texts else pl.Int64 for name in columns} | {"seconds": pl.Float64}
    varied = varied_columns(plan.varied, [run.variant.variation for run in runs])
    return pl.DataFrame(columns, schema=types).with_columns(varied)


def varied_columns(varied: Iterable[str], variations: Sequence[Variation]) -> list[pl.Series]:
    """Returns a column for each varied key, with a value per variation: numbers if all values are
    numbers, else texts, and null for a variation without the key."""
    import polars as pl

    columns = []
    for key in varied:
        texts = [one.columns.get(key) for one in variations]
        values = _column([None if text is None else parsed_value(text) for text in texts])
        columns.append(pl.Series(key, values, dtype=_type(values)))
    return columns


def units_of(file: Path) -> dict[str, str]:
    """Returns the unit of each column of a table's file, ``"1"`` for numbers without one."""
    import polars as pl

    with reading(file):
        about = json.loads(pl.read_parquet_metadata(file).get("bentpipe", '{"columns": []}'))
    return {column["name"]: column["unit"] for column in about["columns"]}


def _column(values: list[Any]) -> list[Any]:
    """Returns the values as numbers if all are numbers, else as texts."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, int | float) for value in present) or all(
        isinstance(value, str) for value in present
    ):
        return values
    return [value if value is None or isinstance(value, str) else toml_value(value) for value in values]


def _type(values: list[Any]) -> Any:
    import polars as pl

    types = {type(value) for value in values if value is not None}
    if types <= {bool}:
        return pl.Boolean
    if types <= {int}:
        return pl.Int64
    return pl.Float64 if types <= {int, float} else pl.String


def _write(file: Path, content: bytes) -> None:
    """Writes a file completely or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_bytes(content)
    part.replace(file)
