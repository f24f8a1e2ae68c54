"""Scenarios, which the engine reads, resolves and validates."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

from bentpipe import _native
from bentpipe.quantities import base_value, listed
from bentpipe.scenario.editor_schema import for_editors


class Scenario:
    """A valid and complete scenario, in which every key with a default is present.

    The engine has resolved the scenario once; each property asks the engine on first use.
    ``source`` is the file of the scenario, and ``native`` the engine's object.
    """

    def __init__(self, native: _native.Scenario, source: str | None = None) -> None:
        self.native = native
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process resolves the text a second time.
        return load, (ScenarioText(self.toml, self.source or self.name),)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The scenario as dictionaries and lists; quantities are texts with units. Groups are not
        expanded."""
        return cast("dict[str, Any]", json.loads(self.native.data()))

    @cached_property
    def toml(self) -> str:
        """The text of :attr:`data` as TOML."""
        return self.native.toml()

    @cached_property
    def nodes(self) -> list[str]:
        """Names of the nodes."""
        return self.native.nodes()

    @cached_property
    def stages(self) -> int:
        """The number of stages of the network."""
        return self.native.stages()

    @cached_property
    def warnings(self) -> list[str]:
        """Sentences about settings that are valid but probably unintended."""
        late = (self._warning(*found) for found in _late(self.data))
        return [*self.native.warnings(), *late]

    def _warning(self, path: list[str], words: str) -> str:
        """Returns a warning about a value with its position, in the engine's format."""
        try:
            self.native.refuse(path, words)
        except _native.ScenarioError as error:
            return str(error)
        raise AssertionError("refuse() always raises")

    @cached_property
    def campaign(self) -> dict[str, Any] | None:
        """The table ``campaign``, complete. The table is not in :attr:`data`, since it belongs to
        no single run."""
        text = self.native.campaign()
        return None if text is None else tomllib.loads(text)

    @cached_property
    def memory(self) -> dict[str, Any]:
        """The ``bytes`` that an emulation holds while all links are full, and the ``largest`` of
        the links."""
        return cast("dict[str, Any]", json.loads(self.native.memory()))

    @cached_property
    def simulated_only(self) -> tuple[list[tuple[str, list[str]]], list[str], list[str]]:
        """The parts that an emulation does not apply: flows, and sides of proxies, with the keys
        that no real stack applies; the key paths that an emulation refuses; and the flows with
        models at their ends."""
        parts = json.loads(self.native.simulated_only())
        return cast("tuple[list[tuple[str, list[str]]], list[str], list[str]]", parts)

    @cached_property
    def _members(self) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads(self.native.members()))

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows, with groups replaced by their members."""
        return cast("list[dict[str, Any]]", self._members["flows"])

    @property
    def links(self) -> list[dict[str, Any]]:
        """The links, with groups replaced by their members."""
        return cast("list[dict[str, Any]]", self._members["links"])

    @property
    def attached(self) -> dict[str, list[str]]:
        """The nodes of each network."""
        return cast("dict[str, list[str]]", self._members["attached"])

    @property
    def name(self) -> str:
        """The value of the scenario's key ``name``."""
        return str(self.data.get("name", ""))

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The paths of the flows in numbers: :class:`bentpipe.scenario.facts.Facts`."""
        return cast("dict[str, Any]", json.loads(self.native.facts()))

    @cached_property
    def picture(self) -> dict[str, Any]:
        """The ``nodes`` and ``edges`` of a picture of the network, each with the key path of its
        entity, and the node at which the first flow starts."""
        return cast("dict[str, Any]", json.loads(self.native.picture()))


@dataclass(frozen=True)
class ScenarioText:
    """A scenario as TOML, and its name in messages."""

    toml: str
    source: str


#: A path to a TOML file, a loaded scenario, a scenario's text, or a scenario as a dictionary (see
#: :mod:`bentpipe.scenario_types` for its type).
ScenarioLike: TypeAlias = str | Path | Mapping[str, Any] | Scenario | ScenarioText


#: ``"KEY.PATH=VALUE"``, or a pair of a name for messages and this text. The default name is ``--set
#: KEY.PATH``.
Override: TypeAlias = str | tuple[str, str]

#: Overrides in their order, or values by key path, such as ``{"flow.upload.dscp": 46}``.
Overrides: TypeAlias = Sequence[Override] | Mapping[str, Any]


def load(scenario: ScenarioLike, overrides: Overrides = ()) -> Scenario:
    """Reads a scenario, applies overrides, and resolves and validates it, without running it.

    ``overrides`` are ``"key.path=value"``, for instance
    ``"flow.upload.transport.congestion=vegas"``, or a dictionary of values by key path. Raises
    :class:`bentpipe.ScenarioError`, whose text names file, line, key path, value and allowed
    values.

    >>> scenario = load("examples/dvb-rcs-upload.toml", ["network.sat.return.dama.scheme=vbdc"])
    >>> scenario.nodes, scenario.data["network"]["sat"]["return"]["dama"]["scheme"]["kind"]
    (['gw', 'st1'], 'vbdc')
    >>> load("examples/dvb-rcs-upload.toml", {"seed": 7, "flow.upload.app": {"kind": "bulk"}}).data["seed"]
    7
    """
    given = override_texts(overrides)
    if isinstance(scenario, Scenario) and not given:
        return scenario
    source, text = source_and_text(scenario)
    return Scenario(_native.Scenario(source, text, given), source)


def _late(data: Mapping[str, Any]) -> Iterator[tuple[list[str], str]]:
    """Yields the key path of the first flow (or group of flows) and of the first change that begin
    at or after the end of the run, each with a warning about all of its kind."""
    end = base_value(data["duration"])
    names = [flow["name"] for flow in data.get("flow", []) if base_value(flow["start"]) >= end]
    if names:
        others = f"; so do {listed(names[1:])}" if names[1:] else ""
        words = f"starts at or after the end of the run ({data['duration']}) and sends nothing{others}"
        yield ["flow", names[0], "start"], words
    numbers = [
        number for number, change in enumerate(data.get("change", [])) if base_value(change["at"]) >= end
    ]
    if numbers:
        # The engine refuses later ones.
        words = "is the end of the run, so the change has no effect"
        words += f"; the same applies to {len(numbers) - 1} more" if numbers[1:] else ""
        yield ["change", str(numbers[0]), "at"], words


def schema(editor: bool = False) -> dict[str, Any]:
    """Returns the JSON Schema of complete scenarios or, for editors, of scenarios that may use a
    preset, which supplies required keys and the kinds of tables."""
    document = cast("dict[str, Any]", json.loads(_native.schema()))
    if not editor:
        return document
    return for_editors(document, ((name, about) for name, about, _ in _native.presets()))


def override_texts(overrides: Overrides) -> list[Override]:
    """Returns overrides in the form that the engine reads. In messages, an override from a
    dictionary is named by its key.

    >>> override_texts({"seed": 2, "flow.a.app": {"kind": "bulk", "size": "1 MB"}})
    [('override seed', 'seed=2'), ('override flow.a.app', 'flow.a.app={kind = "bulk", size = "1 MB"}')]
    """
    if isinstance(overrides, Mapping):
        return [(f"override {key}", f"{key}={toml_value(value)}") for key, value in overrides.items()]
    return list(overrides)


def seeded(seed: int | None) -> list[Override]:
    """Returns the override of the scenario's seed; empty without a seed."""
    return [] if seed is None else [("argument seed", f"seed={seed}")]


