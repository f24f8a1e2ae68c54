"""``bentpipe plot``: draws figures of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.errors import InputError, unknown

from .amounts import moment
from .common import FIGURES, FileFormat, Json, figures_folder
from .looks import Title, Width, XLabel, XScale, YLabel, YScale, chosen_look

FORMATS = tuple(ending.removeprefix(".") for ending in FIGURES)

_FIGURES = (
    "overview",
    "throughput",
    "rtt",
    "window",
    "sent",
    "queue",
    "dama",
    "efficiency",
    "rates",
    "cdf",
    "delays",
)

#: Figures of a single run.
_ALONE = ("overview", "delays")


def plot(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Folders of runs, drawn into the same axes; or `constellation` and a scenario, run or preset.",
            show_default=False,
        ),
    ],
    figure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"The figure: {', '.join(_FIGURES)}. The figure delays needs a run of `bentpipe measure`. "
            "Repeatable.",
            show_default="overview, or throughput and rtt",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder for the figures.",
            show_default="figures in the first run's folder",
        ),
    ] = None,
    suffix: FileFormat = "png",
    by: Annotated[
        str, typer.Option(metavar="KEY", help="Group the lines of the figure cdf by group or by class.")
    ] = "group",
    at: Annotated[
        str,
        typer.Option(metavar="TIME", help="A time of the run for the constellation's map, such as 12.3s."),
    ] = "0s",
    title: Title = None,
    x_label: XLabel = None,
    y_label: YLabel = None,
    x_scale: XScale = None,
    y_scale: YScale = None,
    width: Width = 7.2,
    json: Json = False,
) -> None:
    """Draw figures of runs, or a map and a globe of satellites."""
    from bentpipe import plots
    from bentpipe.results.runs import Run

    if suffix not in FORMATS:
        raise unknown("format", suffix, FORMATS)
    if by not in (known := ("group", "class")):
        raise unknown("value of --by", by, known)
    time = moment(at)
    if runs[0] == Path("constellation") and not runs[0].exists():
        return tell(_constellation(runs[1:], out, suffix, time), json)
    opened = [Run(folder) for folder in runs]
    chosen = figure or (["overview"] if len(opened) == 1 else ["throughput", "rtt"])
    wrong = [str(unknown("figure", name, _FIGURES)) for name in chosen if name not in _FIGURES]
    if wrong:
        raise InputError("\n".join(wrong))
    alone = [name for name in chosen if name in _ALONE]
    if alone and len(opened) > 1:
        raise InputError(
            f"the figure {alone[0]} shows only one run: choose another figure with --figure, such as rtt"
        )
    folder = figures_folder(out) or runs[0] / "figures"
    written: list[Path] = []
    refused = []
    for name in chosen:
        what = opened[0] if len(opened) == 1 else opened
        options = {"by": by} if name == "cdf" else {}
        try:
            with chosen_look(title, x_label, y_label, x_scale, y_scale, width):
                drawn = getattr(plots, name)(what, **options)
        except InputError as error:
            # Continue with the other figures.
            refused.append(f"figure {name}: {error}")
            continue
        written.append(plots.save(drawn, folder / f"{name}.{suffix}"))
    tell(written, json)
    if refused:
        raise InputError("\n".join(refused))
    return None


def tell(written: list[Path], json: bool) -> None:
    """Prints the names of the written files."""
    from .output import print_json

    if json:
        return print_json({"figures": written})
    for file in written:
        typer.echo(f"figure   {file}")
    return None


#: Number of frames of the globe's animation.
_FRAMES = 120


def _constellation(what: list[Path], out: Path | None, suffix: str, at: float) -> list[Path]:
    """Draws a map at one time, and a globe that shows the whole run."""
    from bentpipe import _native, plots
    from bentpipe.quantities import base_value
    from bentpipe.scenario.constellations import constellation
    from bentpipe.scenario.scenarios import ScenarioText, load
    from bentpipe.scenario.starters import scenario_from

    if len(what) != 1:
        raise InputError("give one scenario, run or preset: bentpipe plot constellation iridium-next")
    is_run = what[0].is_dir()
    preset = next((one for one in _native.presets() if one[0] == str(what[0])), None)
    if preset is not None and not what[0].exists():
        scenario = load(ScenarioText(scenario_from(*preset), preset[0]))
    else:
        scenario = load(what[0] / "scenario.toml" if is_run else what[0])
    end = base_value(str(scenario.data["duration"]))
    if at > end:
        raise InputError(f"--at {at:g} is after the end of the run; allowed: 0 to {end:g}")
    folder = figures_folder(out) or (what[0] / "figures" if is_run else Path())
    map_of = constellation(scenario, [at])
    view = constellation(scenario, [end * index / _FRAMES for index in range(_FRAMES + 1)])
    page = folder / "constellation.html"
    written = plots.save(plots.constellation_map(map_of), folder / f"constellation.{suffix}")
    page.write_text(plots.constellation_globe(view, scenario.name), encoding="utf-8")
    return [written, page]
