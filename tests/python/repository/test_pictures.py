"""The pictures of docs/pictures: a missing, unused or stale picture is found."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import ROOT
from manual import blocks, pictures, plugin
from PIL import Image

PAGE = """# A page

How large is a number?

```python
from matplotlib.figure import Figure

figure = Figure(figsize=(4, 3))
figure.subplots().bar([1, 2], [3, 4])
figure.text(0.5, 0.95, "12.3 s")
```

![Two numbers](pictures/numbers.png)

*Two numbers, and a text.*
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one page and its picture."""
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    monkeypatch.setattr(pictures, "FOLDER", tmp_path / "docs/pictures")
    monkeypatch.setattr(pictures, "INPUTS", tmp_path / "docs/pictures/inputs.csv")
    (tmp_path / "docs/pictures").mkdir(parents=True)
    page = tmp_path / "docs/page.md"
    page.write_text(PAGE)
    (block,) = blocks.read(PAGE)
    session(tmp_path / "drawn").run(block)
    (tmp_path / "drawn/pictures/numbers.png").rename(tmp_path / "docs/pictures/numbers.png")
    return tmp_path


def session(place: Path) -> blocks.Session:
    """A session that draws into a folder."""
    (place / "folder").mkdir(parents=True)
    return blocks.Session(place / "folder", place / "pictures")


def run(root: Path, page: str, place: Path) -> None:
    """Run the block of a page as the page's test does."""
    (block,) = blocks.read(page)
    document = SimpleNamespace(path=str(root / "docs/page.md"), text=page)
    example: Any = SimpleNamespace(parsed=block, document=document, namespace={"session": session(place)})
    plugin._run(example)


def test_the_test_of_a_page_compares_its_picture(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin, "ROOT", root)
    run(root, PAGE, tmp_path / "same")
    for number, (old, new) in enumerate([("12.3", "12.8"), ("[3, 4]", "[3, 4.1]"), ("(4, 3)", "(4, 2)")]):
        with pytest.raises(
            AssertionError, match=r"numbers\.png (differs|has).*: scripts/pictures docs/page\.md"
        ):
            run(root, PAGE.replace(old, new), tmp_path / str(number))
    (root / "docs/pictures/numbers.png").unlink()
    with pytest.raises(AssertionError, match="is missing"):
        run(root, PAGE, tmp_path / "missing")


def test_a_rounded_edge_is_no_difference(root: Path, tmp_path: Path) -> None:
    file = root / "docs/pictures/numbers.png"
    with Image.open(file) as image:
        lighter = image.convert("RGB").point(lambda level: min(255, level + 10))
    lighter.putpixel((5, 5), (0, 0, 0))
    lighter.save(tmp_path / "lighter.png")
    assert pictures.differs(tmp_path / "lighter.png", file) == ""


def test_missing_and_unused_pictures_are_listed(root: Path) -> None:
    assert pictures.problems({}) == []
    file = root / "docs/pictures/numbers.png"
    file.rename(file.with_name("letters.png"))
    assert pictures.problems({}) == [
        "docs/pictures/numbers.png is missing: scripts/pictures",
        "docs/pictures/letters.png is on no page: remove it",
    ]


def test_a_picture_on_the_real_clock_is_compared_by_its_inputs(root: Path) -> None:
    real = PAGE.replace("```python", "```sh\nbentpipe run geo -- ping -c 1 server\n```\n\n```python")
    (root / "docs/page.md").write_text(real)
    stale = ["docs/pictures/numbers.png was drawn from other inputs: scripts/pictures"]
    assert pictures.problems({}) == stale
    pictures.record(pictures.hashed())
    assert pictures.problems({}) == []
    (root / "docs/page.md").write_text(real.replace("ping -c 1", "ping -c 2"))
    assert pictures.problems({}) == stale


def test_a_program_includes_the_files_that_it_names(root: Path) -> None:
    (root / "examples").mkdir()
    (root / "examples/one.toml").write_text("a = 1")
    before = pictures.of_inputs('bp.load("examples/one.toml")')
    (root / "examples/one.toml").write_text("a = 2")
    assert pictures.of_inputs('bp.load("examples/one.toml")') != before


def test_the_pictures_are_small() -> None:
    files = [file for file in (ROOT / "docs/pictures").rglob("*") if file.is_file()]
    assert len(files) > 40
    assert sum(file.stat().st_size for file in files) < 3_000_000
