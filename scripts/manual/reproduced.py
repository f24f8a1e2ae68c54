"""Writes the page of each study, with its recorded results, into the site."""

from __future__ import annotations

from pathlib import Path

from bentpipe import studies
from bentpipe.studies.page import page


def write(folder: Path) -> None:
    """Writes ``studies/NAME.html`` for each study into a folder."""
    (folder / "studies").mkdir(parents=True, exist_ok=True)
    for name, place in studies.known().items():
        results = [one for one in studies.recorded(place).values() if one.verdicts or one.figures]
        text = page(studies.load(place), results, manual="../docs/studies.html")
        (folder / "studies" / f"{name}.html").write_text(text, encoding="utf-8")
