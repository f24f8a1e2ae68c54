"""Files that sources and pages cite exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from helpers import ROOT

#: Files that may cite others. Changelogs describe their time, and tests of scripts cite files that
#: they create.
CITING = (
    "*.md",
    "tests/authorities/**/*.md",
    "benchmarks/**/*.py",
    "crates/**/*.rs",
    "docs/**/*.md",
    "python/**/*.py",
    "python/bentpipe/guest/changes/*.c",
    "scripts/*",
    "studies/**/*.*",
)
PATH = re.compile(
    r"(?<![\w./<>-])(?:benchmarks|crates|docs|examples|python|scripts|studies|tests)/"
    r"[\w./-]+\.(?:c|csv|h|md|py|rs|toml|txt)\b"
)
#: Files in examples of printed or written text.
EXAMPLES = {"crates/congestion/variants/aimd.c", "crates/congestion/tests/aimd.rs", "examples/a.toml"}


def citations() -> Iterator[tuple[Path, str]]:
    for pattern in CITING:
        for file in sorted(ROOT.glob(pattern)):
            if (
                file.is_file()
                and "target" not in file.parts
                and not file.name.startswith(("CHANGELOG", "changes-"))
            ):
                for path in PATH.findall(file.read_text(encoding="utf-8", errors="ignore")):
                    yield file, path


def test_cited_files_are_there() -> None:
    found = list(citations())
    assert len(found) > 200
    missing = {
        f"{file.relative_to(ROOT)}: {path}"
        for file, path in found
        # Relative to the repository, or to the crate or folder of the file that cites it.
        if path not in EXAMPLES
        and "NAME" not in path
        and not any((place / path).exists() for place in (ROOT, *file.parents) if place.is_relative_to(ROOT))
    }
    assert sorted(missing) == []
