"""The common style of all figures, with colours that colour-blind readers and black-and-white
prints distinguish.

Figures are created without pyplot and need not be closed.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec
from weakref import WeakKeyDictionary, WeakSet

from bentpipe.errors import InputError, unknown
from bentpipe.quantities import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    from bentpipe.results.runs import Run

P = ParamSpec("P")

#: Okabe and Ito, "Color universal design" (2008), ordered such that adjacent colours also differ in
#: lightness. Yellow and black are omitted, as they are invisible on a white or a dark page.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

#: Dash patterns for lines beyond the number of colours, and for prints without colours.
DASHES: Final = ("-", (0, (6, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))

#: Elements with this colour adopt the text colour of the page that embeds the figure.
INK: Final = "#2b2b2c"

PREDICTED: Final[Any] = (0, (4, 2))

_PARAMETERS: Final[Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titlecolor": INK,
    "figure.dpi": 110,
    "figure.titlesize": 11,
    "font.size": 9,
    "grid.alpha": 0.18,
    "grid.color": INK,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    # Long enough for the longest dash pattern.
    "legend.handlelength": 3.4,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.2,
    # Type 42 fonts can be edited, and IEEE PDF eXpress accepts them, unlike Type 3 fonts.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 150,
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8,
}


#: Fonts with Chinese, Japanese and Korean characters, as distributions install them.
_FURTHER_FONTS: Final = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei"),
    *("Droid Sans Fallback", "IPAGothic"),
)


@contextmanager
def styled() -> Iterator[None]:
    """Context manager in which matplotlib creates and writes figures in this style."""
    import matplotlib
    from cycler import cycler

    more = {"font.family": _fonts(), "axes.prop_cycle": cycler(color=COLOURS)}
    with warnings.catch_warnings(), matplotlib.rc_context(_PARAMETERS | more):
        # SVG contains the text itself, which pages show in their own fonts. In other formats, a
        # missing character appears as a box.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")
        yield


@functools.cache
def _fonts() -> list[str]:
    """Returns the font of all text, and fonts of this machine with the characters that it lacks.
    Names in scenarios may be in any script."""
    from matplotlib.font_manager import get_font_names

    return ["DejaVu Sans", *(name for name in _FURTHER_FONTS if name in get_font_names())]


@dataclass(frozen=True)
class Look:
    """The choices of :func:`look`."""

    width: float = 7.2
    title: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    x_scale: Literal["linear", "log"] | None = None
    y_scale: Literal["linear", "log"] | None = None


_LOOK: Final[ContextVar[Look]] = ContextVar("look", default=Look())  # noqa: B039 - frozen


@contextmanager
def look(**choices: Any) -> Iterator[None]:
    """Context manager in which figures are drawn with these choices: ``width`` in inches (3.5 for
    one of two columns), ``title`` above the figure, ``x_label`` and ``y_label`` for all panels, and
    ``x_scale`` and ``y_scale``, "linear" or "log". Raises :class:`bentpipe.InputError` for an
    invalid width or scale.

    >>> import bentpipe as bp
    >>> run = bp.simulate("examples/geo-upload.toml", overrides=["duration=5 s"])
    >>> with bp.plots.look(width=3.5, x_label="seconds"):
    ...     figure = bp.plots.rtt(run)
    >>> float(figure.get_figwidth()), figure.axes[-1].get_xlabel()
    (3.5, 'seconds')
    """
    chosen = Look(**choices)
    if not 2 <= chosen.width <= 40:
        raise InputError(f"width = {chosen.width:g} is out of range; allowed: 2 to 40 inches")
    for scale in (chosen.x_scale, chosen.y_scale):
        if scale not in (None, "linear", "log"):
            raise unknown("scale", str(scale), ("linear", "log"))
    before = _LOOK.set(chosen)
    try:
        yield
    finally:
        _LOOK.reset(before)


def scale_x(default: bool) -> str:
    """Returns the scale of the x axis: the chosen scale, or else "log" if ``default`` is true."""
    return _LOOK.get().x_scale or ("log" if default else "linear")


def figure_function(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorates a function that returns a figure, so that the figure has this style, the choices of
    :func:`look`, and space for its legends."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with styled():
            figure = function(*args, **kwargs)
            rows = sum(_APART.get(own, 0) for axes in figure.axes if (own := axes.get_legend()) is not None)
            figure.set_figheight(figure.get_figheight() + rows * _ROW / 72)
            _apply(figure, _LOOK.get())
            return figure

    return run


def show_in_notebooks() -> None:
    """Lets notebooks display figures as PNG. Keeps another format that the notebook has chosen, for
    example with ``%matplotlib inline``."""
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython
    from IPython.core.pylabtools import select_figure_formats

    shell = get_ipython()
    if shell is not None and not _displays_figures(shell):
        select_figure_formats(shell, {"png"})


def _displays_figures(shell: Any) -> bool:
    """Returns true if a formatter of IPython knows figures of matplotlib."""
    for formatter in shell.display_formatter.formatters.values():
        with contextlib.suppress(KeyError):
            formatter.lookup_by_type("matplotlib.figure.Figure")
            return True
    return False


def _apply(figure: Figure, chosen: Look) -> None:
    """Applies the choices that do not depend on the kind of figure."""
    figure.set_figwidth(figure.get_figwidth() * chosen.width / Look.width)
    if chosen.title is not None:
        figure.suptitle(chosen.title, x=0.01, horizontalalignment="left", alpha=1.0)
    for axes in figure.axes:
        if chosen.x_label is not None and axes.get_xlabel():
            axes.set_xlabel(chosen.x_label)
        if chosen.y_label is not None and axes.get_ylabel():
            axes.set_ylabel(chosen.y_label)
        if chosen.x_scale is not None and axes.get_xscale() != chosen.x_scale:
            axes.set_xscale(chosen.x_scale)
        if chosen.y_scale is not None and axes.get_yscale() != chosen.y_scale:
            axes.set_yscale(chosen.y_scale)
        if chosen.y_scale == "log":
            # The smallest value at the edge, as 0 has no place on a logarithmic axis.
            axes.autoscale(axis="y")


def name_runs(figure: Figure, runs: Sequence[Run]) -> None:
    """Writes the scenario's name above a figure, with the folder and seed of a single run."""
    names = list(dict.fromkeys(run.name for run in runs))
    text = listed(names, 3)
    if len(runs) == 1:
        (run,) = runs
        text += f" (run {run.path.resolve().name}, seed {run.provenance.get('seed')})"
    name_figure(figure, text)


