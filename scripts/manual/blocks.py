"""Reads and runs the fenced blocks of a Markdown page.

The blocks of a page run in order, in one folder and with one set of Python variables, as a reader
would type them:

- ``sh``: commands that must succeed. If a ``text`` block follows, the output must match it, ``...``
  matches any text, and commands may fail.
- ``toml``: a scenario that must load, or a part of a scenario whose keys and values must be valid
  (:mod:`manual.fragments`). If the first line is a comment such as ``# mine.toml``, the block is
  written to the file of that name.
- ``python``: a program that must end; or, if the first line is a comment such as
  ``# test_page.py``, a file that is written under that name.
- ``python`` directly above a picture of docs/pictures: a program that draws the picture. It assigns
  a matplotlib figure to the variable ``figure`` (:mod:`manual.pictures`).
- ``text``, ``c`` and others in :data:`NOT_RUN`: only displayed.

The comment ``<!-- not run: REASON -->`` above a block excludes the block. The comment
``<!-- drawn by`` ... ``-->`` above a picture contains the program of the picture, if readers need
not see the program. The comment ``<!-- try: TITLE`` ... ``-->`` describes an interactive figure of
the site (:mod:`manual.tries`); it must be valid.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import fragments

ROOT: Final = Path(__file__).resolve().parents[2]

#: Paths of the repository that blocks may use, through links in their folder.
LINKED: Final = (".venv", "examples", "scripts", "studies")

#: Languages of blocks that are not run.
NOT_RUN: Final = ("text", "json", "c", "rust", "ini", "html")

#: A fenced block with the optional comment above it, or a program in a comment; both with the
#: picture that may follow.
_BLOCK: Final = re.compile(
    r"(?:(?:^<!-- not run: (?P<reason>.+?) -->\n+)?"
    r"^(?P<fence>```+)(?P<language>\{?[\w-]*\}?)[^\n]*\n(?P<text>.*?)^(?P=fence)[ \t]*$"
    r"|^<!-- try: (?P<title>[^\n]+)\n(?P<try>.*?)^-->$"
    r"|^<!-- drawn by\n(?P<hidden>.*?)^-->$)"
    r"(?:\n+!\[[^]\n]*\]\((?P<picture>(?:\.\./)*pictures/[^)\n]+)\)$)?",
    re.DOTALL | re.MULTILINE,
)

#: The first line of a block that is written to a file, with the file's name.
_FILE_NAME: Final = re.compile(r"# (\S+\.(?:toml|py))\n")

#: Commands that need network namespaces.
REAL: Final = re.compile(
    r"bentpipe (emulate|run|shell|net (up|exec|set|watch|down|ps))\b|^pytest\b", re.MULTILINE
)
#: Commands that need the kernel of the clock `kernel`.
GUEST: Final = re.compile(r"--clock kernel|bentpipe machine kernel|reproduce satnex")
#: A single bentpipe command without shell syntax.
_PLAIN: Final = re.compile(r"bentpipe [^|&;<>$*?~`(){}!\\]*")


@dataclass(frozen=True)
class Block:
    """A block.

    ``reason`` is the reason for not running the block, and ``title`` the title of an interactive
    figure, whose language is ``try``. ``picture`` is the path that the page gives for the picture
    that the block draws. ``expected`` is the text of a following ``text`` block.
    """

    language: str
    text: str
    start: int
    end: int
    reason: str = ""
    picture: str = ""
    expected: str | None = None
    title: str = ""

    @property
    def file(self) -> str:
        """The name of the file that the block is written to; empty if the block names no file."""
        name = _FILE_NAME.match(self.text)
        return name[1] if name else ""

    @property
    def runs(self) -> bool:
        """True if the block is run rather than only displayed."""
        return not self.reason and self.language not in NOT_RUN


def read(page: str) -> list[Block]:
    r"""Reads the blocks of a page. Raises :class:`ValueError` for a block without a language.

    >>> one, two = read("Hello:\n\n```sh\necho hello\n```\n\n```text\nhello\n```\n")
    >>> one.language, one.text, one.expected
    ('sh', 'echo hello\n', 'hello\n')
    >>> (one,) = read("<!-- drawn by\nfigure = draw()\n-->\n\n![A window](../pictures/one.png)\n")
    >>> one.text, one.picture
    ('figure = draw()\n', '../pictures/one.png')
    """
    found: list[Block] = []
    for match in _BLOCK.finditer(page):
        language = "try" if match["title"] else "python" if match["hidden"] else match["language"]
        if not language:
            line = page.count("\n", 0, match.start()) + 1
            raise ValueError(f"line {line}: the block has no language; use `text` for text that is not run")
        text = match["try"] or match["hidden"] or match["text"]
        between = page[found[-1].end : match.start()] if found else "-"
        if language == "text" and found and found[-1].language == "sh" and not between.strip():
            found[-1] = Block(**{**vars(found[-1]), "expected": text})
        picture = match["picture"] or "" if language == "python" else ""
        reason, title = match["reason"] or "", match["title"] or ""
        found.append(Block(language, text, match.start(), match.end(), reason, picture, title=title))
    return found


#: Time limit of a command in a block, in seconds, after which the command is killed.
LIMIT_S: Final = 900


class Session:
    """Runs the blocks of one page in a folder. Writes pictures to the folder ``pictures`` under
    their file names.

    A separate state folder isolates the networks of a page from other networks with the same names.
    """

    def __init__(self, folder: Path, pictures: Path) -> None:
        self.folder = folder
        self.pictures = pictures
        self.variables: dict[str, Any] = {"__name__": "__main__"}
        self._state = folder / ".bentpipe"
        self._environment = {
            **os.environ,
            "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
            "BENTPIPE_STATE": str(self._state),
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "MPLBACKEND": "agg",
        }
        self._environment.pop("BENTPIPE_JOBS", None)
        for name in LINKED:
            (folder / name).symlink_to(ROOT / name)

    def close(self) -> None:
        """Takes down the networks that a failed page has left running."""
        if any(self._state.glob("*.json")):
            subprocess.run(
                [ROOT / ".venv/bin/bentpipe", "net", "down", "--all"],
                env=self._environment,
                capture_output=True,
                check=False,
                timeout=LIMIT_S,
            )

    def run(self, block: Block) -> None:
        """Runs a block. Raises :class:`AssertionError` with the mismatch, or the program's
        exception."""
        if block.language == "sh":
            self._shell(block)
        elif block.language == "toml":
            self._toml(block)
        elif block.language == "python" and block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "try":
            from . import tries

            files = {file.name: file.read_text(encoding="utf-8") for file in self.folder.glob("*.toml")}
            try:
                tries.check(tries.page_spec(block.text, files))
            except tries.TryError as error:
                raise AssertionError(f"line {error.line(block.text)} of the block: {error}") from error
        elif block.language == "python":
            from bentpipe import plots

            # Applies bentpipe's figure style to figures that a page draws itself.
            with self._in_folder(), plots.styled():
                exec(compile(block.text, "<block>", "exec"), self.variables)
                if block.picture:
                    self._draw(self.pictures / Path(block.picture).name)
        else:
            raise AssertionError(
                f"unknown language of a block: `{block.language}`; see scripts/manual/blocks.py"
            )

    def _shell(self, block: Block) -> None:
        from rigs import commands as bentpipe

        outputs = []
        for command in commands(block.text):
            if _PLAIN.fullmatch(command) and not REAL.search(command) and not GUEST.search(command):
                ended = bentpipe.run(
                    *shlex.split(command)[1:],
                    folder=self.folder,
                    environment=self._environment,
                    limit_s=LIMIT_S,
                    merged=True,
                )
            else:
                ended = self._bash(command)
            outputs.append(ended.stdout)
            if ended.returncode and block.expected is None:
                raise AssertionError(f"{command}\nexited with code {ended.returncode}:\n{ended.stdout}")
        if block.expected is not None:
            _compare(block.expected, "".join(outputs))

    def _bash(self, command: str) -> subprocess.CompletedProcess[str]:
        # `make run` runs this script after `make build`, which has already been run for the tests.
        line, folder = ("bash scripts/run", ROOT) if command == "make run" else (command, self.folder)
        return subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )

    def _toml(self, block: Block) -> None:
        import bentpipe as bp

        data = tomllib.loads(block.text) if not block.text.lstrip().startswith("{") else {}
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        if {"name", "duration"} <= set(data):
            file = self.folder / (block.file or "block.toml")
            file.write_text(block.text, encoding="utf-8")
            bp.load(file)
        else:
            fragments.check(block.text)

    def _draw(self, file: Path) -> None:
        from matplotlib.figure import Figure

        from . import pictures

        figure = self.variables.pop("figure", None)
        assert isinstance(figure, Figure), (
            "the block must assign a matplotlib figure to the variable `figure`"
        )
        pictures.save(figure, file)

    @contextlib.contextmanager
    def _in_folder(self) -> Iterator[None]:
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)


def commands(text: str) -> list[str]:
    r"""Returns the commands of a block, without comments.

    >>> commands("# Look:\nbentpipe new   # lists the presets\nbentpipe simulate \\\n    mine.toml\n")
    ['bentpipe new', 'bentpipe simulate mine.toml']
    """
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [line for line in (re.split(r"(?:^|\s\s+)#\s", one)[0].strip() for one in lines) if line]


def _compare(expected: str, output: str) -> None:
    """Compares texts word by word; ``...`` matches any number of words."""
    words = [r"(?:.*\s)?" if word == "..." else rf"{re.escape(word)}\s+" for word in expected.split()]
    if not re.fullmatch(rf"\s*{''.join(words)}", f"{output}\n", re.DOTALL):
        raise AssertionError(f"the page shows\n{expected}\nbut the output is\n{output}")
