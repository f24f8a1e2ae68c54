"""Extracts templates of the test bed from the scenarios in the pages of docs/gallery."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from bentpipe.documentation import head

BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def templates(pages: Path) -> dict[str, str]:
    """Returns name and text of each template: the first complete scenario of a page, headed by its
    title."""
    found = {}
    for page in sorted(pages.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        title, _ = head(text)
        for block in BLOCK.findall(text):
            if {"name", "flow"} <= set(tomllib.loads(block)):
                # Removes the first line of the block, a comment with a file name.
                body = re.sub(r"\A# \S+\.toml\n", "", block)
                found[page.stem] = f"# {title}\n{body}"
                break
    return found
