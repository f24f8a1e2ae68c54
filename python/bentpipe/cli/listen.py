"""``bentpipe listen``: what the callee of a call heard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import Json


def listen(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)
    ] = None,
    speech: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A recording of what is spoken, such as a WAV file. Repeat it for the parties of a conference.",
            show_default=False,
        ),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The flow: what its callee heard; NAME.reverse: its caller; NAME/2: of its second call.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The WAV file; heard-NAME.wav in the run by default.",
            show_default=False,
        ),
    ] = None,
    score: Annotated[
        bool, typer.Option("--score", help="Print a table of scores by the E-model, PESQ and ViSQOL.")
    ] = False,
    activity: Annotated[
        bool, typer.Option("--activity", help="Print the talk spurts of the recording, and nothing else.")
    ] = False,
    json: Json = False,
) -> None:
    """Write what the callee heard of a call as a WAV file.

    That is real speech through the call's codec, with the run's losses and late packets. The recording is repeated if
    the call is longer. In a conference the callee is the bridge, and NAME.reverse is what a party heard: the mix of all
    others. With --score, PESQ and ViSQOL rate each run's file beside the E-model, whose first score counts
    the delay as a conversation does, and whose second does not. A call of more than 12 s is rated in equal pieces of
    12 s at most; shown are the mean and, below it, the least. ViSQOL takes about as long as the call. Codecs and scores
    need the extra `voice`: pip install 'bentpipe[voice]'.
    """
    from dataclasses import asdict

    from bentpipe import listening as ear
    from bentpipe.errors import InputError
    from bentpipe.results.runs import open_run

    from .output import print_json, print_table
    from .progress import Bar
    from .stopping import Stop

    if not speech:
        raise InputError("nothing is spoken: give a recording with --speech FILE.wav")
    spoken = [ear.read_speech(file) for file in speech]
    for file, samples in zip(speech, spoken, strict=True):
        if len(samples) < ear.LEAST_SPEECH:
            raise InputError(
                f"{file}: {len(samples) / ear.RATE:g} s of sound; allowed: a recording of at least "
                f"{ear.LEAST_SPEECH / ear.RATE:g} s"
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
        raise InputError("no run: name the folder of a run with a voice flow")
    if out is not None and len(runs) > 1:
        raise InputError("--out is for one run; without it each run gets a file of its own")
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
        heads = ("Run", "Call", "Codec", "Loss\n%", "E-model", "E-model\nno delay", "PESQ", "ViSQOL")
        print_table(heads, table, text_columns=3, title="Scores of what was heard")


def _score(mean: float | None, least: float | None, pieces: int) -> str:
    """The score of a call, and below it that of its worst piece if there are several."""
    if mean is None or least is None:
        return "-"
    return f"{mean:.2f}" if pieces == 1 else f"{mean:.2f}\n({least:.2f})"
