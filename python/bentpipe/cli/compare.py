"""``bentpipe compare``: the differences between runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bentpipe.errors import InputError, unknown
from bentpipe.quantities import number
from bentpipe.scenario.variation import source_name

from .common import Json, figures_folder

#: The figures, with the quantities of which one must be in a trace of a run.
_DRAWN: Final[Mapping[str, tuple[str, ...]]] = {
    "flows": (),
    "throughput": ("delivery", "datagram"),
    "rtt": ("rtt", "round_trip"),
    "window": ("cwnd",),
    "dama": ("dama",),
    "efficiency": ("dama",),
    "rates": ("wifi",),
}

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bentpipe.results.comparison import Comparison, NumberDifference
    from bentpipe.results.packets import PacketComparison
    from bentpipe.results.runs import Run


def compare(
    a: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)],
    b: Annotated[
        Path, typer.Argument(metavar="OTHER", help="The folder of another run.", show_default=False)
    ],
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="MORE", help="Further runs. Each is compared with the first run.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder for the figures.",
            show_default="figures/with-RUN in the folder of OTHER",
        ),
    ] = None,
    flow: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The flow to show. Draws throughput, RTT and window of all runs and "
            "the prediction in one figure.",
        ),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"The figure: {', '.join(_DRAWN)}, or none. Repeatable.",
            show_default="all that the runs have data for",
        ),
    ] = None,
    packets: Annotated[
        bool | None,
        typer.Option(
            "--packets/--no-packets",
            help="Compare the captures of the runs packet by packet.",
            show_default="if the runs have captures at the same node",
        ),
    ] = None,
    tolerance: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Largest difference between the times of a packet that counts as equal."
        ),
    ] = "1 ms",
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A field of packets to ignore, such as window, psh, sack or ecn. Repeatable.",
            show_default="window",
        ),
    ] = None,
    context: Annotated[
        int,
        typer.Option(
            min=0, metavar="NUMBER", help="Number of packets to show before and after the first difference."
        ),
    ] = 3,
    json: Json = False,
) -> None:
    """Show the differences between runs.

    The runs may be of different instruments. If both runs captured packets at a node
    (record.capture), packets are compared as well: the command prints the number of packets of each
    connection that agree, and the packets around the first difference. 1461+1460 is a segment of
    1460 bytes from sequence number 1461, and > is the direction of the first packet.
    """
    from bentpipe.results import comparison

    from .amounts import seconds_or_none
    from .output import print_json
    from .packets import print_packets

    chosen = _chosen(figure or [], flow)
    how = {
        "tolerance_s": seconds_or_none(tolerance, "--tolerance"),
        "ignore": ["window"] if ignore is None else [name.lower() for name in ignore],
        "context": context,
    }
    pairs = [comparison.compare(a, other) for other in (b, *(more or []))]
    captured = [None if packets is False else _packets(pair, how, wanted=bool(packets)) for pair in pairs]
    names = _names([pairs[0].a, *(pair.b for pair in pairs)])
    runs = dict(zip(names, [pairs[0].a, *(pair.b for pair in pairs)], strict=True))
    folder = figures_folder(out) or pairs[0].b.path / "figures" / f"with-{pairs[0].a.path.resolve().name}"
    figures = _figures(runs, folder, flow, chosen) if chosen else []
    if json:
        first, *further = (
            pair.as_dict() | {"packets": both and both.as_dict()}
            for pair, both in zip(pairs, captured, strict=True)
        )
        print_json(first | ({"further": further} if further else {}) | {"figures": figures})
        return
    for pair, both, name in zip(pairs, captured, names[1:], strict=True):
        _print(pair, (names[0], name))
        if both is not None:
            print_packets(both, (names[0], name), flow)
    for file in figures:
        typer.echo(f"figure   {file}")


def _chosen(names: Sequence[str], flow: str | None) -> list[str]:
    """Returns the figures to draw, without repetitions. Raises :class:`bentpipe.InputError` for an
    unknown figure, and for names that contradict each other or ``--flow``."""
    chosen = list(dict.fromkeys(names or _DRAWN))
    if wrong := [name for name in chosen if name not in (*_DRAWN, "none")]:
        raise unknown("figure", wrong[0], [*_DRAWN, "none"])
    if chosen == ["none"]:
        return []
    if "none" in chosen:
        raise InputError("--figure none: allowed only without other figures")
    if names and flow is not None:
        raise InputError(
            f"--figure {chosen[0]}: allowed only without --flow, which draws one figure; allowed with --flow: none"
        )
    return chosen


def _packets(pair: Comparison, how: Mapping[str, Any], *, wanted: bool) -> PacketComparison | None:
    """Returns the comparison of the packets. If the captures cannot be compared, returns None, or
    raises the error if ``wanted`` is true."""
    from bentpipe.results.packets import FILE, UncapturedError, compare_packets

    try:
        return compare_packets(pair.a, pair.b, **how)
    except UncapturedError as error:
        if wanted:
            raise
        if any((run.path / FILE).is_file() for run in (pair.a, pair.b)):
            typer.echo(f"warning: packets are not compared: {error}", err=True)
        return None


def _print(both: Comparison, names: tuple[str, str]) -> None:
    from .output import print_table

    if both.scenario:
        rows = [[one.key, _short(one.a), _short(one.b)] for one in both.scenario]
        print_table(["scenario", *names], rows, text_columns=3)
    if both.missing:
        typer.echo(f"in one run only: {', '.join(both.missing)}")
    if both.equal:
        typer.echo("all numbers of all flows are equal")
        return
    several = len({one.flow for one in both.flows}) > 1
    rows = [[*([one.flow] if several else []), *_cells(one)] for one in both.flows]
    words = [*(["flow"] if several else []), "quantity"]
    print_table([*words, *names, "difference"], rows, text_columns=len(words))


def _cells(one: NumberDifference) -> list[str]:
    """Returns a quantity with its unit, its values in both runs and their relative difference."""
    unit, size = one.unit
    relative = one.relative
    difference = "-" if relative is None else "0" if relative == 0 else f"{100 * relative:+.1f} %"
    about = one.quantity.replace("_", " ") + ("" if unit == "1" else f", {unit}")
    values = (None if value is None else value / size for value in (one.a, one.b))
    return [about, *map(number, values), difference]


def _short(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return str(value.get("kind", "..."))
    return source_name(str(value))


def _names(runs: Sequence[Run]) -> list[str]:
    """Returns names of the runs: their clocks if these differ, else the names of their folders,
    else their paths."""
    choices = (
        [run.clock for run in runs],
        [run.path.resolve().name for run in runs],
        [str(run.path) for run in runs],
    )
    return next((names for names in choices if len(set(names)) == len(names)), choices[-1])


def _figures(runs: Mapping[str, Run], out: Path, flow: str | None, chosen: Sequence[str]) -> list[Path]:
    """Draws the chosen figures for which a run has data, or the figure of one flow."""
    from bentpipe import plots
    from bentpipe.results.flows import flow_results

    if flow is not None:
        return [plots.save(plots.flow(runs, flow), out / f"flow-{flow}.png")]
    figures = {}
    for name in chosen:
        if name == "flows":
            figures[name] = plots.comparison({run: flow_results(one) for run, one in runs.items()})
        elif any(run.has_trace(quantity) for run in runs.values() for quantity in _DRAWN[name]):
            figures[name] = getattr(plots, name)(runs)
    return [plots.save(figure, out / f"{name}.png") for name, figure in figures.items()]
