"""``bentpipe reproduce``: reproduces a published study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import TROUBLE, Json
from .stopping import interruptible

if TYPE_CHECKING:
    from bentpipe.studies import Reproduction, Table


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
    record: Annotated[bool, typer.Option(help="Write the verdicts into the study's README.md.")] = False,
    clock: Annotated[
        str,
        typer.Option(
            metavar="CLOCK",
            help="The clock: virtual, or real or kernel if the study supports these. With real and kernel, the study "
            "also runs in virtual time, for comparison.",
        ),
    ] = "virtual",
    json: Json = False,
) -> None:
    """Reproduce a published study, with a verdict on each statement.

    Prints each statement of the paper with the published value, the reproduced value, the
    difference and the verdict, and a summary of the recorded verdicts of all studies. The exit code
    is 1 if a statement differs and the study does not list it as known to differ. Repeat the
    command to resume an interrupted study.
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
    folder = studies.find(study)
    place = out or Path("runs") / studies.name_of(folder)
    with interruptible() as stop:
        try:
            reproduction = studies.run(
                folder,
                test,
                place,
                json=json,
                clock=studies.clock_of(clock),
                replications=replications,
                traces=traces,
            )
        except KeyboardInterrupt:
            typer.echo(
                f"interrupted; complete runs are in {place}; repeat the command to resume",
                err=True,
            )
            raise typer.Exit(stop.exit_code) from None
    if record:
        readme = folder / "README.md"
        text = readme.read_text(encoding="utf-8")
        readme.write_text(studies.record(text, reproduction.verdicts), encoding="utf-8")
    if json:
        print_json(
            {
                "study": studies.name_of(folder),
                "test": test,
                "successful": reproduction.successful,
                "statements": [verdict.as_dict() for verdict in reproduction.verdicts],
                "figures": reproduction.figures,
                "notes": reproduction.notes,
                "tables": [
                    {**vars(table), "rows": [[number_or_text(cell) for cell in row] for row in table.rows]}
                    for table in reproduction.tables
                ],
            }
        )
    else:
        _print(reproduction)
        _print_summary(studies.summary())
    if not reproduction.successful:
        raise typer.Exit(TROUBLE)


def _print_summary(table: Table) -> None:
    from .output import print_table

    typer.echo(f"\n{table.about}:")
    print_table(table.header, table.rows)


def _print(reproduction: Reproduction) -> None:
    from .output import print_note, print_table

    for table in reproduction.tables:
        typer.echo(f"\n{table.about}:")
        print_table(table.header, table.rows)
    rows = [verdict.as_row() for verdict in reproduction.verdicts]
    print_table(["statement", "paper", "ours", "difference", "verdict"], rows)
    claims = [verdict for verdict in reproduction.verdicts if verdict.statement.role == "claim"]
    held = sum(verdict.outcome == "holds" for verdict in claims)
    others = len(reproduction.verdicts) - len(claims)
    typer.echo(
        f"{held} of {len(claims)} claims of the paper hold"
        + (f"; {others} other statements are not counted" if others else "")
    )
    for verdict in reproduction.verdicts:
        if verdict.outcome == "known to differ":
            print_note(f"{verdict.statement.id}: {verdict.statement.deviation}")
        elif verdict.outcome == "differs" and verdict.statement.suspected:
            print_note(f"{verdict.statement.id}, suspected: {verdict.statement.suspected}")
    for note in reproduction.notes:
        print_note(note)
    for figure in reproduction.figures:
        typer.echo(f"figure   {figure}")
