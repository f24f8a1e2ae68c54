"""A change to the source of the guest's kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bentpipe.errors import InputError


@dataclass(frozen=True)
class Feature:
    """What some versions of the source have: ``file`` contains ``text``."""

    file: str
    text: str

    def found(self, source: Path) -> bool:
        """Whether this source has it."""
        return self.text in _text(source / self.file)


@dataclass(frozen=True)
class Edit:
    """A change to the source: in ``file``, ``text`` replaces the match of ``pattern``, because of ``reason``.

    Where ``file`` is missing, ``renamed`` is changed. A source that has the feature ``unless``, or lacks the feature
    ``only``, needs no change.
    """

    file: str
    pattern: str
    text: str
    reason: str
    renamed: str | None = None
    unless: Feature | None = None
    only: Feature | None = None

    def apply(self, source: Path) -> bool:
        """Apply the change once; returns False if this source needs none. Raises :class:`bentpipe.InputError` if the
        source has no match."""
        if (self.unless and self.unless.found(source)) or (self.only and not self.only.found(source)):
            return False
        file = source / self.file
        if self.renamed and not file.is_file():
            file = source / self.renamed
        before = _text(file)
        if self.text in before:
            # Already applied by an interrupted build.
            return True
        after, count = re.subn(self.pattern, self.text, before)
        if count != 1:
            raise InputError(
                f"{file} is not as bentpipe knows it ({self.reason}): this version of the kernel is not supported"
            )
        if after != before:
            file.write_text(after, encoding="utf-8")
        return True


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""
