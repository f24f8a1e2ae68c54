"""What is measured of a run: a column of the flows or of another report, for each flow, terminal or link."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bentpipe.errors import InputError, unknown

if TYPE_CHECKING:
    import polars as pl

#: Columns of every table of a store that say whose it is.
RUN_COLUMNS = ("run", "replication")


@dataclass(frozen=True)
class Metric:
    """A metric by its name: ``goodput`` of the flows, or ``link.packets`` of the report ``link``."""

    name: str

    @property
    def table(self) -> str:
        """The table that has it."""
        return self.name.rpartition(".")[0] or "flows"

    @property
    def column(self) -> str:
        """Its column there."""
        return self.name.rpartition(".")[2]


def entity_column(frame: pl.DataFrame) -> str:
    """The column of a table that names whom a row is about: the flow, terminal, link."""
    return next(name for name in frame.columns if name not in RUN_COLUMNS)


def check_metric(frame: pl.DataFrame, metric: Metric, of: str | None) -> None:
    """Raise :class:`bentpipe.InputError` for a metric that the table does not have, or nobody of that name."""
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in RUN_COLUMNS]
    if metric.column not in numbers:
        raise unknown("metric", metric.column, numbers, f"the table {metric.table}")
    who = entity_column(frame)
    if of is not None and frame.height and of not in set(frame[who]):
        raise unknown(who, of, set(frame[who]), f"the table {metric.table}")


def values_by_entity(frame: pl.DataFrame, metric: Metric, of: str | None = None) -> Mapping[str, float]:
    """The metric of each entity in the table of one run, or only of that entity; without those that have none.

    Raises :class:`bentpipe.InputError` as :func:`check_metric`, and where the table has several rows for one entity.
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
