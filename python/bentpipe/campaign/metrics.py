"""Metrics of a run: a column of the flows or of another report, per flow, terminal or link."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def entity_column(frame: pl.DataFrame) -> str:
    """Returns the column that names the entity of a row: the flow, terminal or link."""
    return next(name for name in frame.columns if name not in RUN_COLUMNS)


def check_metric(frame: pl.DataFrame, metric: Metric, of: str | None) -> None:
    """Raise :class:`bentpipe.InputError` if the table lacks the metric or an entity of that name."""
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in RUN_COLUMNS]
    if metric.column not in numbers:
        raise unknown("metric", metric.column, numbers, f"the table {metric.table}")
    who = entity_column(frame)
    if of is not None and frame.height and of not in set(frame[who]):
        raise unknown(who, of, set(frame[who]), f"the table {metric.table}")


def values_by_entity(frame: pl.DataFrame, metric: Metric, of: str | None = None) -> Mapping[str, float]:
    """Returns the metric of each entity in the table of one run, or of one entity; entities without a value are left
    out.

    Raises :class:`bentpipe.InputError` as :func:`check_metric` does, and if the table has several rows for one entity.
    """
    check_metric(frame, metric, of)
    who = entity_column(frame)
    values: dict[str, float] = {}
    for entity, value in frame.select(who, metric.column).iter_rows():
        if value is None or math.isnan(value) or of not in (None, entity):
            continue
        if entity in values:
            raise InputError(f'the table {metric.table} has several rows for the {who} "{entity}"')
        values[entity] = float(value)
    return values
