"""The scenarios of the documentation."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from . import ROOT

#: Scenarios whose runs are too long for a page: more events than a page runs.
LONG = {"examples/hub-storm": "18 million events"}


def described() -> Iterator[tuple[str, Any]]:
    """Yields name and path of every example, and name and content of every scenario of the
    gallery."""
    for file in sorted((ROOT / "examples").glob("*.toml")):
        yield f"examples/{file.stem}", file
    for file in sorted((ROOT / "docs" / "gallery").glob("*.md")):
        blocks = re.findall(r"```toml\n(.*?)```", file.read_text(encoding="utf-8"), re.DOTALL)
        for number, block in enumerate(blocks, 1):
            yield f"gallery/{file.stem}" + (f"-{number}" if number > 1 else ""), tomllib.loads(block)
