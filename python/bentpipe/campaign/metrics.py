"""Metrics of a run: a column of the flows or of another report, per flow, terminal or link."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.errors import InputError, unknown

if TYPE_CHECKING:
    import polars as pl

#: Columns in every table of a store that identify the run.
RUN_COLUMNS = ("run", "replication")


@dataclass(frozen=True)
class Metric:
    """A metric by its name: ``goodput`` of the flows, or ``link.packets`` of the report ``link``."""

    name: str

    @property
    def table(self) -> str:
        """The table that contains the metric."""
        return self.name.rpartition(".")[0] or "flows"

    @property
    def column(self) -> str:
        """The column of the metric in its table."""
        return self.name.rpartition(".")[2]


def identified(frame: pl.DataFrame, run: str, replication: int) -> pl.DataFrame:
    """Returns a table of one run with the columns :data:`RUN_COLUMNS` before its own."""
    import polars as pl

    label = pl.lit(run).alias("run")
    number = pl.lit(replication, dtype=pl.Int64).alias("replication")
    return frame.with_columns(label, number).select(*RUN_COLUMNS, *frame.columns)


def entity_column(frame: pl.DataFrame) -> str:
    """Returns the column that names the entity of a row: the flow, terminal or link."""
    return next(name for name in frame.columns if name not in RUN_COLUMNS)


def number_columns(schema: Mapping[str, pl.DataType]) -> list[str]:
    """Returns the columns of a table that can be metrics."""
    return [name for name, kind in schema.items() if kind.is_numeric() and name not in RUN_COLUMNS]


def check_metric(frame: pl.DataFrame, metric: Metric, of: str | None) -> None:
    """Raise :class:`bentpipe.InputError` if the table lacks the metric or an entity of that name."""
    if metric.column not in (numbers := number_columns(frame.schema)):
        raise unknown("metric", metric.column, numbers, f"the table {metric.table}")
    if of is not None and frame.height:
        members(frame, metric, of)


def members(frame: pl.DataFrame, metric: Metric, of: str) -> Collection[str]:
    """Returns the entities that a name selects: the one of this name, the flows of the group of this name, or those
    that match a pattern such as ``st*``. Raises :class:`bentpipe.InputError` if there are none."""
    import polars as pl

    who = entity_column(frame)
    names = frame[who].cast(pl.String).unique(maintain_order=True)
    groups = (
        frame["group"].drop_nulls().unique(maintain_order=True) if "group" in frame.columns else names[:0]
    )
    if of in set(names):
        return {of}
    if of in set(groups):
        return set(frame.filter(group=of)[who])
    found = {name for name in names if "*" in of and fnmatch.fnmatchcase(name, of.replace("[", "[[]"))}
    if not found:
        single = frame.filter(pl.col("group").is_null())[who] if len(groups) else names
        raise unknown(who, of, dict.fromkeys([*groups, *single]), f"the table {metric.table}")
    return found


def values_by_entity(frame: pl.DataFrame, metric: Metric, of: str | None = None) -> Mapping[str, float]:
    """Returns the metric of each entity in the table of one run, or of one entity; entities without a value are left
    out. Of several entities that ``of`` selects (:func:`members`) the mean is returned.

    Raises :class:`bentpipe.InputError` as :func:`check_metric` does, and if the table has several rows for one entity.
    """
    check_metric(frame, metric, of)
    who = entity_column(frame)
    wanted = None if of is None or not frame.height else members(frame, metric, of)
    values: dict[str, float] = {}
    for entity, value in frame.select(who, metric.column).iter_rows():
        if value is None or math.isnan(value) or not (wanted is None or entity in wanted):
            continue
        if entity in values:
            raise InputError(f'the table {metric.table} has several rows for the {who} "{entity}"')
        values[entity] = float(value)
    if of is not None and values and of not in values:
        return {of: sum(values.values()) / len(values)}
    return values
