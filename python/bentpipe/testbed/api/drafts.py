"""Templates, the schema of scenarios, and drafts: analysis of a text, and changes of values in
it."""

from __future__ import annotations

import tomllib
from functools import cache, reduce
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bentpipe import _native
from bentpipe.scenario.starters import scenario_from
from bentpipe.testbed import drafts, instruments, maps
from bentpipe.testbed.forms import form_schema
from bentpipe.testbed.portraits import portrait
from bentpipe.testbed.rules import check_text

from .callers import AnyCaller, CurrentSettings
from .pools import Pool
from .sessions import Strict

router = APIRouter(tags=["drafts"])

#: Threads that resolve scenarios, of which each occupies a processor.
scenarios: Final = Pool("previews and launches", threads=2, waiting=60, per_caller=4)

#: Scenarios of complete experiments and of the manual's gallery. The first line of each file
#: describes the scenario.
TEMPLATES: Final = Path(__file__).resolve().parents[1] / "templates"

Text = Annotated[str, Field(max_length=1_000_000)]


class ThumbnailNode(BaseModel):
    """A node of a small picture, with its kind, such as host, router or network."""

    id: str
    kind: str


class Thumbnail(BaseModel):
    """A small picture of a scenario: its nodes, its edges as pairs of numbers of nodes with true
    for a link over a satellite, and the number of the node from which it is drawn."""

    nodes: list[ThumbnailNode]
    edges: list[tuple[int, int, bool]]
    first: int


class Template(BaseModel):
    """A scenario from which a new configuration can start, with its title and its group on the
    page. The blank one has no group and no picture."""

    name: str
    title: str
    about: str
    group: str
    picture: Thumbnail | None


class Draft(Strict):
    """The TOML text of a scenario."""

    text: Text


class MapAt(Draft):
    """A scenario's text, a time in seconds, and the name of a constellation (default: the
    first)."""

    time: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    network: Annotated[str, Field(max_length=200)] | None = None


class Satellite(BaseModel):
    """The position of a satellite: longitude and latitude in degrees, altitude in metres."""

    name: str
    longitude: float
    latitude: float
    altitude: float


class Site(BaseModel):
    """A site on the ground, with its minimum elevation (``mask``, deg) and the numbers of its
    serving satellites."""

    name: str
    longitude: float
    latitude: float
    mask: float
    serving: list[int]


class MapFlow(BaseModel):
    """A flow between two sites, given by their numbers. ``satellites`` are the satellites on its
    path and ``delay`` is the delay (s); both are null without a path."""

    name: str
    from_: Annotated[int, Field(alias="from")]
    to: int
    satellites: list[int] | None
    delay: float | None


class Map(BaseModel):
    """A constellation at a time of the scenario. Links are pairs of satellites, by number."""

    network: str
    networks: list[str]
    epoch: str
    time: float
    duration: float
    satellites: list[Satellite]
    links: list[tuple[int, int]]
    sites: list[Site]
    flows: list[MapFlow]


class Edit(Strict):
    """A key path and its new value; null removes the key. A table of a list is addressed by its
    name."""

    path: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=20)]
    value: Any = None


class Edits(Draft):
    """A scenario's text, and changes to make in it."""

    edits: Annotated[list[Edit], Field(max_length=200)]


@router.get("/templates")
def templates(_: AnyCaller) -> list[Template]:
    """Returns the templates of scenarios by group, and a blank one."""
    return _templates()


@cache
def _templates() -> list[Template]:
    about = "Draw nodes and links yourself."
    found = [Template(name="blank", title="My scenario", about=about, group="", picture=None)]
    groups = tomllib.loads((TEMPLATES / "groups.toml").read_text(encoding="utf-8"))["group"]
    abouts = {name: about for name, about, _ in _native.presets()}
    for group in groups:
        for name, title in group["templates"].items():
            text = text_of(name)
            about, picture = portrait(text, "administrator")
            if (TEMPLATES / "gallery" / f"{name}.toml").is_file():
                # The first line of a scenario of the gallery is a title as well.
                about = tomllib.loads(text)["name"]
            about = abouts.get(name, about)
            thumbnail = None if picture is None else Thumbnail.model_validate(picture)
            found.append(
                Template(name=name, title=title, about=about, group=group["name"], picture=thumbnail)
            )
    return found


@router.get("/templates/{name}")
def template(name: str, _: AnyCaller) -> Draft:
    """Returns the text of a template."""
    return Draft(text=text_of(name))


@router.get("/schema")
def scenario_schema(_: AnyCaller) -> dict[str, Any]:
    """Returns the JSON Schema of scenarios, which defines the forms. In addition, quantities have
    ``units`` with their sizes in base units, and applications have ``transports``, the kinds of
    transport that can carry them. Keys have ``common`` (shown first), ``order``, and otherwise
    ``group``, the name of the group in which forms fold them."""
    return form_schema()


@router.post("/drafts/view")
async def view(given: Draft, who: AnyCaller, settings: CurrentSettings) -> dict[str, Any]:
    """Analyses the text of a scenario. Returns its problems, or its summary, resolved values,
    picture, predictions and cost. ``impossible`` lists the instruments that cannot run the scenario
    on this test bed, with the reason. Nothing is stored."""
    machine = instruments.of_machine(settings)
    return await scenarios.run(who.id, drafts.view, given.text, who.level, machine)


@router.post("/drafts/map")
async def map_at(given: MapAt, who: AnyCaller) -> Map:
    """Returns the satellites, links and paths of a constellation at a time of the scenario. Nothing
    is stored."""
    found = await scenarios.run(who.id, maps.at, given.text, who.level, given.time, given.network)
    return Map.model_validate(found)


@router.post("/drafts/edit")
async def edit(given: Edits, who: AnyCaller) -> Draft:
    """Returns the text after changes, with comments and order preserved. Nothing is stored."""
    return Draft(text=await scenarios.run(who.id, _edited, given, who.level))


def _edited(given: Edits, level: str) -> str:
    check_text(given.text, level)
    return reduce(lambda text, one: drafts.edit(text, one.path, one.value), given.edits, given.text)


def text_of(name: str) -> str:
    """Returns the text of a template. Raises :class:`bentpipe.testbed.refused.Refused`."""
    from bentpipe.testbed.refused import Refused

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
    found = [*sorted(TEMPLATES.glob("*.toml")), *sorted((TEMPLATES / "gallery").glob("*.toml"))]
    return [one for one in found if one.stem != "groups"]
