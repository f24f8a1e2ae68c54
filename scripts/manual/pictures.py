"""The pictures of docs/pictures, which are in git, so that a code host shows them.

A picture is stale if its program draws another one. The test of a page runs the program and
compares the pictures pixel by pixel. Pictures of runs on the real clock differ from run to run, and
those that ``scripts/pictures`` draws with kernels take minutes. For these, inputs.csv records a
hash of the inputs: the programs, and the files of examples/ that they name.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import blocks

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

ROOT: Final = Path(__file__).resolve().parents[2]

#: All pictures of pages, and the hashes of inputs.
FOLDER: Final = ROOT / "docs/pictures"
INPUTS: Final = FOLDER / "inputs.csv"

#: Colours of a picture. With 64, text and curves look as with all, and a file is a third as large.
COLOURS: Final = 64

#: Two pixels are equal if no colour differs by more than this, of 255. Processors may round the
#: edge of a curve in different ways.
LEVELS: Final = 64
#: Maximum number of different pixels. A changed digit has more.
PIXELS: Final = 10

#: A file that a program reads.
_FILE: Final = re.compile(r"\b(?:examples|benchmarks|studies)/[\w./-]+\w")


def save(figure: Figure, file: Path) -> None:
    """Write a figure as PNG with a palette."""
    from bentpipe import plots
    from PIL import Image

    buffer = io.BytesIO()
    with plots.styled():
        figure.savefig(buffer, format="png")
    optimise(Image.open(buffer), file)


def optimise(image: Image.Image, file: Path) -> None:
    """Write an image as PNG with a palette."""
    from PIL import Image

    file.parent.mkdir(parents=True, exist_ok=True)
    colours = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    colours.save(file, optimize=True)


def differs(drawn: Path, kept: Path) -> str:
    """Returns the difference of a drawn picture from the kept one in words, or nothing."""
    import numpy as np
    from PIL import Image

    if not kept.is_file():
        return "is missing"
    with Image.open(drawn) as one, Image.open(kept) as other:
        if one.size != other.size:
            return f"has {other.size[0]} x {other.size[1]} pixels instead of {one.size[0]} x {one.size[1]}"
        new, old = (np.asarray(image.convert("RGB"), dtype=np.int16) for image in (one, other))
    count = int((abs(new - old).max(axis=2) > LEVELS).sum())
    return f"differs in {count} pixels from the picture that the program draws" if count > PIXELS else ""


def pages() -> list[Path]:
    """Returns the pages that may have pictures."""
    return sorted(
        [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "studies").glob("*/README.md")]
    )


def links(page: str) -> list[str]:
    """Returns the links of a page to pictures of docs/pictures."""
    return re.findall(r"\]\(((?:docs/|(?:\.\./)*)pictures/[^)\s]+)\)", page)


def place(page: Path, block: blocks.Block) -> Path:
    """Returns the file of the picture that a block draws. Raises :class:`ValueError` if the file is
    in another folder."""
    file = (page.parent / block.picture).resolve()
    if not file.is_relative_to(FOLDER) or file.suffix != ".png":
        raise ValueError(f"{page.relative_to(ROOT)}: {block.picture} is no PNG file of docs/pictures")
    return file


def timed(before: Sequence[blocks.Block], block: blocks.Block) -> bool:
    """True if a block draws a run on the real clock, by the blocks before it."""
    real = any(one.language == "sh" and blocks.REAL.search(one.text) for one in before if one.runs)
    return real and "from manual import drawings" not in block.text


def hashed() -> dict[str, str]:
    """Returns the hash of the inputs of each picture on the real clock, by the name below
    docs/pictures."""
    found = {}
    for page in pages():
        read = blocks.read(page.read_text(encoding="utf-8"))
        for number, block in enumerate(read):
            if block.picture and block.runs and timed(read[:number], block):
                texts = [one.text for one in read[: number + 1] if one.runs]
                found[str(place(page, block).relative_to(FOLDER))] = of_inputs("\n".join(texts))
    return found


def of_inputs(program: str) -> str:
    """Returns the hash of a program and of the files of the repository that it names."""
    sum_ = hashlib.sha256(program.encode())
    for name in sorted(set(_FILE.findall(program))):
        if (ROOT / name).is_file():
            sum_.update((ROOT / name).read_bytes())
    return sum_.hexdigest()[:16]


def recorded() -> dict[str, str]:
    """Returns the hashes of inputs.csv."""
    if not INPUTS.is_file():
        return {}
    with INPUTS.open(encoding="utf-8", newline="") as lines:
        return {row["picture"]: row["inputs"] for row in csv.DictReader(lines)}


def record(hashes: dict[str, str]) -> None:
    """Write the hashes of inputs.csv."""
    lines = ["picture,inputs", *(f"{name},{value}" for name, value in sorted(hashes.items()))]
    INPUTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def problems(more: dict[str, str]) -> list[str]:
    """Returns missing and unused pictures, and those whose inputs have changed. ``more`` has hashes
    of pictures that no page draws."""
    used = {
        (page.parent / link).resolve() for page in pages() for link in links(page.read_text(encoding="utf-8"))
    }
    kept = {file for file in FOLDER.rglob("*") if file.suffix in (".png", ".svg")}
    wrong = [f"{file.relative_to(ROOT)} is missing: scripts/pictures" for file in sorted(used - kept)]
    wrong += [f"{file.relative_to(ROOT)} is on no page: remove it" for file in sorted(kept - used)]
    hashes, old = hashed() | more, recorded()
    for name in sorted(hashes.keys() | old.keys()):
        if hashes.get(name) != old.get(name):
            wrong.append(f"docs/pictures/{name} was drawn from other inputs: scripts/pictures")
    return wrong
