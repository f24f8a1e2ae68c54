"""Writes the data of the playground (``testbed/web/src/playground``) as a script, which a page that
is opened from a file can load: the schema, and scenarios to begin with.

The scenarios are the repository's examples, the first one of each page of the gallery, and one per
preset.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import bentpipe
from bentpipe import _native
from bentpipe.scenario.starters import scenario_from

from . import tries

ROOT: Final = Path(__file__).resolve().parents[2]
#: The example that the playground opens first.
FIRST: Final = "geo-bulk"

_FILE: Final = re.compile(r'file\s*=\s*"([^"]+)"')


def write(folder: Path) -> None:
    """Writes ``playground-data.js`` into a folder."""
    data = {"schema": bentpipe.schema(), "examples": examples()}
    text = f"window.bentpipePlayground = {json.dumps(data, ensure_ascii=False, separators=(',', ':'))};\n"
    (folder / "playground-data.js").write_text(text, encoding="utf-8")


def examples() -> list[dict[str, Any]]:
    """Returns the scenarios to begin with, the first one first."""
    return sorted(_all(), key=lambda one: one["name"] != FIRST)


def _all() -> Iterator[dict[str, Any]]:
    for file in sorted((ROOT / "examples").glob("*.toml")):
        yield _example("Examples", file.stem, file.read_text(encoding="utf-8"), file.parent)
    for page in sorted((ROOT / "docs" / "gallery").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for toml in list(tries.scenarios(text).values())[:1]:
            heading = text.partition("\n")[0].removeprefix("# ")
            yield _example("Gallery", f"gallery-{page.stem}", toml, page.parent) | {"title": heading}
    for name, about, text in _native.presets():
        toml = scenario_from(name, about, text)
        yield _example("Presets", f"preset-{name}", toml, ROOT) | {"title": f"{name}: {about}"}


def _example(group: str, name: str, toml: str, folder: Path) -> dict[str, Any]:
    title = re.search(r'^name = "(.*)"', toml, re.MULTILINE)
    included = {file: folder / file for file in _FILE.findall(toml)}
    return {
        "name": name,
        "group": group,
        "title": title[1] if title else name,
        "toml": re.sub(r"^#:schema .*\n", "", toml),
        "files": {
            file: path.read_text(encoding="utf-8") for file, path in included.items() if path.is_file()
        },
    }
