"""The samples of a trace for a figure: all samples or, for a large trace, a few that represent each
cell of time.

A trace of a long run has more rows than memory holds, and thousands for each pixel. A trace with
more than :data:`MAX_ROWS` rows is condensed during reading. For each entity and cell, the smallest
value, the mean (which represents all samples of the cell) and the greatest value remain. Bins of
rates and means are a whole number of cells, so rates and means stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .data import FloatArray, bin_for, duration_s, trace_of

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

#: Number of rows beyond which a trace is condensed.
MAX_ROWS: Final = 2_000_000

#: Number of cells per bin for few entities. For many entities, only means over bins are drawn.
_CELLS_PER_BIN: Final = 20
_MAX_FINE_ENTITIES: Final = 12


@dataclass(frozen=True)
class Samples:
    """Samples of a quantity in order of time. ``weights`` are the numbers of samples of the trace
    that each sample represents; None: one each."""

    time_s: FloatArray
    values: FloatArray
    weights: FloatArray | None = None

    @property
    def count(self) -> int:
        """Number of samples of the trace."""
        return len(self.values) if self.weights is None else int(self.weights.sum())


def samples_of(
    run: Run, quantity: str, *, bin_s: float = 0.0, wanted: Callable[[str], bool] = lambda _: True
) -> Mapping[str, Samples]:
    """Returns the samples of a quantity by entity, for the ``wanted`` entities; empty if it was not
    recorded.

    ``bin_s`` is the length of the bins over which rates or means are drawn, in seconds; 0: the
    length that :func:`bin_for` chooses.
    """
    if not run.has_trace(quantity):
        return {}
    if rows(run, quantity) <= MAX_ROWS:
        traces = trace_of(run, quantity).items()
        return {entity: Samples(*trace) for entity, trace in traces if wanted(entity)}
    entities = [entity for entity in entities_of(run, quantity) if wanted(entity)]
    cell_s = (bin_s or bin_for(duration_s(run))) / (
        _CELLS_PER_BIN if len(entities) <= _MAX_FINE_ENTITIES else 1
    )
    condensed = _condensed(run, quantity, entities, cell_s)
    return {entity: _samples(condensed[entity]) for entity in entities if entity in condensed}


def rows(run: Run, quantity: str) -> int:
    """Returns the number of rows of a trace from the metadata of its file."""
    import polars as pl

    return int(run.scan(quantity).select(pl.len()).collect().item())


def entities_of(run: Run, quantity: str) -> list[str]:
    """Returns the entities of a trace in order of appearance; empty if it was not recorded."""
    import polars as pl

    if not run.has_trace(quantity):
        return []
    lazy = run.scan(quantity)
    who = lazy.collect_schema().names()[1]
    first = lazy.with_row_index("row").group_by(who).agg(pl.col("row").min()).collect(engine="streaming")
    return [str(entity) for entity in first.sort("row")[who]]


def greatest(run: Run, quantity: str) -> float:
    """Returns the greatest value of a quantity; 0 if there is none."""
    import polars as pl

    if not run.has_trace(quantity):
        return 0.0
    column = pl.col(quantity.rpartition(".")[2]).cast(pl.Float64)
    found = run.scan(quantity).select(column.fill_nan(None).max()).collect(engine="streaming").item()
    return 0.0 if found is None else float(found)


def _condensed(
    run: Run, quantity: str, entities: list[str], cell_s: float
) -> dict[str, Mapping[str, np.ndarray[Any, Any]]]:
    import polars as pl

    from .data import by_entity

    lazy = run.scan(quantity)
    _, who, column = lazy.collect_schema().names()
    value, time = pl.col("value"), pl.col("time")
    cell = (time / cell_s).floor().cast(pl.Int64)
    frame = (
        lazy.select("time", who, pl.col(column).cast(pl.Float64).alias("value"))
        .filter(value.is_not_null() & value.is_not_nan() & pl.col(who).is_in(entities))
        .group_by(cell.alias("cell"), who)
        .agg(
            time.min(),
            end=time.max(),
            least=value.min(),
            mean=value.mean(),
            greatest=value.max(),
            count=pl.len(),
        )
        .collect(engine="streaming")
    )
    return dict(by_entity(frame.sort("cell")))


def _samples(cells: Mapping[str, np.ndarray[Any, Any]]) -> Samples:
    begin, end = cells["time"], cells["end"]
    nothing = np.zeros(len(begin))
    triples = (
        (begin, (begin + end) / 2, end),
        (cells["least"], cells["mean"], cells["greatest"]),
        (nothing, cells["count"].astype(float), nothing),
    )
    return Samples(*(np.column_stack(triple).ravel() for triple in triples))
