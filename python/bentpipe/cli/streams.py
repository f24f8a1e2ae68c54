"""Standard output and standard error, whatever the caller has made of them."""

from __future__ import annotations

import codecs
import io
import os
import sys
from pathlib import Path


def make_writable() -> None:
    r"""Let every text be written. ASCII, the encoding without a locale, is replaced by UTF-8, as Click does; a
    character that another encoding lacks becomes an escape such as ``\u536b``; a stream that the caller has closed
    discards what it gets."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            ascii_only = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="backslashreplace")


def holds_all_characters() -> bool:
    """Whether standard output can represent every character."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf-")
