"""Preparation of standard output and standard error for any text."""

from __future__ import annotations

import codecs
import io
import os
import sys
from pathlib import Path


def make_writable() -> None:
    r"""Makes the streams accept every text. ASCII, the encoding without a locale, is replaced by
    UTF-8, as in Click. Characters missing in other encodings become escapes such as ``\u536b``. A
    stream that the caller has closed discards its output."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            ascii_only = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="backslashreplace")


def holds_all_characters() -> bool:
    """Returns true if standard output can represent every character."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf-")