def name_figure(figure: Figure, text: str) -> None:
    """Writes a name above a figure."""
    figure.suptitle(text, x=0.01, horizontalalignment="left", fontsize=9, alpha=0.75)


def grid(count: int, height: float = 1.7, width: float = 7.2) -> tuple[Figure, list[Axes]]:
    """Returns a figure of ``count`` small panels in two columns, all with the same axes."""
    from matplotlib.figure import Figure

    columns = min(2, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(width, rows * height + 0.5), layout="constrained")
    axes = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]


def panels(heights: Sequence[float], width: float = 7.2) -> tuple[Figure, list[Axes]]:
    """Returns a figure of stacked panels of the given heights in inches that share the time
    axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, sum(heights) + 0.5), layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=list(heights))
    return figure, list(axes[:, 0])


def line(index: int) -> dict[str, Any]:
    """Returns colour and dashes of the line with this number."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index // len(COLOURS) % len(DASHES)]}


def legend(axes: Axes) -> None:
    """Adds a legend in rows above the axes, with the labels of the lines and dashes for
    predictions. A single line, which the title names, gets no legend."""
    handles = _handles(axes)
    if len(handles) < 2:
        return
    handles = {_shortened(label): handle for label, handle in handles.items()}
    widths = [_width(label) for label in handles]
    room = _WIDTH + _LOOK.get().width - Look.width
    fit = len(widths) if sum(widths) <= room else int(room / max(widths))
    columns = max(1, min(4, fit))
    rows = [list(handles)[start : start + columns] for start in range(0, len(handles), columns)]
    beside = _TITLE * len(axes.get_title(loc="left")) + sum(map(_width, rows[0]))
    apart = len(rows) > 1 or beside > room
    if apart:
        axes.set_title(axes.get_title(loc="left"), pad=6 + _ROW * len(rows))
    own = axes.legend(
        list(handles.values()),
        list(handles),
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=columns,
        borderaxespad=0.2,
    )
    if apart:
        _APART[own] = len(rows)


