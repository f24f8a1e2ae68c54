"""Figure 21: transfer times of files, simulated and by equation 9. Figure 22: transfer times of
pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bentpipe.plots.published import mark_level, mark_value, paper_handles
from bentpipe.plots.style import COLOURS, INK, PREDICTED, figure_function, panels
from bentpipe.statistics import Mean

from .curves import CONGESTIONS, SCHEMES
from .transfers import PAGES, SIZES_MB, Bar, File, Transfer

if TYPE_CHECKING:
    from bentpipe.studies import Statement
    from matplotlib.figure import Figure


@figure_function
def files(transfers: Mapping[File, Transfer], statements: Sequence[Statement]) -> Figure:
    """Draws transfer time against file size, and the error of equation 9. Markers: simulation.
    Dashed lines: equation 9 with the simulated mean RTT. Dotted lines: equations 9 to 11. Hollow
    circles and triangles: values of the paper; those relative to CRA are at 12 MB."""
    from matplotlib.lines import Line2D

    figure, (axes, below) = panels([3.2, 1.8])
    for scheme, colour in zip(SCHEMES, COLOURS, strict=False):
        of = {file.size_mb: one for file, one in transfers.items() if file.scheme == scheme}
        sizes = list(of)
        axes.plot(sizes, [one.simulated_s for one in of.values()], "o", color=colour, markersize=4)
        axes.plot(sizes, [one.equation_s for one in of.values()], color=colour, linestyle=PREDICTED)
        axes.plot(sizes, [one.predicted_s for one in of.values()], color=colour, linestyle=":", linewidth=0.9)
        errors = [abs(one.deviation_percent) for one in of.values()]
        below.plot(sizes, errors, "o-", color=colour, markersize=4, linewidth=0.8)
    paper = {statement.id: statement for statement in statements}
    reference_s = transfers[File("cra", SIZES_MB[-1])].simulated_s
    for scheme, colour in zip(SCHEMES, COLOURS, strict=False):
        if (error := paper.get(f"file-{scheme}")) is not None:
            mark_level(below, error, (SIZES_MB[0], SIZES_MB[-1]), colour=colour)
        if (longer := paper.get(f"file-longer-{scheme}")) is not None:
            mark_value(axes, longer, SIZES_MB[-1], colour=colour, scale=reference_s / 100, base=reference_s)
    axes.set_title("Transfer time of a file on the return link, Reno")
    below.set_title("Error of equation 9 with the simulated mean RTT")
    below.set_xlabel("file (MB)")
    below.set_ylabel("error (%)")
    below.set_ylim(0, None)
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
    axes.legend(handles=[*handles, *paper_handles(figure)], loc="upper left", ncols=2)
    return figure


#: Names of the page classes in the ids of statements, in the order of ``PAGES``.
_SIZES: Final = ("small", "middle", "large")


@figure_function
def pages(times: Mapping[Bar, Mean], statements: Sequence[Statement]) -> Figure:
    """Draws mean transfer times of pages with confidence intervals, and the limits that the paper
    states."""
    figure, (axes,) = panels([3.2])
    paper = {statement.id: statement for statement in statements}
    width = 0.8 / len(PAGES)
    labels = []
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
                mark_value(axes, limit, position + (index - 1) * width, face="white")
    axes.set_xticks(range(len(labels)), labels)
    axes.grid(visible=False, axis="x")
    axes.set_title("Transfer time of a page on the forward link")
    axes.set_ylabel("time (s)")
    figure.legend(loc="outside lower center", ncols=3)
    return figure
