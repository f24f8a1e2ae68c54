"""``bentpipe campaign export``: exports a campaign's results for other programs and for papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe.errors import InputError

from .common import Against, By, Metrics, Of, StoreFolder

if TYPE_CHECKING:
    import polars as pl

#: Formats of data frames; LaTeX is for means alone.
_FRAMES = (".csv", ".parquet", ".xlsx")
_ENDINGS = (*_FRAMES, ".tex")


def export(
    store: StoreFolder,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file to write; its name ends in .csv, .parquet, .xlsx or .tex.",
            show_default=False,
        ),
    ],
    metric: Metrics = None,
    of: Of = None,
    by: By = None,
    against: Against = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Export every row of this table of every run, in base units, instead of means: flows, link, ...",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Export means as CSV, Parquet, a spreadsheet or a LaTeX table.

    Each mean is over the replications, with its confidence interval.
    """
    from bentpipe.campaign import Campaign
    from bentpipe.campaign.tabulate import as_frame, as_latex, tabulate
    from bentpipe.cli.output import of_format, write_text

    of_format(file, _ENDINGS)
    campaign = Campaign(store)
    if rows is not None:
        if metric or of or by or against or file.suffix not in _FRAMES:
            raise InputError(
                "--rows exports complete tables as CSV, Parquet or a spreadsheet, so it cannot be combined with "
                "--metric, --of, --by or --against"
            )
        return _write(file, campaign.table(rows))
    keys = [campaign.key(name) for name in by] if by else None
    means = tabulate(campaign, metric or ["goodput"], of, keys, against)
    if file.suffix == ".tex":
        return write_text(file, as_latex(means))
    return _write(file, as_frame(means))


def _write(file: Path, frame: pl.DataFrame) -> None:
    """Write a data frame, and report it on stderr, where it does not disturb a pipe."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".csv":
        frame.write_csv(file)
    elif file.suffix == ".parquet":
        frame.write_parquet(file)
    else:
        import xlsxwriter

        with xlsxwriter.Workbook(file) as book:
            frame.write_excel(book, autofit=True, float_precision=6)
    typer.echo(f"written  {file}", err=True)
