"""Metrics of a run: a column of the flows or of another report, per flow, terminal or link, and the
share of the flows of each group with a value above or below a threshold."""

from __future__ import annotations

import fnmatch
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bentpipe.errors import InputError, unknown
from bentpipe.quantities import base_value
from bentpipe.results.groups import OTHERS

if TYPE_CHECKING:
    import polars as pl


#: Columns in every table of a store that identify the run.
RUN_COLUMNS = ("run", "replication")


#: A share, such as ``share(goodput < 2 Mbit/s)``.
_SHARE: Final = re.compile(r"share\s*\(\s*([\w.]+)\s*(<=|>=|<|>)\s*(.+?)\s*\)")

_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Metric:
    """A metric by its name: ``goodput`` of the flows, ``link.packets`` of the report ``link``, or
    ``share(goodput < 2 Mbit/s)``, the share of a group's flows below or above a threshold. Raises
    :class:`bentpipe.InputError` for a share that cannot be read.

    >>> Metric("share(link.busy>50 %)").threshold, Metric("link.packets").table
    (0.5, 'link')
    """

    name: str

    def __post_init__(self) -> None:
        if self.is_share:
            _ = self.threshold

    @property
    def is_share(self) -> bool:
        """True if the metric is a share."""
        return "(" in self.name

    @property
    def _quantity(self) -> str:
        return self._parts[0] if self.is_share else self.name

    @property
    def _parts(self) -> tuple[str, str, str]:
        found = _SHARE.fullmatch(self.name.strip())
        if found is None:
            raise InputError(
                f'"{self.name}" is not a metric; allowed: COLUMN, TABLE.COLUMN, or a share such as '
                '"share(goodput < 2 Mbit/s)"'
            )
        return found[1], found[2], found[3]

    @property
    def threshold(self) -> float:
        """The threshold of a share in the unit of its column."""
        text = self._parts[2]
        try:
            if text.endswith("%"):
                return float(text.removesuffix("%")) / 100
            return float(text) if re.fullmatch(r"[-+0-9.eE]+", text) else base_value(text)
        except ValueError as error:
            raise InputError(f"{self.name}: {error}") from None

    @property
    def table(self) -> str:
        """The table that contains the metric."""
        return self._quantity.rpartition(".")[0] or "flows"

    @property
    def column(self) -> str:
        """The column of the metric in its table."""
        return self._quantity.rpartition(".")[2]

    def holds(self, value: float | None) -> bool:
        """Returns true for a value that satisfies the share's condition. A missing value does
        not."""
        return (
            value is not None
            and not math.isnan(value)
            and _COMPARISONS[self._parts[1]](value, self.threshold)
        )


def groups_of(frame: pl.DataFrame, metric: Metric, of: str | None) -> dict[str, set[str]]:
    """Returns the groups for which a share is computed (:meth:`Metric.is_share`): the entities that
    ``of`` selects, or by default the groups of flows and the remaining flows. Groups without any
    value are omitted."""
    import polars as pl

    who = entity_column(frame)
    names = frame.with_columns(pl.col(who).cast(pl.String))
    if of is not None:
        found = {of: set(members(frame, metric, of))}
    elif "group" in names.columns and names["group"].null_count() < names.height:
        found = {}
        for entity, group in names.select(who, "group").unique(maintain_order=True).iter_rows():
            found.setdefault(OTHERS if group is None else group, set()).add(entity)
    else:
        found = {f"all {who}s": set(names[who])}
    known = set(names.filter(pl.col(metric.column).cast(pl.Float64).is_not_nan())[who])
    return {name: entities for name, entities in found.items() if entities & known}


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
    """Returns the numeric columns of a table, which can be metrics."""
    return [name for name, kind in schema.items() if kind.is_numeric() and name not in RUN_COLUMNS]


def check_metric(frame: pl.DataFrame, metric: Metric, of: str | None) -> None:
    """Raises :class:`bentpipe.InputError` if the table lacks the metric or an entity of that
    name."""
    if metric.column not in (numbers := number_columns(frame.schema)):
        raise unknown("metric", metric.column, numbers, f"the table {metric.table}")
    if of is not None and frame.height:
        members(frame, metric, of)


def members(frame: pl.DataFrame, metric: Metric, of: str) -> Collection[str]:
    """Returns the entities that a name selects: the entity or the group of flows with this name, or
    all entities that match a pattern such as ``st*``. Raises :class:`bentpipe.InputError` if there
    are none."""
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
    """Returns the metric of each entity in the table of one run. Entities without a value are
    omitted. With ``of``, returns one value: the mean over the entities that ``of`` selects
    (:func:`members`).

    Raises :class:`bentpipe.InputError` as :func:`check_metric` does, and if the table has several
    rows for one entity.
    """
    import polars as pl

    check_metric(frame, metric, of)
    who = entity_column(frame)
    if metric.is_share:
        rows = (
            dict(frame.select(pl.col(who).cast(pl.String), metric.column).iter_rows()) if frame.height else {}
        )
        return {
            name: sum(metric.holds(rows[entity]) for entity in entities) / len(entities)
            for name, entities in (groups_of(frame, metric, of) if rows else {}).items()
        }
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
