"""Live data of a run in progress, in a file next to the run's folder. The run's process appends to
the file, and the web process reads new lines. Each line is a JSON object with ``rows`` of traces by
table and entity (the time in seconds, then the table's columns), the number of ``dropped`` rows,
and manual ``changes``.

The engine thins the rows by time to limit the size of the file. Beyond :data:`MAX_BYTES` bytes,
rows are dropped. The file is removed at the end of the run, because the run's traces contain all
rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

#: Size of the file in bytes above which rows are dropped.
MAX_BYTES: Final = 8_000_000
#: Bytes per read of the file.
READ_BYTES: Final = 500_000


def live_file(folder: Path) -> Path:
    """Returns the path of the live data of the run whose folder is given."""
    return folder.with_suffix(".live")


class Writer:
    """Appends to the file of live data."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("w", encoding="utf-8")
        self._bytes = 0
        self._dropped = 0

    def add(self, seen: dict[str, Any]) -> None:
        """Appends live data; nothing without rows and changes."""
        rows, changes = seen["rows"], seen["changes"]
        if self._bytes > MAX_BYTES:
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
        """Closes the file without removing it."""
        self._file.close()


def lines_after(file: Path, offset: int) -> tuple[list[str], int]:
    """Returns the complete lines of a file after ``offset``, and the offset after them. A missing
    file has no lines."""
    try:
        with file.open("rb") as opened:
            opened.seek(offset)
            read = opened.read(READ_BYTES)
            end = read.rfind(b"\n") + 1
            if end == 0 and len(read) == READ_BYTES:
                # Reads the rest of a line that is longer than a part.
                read += opened.readline()
                end = len(read) if read.endswith(b"\n") else 0
    except OSError:
        return [], offset
    return read[:end].decode().splitlines(), offset + end


def read_all(file: Path) -> Iterator[dict[str, Any]]:
    """Yields the objects of all complete lines of a file."""
    offset = 0
    while True:
        lines, offset = lines_after(file, offset)
        if not lines:
            return
        for line in lines:
            yield json.loads(line)
