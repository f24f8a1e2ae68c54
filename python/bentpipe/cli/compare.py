"""``bentpipe compare``: what differs between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe.quantities import number, rate_text, span_text

from .common import Json

if TYPE_CHECKING:
    from bentpipe.comparison import Comparison, NumberDifference

_RATES = ("goodput", "predicted_goodput")
_TIMES = ("rtt_mean", "rtt_p95", "predicted_rtt", "completed")


def compare(
    a: Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="The folder of another.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where figures of both go; a folder.", show_default="figures/with-A in the folder of B"
        ),
    ] = None,
    draw: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw both over each other.")] = True,
    json: Json = False,
) -> None:
    """Show what differs between two runs."""
    from bentpipe import comparison

    from .output import print_json

    both = comparison.compare(a, b)
    folder = out or both.b.path / "figures" / f"with-{both.a.path.resolve().name}"
    figures = _figures(both, folder) if draw else []
    if json:
        print_json(both.as_dict() | {"figures": figures})
        return
    _print(both)
    for figure in figures:
        typer.echo(f"figure   {figure}")


def _print(both: Comparison) -> None:
    from .output import print_table

    names = _names(both)
    if both.scenario:
        rows = [[one.key, _short(one.a), _short(one.b)] for one in both.scenario]
        print_table(["scenario", *names], rows, text_columns=3)
    if both.missing:
        typer.echo(f"only in one of them: {', '.join(both.missing)}")
    if both.equal:
        typer.echo("the flows are equal in every number")
        return
    several = len({one.flow for one in both.flows}) > 1
    rows = [
        [*([one.flow] if several else []), one.quantity.replace("_", " "), *_values(one)]
        for one in both.flows
    ]
    words = [*(["flow"] if several else []), "quantity"]
    print_table([*words, *names, "difference"], rows, text_columns=len(words))


def _values(one: NumberDifference) -> list[str]:
    relative = one.relative
    difference = "-" if relative is None else "0" if relative == 0 else f"{100 * relative:+.1f} %"
    return [_text(one.quantity, one.a), _text(one.quantity, one.b), difference]


def _text(quantity: str, value: float | None) -> str:
    if quantity in _RATES:
        return rate_text(value)
    return span_text(value) if quantity in _TIMES else number(value)


def _short(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict):
        return str(value.get("kind", "..."))
    return str(value)


#: What runs are by each instrument.
_MADE = {"simulate": "simulated", "emulate": "emulated"}


def _names(both: Comparison) -> tuple[str, str]:
    """The runs by what made them where that differs, else by the name of their folder, else by its whole path."""
    made = _MADE.get(both.a.provenance["instrument"]), _MADE.get(both.b.provenance["instrument"])
    if None not in made and made[0] != made[1]:
        return str(made[0]), str(made[1])
    names = both.a.path.resolve().name, both.b.path.resolve().name
    return names if names[0] != names[1] else (str(both.a.path), str(both.b.path))


def _figures(both: Comparison, out: Path) -> list[Path]:
    from bentpipe import plots
    from bentpipe.results import flow_results

    runs = dict(zip(_names(both), (both.a, both.b), strict=True))
    figures = {"flows": plots.comparison({name: flow_results(run) for name, run in runs.items()})}
    for name, quantities, draw in (
        ("throughput", ("delivery", "datagram"), plots.throughput),
        ("rtt", ("rtt",), plots.rtt),
        ("window", ("cwnd",), plots.window),
        ("dama", ("dama",), plots.dama),
        ("efficiency", ("dama",), plots.efficiency),
    ):
        if any(run.has_trace(quantity) for run in runs.values() for quantity in quantities):
            figures[name] = draw(runs)
    return [plots.save(figure, out / f"{name}.png") for name, figure in figures.items()]
