"""Runs bentpipe's commands in tests.

``call`` runs a command in the process of the test. ``run`` runs it in a separate process with its
own folder, environment, streams and exit code, forked from a server that has already imported all
modules. Some tests start a new Python as users do: ``test_command_line.py``, lines of the manual
that are not a single command of bentpipe, and tests that send signals to a command.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing.context import ForkServerContext
from pathlib import Path

import bentpipe
from bentpipe.cli import app
from typer.testing import CliRunner, Result

#: Modules that commands import on demand, in addition to bentpipe's modules.
_LIBRARIES = (
    *("jinja2", "numpy", "polars", "pydantic.plugin._loader", "typer._adapters", "typer.testing"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
)

#: The flags for opening output streams: append, since both streams may be the same file.
_WRITTEN = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def call(*arguments: object, folder: Path | None = None, code: int = 0) -> Result:
    """Runs ``bentpipe`` with these arguments in a folder. Returns the result; fails for another
    exit code."""
    with contextlib.chdir(folder or Path.cwd()):
        result = CliRunner().invoke(
            app, list(map(str, arguments)), env={"COLUMNS": "80"}, prog_name="bentpipe"
        )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def run(
    *arguments: object,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: str = "",
    limit_s: float = 120.0,
    merged: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Runs ``bentpipe`` with these arguments in a separate process. Returns its exit code and
    output.

    ``given`` is the standard input. If ``merged``, standard error is written to standard output.
    """
    words = list(map(str, arguments))
    with tempfile.TemporaryDirectory() as streams:
        stdin, stdout, stderr = (Path(streams) / name for name in ("stdin", "stdout", "stderr"))
        stdin.write_text(given, encoding="utf-8")
        if merged:
            stderr.symlink_to(stdout)
        process = _server().Process(
            target=_main,
            args=(words, folder or Path.cwd(), dict(environment or os.environ), (stdin, stdout, stderr)),
        )
        process.start()
        process.join(limit_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, limit_s, *map(_text, (stdout, stderr)))
        written = "" if merged else _text(stderr)
        return subprocess.CompletedProcess(words, process.exitcode, _text(stdout), written)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


@functools.cache
def _server() -> ForkServerContext:
    """Returns the fork server, which starts with the first command and ends with this process.

    It imports modules but calls no functions, because threads do not survive a fork.
    """
    context = multiprocessing.get_context("forkserver")
    modules = pkgutil.walk_packages(bentpipe.__path__, "bentpipe.", onerror=lambda _name: None)
    names = [one.name for one in modules if not one.name.startswith("bentpipe.testbed.")]
    context.set_forkserver_preload([*_LIBRARIES, *names])
    return context


def _main(words: list[str], folder: Path, environment: dict[str, str], streams: tuple[Path, ...]) -> None:
    """Runs the command ``bentpipe`` in the forked process."""
    for number, (file, flags) in enumerate(zip(streams, (os.O_RDONLY, _WRITTEN, _WRITTEN), strict=True)):
        opened = os.open(file, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["bentpipe", *words]
    from bentpipe.cli import main

    main()