def slug(text: str) -> str:
    """Returns a text as the name of a file or folder.

    >>> slug("Upload over a DVB-RCS return link")
    'upload-over-a-dvb-rcs-return-link'
    """
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "run"


def source_and_text(scenario: ScenarioLike) -> tuple[str | None, str | None]:
    """Returns the source and the text for the engine: a file to read, or a text with its name in
    messages."""
    if isinstance(scenario, Scenario | ScenarioText):
        return scenario.source, scenario.toml
    if isinstance(scenario, Mapping):
        return None, toml_text(scenario)
    return str(scenario), None


def toml_text(table: Mapping[str, Any]) -> str:
    """Returns a dictionary as TOML, one line per key. Raises ``TypeError`` for values that TOML
    lacks (``None``, say).

    >>> print(toml_text({"name": "up", "flow": [{"name": "a", "app": {"kind": "bulk"}}]}))
    name = "up"
    flow = [{name = "a", app = {kind = "bulk"}}]
    """
    return "\n".join(f"{_key(key)} = {toml_value(value)}" for key, value in table.items())


def toml_value(value: Any) -> str:
    """Returns a value as TOML on one line. Raises ``TypeError`` for values that TOML lacks."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    raise TypeError(
        f"a scenario cannot contain {value!r}; allowed: tables, lists, texts, numbers and booleans"
    )


def _key(key: object) -> str:
    return str(key) if re.fullmatch("[A-Za-z0-9_-]+", str(key)) else _string(str(key))


def _string(text: str) -> str:
    # TOML's basic strings equal JSON's, except that TOML escapes the DEL character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
