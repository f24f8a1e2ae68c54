"""Tables of commands: as wide as their content in a pipe or file, no wider than a terminal, and
complete in both."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections import Counter
from pathlib import Path

import pytest
from bentpipe.cli.folding import Sheet
from helpers.folders import write_run
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rigs import commands

START = "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()"
#: Commands that print tables and need only the repository's examples.
LINES = (
    "predict examples/geo-upload.toml",
    "check examples/dvb-rcs-upload.toml",
    "check examples/hub-storm.toml",
    "variants cubic",
    "new",
    "voice emodel",
    "reproduce",
    "simulate examples/dvb-rcs-upload.toml --set duration=20s --vary network.sat.return.dama.scheme=rbdc,vbdc "
    "--vary flow.upload.transport.congestion=reno,vegas --vary network.sat.return.dama.cra=64kbit/s,128kbit/s",
)


def characters(text: str) -> Counter[str]:
    """Counts the visible characters: everything except blanks and the line below headings."""
    return Counter("".join(text.split()).replace("─", ""))


def printed(part: Table, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, markup=False, color_system=None).print(part)
    return out.getvalue().splitlines()


cell = st.text("abc1 ", min_size=1, max_size=40).map(str.strip).filter(bool)


@given(st.data(), st.integers(0, 3), st.integers(1, 9), st.integers(0, 3), st.integers(40, 200))
def test_a_table_is_no_wider_than_the_terminal_and_loses_nothing(
    data: st.DataObject, text_columns: int, numbers: int, count: int, width: int
) -> None:
    """Every part has the columns that identify its rows, and together the parts contain every
    character of every cell."""
    columns = data.draw(st.lists(cell, min_size=text_columns + numbers, max_size=text_columns + numbers))
    rows = [[data.draw(cell) for _ in columns] for _ in range(count)]
    sheet = Sheet(columns, rows, text_columns, "Title")
    parts = sheet.folded(width)
    names = columns[: max(text_columns, 1)]
    shown: list[str] = []
    for part in parts:
        lines = printed(part, width)
        assert max(map(len, lines)) <= width
        heads = [str(column.header) for column in part.columns]
        assert heads[: len(names)] == names
        shown += heads[len(names) :]
        expected = characters(" ".join([*heads, *(str(text) for one in part.columns for text in one.cells)]))
        expected += characters("Title" if part is parts[0] else "")
        assert characters(" ".join(lines)) == expected
    assert names + shown == list(columns)
    assert len(parts) == 1 or not sheet.fits(width)


def test_a_table_that_fits_is_not_folded() -> None:
    columns, row = ["flow", "goodput\nkbit/s"], ["upload", "12.5 kbit/s"]
    assert len(Sheet(columns, [row]).folded(24)) == 1
    lines = printed(Sheet(columns, [row]).folded(24)[0], 24)
    assert [line.split() for line in lines if line.strip()][-1] == ["upload", "12.5", "kbit/s"]


def piped(line: str, folder: Path, environment: dict[str, str]) -> str:
    done = commands.run(*line.split(), folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_width() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "COLUMNS"}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split()[0])
def test_a_pipe_has_whole_tables_and_a_narrow_terminal_loses_none_of_them(line: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(Path("examples").resolve())
    whole = piped(line, tmp_path, without_width())
    rules = [text for text in whole.splitlines() if text.strip() and not text.strip(" ─")]
    # All columns of a table are next to each other, under one line.
    assert rules
    for width in (80, 50):
        narrow = piped(line, tmp_path, without_width() | {"COLUMNS": str(width)})
        assert max(map(len, narrow.splitlines())) <= max(width, 80)
        lost = characters(whole) - characters(narrow)
        # Columns of hyphens are listed by name instead.
        assert not set(lost) - {"-"}, lost


@pytest.fixture
def compared(tmp_path: Path) -> list[str]:
    """Arguments that compare two runs whose folders have long names."""
    names = [
        f"{number}-with-a-name-of-some-length-that-tells-what-was-varied" for number in ("first", "second")
    ]
    for name, congestion in zip(names, ("reno", "vegas"), strict=True):
        write_run(tmp_path / name, congestion=congestion, speed=1.0 if congestion == "reno" else 2.0)
    return ["compare", *names, "--figure", "none"]


def test_a_file_has_each_row_in_a_line(compared: list[str], tmp_path: Path) -> None:
    said = piped(" ".join(compared), tmp_path, without_width())
    (heads,) = (line for line in said.splitlines() if line.startswith(" quantity"))
    assert heads.split() == ["quantity", *compared[1:3], "difference"]
    (goodput,) = (line for line in said.splitlines() if line.startswith(" goodput"))
    assert goodput.split()[:2] == ["goodput,", "kbit/s"] and goodput.split()[-2:] == ["+100.0", "%"]


@pytest.mark.parametrize(("columns", "parts"), [(80, 1), (45, 3)])
def test_a_terminal_has_all_columns_within_its_width(
    compared: list[str], tmp_path: Path, columns: int, parts: int
) -> None:
    said = in_terminal(compared, tmp_path, columns=columns)
    lines = [line.rstrip() for line in said.splitlines()]
    assert max(map(len, lines)) <= columns
    whole = piped(" ".join(compared), tmp_path, without_width())
    assert not characters(whole) - characters(said)
    # Each part has the columns that identify its rows.
    assert sum(line.startswith(" quantity") for line in lines) == parts, said
    assert sum(line.startswith(" rtt mean") for line in lines) == parts, said


def in_terminal(arguments: list[str], folder: Path, *, columns: int) -> str:
    """Returns the output of a command in a terminal with this many columns."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = without_width() | {"TERM": "xterm", "NO_COLOR": "1"}
    words = [sys.executable, "-c", START, *arguments]
    with subprocess.Popen(
        words, stdin=there, stdout=there, stderr=there, cwd=folder, env=environment
    ) as process:
        os.close(there)
        said = b""
        while True:
            if not select.select([here], [], [], 60)[0]:
                process.kill()
                pytest.fail(f"nothing was said for a minute after {said!r}")
            try:
                read = os.read(here, 65536)
            except OSError:
                # The other end is closed.
                break
            if not read:
                break
            said += read
        assert process.wait(60) == 0, said
    os.close(here)
    # Headings are bold.
    return re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).replace("\r\n", "\n")
