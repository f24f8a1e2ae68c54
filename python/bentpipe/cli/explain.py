"""``bentpipe explain``: shows why packets waited at a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import FIGURES, Json, RunFolder


def explain(
    run: RunFolder,
    terminal: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The terminal; not needed if the run has only one.", show_default=False
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="A time of the run, such as 12.3s. If unset, summarises all packets.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The figure to write (.png, .svg or .pdf).",
            show_default="the run's folder figures",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show why packets waited at a terminal, as text and as a figure.

    With --at, lists the packets that waited at that time, with the times of their arrival, request,
    grant and departure, and the parts of their wait. Without --at, shows the mean and the 95th
    percentile of each part of the wait over all packets of the terminal. The parts add up to the
    whole wait.
    """
    from bentpipe import plots
    from bentpipe.results.runs import Run
    from bentpipe.results.waits import ABOUT, PARTS, scheme, summary, waits
    from bentpipe.results.waits import explain as explain_at

    from .amounts import moment
    from .output import of_format, print_json, print_table

    if out is not None:
        of_format(out, FIGURES)
    opened = Run(run)
    frame = waits(opened, terminal)
    name = str(frame["terminal"][0])
    category = scheme(opened, name)
    shown = f"{name} ({category})" if category else name
    if at is None:
        figure = plots.waits(opened, name)
    else:
        time = moment(at)
        packets = explain_at(opened, name, time)
        figure = plots.timelines(packets, time)
    file = plots.save(figure, out or opened.path / "figures" / f"explain-{name}.png")
    if at is None:
        parts = summary(frame)
        if json:
            rows = {
                part: {"mean_s": mean, "p95_s": p95, "share": share}
                for part, (mean, p95, share) in parts.items()
            }
            print_json(
                {"terminal": name, "scheme": category, "packets": frame.height, "parts": rows, "figure": file}
            )
            return
        print_table(
            ["waited for", "meaning", "mean\nms", "p95\nms", "share\n%"],
            [
                [PARTS[part], ABOUT[part], f"{1e3 * mean:.1f}", f"{1e3 * p95:.1f}", f"{100 * share:.1f}"]
                for part, (mean, p95, share) in parts.items()
            ],
            text_columns=2,
            title=f"{shown}: {frame.height} packets",
        )
    elif json:
        print_json({"packets": [packet.as_dict() for packet in packets], "figure": file})
        return
    else:
        for packet in packets[:_SHOWN]:
            whose = f"packet {packet.packet} of {packet.flow}" if packet.flow else f"packet {packet.packet}"
            typer.echo(f"{shown}: {whose}, {packet.size} bytes, waited {packet.total_ns / 1e6:.3f} ms")
            for when, what in packet.timeline():
                typer.echo(f"  {when / 1e9:14.6f} s  {what}")
            for part, waited in packet.parts_ns.items():
                if waited:
                    typer.echo(f"  {waited / 1e6:14.3f} ms {PARTS[part]}: {ABOUT[part]}")
            typer.echo()
        if len(packets) > _SHOWN:
            typer.echo(f"and {len(packets) - _SHOWN} more packets; --json lists all of them")
    typer.echo(f"figure   {file}")


#: Maximum number of packets shown individually. The figure and the JSON have more.
_SHOWN = 3
