"""``bentpipe reproduce``: reproduces a published study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentpipe.errors import InputError

from .common import TROUBLE, Json
from .stopping import interruptible

if TYPE_CHECKING:
    from bentpipe.studies import Result, Table


def reproduce(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY",
            help="The study's name or folder. If unset, prints only the summary of all studies.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Run only this test of the study, such as T_I.", show_default="all"
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="The figure: a number of the paper, such as 9 or 5b. Draws only this figure, and judges only the "
            "statements about it.",
            show_default="all",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder for runs and figures.",
            show_default="runs/STUDY",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Number of runs of each variant. Only for studies that are campaigns, which then have "
            "confidence intervals.",
            show_default="the study's",
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Your traces of lost frames (CSV or Parquet, see `bentpipe fit`) for satnex --test wichmo.",
            show_default="a declared model",
        ),
    ] = None,
    record: Annotated[
        bool, typer.Option(help="Record the results in the study's folder, for the documentation.")
    ] = False,
    clock: Annotated[
        str,
        typer.Option(
            metavar="CLOCK",
            help="The clock: virtual, or real or kernel if the study supports these. With real and kernel, only the "
            "tests that support them run, and also run in virtual time, for comparison.",
        ),
    ] = "virtual",
    json: Json = False,
) -> None:
    """Reproduce a published study, with a verdict on each statement.

    Prints each statement of the paper with the published value, the reproduced value, the
    difference and the verdict, and a summary of the recorded verdicts of all studies. Writes a page
    with the set-up, the figures and the statements about each figure. The exit code is 1 if a
    statement differs and the study does not list it as known to differ. Repeat the command to
    resume an interrupted study.
    """
    from bentpipe import studies

    from .output import number_or_text, print_json

    if study is None:
        table = studies.summary()
        if json:
            print_json([dict(zip(table.header, map(number_or_text, row), strict=True)) for row in table.rows])
        else:
            _print_summary(table)
        return
    from bentpipe.studies.page import write_page

    found = studies.load(studies.find(study))
    tests = found.chosen(test, figure, studies.clock_of(clock))
    if record and figure is not None:
        raise InputError("--record needs the complete results of tests; leave out --figure")
    place = out or Path("runs") / found.name
    results: list[Result] = []
    with interruptible() as stop:
        try:
            for result in studies.run(
                found,
                tests,
                place,
                json=json,
                clock=studies.clock_of(clock),
                replications=replications,
                traces=traces,
            ):
                results.append(result if figure is None else result.of_figure(figure))
                if not json:
                    _print(results[-1], named=len(tests) > 1)
        except KeyboardInterrupt:
            typer.echo(
                f"interrupted; complete runs are in {place}; repeat the command to resume",
                err=True,
            )
            raise typer.Exit(stop.exit_code) from None
    if record:
        studies.record(found.folder, results)
    part = test if figure is None else f"figure-{figure}"
    page = write_page(found, results, place / f"{'-'.join(filter(None, (found.name, part)))}.html")
    successful = all(result.successful for result in results)
    if json:
        print_json(
            {
                "study": found.name,
                "test": test,
                "successful": successful,
                "page": page,
                "statements": [verdict.as_dict() for result in results for verdict in result.verdicts],
                "figures": [file for result in results for file in result.figures],
                "notes": [note for result in results for note in result.notes],
                "tables": [
                    {**vars(table), "rows": [[number_or_text(cell) for cell in row] for row in table.rows]}
                    for result in results
                    for table in result.tables
                ],
            }
        )
    else:
        _print_counts(results)
        _print_summary(studies.summary())
        typer.echo(f"page     {page}")
    if not successful:
        raise typer.Exit(TROUBLE)


def _print_summary(table: Table) -> None:
    from .output import print_table

    typer.echo(f"\n{table.about}:")
    print_table(table.header, table.rows)


def _print(result: Result, *, named: bool) -> None:
    """Prints tables, verdicts, causes, notes and figures of a test. ``named``: with its name."""
    from .output import print_note, print_table

    if named:
        typer.echo(f"\n{result.test}")
    for table in result.tables:
        typer.echo(f"\n{table.about}:")
        print_table(table.header, table.rows)
    if result.verdicts:
        rows = [verdict.as_row() for verdict in result.verdicts]
        print_table(["statement", "paper", "ours", "difference", "verdict"], rows)
    for verdict in result.verdicts:
        if verdict.outcome == "known to differ":
            print_note(f"{verdict.statement.id}: {verdict.statement.deviation}")
        elif verdict.outcome == "differs" and verdict.statement.suspected:
            print_note(f"{verdict.statement.id}, suspected: {verdict.statement.suspected}")
    for note in result.notes:
        print_note(note)
    for file in result.figures:
        typer.echo(f"figure   {file}")


def _print_counts(results: list[Result]) -> None:
    from bentpipe.studies.recording import COUNTED, counts

    verdicts = [verdict for result in results for verdict in result.verdicts]
    counted = dict(zip(COUNTED, counts(verdicts), strict=True))
    others = len(verdicts) - counted["claims"]
    typer.echo(
        f"\n{counted['holds']} of {counted['claims']} claims of the paper hold"
        + (f"; {others} other statements are not counted" if others else "")
    )