#: Height in points of a row of a legend.
_ROW: Final = 14

#: The number of rows of each legend below the title of its panel. Other legends are on the line of
#: the title.
_APART: Final[WeakKeyDictionary[Legend, int]] = WeakKeyDictionary()

#: Width in inches of a panel, of a character in a title, and of a label with its handle.
_WIDTH: Final = 6.2
_TITLE: Final = 0.085


def _width(label: str) -> float:
    return 0.72 + 0.066 * len(label)


def _shortened(label: str) -> str:
    """Returns a label that fits into one row, by omitting the middle of a longer label."""
    max_characters = max(12, int((_LOOK.get().width - 1.8) / 0.066))
    return (
        label
        if len(label) <= max_characters
        else f"{label[: max_characters // 2]} ... {label[-(max_characters // 2 - 5) :]}"
    )


def legend_of_all(figure: Figure, axes: Sequence[Axes]) -> None:
    """Adds one legend above all panels instead of one per panel."""
    handles: dict[str, Any] = {}
    for one in axes:
        handles |= _handles(one)
        if (own := one.get_legend()) is not None:
            own.remove()
            # Without its legend, the title moves back to its panel.
            one.set_title(one.get_title(loc="left"))
    spare = next((one for one in figure.axes if not one.get_visible()), None)
    if len(handles) > 1 and spare is not None:
        # An unused place in the grid holds the legend.
        spare.set_visible(True)
        spare.set_axis_off()
        spare.legend(list(handles.values()), list(map(_shortened, handles)), loc="center")
    elif len(handles) > 1:
        widest = max(map(_width, map(_shortened, handles)))
        columns = max(1, min(4, int((_LOOK.get().width - 0.3) / widest)))
        figure.legend(
            list(handles.values()), list(map(_shortened, handles)), loc="outside upper right", ncols=columns
        )


#: Lines without a label that are not predictions.
NOT_PREDICTED: Final[WeakSet[Line2D]] = WeakSet()


def _handles(axes: Axes) -> dict[str, Any]:
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    if any(str(one.get_label()).startswith("_") and one not in NOT_PREDICTED for one in axes.lines):
        named["predicted"] = Line2D([], [], color=INK, linestyle=PREDICTED)
    return named


def _limits(figure: Figure, name: str) -> str:
    """Returns the limits of each panel as JSON, for a page that enlarges parts of panels: the
    panel's id, and for both axes the smallest and greatest value, and true if the axis is
    logarithmic."""
    shown = [axes for axes in figure.axes if axes.get_visible()]
    return json.dumps(
        [
            {
                "id": f"{name}-axes_{index}",
                "x": [*map(float, axes.get_xlim()), axes.get_xscale() == "log"],
                "y": [*map(float, axes.get_ylim()), axes.get_yscale() == "log"],
            }
            for index, axes in enumerate(shown, start=1)
        ]
    )


def save(figure: Figure, path: str | Path) -> Path:
    """Writes a figure; the ending of the name chooses the format (png, svg, pdf). Returns the
    path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with styled():
        figure.savefig(path)
    return path


def to_svg(figure: Figure, name: str) -> str:
    """Returns a figure as SVG for an HTML page: with text in the page's font and colour, a
    transparent background, and identifiers that begin with ``name``, so that a page can contain
    several figures. Equal figures give equal texts."""
    import matplotlib

    buffer = io.StringIO()
    with styled(), matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = text.replace("<svg", f"<svg data-axes='{_limits(figure, name)}'", 1)
    text = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", text)
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
