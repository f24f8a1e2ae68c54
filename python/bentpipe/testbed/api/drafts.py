"""Templates, the schema, and drafts: what a text is and how a change of one value changes it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bentpipe import _native
from bentpipe.beginnings import scenario_from
from bentpipe.scenarios import schema
from bentpipe.testbed import drafts
from bentpipe.testbed.rules import check_text

from .callers import Anyone
from .sessions import Strict

router = APIRouter(tags=["drafts"])

#: Scenarios of a whole experiment; the first line of each says what it is.
TEMPLATES: Final = Path(__file__).resolve().parents[1] / "templates"
#: Drafts that are resolved at a time: it takes a processor.
_turn: Final = threading.Semaphore(2)

Text = Annotated[str, Field(max_length=1_000_000)]


class Template(BaseModel):
    """A scenario to start from."""

    name: str
    about: str
    kind: str


class Draft(Strict):
    """A scenario's text."""

    text: Text


class Edit(Strict):
    """A key path and its new value; null removes the key. A table of a list is addressed by its name."""

    path: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=20)]
    value: Any = None


class Edits(Draft):
    """A text and changes of it."""

    edits: Annotated[list[Edit], Field(max_length=200)]


@router.get("/templates")
def templates(_: Anyone) -> list[Template]:
    """Return what a scenario can start from: experiments, presets, and a blank page."""
    experiments = [Template(name=file.stem, about=_about(file), kind="experiment") for file in _files()]
    presets = [Template(name=name, about=about, kind="preset") for name, about, _ in _native.presets()]
    return [
        *experiments,
        *presets,
        Template(name="blank", about="Draw nodes and links yourself", kind="blank"),
    ]


@router.get("/templates/{name}")
def template(name: str, _: Anyone) -> Draft:
    """Return the text of a template."""
    return Draft(text=text_of(name))


@router.get("/schema")
def scenario_schema(_: Anyone) -> dict[str, Any]:
    """Return the JSON Schema of scenarios, from which the forms are made."""
    return schema()


@router.post("/drafts/view")
def view(given: Draft, who: Anyone) -> dict[str, Any]:
    """Return what a text is: problems, or summary, resolved values, picture, predictions and cost. Nothing is
    stored."""
    with _turn:
        return drafts.view(given.text, who.level)


@router.post("/drafts/edit")
def edit(given: Edits, who: Anyone) -> Draft:
    """Return the text after changes, with its comments and order. Nothing is stored."""
    text = given.text
    check_text(text, who.level)
    with _turn:
        for one in given.edits:
            text = drafts.edit(text, one.path, one.value)
    return Draft(text=text)


def text_of(name: str) -> str:
    """Returns the text of a template. Raises :class:`bentpipe.testbed.accounts.Refused`."""
    from bentpipe.testbed.accounts import Refused

    if name == "blank":
        return 'name = "My scenario"\nduration = "60 s"\n'
    for file in _files():
        if file.stem == name:
            return file.read_text(encoding="utf-8")
    for preset, about, text in _native.presets():
        if preset == name:
            return scenario_from(preset, about, text)
    raise Refused(404, "there is no such template")


def _files() -> list[Path]:
    return sorted(TEMPLATES.glob("*.toml"))


def _about(file: Path) -> str:
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").strip()
