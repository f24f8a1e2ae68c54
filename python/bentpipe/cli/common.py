"""Shared by all commands: options, and the translation of errors into messages and exit codes."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from bentpipe.errors import BAD_INPUT, InputError, trouble

from . import completion

ScenarioFile = Annotated[
    Path,
    typer.Argument(metavar="SCENARIO", help="The scenario: a TOML or JSON file.", show_default=False),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Replace a value of the scenario, such as flow.upload.transport.congestion=vegas. Repeatable.",
        autocompletion=completion.overrides,
        show_default=False,
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="KEY.PATH=LABEL,LABEL",
        help="Labels for the values of --vary in tables, figures and folder names. Repeatable.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="NUMBER", help="Seed of the runs, instead of the scenario's.", show_default=False
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="The file to write.", show_default=False),
]
OutFolder = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FOLDER", help="The folder of the results.", show_default="runs/NAME"
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", min=1, metavar="NUMBER", help="Number of runs at once.", show_default="one per processor"
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY.PATH=VALUE,VALUE",
        help="Run the scenario with each of these values. Repeatable, for all combinations.",
        show_default=False,
    ),
]
AllFlows = Annotated[
    bool, typer.Option("--all-flows", help="Print every flow instead of the statistics of groups.")
]
DrawReport = Annotated[
    bool, typer.Option(help="Also write report.html with figures. `bentpipe report` writes it later.")
]
FileFormat = Annotated[str, typer.Option("--format", metavar="FORMAT", help="File format: png, svg or pdf.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

#: File name endings of figures.
FIGURES = (".png", ".svg", ".pdf")

#: Exit code for errors of bentpipe or the machine.
TROUBLE = 1


def fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    """Prints a message to stderr and exits."""
    # Rust appends system error numbers to its texts, which do not help users.
    message = re.sub(r" \(os error \d+\)", "", message)
    typer.echo(message if message.startswith("bentpipe:") else f"bentpipe: {message}", err=True)
    raise typer.Exit(code)


def figures_folder(out: Path | None) -> Path | None:
    """Returns the folder of ``--out``. Raises :class:`bentpipe.InputError` for a name that looks
    like a figure's."""
    if out is not None and out.suffix.lower() in FIGURES and not out.is_dir():
        raise InputError(
            f"--out {out}: figures are written into a folder, under their own names; allowed: a folder "
            "(choose the file format with --format)"
        )
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(
            f"--out {out}: is a file; allowed: a folder (figures are written under their own names)"
        )
    return out


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a command so that errors that the caller can fix are printed as messages without a
    traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except ValueError as error:
            if not isinstance(error, InputError) and not _is_scenario_error(error):
                raise
            fail(_noted(str(error), error))
        except ImportError as error:
            if error.name != "bentpipe" or "_native" not in str(error):
                raise
            fail("the engine is not built: run `make build` in the repository", TROUBLE)
        except BrokenPipeError:
            # The reader has closed the pipe. Flushing at exit must not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(128 + 13) from None
        except OSError as error:
            fail(_noted(trouble(error), error), getattr(error, "exit_code", TROUBLE))
        except KeyboardInterrupt:
            raise typer.Exit(128 + 2) from None

    return run


def _noted(message: str, error: Exception) -> str:
    """Returns a message, followed by the notes of an exception."""
    return "\n".join([message, *getattr(error, "__notes__", ())])


def _is_scenario_error(error: ValueError) -> bool:
    from bentpipe import _native

    return isinstance(error, _native.ScenarioError)
