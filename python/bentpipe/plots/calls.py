"""Calls over time: quality, lost and late packets, and jitter, for each window of 10 s."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from .data import FloatArray, quantiles
from .lines import MAX_LINES
from .style import legend, line

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from bentpipe.results.runs import Run


class _Panel(NamedTuple):
    """A quantity of calls: the titles of its panel and axis, and its value from the columns of
    ``call_window``."""

    title: str
    label: str
    value: Callable[[Any], Any]
    limits: tuple[float, float | None]


_PANELS: Final = (
    _Panel("Call quality", "MOS", lambda pl: pl.col("mos"), (1.0, 4.5)),
    _Panel(
        "Lost and late packets of calls",
        "lost or late (%)",
        lambda pl: 100 * (pl.col("lost") + pl.col("late")).clip(0) / pl.col("expected"),
        (0.0, None),
    ),
    _Panel("Jitter of calls", "jitter (ms)", lambda pl: 1e3 * pl.col("jitter"), (0.0, None)),
)


def call_panels(run: Run) -> list[Callable[[Axes, Any], None]]:
    """Returns the functions that draw the calls of a run into axes; empty without calls."""
    if "call_window" not in run.tables or not run.table("call_window").height:
        return []
    return [partial(_draw, panel) for panel in _PANELS]


def _draw(panel: _Panel, axes: Axes, run: Run) -> None:
    import polars as pl

    axes.set_title(panel.title)
    axes.set_ylabel(panel.label)
    windows = run.table("call_window").select(
        pl.col("window").cast(pl.String).str.replace(r"\.\d+$", "").alias("call"),
        "begin",
        panel.value(pl).cast(pl.Float64).alias("value"),
    )
    parts = {str(name): part.sort("begin") for (name,), part in windows.group_by("call", maintain_order=True)}
    length = _length([part["begin"].to_numpy() for part in parts.values()])
    if len(parts) <= MAX_LINES:
        for index, (name, part) in enumerate(parts.items()):
            axes.plot(*_steps(part, length), label=name, drawstyle="steps-post", **line(index))
    else:
        cells = 2 + int(float(windows["begin"].to_numpy().max()) / length)
        rows = np.full((len(parts), cells), np.nan)
        for row, part in zip(rows, parts.values(), strict=True):
            row[(part["begin"].to_numpy() / length).astype(int)] = part["value"].to_numpy()
        middle, ranges = quantiles(rows)
        grid = np.arange(cells) * length
        axes.plot(grid, middle, label=f"median of {len(parts)}", drawstyle="steps-post", **line(0))
        for (low, high), alpha, about in zip(ranges, (0.3, 0.12), ("10 % to 90 %", "all"), strict=True):
            axes.fill_between(
                grid, low, high, step="post", color=line(0)["color"], alpha=alpha, linewidth=0, label=about
            )
    bottom, top = panel.limits
    axes.set_ylim(bottom=bottom, top=top)
    legend(axes)


def _length(begins: Sequence[FloatArray]) -> float:
    """Returns the length of a window in seconds: the smallest distance between two windows of a
    call."""
    return min((float(np.diff(one).min()) for one in begins if len(one) > 1), default=10.0)


def _steps(part: pl.DataFrame, length: float) -> tuple[FloatArray, FloatArray]:
    """Returns the windows of a call as steps, with NaN for windows without packets."""
    begin, value = part["begin"].to_numpy(), part["value"].to_numpy()
    last = np.append(np.diff(begin) > 1.5 * length, True)
    after = np.flatnonzero(last) + 1
    times = np.insert(begin, np.repeat(after, 2), np.repeat(begin[last] + length, 2))
    ends = np.column_stack((value[last], np.full(int(last.sum()), np.nan))).ravel()
    return times, np.insert(value, np.repeat(after, 2), ends)
