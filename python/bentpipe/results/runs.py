"""A run: the folder of results that each instrument writes, read as Polars DataFrames."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bentpipe.errors import InputError, reading, text_of, trouble, unknown
from bentpipe.quantities import listed

from . import columns, old_names

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.scenario.scenarios import Scenario


class Run:
    """The results of one scenario, one seed, one instrument.

    Tables are read on first use. Raises :class:`bentpipe.InputError` if ``folder`` is not a run
    folder.

    >>> import bentpipe as bp
    >>> run = bp.simulate("examples/dvb-rcs-upload.toml", overrides=["duration=20 s"])
    >>> run.flows.select("flow", "from", "to", "congestion").row(0)
    ('upload', 'st1', 'gw', 'reno')
    >>> run.trace("cwnd").columns
    ['time', 'flow', 'cwnd']
    >>> sorted(run.traces), run.tables
    (['dama', 'delivery', 'link', 'ncc', 'tcp', 'waits'], ['link', 'ncc', 'tcp_connection', 'terminal'])
    """

    def __init__(self, folder: str | Path, resolved: Scenario | None = None) -> None:
        self.path = Path(folder)
        if resolved is not None:
            self.resolved = resolved
        try:
            there, known = self.path.exists(), (self.path / "provenance.json").is_file()
        except OSError as error:
            raise InputError(trouble(error)) from error
        if not known:
            what = "it has no provenance.json" if there else "there is no such folder"
            raise InputError(f"{self.path} is not the folder of a run: {what}")

    def __repr__(self) -> str:
        state = "" if self.complete else f", {self.provenance.get('status', 'unknown')}"
        return f"Run({str(self.path)!r}{state})"

    def _repr_html_(self) -> str:
        """Returns the run and its flows as a table, for notebooks."""
        from html import escape

        import polars as pl

        from bentpipe.quantities import display_unit

        wanted = {"goodput": "bit/s", "rtt_mean": "s", "delay_mean": "s"}
        shown = []
        for name in ("flow", "from", "to", "congestion", *wanted, "timeouts"):
            if name in self.flows.columns:
                unit, size = display_unit(name, wanted.get(name, "1"))
                column = pl.col(name)
                shown.append(column if unit == "1" else (column / size).alias(f"{name} ({unit})"))
        table = self.flows.select(shown)
        about = escape(f"{self.name} ({self.clock}): {self!r}")
        return f"<p>{about}</p>{table._repr_html_()}"

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The origin of the results: version, seed, instrument, timing, status."""
        return self._json("provenance.json")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Key numbers of the run; empty for a run that was killed before it wrote them."""
        if not (self.path / "summary.json").is_file():
            return {}
        return old_names.renamed_summary(self._json("summary.json"))

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario of the run with all defaults. Quantities are texts with units. Keys have
        their current names, also in a run of an older version."""
        return old_names.renamed(self._written)

    @cached_property
    def _written(self) -> dict[str, Any]:
        try:
            return tomllib.loads(text_of(self.path / "scenario.toml"))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{self.path / 'scenario.toml'} cannot be read: {error}") from error

    @cached_property
    def resolved(self) -> Scenario:
        """The run's scenario as the engine resolves it. Raises :class:`bentpipe.ScenarioError` for
        the scenario of an older version that is no longer valid."""
        from bentpipe.scenario.scenarios import ScenarioText, load

        # Use the original text, so that problems have line numbers, unless a key has a former name.
        text = text_of(self.path / "scenario.toml")
        if self.scenario != self._written:
            text = json.dumps(self.scenario)
        return load(ScenarioText(text, str(self.path)))

    @cached_property
    def flow_tables(self) -> list[dict[str, Any]]:
        """The scenario's flows in the order of their numbers, with groups replaced by their
        members. Raises :class:`bentpipe.ScenarioError` for groups of an older version that are no
        longer valid."""
        flows: list[dict[str, Any]] = self.scenario.get("flow", [])
        if not any(_is_group(flow) for flow in flows):
            return flows
        return self.resolved.flows

    @property
    def flow_names(self) -> list[str]:
        """Names of the scenario's flows in the order of their numbers."""
        return [flow["name"] for flow in self.flow_tables]

    @cached_property
    def fidelity(self) -> dict[str, Any]:
        """The accuracy of an emulation: its settings and its deviations from the scenario, with a
        ``verdict``: ``"valid"``, ``"degraded"`` or ``"void"``. Empty for a simulation, which is
        exact."""
        return self._json("fidelity.json") if (self.path / "fidelity.json").is_file() else {}

    @property
    def name(self) -> str:
        """Name of the scenario, as its key `name` gives it."""
        return str(self.scenario.get("name", self.path.name))

    @property
    def clock(self) -> str:
        """The origin of the results: ``"simulated"``, ``"virtual kernel"``, ``"emulated"`` (in real
        time) or ``"measured"``."""
        if self.provenance.get("instrument") == "measure":
            return "measured"
        if self.provenance.get("instrument") != "emulate":
            return "simulated"
        return "virtual kernel" if "guest" in self.provenance.get("notes", {}) else "emulated"

    @property
    def complete(self) -> bool:
        """True if the run reached its end. The traces of an incomplete run are valid up to its last
        time."""
        return self.provenance.get("status") == "complete"

    @property
    def unfinished(self) -> str:
        """A sentence about the missing results of a killed or running run, with a remedy. Empty for
        all other runs, including interrupted ones, whose results are complete up to their end."""
        # The file written last shows that all others are complete.
        if self.complete or (self.path / "summary.json").is_file():
            return ""
        last = ["flows.parquet", "tables", "summary.json"]
        missing = [name for name in last if not (self.path / name).exists()]
        command = [str(word) for word in self.provenance.get("command") or []]
        if self.provenance.get("instrument") == "measure":
            how = "repeat the command to continue the measurement"
        else:
            how = f"to repeat the run: {shlex.join(command)}" if command else "repeat the run"
        what = f"lacks {listed(missing)}, written at the end of a run"
        return f"{self.path} was killed or still runs, and {what}; {how}"

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow: names and transport, bytes and packets, ``goodput`` (bit/s), round-trip
        times and delays (s), retransmissions and time-outs. docs/reference/results.md lists every
        column. Raises :class:`bentpipe.InputError` for a run that was killed before it wrote
        them."""
        if not self.has_flows and self.unfinished:
            raise InputError(self.unfinished)
        return self._parquet(self.path / "flows.parquet", "flows")

    @property
    def has_flows(self) -> bool:
        """True if the run has written :attr:`flows`."""
        return (self.path / "flows.parquet").is_file()

    @property
    def tables(self) -> list[str]:
        """Names of the reports at the end of the run, for :meth:`table`."""
        return list(self.table_files)

    @property
    def table_files(self) -> dict[str, Path]:
        """The files of :attr:`tables` by name."""
        return old_names.files(self.path / "tables")

    def table(self, name: str) -> pl.DataFrame:
        """Returns a report at the end of the run, one row per entity: ``terminal``, ``link``, ...
        Raises :class:`bentpipe.InputError` for a name that is not in :attr:`tables`."""
        files = self.table_files
        if name not in files:
            raise unknown("table", name, files, str(self.path))
        return self._parquet(files[name], name)

    @cached_property
    def traces(self) -> dict[str, list[str]]:
        """Names of the traces, each with its quantities, for :meth:`trace`."""
        import polars as pl

        names = {}
        for name, file in self._trace_files.items():
            if _closed(file):
                with reading(file):
                    names[name] = list(pl.scan_parquet(file, glob=False).collect_schema())[2:]
        return names

    @cached_property
    def _trace_files(self) -> dict[str, Path]:
        """The files of the traces by their current names."""
        return old_names.files(self.path / "traces")

    def trace(self, quantity: str, entity: str | None = None) -> pl.DataFrame:
        """Returns a quantity over the time of the run.

        ``quantity`` is a column of a trace (``"cwnd"``, or ``"dama.queue"`` if several traces have
        a column of that name) or a whole trace (``"tcp"``). A column that several traces of flows
        have, such as ``"rtt"`` of TCP and QUIC, has the rows of all. Returns the columns ``time``
        (seconds since the start of the run, Float64), the entity's name (``flow``, ``terminal`` or
        ``link``, String) and the value or values, ordered by time for each entity. With ``entity``,
        returns only its rows. Raises :class:`bentpipe.InputError` for a quantity that was not
        recorded.
        """
        import polars as pl

        frames = []
        for trace, names in self._find(quantity):
            frame = self._scan(trace, names)
            with reading(self._trace_files[trace]):
                if entity is not None:
                    frame = frame.filter(pl.col(frame.collect_schema().names()[1]) == entity)
                frames.append(frame.collect())
        return pl.concat(frames)

    def scan(self, quantity: str) -> pl.LazyFrame:
        """Returns the same as :meth:`trace`, as a Polars LazyFrame. It is suitable for traces
        larger than memory, because queries are evaluated while the file is read
        (``collect(engine="streaming")``). Raises :class:`bentpipe.InputError`.
        """
        import polars as pl

        return pl.concat([self._scan(*found) for found in self._find(quantity)])

    def _scan(self, trace: str, wanted: list[str]) -> pl.LazyFrame:
        """Returns columns of a trace, after time and entity."""
        import polars as pl

        file = self._trace_files[trace]
        with reading(file):
            lazy = pl.scan_parquet(file, glob=False).rename(old_names.COLUMNS.get(trace, {}), strict=False)
            names = lazy.collect_schema().names()
            columns.check(file, ["time", *columns.TRACED.get(trace, ())], names, self._version)
            who = names[1]
            return lazy.select(pl.col("time") / 1e9, pl.col(who).cast(pl.String), *wanted)

    @cached_property
    def last_row_s(self) -> float:
        """Time of the last row of all traces in seconds; 0 without any."""
        import polars as pl

        last = (self.scan(trace).select(pl.col("time").max()) for trace in self.traces)
        ends = (frame.collect(engine="streaming").item() for frame in last)
        return max((float(end) for end in ends if end is not None), default=0.0)

    def has_trace(self, quantity: str) -> bool:
        """Returns true if :meth:`trace` has this quantity."""
        try:
            self._find(quantity)
        except InputError:
            return False
        return True

    def _find(self, quantity: str) -> list[tuple[str, list[str]]]:
        """Returns the traces that contain the quantity, each with its columns to return."""
        if quantity in self.traces:
            return [(quantity, self.traces[quantity])]
        table, dot, column = quantity.partition(".")
        if dot and column in self.traces.get(table, []):
            return [(table, [column])]
        having = [name for name, columns in self.traces.items() if quantity in columns]
        if len(having) > 1 and not all(self._is_of_flows(name) for name in having):
            full = " or ".join(f'"{name}.{quantity}"' for name in having)
            raise InputError(f'several traces of {self.path} have "{quantity}": ask for {full}')
        if not having:
            known = [column for columns in self.traces.values() for column in columns]
            raise unknown("trace or quantity", quantity, {*known, *self.traces}, str(self.path))
        return [(name, [quantity]) for name in having]

    def _is_of_flows(self, trace: str) -> bool:
        """Returns true for a trace of flows. A flow has rows in one such trace of its transport."""
        import polars as pl

        file = self._trace_files[trace]
        with reading(file):
            return pl.scan_parquet(file, glob=False).collect_schema().names()[1] == "flow"

    def _json(self, name: str) -> dict[str, Any]:
        try:
            return cast("dict[str, Any]", json.loads((self.path / name).read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"{trouble(error)}: it cannot be read") from error
        except ValueError as error:
            raise InputError(f"{self.path / name} cannot be read: {error}") from error

    @property
    def _version(self) -> object:
        return self.provenance.get("bentpipe")

    def _parquet(self, file: Path, table: str) -> pl.DataFrame:
        import polars as pl

        with reading(file, "" if self.complete else " (the run is incomplete)"):
            found = pl.read_parquet(file, glob=False).rename(old_names.COLUMNS.get(table, {}), strict=False)
        columns.check(file, columns.NEEDED.get(table, ()), found.columns, self._version)
        return found


def open_run(path: str | Path) -> Run:
    """Returns the run in a folder, from any instrument. Raises :class:`bentpipe.InputError`.

    >>> open_run("no/such/folder")
    Traceback (most recent call last):
    ...
    bentpipe.errors.InputError: no/such/folder is not the folder of a run: there is no such folder
    """
    return Run(path)


def by_folder(runs: Sequence[Run]) -> dict[str, Run]:
    """Returns runs by the names of their folders, or by their paths if names are ambiguous. A
    single run has an empty name."""
    if len(runs) == 1:
        return {"": runs[0]}
    names = [run.path.resolve().name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run.path) for run in runs]
    return dict(zip(names, runs, strict=True))


def _is_group(flow: Mapping[str, Any]) -> bool:
    """Returns true if a table represents several flows: with a count, a pattern, or a list of
    receivers."""
    return "count" in flow or isinstance(flow["to"], list) or bool({"*", "?"} & {*flow["from"], *flow["to"]})


def _closed(file: Path) -> bool:
    """Returns true if a Parquet file has its footer, which may be missing in the last file of a
    killed run."""
    with file.open("rb") as stream:
        stream.seek(0, 2)
        if stream.tell() < 8:
            return False
        stream.seek(-4, 2)
        return stream.read() == b"PAR1"
