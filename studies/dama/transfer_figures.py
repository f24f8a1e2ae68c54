"""Figure 21: transfer times of files, simulated and by equation 9. Figure 22: transfer times of
pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bentpipe.plots.style import COLOURS, INK, PREDICTED, figure_function, panels
from bentpipe.statistics import Mean

from .curves import CONGESTIONS, SCHEMES
from .transfers import PAGES, Bar, File, Transfer

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure_function
def files(transfers: Mapping[File, Transfer]) -> Figure:
    """Draws transfer time against file size. Markers: simulation. Dashed lines: equation 9 with the
    simulated mean RTT. Dotted lines: equations 9 to 11."""
    from matplotlib.lines import Line2D

    figure, (axes,) = panels([3.2])
    for scheme, colour in zip(SCHEMES, COLOURS, strict=False):
        of = {file.size_mb: one for file, one in transfers.items() if file.scheme == scheme}
        sizes = list(of)
        axes.plot(sizes, [one.simulated_s for one in of.values()], "o", color=colour, markersize=4)
        axes.plot(sizes, [one.equation_s for one in of.values()], color=colour, linestyle=PREDICTED)
        axes.plot(sizes, [one.predicted_s for one in of.values()], color=colour, linestyle=":", linewidth=0.9)
    axes.set_title("Transfer time of a file on the return link, Reno")
    axes.set_xlabel("file (MB)")
    axes.set_ylabel("time (s)")
    axes.set_xlim(0, 12.5)
    axes.set_ylim(0, None)
    handles = [
        Line2D([], [], color=colour, label=scheme.upper())
        for scheme, colour in zip(SCHEMES, COLOURS, strict=False)
    ]
    handles += [
        Line2D([], [], color=INK, linestyle="", marker="o", markersize=4, label="simulated"),
        Line2D([], [], color=INK, linestyle=PREDICTED, label="equation 9, RTT as simulated"),
        Line2D([], [], color=INK, linestyle=":", label="equations 9 to 11"),
    ]
    axes.legend(handles=handles, loc="upper left", ncols=2)
    return figure


#: Names of the page classes in the ids of statements, in the order of ``PAGES``.
_SIZES: Final = ("small", "middle", "large")
#: Legend of the paper's limits, by marker.
_LIMIT_LABELS: Final = {"^": "the paper: more than", "v": "the paper: less than"}


@figure_function
def pages(times: Mapping[Bar, Mean], paper: Mapping[str, float]) -> Figure:
    """Draws mean transfer times of pages with confidence intervals, and the limits that the paper
    states. ``paper`` has the paper's values by the ids of published.csv."""
    figure, (axes,) = panels([3.2])
    width = 0.8 / len(PAGES)
    labels = []
    marked: set[str] = set()
    for position, (congestion, scheme) in enumerate((c, s) for c in CONGESTIONS for s in SCHEMES):
        labels.append(f"{congestion.capitalize()}\n{scheme.upper()}")
        for index, page in enumerate(PAGES):
            one = times[congestion, scheme, page]  # type: ignore[index]
            axes.bar(
                position + (index - 1) * width,
                one.value,
                width * 0.92,
                yerr=one.half_width,
                color=COLOURS[index],
                error_kw={"elinewidth": 0.8, "ecolor": INK, "capsize": 2},
                label=f"page of {page}" if position == 0 else None,
            )
            limit = paper.get(f"page-{_SIZES[index]}-{congestion}-{scheme}")
            if limit is not None:
                mark = "v" if (congestion, scheme, index) == ("reno", "cra", 2) else "^"
                axes.plot(
                    position + (index - 1) * width,
                    limit,
                    mark,
                    markersize=8,
                    markerfacecolor="white",
                    markeredgecolor=INK,
                    zorder=4,
                    label=_LIMIT_LABELS[mark] if mark not in marked else None,
                )
                marked.add(mark)
    axes.set_xticks(range(len(labels)), labels)
    axes.grid(visible=False, axis="x")
    axes.set_title("Transfer time of a page on the forward link")
    axes.set_ylabel("time (s)")
    figure.legend(loc="outside lower center", ncols=3)
    return figure
