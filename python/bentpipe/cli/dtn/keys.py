"""Keys for bundles in files, and the options for these files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from bentpipe.errors import InputError

IntegrityKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File with the key of BIB-HMAC-SHA2 (RFC 9173): at least 16 bytes as hexadecimal digits, "
        "better 48.",
        show_default=False,
    ),
]
ConfidentialityKey = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File with the key of BCB-AES-GCM (RFC 9173): 16 or 32 bytes as hexadecimal digits.",
        show_default=False,
    ),
]


def keys(integrity: Path | None, confidentiality: Path | None) -> dict[str, str | None]:
    """Returns the keys in files. Raises InputError for a file without a key."""
    return {
        "integrity": _key(integrity, "--integrity-key", range(16, 1025)),
        "confidentiality": _key(confidentiality, "--confidentiality-key", (16, 32)),
    }


def _key(path: Path | None, option: str, lengths: range | tuple[int, ...]) -> str | None:
    if path is None:
        return None
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise InputError(f"{option} {path}: {error.strerror}; allowed: a file that can be read") from error
    except UnicodeDecodeError:
        text = ""
    if not re.fullmatch(r"([0-9a-fA-F]{2})+", text) or len(text) // 2 not in lengths:
        allowed = "at least 16" if isinstance(lengths, range) else " or ".join(map(str, lengths))
        raise InputError(f"{option} {path}: not a key; allowed: {allowed} bytes as hexadecimal digits")
    return text
