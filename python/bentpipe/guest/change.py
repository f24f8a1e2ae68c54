"""Changes to the source of the guest's kernel: one file in ``changes`` for each change.

A file begins with a comment. Its first line is the name that ``bentpipe machine kernel status``
lists, and its fields apply to the whole change. Each part follows, as a comment that describes the
place and the text to insert there:

- ``file:`` the file in the kernel's source. Several lines name the file in different versions; the
  first existing file is changed.
- ``after:`` or ``replaces:`` the anchor, whole lines of that file regardless of their indentation.
  The text is inserted after the anchor or replaces it. A missing anchor, or one that occurs twice,
  is an error.
- ``only:`` a condition: ``FILE has TEXT``, ``FILE lacks TEXT``, or ``processor state above N
  bytes``. All of several lines must hold. A change whose conditions do not hold is omitted.
- ``why:`` the reason, for readers.

``BENTPIPE_STATE_BYTES`` stands for the size of the processor's state, a multiple of 64. C files
have C comments; Kconfig files have comment lines that begin with ``#``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bentpipe.errors import InputError

FOLDER: Final = Path(__file__).with_name("changes")

#: Patterns of comments with fields, by the ending of the file. Other comments belong to the text.
_HEADS: Final = {
    ".c": re.compile(r"^/\*\n((?: \*(?: .*)?\n)+) \*/\n", re.MULTILINE),
    ".kconfig": re.compile(r"^((?:#.*\n)+)", re.MULTILINE),
}
_FIELD: Final = re.compile(r"(\w+):(?:\s+(.*))?")
_STATE: Final = re.compile(r"processor state above (\d+) bytes")
_FEATURE: Final = re.compile(r"(\S+) (has|lacks) (.+)")
_FIELDS: Final = {
    "change": {"only", "why", "licence"},
    "part": {"file", "after", "replaces", "why"},
}

_STATE_BYTES: Final = "BENTPIPE_STATE_BYTES"


@dataclass(frozen=True)
class Feature:
    """A feature of some versions of the source: ``file`` contains ``text`` or, if ``found`` is
    false, does not contain it."""

    file: str
    text: str
    found: bool = True

    def holds(self, source: Path) -> bool:
        """Returns true if this source has the feature, or lacks it if ``found`` is false."""
        return (self.text in _text(source / self.file)) == self.found


@dataclass(frozen=True)
class Part:
    """One place of a change. ``files`` are the names of the changed file in the known versions."""

    files: tuple[str, ...]
    anchor: tuple[str, ...]
    replaces: bool
    text: str

    def apply(self, source: Path, change: str) -> None:
        """Applies this part once. A part that an interrupted build has already applied is skipped.
        Raises :class:`bentpipe.InputError` if the anchor does not occur exactly once."""
        name = next((name for name in self.files if (source / name).is_file()), self.files[-1])
        before = _text(source / name)
        if self.replaces and self.text in before:
            return
        lines = before.splitlines(keepends=True)
        bare = [line.strip() for line in lines]
        size = len(self.anchor)
        places = [at for at in range(len(bare)) if tuple(bare[at : at + size]) == self.anchor]
        if len(places) != 1:
            found = f"occurs {len(places)} times" if places else "is missing"
            raise InputError(
                f'{name} differs from the source that the change "{change}" of bentpipe expects: the anchor {found} '
                f"({' / '.join(line for line in self.anchor if line)}). This version of the kernel is not supported"
            )
        end = places[0] + size
        after = "".join(lines[end:])
        if not self.replaces and after.startswith(self.text):
            return
        start = places[0] if self.replaces else end
        (source / name).write_text("".join(lines[:start]) + self.text + after, encoding="utf-8")


@dataclass(frozen=True)
class Change:
    """A change to the source. ``name`` is the name of its file without the ending."""

    name: str
    title: str
    only: tuple[Feature, ...]
    parts: tuple[Part, ...]

    def apply(self, source: Path) -> bool:
        """Applies all parts; returns False if this source needs none."""
        if not all(feature.holds(source) for feature in self.only):
            return False
        for part in self.parts:
            part.apply(source, self.name)
        return True


def changes(state_bytes: int | None, folder: Path = FOLDER) -> tuple[Change, ...]:
    """Returns the changes for a processor with ``state_bytes`` of state beyond the general
    registers, by name."""
    files = sorted(file for file in folder.iterdir() if file.suffix in _HEADS)
    found = (_read(file, state_bytes) for file in files)
    return tuple(change for change in found if change is not None)


def _read(file: Path, state_bytes: int | None) -> Change | None:
    """Returns the change in a file; None if this processor does not need it."""
    size = -(-(state_bytes or 0) // 64) * 64
    text = file.read_text(encoding="utf-8").replace(_STATE_BYTES, str(size))
    heads = [head for head in _HEADS[file.suffix].finditer(text) if head.start() == 0 or _is_part(head[1])]
    if len(heads) < 2 or heads[0].start() != 0:
        raise ValueError(
            f"{file}: a change begins with a comment, and each part with one that names its file"
        )
    title, *rest = _bare(heads[0][1])
    fields = _fields(rest, file, "change")
    conditions = [line for lines in fields.get("only", []) for line in lines]
    features = []
    for condition in conditions:
        if state := _STATE.fullmatch(condition):
            if state_bytes is None or state_bytes <= int(state[1]):
                return None
        elif feature := _FEATURE.fullmatch(condition):
            features.append(Feature(feature[1], feature[3], feature[2] == "has"))
        else:
            raise ValueError(f"{file}: unknown condition: only: {condition}")
    ends = [head.start() for head in heads[2:]] + [len(text)]
    parts = [_part(head[1], text[head.end() : end], file) for head, end in zip(heads[1:], ends, strict=True)]
    return Change(file.stem, title, tuple(features), tuple(parts))


def _part(head: str, text: str, file: Path) -> Part:
    fields = _fields(_bare(head), file, "part")
    anchors = [name for name in ("after", "replaces") if name in fields]
    if len(anchors) != 1 or len(fields[anchors[0]]) != 1:
        raise ValueError(f"{file}: a part needs one anchor, after: or replaces:")
    (anchor,) = fields[anchors[0]]
    return Part(
        files=tuple(" ".join(lines) for lines in fields["file"]),
        anchor=tuple(anchor),
        replaces=anchors == ["replaces"],
        text=text.strip("\n") + "\n",
    )


def _is_part(head: str) -> bool:
    return _bare(head)[0].startswith("file:")


def _bare(head: str) -> list[str]:
    """Returns the lines of a comment without the comment characters."""
    return [re.sub(r"^(?: \*|#) ?", "", line).rstrip() for line in head.splitlines()]


def _fields(lines: Sequence[str], file: Path, kind: str) -> Mapping[str, Sequence[Sequence[str]]]:
    """Returns the values of each field as lines without indentation. Indented lines continue a
    field."""
    fields: dict[str, list[list[str]]] = {}
    value: list[str] = []
    for line in lines:
        if (field := _FIELD.fullmatch(line)) and field[1] in _FIELDS[kind]:
            value = [field[2]] if field[2] else []
            fields.setdefault(field[1], []).append(value)
        elif line.startswith(" ") or not line:
            value.append(line.strip())
        else:
            raise ValueError(f"{file}: unknown field: {line}; allowed: {', '.join(sorted(_FIELDS[kind]))}")
    for values in fields.values():
        for value in values:
            while value and not value[-1]:
                value.pop()
    return fields


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""
