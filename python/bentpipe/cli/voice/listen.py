"""``bentpipe voice listen``: writes the speech that the callee of a call heard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..common import Json


def listen(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)
    ] = None,
    speech: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Recording of the caller's speech, such as a WAV file. Repeat it for the parties of a "
            "conference.",
            show_default=False,
        ),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The call: NAME is the speech that the callee of flow NAME heard, NAME.reverse the speech "
            "that the caller heard, NAME/2 the second call of the flow.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The WAV file to write. If unset, heard-NAME.wav in the run.",
            show_default=False,
        ),
    ] = None,
    score: Annotated[
        bool, typer.Option("--score", help="Print a table of scores by the E-model, PESQ and ViSQOL.")
    ] = False,
    activity: Annotated[
        bool, typer.Option("--activity", help="Print only the talk spurts of the recording.")
    ] = False,
    json: Json = False,
) -> None:
    """Write the speech that the callee of a call heard as a WAV file.

    Passes real speech through the codec of the call, with the losses and late packets of the run.
    If the call is longer than the recording, the recording is repeated. In a conference, the callee
    is the bridge, and NAME.reverse is the mix of all other parties that a party heard. With
    --score, PESQ, ViSQOL and the E-model rate each run. The E-model gives two scores: one with the
    effect of delay on a conversation, and one without. A call of more than 12 s is rated in equal
    pieces of at most 12 s; the table shows the mean and, below it, the lowest score. ViSQOL takes
    about as long as the call. Codecs and scores need the extra `voice`: pip install
    'bentpipe[voice]'.
    """
    from dataclasses import asdict

    from bentpipe import listening as ear
    from bentpipe.errors import InputError
    from bentpipe.results.runs import open_run

    from ..output import print_json, print_table
    from ..progress import Bar
    from ..stopping import Stop

    if not speech:
        raise InputError("no speech given: add a recording with --speech FILE.wav")
    spoken = [ear.read_speech(file) for file in speech]
    for file, samples in zip(speech, spoken, strict=True):
        if len(samples) < ear.MIN_SPEECH:
            raise InputError(
                f"{file}: {len(samples) / ear.RATE:g} s of sound; allowed: a recording of at least "
                f"{ear.MIN_SPEECH / ear.RATE:g} s"
            )
    if activity:
        spurts, length = ear.activity(spoken[0]), len(spoken[0]) / ear.RATE
        if json:
            print_json({"length": length, "spurts": spurts})
            return
        pairs = ", ".join(f'["{begin:g} s", "{end:g} s"]' for begin, end in spurts)
        typer.echo(f'talker = {{ kind = "recorded", caller = [{pairs}], length = "{length:g} s" }}')
        return
    if not runs:
        raise InputError("no run given: name the folder of a run with a voice flow")
    if out is not None and len(runs) > 1:
        raise InputError(
            "--out is only for one run; for several runs, leave it out (each run gets its own file)"
        )
    rows: list[ear.Scores] = []
    written: list[Path] = []
    for folder in runs:
        run = open_run(folder)
        if score:
            with Bar(f"rating {run.name}", Stop()) as bar:
                rows.append(ear.scores(run, call, spoken, bar.advance))
            continue
        name = call or next(iter(ear.calls(run)), "call")
        target = out or folder / f"heard-{name.replace('/', '-')}.wav"
        ear.write_wav(target, ear.heard(run, call, spoken)[1])
        written.append(target)
        if not json:
            typer.echo(f"written  {target}")
    if json:
        print_json({"written": written} if written else {"scores": [asdict(row) for row in rows]})
    elif score:
        table = [
            (
                folder.name,
                row.call,
                row.codec,
                f"{row.loss:.2f}",
                f"{row.emodel:.2f}",
                f"{row.emodel_listening:.2f}",
                _score(row.pesq, row.pesq_least, row.pieces),
                _score(row.visqol, row.visqol_least, row.pieces),
            )
            for folder, row in zip(runs, rows, strict=True)
        ]
        heads = ("Run", "Call", "Codec", "Loss\n%", "E-model", "E-model\nwithout delay", "PESQ", "ViSQOL")
        print_table(heads, table, text_columns=3, title="Scores of the heard speech")


def _score(mean: float | None, least: float | None, pieces: int) -> str:
    """Returns the score of a call, and below it that of its worst piece if there are several."""
    if mean is None or least is None:
        return "-"
    return f"{mean:.2f}" if pieces == 1 else f"{mean:.2f}\n({least:.2f})"
