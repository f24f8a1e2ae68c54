"""Removal of this machine's folders from messages about files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

#: An absolute path of two or more parts. A unit such as kbit/s has no slash at its start, and a URL
#: has two.
_PATH: Final = re.compile(r"(?<![\w./:~])(?:/[^\s/\"'`;:,()]+){2,}/?")


def without_paths(text: str, data: Path) -> str:
    """Returns a message in which each absolute path is replaced by its last part. ``data`` is the
    test bed's data folder.

    >>> without_paths("/srv/lab/runs/1/a7/traces/tcp.parquet: 5 kbit/s", Path("/srv/lab"))
    'tcp.parquet: 5 kbit/s'
    """
    # The pattern stops at spaces, so folders that may contain spaces are replaced first.
    for folder in (data, data.resolve(), Path.home()):
        if folder != Path(folder.anchor):
            text = text.replace(f"{folder}/", "/-/")
    return _PATH.sub(lambda found: found[0].rstrip("/").rpartition("/")[2], text)
