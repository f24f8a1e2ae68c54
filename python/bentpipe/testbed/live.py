"""What can be seen of a run in progress: a file beside its folder, to which the run's process appends and which the web
process follows. Each line is a JSON object with ``rows`` of traces by table and entity (the time in seconds, then the
table's columns), ``dropped`` rows, and the ``changes`` that were made by hand.

The engine thins the rows by time, so the file is bounded; beyond :data:`MOST` bytes rows are dropped. The file is
removed when the run has ended, as its traces hold everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

#: Bytes after which no more rows are written.
MOST: Final = 8_000_000
#: Bytes that are read at a time.
PART: Final = 500_000


def beside(folder: Path) -> Path:
    """Returns the file of the run with a folder."""
    return folder.with_suffix(".live")


class Writer:
    """Appends to the file."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("w", encoding="utf-8")
        self._bytes = 0
        self._dropped = 0

    def add(self, seen: dict[str, Any]) -> None:
        """Add what was seen, if anything was."""
        rows, changes = seen["rows"], seen["changes"]
        if self._bytes > MOST:
            self._dropped += sum(len(some) for entities in rows.values() for some in entities.values())
            rows = {}
        if not rows and not changes:
            return
        line = json.dumps(
            {"rows": rows, "dropped": seen["dropped"] + self._dropped, "changes": changes},
            separators=(",", ":"),
        )
        self._dropped = 0
        self._bytes += self._file.write(line + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file, which stays."""
        self._file.close()


def after(file: Path, offset: int) -> tuple[list[str], int]:
    """Returns the complete lines of a file after ``offset``, and the offset after them. Without the file there are
    none."""
    try:
        with file.open("rb") as opened:
            opened.seek(offset)
            read = opened.read(PART)
            end = read.rfind(b"\n") + 1
            if end == 0 and len(read) == PART:
                # A line that is longer than a part.
                read += opened.readline()
                end = len(read) if read.endswith(b"\n") else 0
    except OSError:
        return [], offset
    return read[:end].decode().splitlines(), offset + end


def everything(file: Path) -> Iterator[dict[str, Any]]:
    """Yields what a file has so far."""
    offset = 0
    while True:
        lines, offset = after(file, offset)
        if not lines:
            return
        for line in lines:
            yield json.loads(line)
