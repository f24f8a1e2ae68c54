"""``bentpipe fit``: fits error processes to a trace of frame outcomes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .candidates import MASK, Elements, Gateway, Mask, Slots, Terminal
from .common import FIGURES, Json, OutFile

# Threads of linear algebra spin while they wait for each other, which takes more time than the work
# for small matrices. NumPy reads this variable at import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if TYPE_CHECKING:
    from bentpipe.frames import Fit, Outcomes
    from bentpipe.measure.candidates import Grid, Sky
    from bentpipe.measure.scheduled import Access
    from bentpipe.results.runs import Run


def fit(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE",
            help="A CSV or Parquet file with a column lost, 0 or 1 for each frame. With a second column "
            "frames, a row stands for that number of consecutive frames. Or the folder of a measured "
            "run.",
            show_default=False,
        ),
    ],
    process: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The process to write: bernoulli, bistable, gilbert-elliott, markov-3 or markov-4.",
            show_default="lowest BIC",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Type of scenario for a measured run: replay, fitted (models with residuals) or profile "
            "(redrawn from its statistics).",
        ),
    ] = "replay",
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Seed of a profile.")] = 1,
    predict: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="A measurement of other loads on the same path, to compare with the prediction of the "
            "fitted models. Repeat it with further measurements of the same plan to show the variation "
            "of the path.",
            show_default=False,
        ),
    ] = None,
    emulate: Annotated[
        bool,
        typer.Option("--emulate", help="Also predict by emulation. This takes the duration of the loads."),
    ] = False,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Fit an access to a trace of mahimahi or LeoReplayer, a measured run, or the history of "
            "a dish (.json), instead of replaying it: leo-scheduled.",
            show_default=False,
        ),
    ] = None,
    back: Annotated[
        Path | None,
        typer.Option(
            "--return",
            metavar="TRACE",
            help="With --kind: the trace of the return direction, such as bw_2.txt.",
            show_default="the same as TRACE",
        ),
    ] = None,
    out: OutFile = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--draw",
            metavar="FILE",
            help="Draw bursts, gaps, autocorrelation and goodness of fit as PNG, SVG or PDF. For a measured "
            "run, draw the residuals of fitted models, or the satellites of --elements.",
            show_default=False,
        ),
    ] = None,
    elements: Elements = None,
    terminal: Terminal = None,
    gateway: Gateway = None,
    mask: Mask = MASK,
    slots: Slots = None,
    json: Json = False,
) -> None:
    """Fit error processes to lost frames, or a scenario to a path.

    Fits each process to the trace by maximum likelihood, and compares the loss, the bursts and the
    gaps of the trace and of the processes. Writes the best process as error = { ... } for a
    scenario. With --json, prints the keys of each process as in a scenario.

    For a run of `bentpipe measure`, writes a scenario to --out: a replay of the measured path,
    models fitted to the path, or a path drawn from its statistics. For a series of rate, delay and
    loss, or a trace of mahimahi or LeoReplayer (bw_1.txt, with delay_1.txt in the same folder),
    writes a scenario that replays the series. With --elements, lists the satellites that may have
    served each slot of a measured run.
    """
    from bentpipe import frames, plots
    from bentpipe.errors import InputError, unknown

    from . import candidates
    from .output import of_format, print_json, print_note, write_text
    from .progress import Bar
    from .stopping import Stop

    if (sky := candidates.sky(elements, terminal, gateway, mask, slots)) is not None:
        _served(trace, *sky, out, figure, json)
        return
    if kind is not None:
        _access(trace, back, kind, out, json)
        return
    if back is not None:
        raise InputError("--return belongs to an access: add --kind leo-scheduled")
    if trace.is_dir():
        if process is not None:
            raise InputError(
                "--process is only for a trace of frames; for a measured run, leave it out "
                "(the process with the lowest BIC is chosen)"
            )
        made = _measured(trace, model, seed, out, figure, predict or [], emulate)
        if json:
            print_json(made)
            return
        for line in made["notes"]:
            typer.echo(line)
        for file in made["files"]:
            typer.echo(f"written  {file}")
        return
    if trace.is_file() and out is not None and not frames.is_frame_trace(trace):
        from bentpipe.measure.fitting import of_series

        of_format(out, (".toml",))
        files = of_series(trace, out)
        if json:
            print_json({"files": files})
            return
        for file in files:
            typer.echo(f"written  {file}")
        return
    if figure is not None:
        of_format(figure, FIGURES)
    if out is not None:
        of_format(out, (".toml",))
    with Bar(f"reading {trace.name}", Stop()) as bar:

        def reading(done: int, size: int) -> None:
            bar.advance(0.5 * done / max(size, 1))

        outcomes = frames.read(trace, reading)
        order: list[str] = []

        def fitting(name: str) -> None:
            bar.describe(0.5 + 0.1 * len(order), f"fitting {name}")
            order.append(name)

        fits = frames.fit_all(outcomes, fitting)
    by_name = {one.process: one for one in fits}
    if process is not None and process not in by_name:
        raise unknown("process", process, by_name)
    best = by_name[process] if process else min(fits, key=lambda one: one.bic)
    if figure is not None:
        from bentpipe.plots.frames import frame_fits

        plots.save(frame_fits(outcomes, fits), figure)
    if out is not None:
        about = f"# {best.process} fitted to {trace.name}: {outcomes.frames} frames, {outcomes.lost} lost\n"
        write_text(out, f"{about}error = {inline(best.error)}\n")
    if json:
        print_json(document(trace, outcomes, fits, best))
        return
    _print(trace, outcomes, fits, best)
    for one in fits:
        for note in one.notes:
            print_note(f"* {one.process}: {note}")
    typer.echo(f"error = {inline(best.error)}")


def _access(trace: Path, back: Path | None, kind: str, out: Path | None, json: bool) -> None:
    """Writes the scenario of an access that is fitted to a trace or to the history of a dish."""
    from bentpipe.errors import InputError, unknown
    from bentpipe.measure import dish, scheduled

    from .output import of_format, print_json, write_text

    if kind != "leo-scheduled":
        raise unknown("kind", kind, ("leo-scheduled",))
    if out is None:
        raise InputError("a fitted access is a scenario: name the file to write with --out FILE.toml")
    of_format(out, (".toml",))
    link: dict[str, object]
    if trace.suffix == ".json":
        if back is not None:
            raise InputError(f"{trace} is a history with both directions: leave out --return")
        history = dish.fit(dish.read(trace))
        text, link, lines = dish.scenario(history, trace.name), history.link(), history.lines()
    else:
        there, other = _observed(trace, back)
        found = scheduled.fit(there)
        reverse = scheduled.fit(other, found.grid) if other is not None else None
        text, link, lines = scheduled.scenario(found, trace.name, reverse), found.link(), found.lines()
        if reverse is not None:
            link["return"] = reverse.link()
            lines += ["return direction:", *reverse.lines()]
    write_text(out, text)
    if json:
        print_json({"files": [str(out)], "link": link})
        return
    for line in lines:
        typer.echo(line)
    typer.echo(f"written  {out}")


def _observed(trace: Path, back: Path | None) -> tuple[Access, Access | None]:
    """Returns the observations of the direction towards the user, and of the other if known."""
    from bentpipe.errors import InputError
    from bentpipe.measure import scheduled
    from bentpipe.results.runs import open_run

    if not trace.is_dir():
        return scheduled.read(trace), scheduled.read(back) if back is not None else None
    if back is not None:
        raise InputError(f"{trace} is a run with both directions: leave out --return")
    down, up = scheduled.of_run(open_run(trace))
    if down is None:
        raise InputError(f"{trace} has no load of datagrams towards this host that lost packets")
    return down, up


def _served(
    folder: Path, sky: Sky, grid: Grid | None, out: Path | None, figure: Path | None, json: bool
) -> None:
    """Prints the satellites that may have served a run."""
    from bentpipe import plots
    from bentpipe.errors import InputError
    from bentpipe.plots.candidates import candidates as drawn
    from bentpipe.results.runs import open_run

    from . import candidates
    from .output import of_format, print_json

    if out is not None:
        raise InputError("--elements adds a table to the run and writes no scenario: leave out --out")
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; allowed with --elements: the folder of a measured run")
    if figure is not None:
        of_format(figure, FIGURES)
    run = open_run(folder)
    found, notes = candidates.find_candidates(run, sky, grid)
    if json:
        rows = open_run(folder).table("candidates").to_dicts() if any(one.candidates for one in found) else []
        print_json({"run": str(folder), "candidates": rows, "notes": notes})
    else:
        candidates.show(found, notes)
    if figure is not None:
        plots.save(drawn(run, found), figure)
        typer.echo(f"written  {figure}", err=True)


def _measured(
    folder: Path,
    model: str,
    seed: int,
    out: Path | None,
    figure: Path | None,
    predict: list[Path],
    emulate: bool,
) -> dict[str, Any]:
    """Writes the scenario of a measured run. Returns the written files, notes on the fit, and its
    residuals."""
    import tempfile
    from dataclasses import asdict

    from bentpipe import plots
    from bentpipe.errors import InputError, unknown
    from bentpipe.measure import models
    from bentpipe.measure.fitting import replay
    from bentpipe.results.runs import open_run

    from .output import of_format, write_text

    known = ("replay", "fitted", "profile")
    if model not in known:
        raise unknown("model", model, known)
    run = open_run(folder)
    if run.clock != "measured":
        raise InputError(f"{folder} was not measured; allowed: a run folder of `bentpipe measure`")
    if out is None:
        raise InputError(
            "a measured run is fitted as a scenario: name the file to write with --out FILE.toml"
        )
    of_format(out, (".toml",))
    if figure is not None:
        of_format(figure, FIGURES)
        if model != "fitted":
            raise InputError("--draw draws the residuals of fitted models: add --model fitted")
    if predict and model != "fitted":
        raise InputError("--predict uses fitted models: add --model fitted")
    others = [open_run(other) for other in predict]
    if model != "fitted":
        files = replay(run, out, as_profile=model == "profile", seed=seed)
        return {"files": list(map(str, files)), "notes": [], "residuals": []}
    with tempfile.TemporaryDirectory() as work:
        found = models.fitted(run, Path(work))
        for other in others[:1]:
            found.lines.extend(_predicted(run, other, others[1:], emulate, Path(work)))
        write_text(out, found.text)
        if figure is not None:
            from bentpipe.plots.measured import fitted_models

            plots.save(fitted_models(run, found), figure)
    written = [out] if figure is None else [figure, out]
    residuals = [asdict(one) | {"relative": one.relative} for one in found.residuals]
    return {"files": list(map(str, written)), "notes": found.lines, "residuals": residuals}


def _predicted(run: Run, other: Run, again: list[Run], emulate: bool, work: Path) -> list[str]:
    """Returns notes on the prediction of another measurement."""
    from bentpipe.measure import predicting

    document, _ = predicting.scenario(run, other)
    lines = []
    for how in ("simulation", "emulation")[: 2 if emulate else 1]:
        seen = predicting.predicted(document, work / how, emulate=how == "emulation")
        errors = predicting.errors(other, seen, again)
        lines += ["", f"Loads of {other.path.name} (not used in the fit), predicted by {how}:"]
        lines += [f"  {one.text()}" for one in errors] + predicting.verdict(errors)
    return lines


def inline(table: dict[str, Any]) -> str:
    """Returns a table as TOML on one line.

    >>> inline({"kind": "gilbert", "probability": 0.1, "burst": 2.5})
    '{ kind = "gilbert", probability = 0.1, burst = 2.5 }'
    """
    from json import dumps

    # Numbers, texts and lists have the same notation in JSON and TOML.
    return "{ " + ", ".join(f"{key} = {dumps(value)}" for key, value in table.items()) + " }"


def document(trace: Path, outcomes: Outcomes, fits: list[Fit], best: Fit) -> dict[str, Any]:
    """Returns the output of ``--json``."""
    from bentpipe.frames.fitting import lags_of
    from bentpipe.frames.outcomes import survival

    lags = lags_of(outcomes.frames)

    def distribution(lengths: Any) -> dict[str, Any]:
        values, part = survival(lengths)
        return {"length": values.tolist(), "at_least": part.tolist()}

    return {
        "trace": str(trace),
        "frames": outcomes.frames,
        "lost": outcomes.lost,
        "loss": outcomes.loss,
        "mean_burst": outcomes.mean_burst,
        "mean_gap": outcomes.mean_gap,
        "bursts": len(outcomes.bursts),
        "gaps": len(outcomes.gaps),
        "burst_distribution": distribution(outcomes.bursts),
        "gap_distribution": distribution(outcomes.gaps),
        "autocorrelation": {"lag": lags, "value": outcomes.autocorrelation(lags).tolist()},
        "best": best.process,
        "error": best.error,
        "processes": {
            one.process: {
                "error": one.error,
                "parameters": one.parameters,
                "log_likelihood": one.log_likelihood,
                "aic": one.aic,
                "bic": one.bic,
                "fitted_frames": one.frames,
                "loss": one.loss,
                "mean_burst": one.mean_burst,
                "mean_gap": one.mean_gap,
                "burst_distance": one.burst_distance,
                "gap_distance": one.gap_distance,
                "autocorrelation_error": one.autocorrelation_error,
                "notes": one.notes,
            }
            for one in fits
        },
    }


def _print(trace: Path, outcomes: Outcomes, fits: list[Fit], best: Fit) -> None:
    from bentpipe.quantities import number

    from .output import print_table

    header = (
        "process",
        "parameters",
        "BIC above\nbest",
        "loss",
        "mean\nburst",
        "mean\ngap",
        "distance\nof bursts",
        "distance\nof gaps",
    )
    lowest = min(one.bic for one in fits)
    rows = [("trace", "", "", *map(number, (outcomes.loss, outcomes.mean_burst, outcomes.mean_gap)), "", "")]
    rows += [
        (
            one.process + (" *" if one is best else ""),
            str(one.parameters),
            f"{one.bic - lowest:.0f}",
            *map(number, (one.loss, one.mean_burst, one.mean_gap)),
            f"{one.burst_distance:.3f}",
            f"{one.gap_distance:.3f}",
        )
        for one in fits
    ]
    title = f"{trace.name}: {outcomes.frames} frames, {outcomes.lost} lost in {len(outcomes.bursts)} bursts"
    print_table(header, rows, title=title)
