"""Commands in the process of a test, without importing everything again; ``test_command_line.py`` starts each one as
a person or a script does."""

from __future__ import annotations

import contextlib
from pathlib import Path

from bentpipe.cli import app
from typer.testing import CliRunner, Result


def call(*arguments: object, folder: Path | None = None, code: int = 0) -> Result:
    """Runs ``bentpipe`` with these arguments in a folder. Returns what it said."""
    with contextlib.chdir(folder or Path.cwd()):
        said = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "80"}, prog_name="bentpipe")
    if said.exception is not None and not isinstance(said.exception, SystemExit):
        raise said.exception
    assert said.exit_code == code, said.output
    return said
