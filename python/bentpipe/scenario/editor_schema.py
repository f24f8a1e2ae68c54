"""The schema of scenarios for editors: complete descriptions at every key, and no required keys.

Language servers for TOML show one description per key, and complete from what they find without
resolving many references. So this schema says the same as the complete one, in a form that they
read well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: Keywords whose values are data, not schemas.
_DATA: Final = ("default", "examples", "const", "enum", "units")
_NULL: Final = {"type": "null"}
#: The description of the key in `{ file = "..." }`, which may replace an inline value.
_FILE: Final = "File that holds the value; a relative name starts at the folder of the scenario."


def for_editors(document: Mapping[str, Any], presets: Iterable[tuple[str, str]]) -> dict[str, Any]:
    r"""Returns a complete schema as one for editors. ``presets`` are names with descriptions.

    - No key is required, and tables may match several variants, since a preset may supply the key
      and the kind.
    - ``null``, which TOML lacks, is left out.
    - Quantities are written out at their keys, with description, range and units.
    - The key ``kind`` has the description of its variant.
    - ``preset`` lists the presets.

    >>> span = {"description": "a span of time", "type": "string", "units": {"s": {"s": 1, "ms": 1e-3}}}
    >>> delay = {"description": "Delay.", "anyOf": [{"$ref": "#/$defs/Span"}, {"type": "null"}]}
    >>> schema = {"properties": {"delay": delay}, "required": ["delay"], "$defs": {"Span": span}}
    >>> for_editors(schema, [])["properties"]["delay"]["description"]
    'Delay.\n\nValue: a span of time; units: s, ms.'
    """
    schema: dict[str, Any] = _Editing(document["$defs"]).part(document)
    schema["$defs"] = {name: one for name, one in schema["$defs"].items() if "units" not in one}
    if "preset" in schema["properties"]:
        names = [{"const": name, "description": about} for name, about in presets]
        schema["properties"]["preset"]["anyOf"] = [
            {"type": "string", "anyOf": names},
            {"type": "array", "items": {"type": "string", "anyOf": names}},
        ]
    return schema


class _Editing:
    """Rewrites the parts of a schema with these definitions."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def part(self, part: Any) -> Any:
        """Returns a part of the schema for editors."""
        if isinstance(part, list):
            return [self.part(item) for item in part]
        if not isinstance(part, dict):
            return part
        part = self._written_out(without_null(part))
        whole: dict[str, Any] = {}
        for keyword, value in part.items():
            if keyword in ("properties", "$defs"):
                whole[keyword] = {name: self.part(one) for name, one in value.items()}
            elif keyword in _DATA:
                whole[keyword] = value
            elif keyword != "required":
                whole["anyOf" if keyword == "oneOf" else keyword] = self.part(value)
        if set(whole.get("properties", {})) == {"file"}:
            whole["properties"]["file"].setdefault("description", _FILE)
        _describe_kind(whole)
        _describe_default(whole)
        return whole

    def _written_out(self, part: dict[str, Any]) -> dict[str, Any]:
        """Returns a part with the quantity that it refers to in place of the reference."""
        target = self._definitions.get(str(part.get("$ref", "")).removeprefix("#/$defs/"))
        if target is None or "units" not in target:
            return part
        units = ", ".join(unit for units in target["units"].values() for unit in _by_size(units))
        value = f"Value: {target['description']}; units: {units}."
        whole = {**target, **{keyword: one for keyword, one in part.items() if keyword != "$ref"}}
        own = part.get("description")
        whole["description"] = f"{own}\n\n{value}" if own else value
        return whole


def _by_size(units: Mapping[str, float]) -> list[str]:
    """Returns the names of units, the base unit first and the others by their size.

    >>> _by_size({"min": 60, "ms": 0.001, "s": 1})
    ['s', 'ms', 'min']
    """
    return sorted(units, key=lambda name: (units[name] != 1, units[name]))


def without_null(part: dict[str, Any]) -> dict[str, Any]:
    """Returns a part without ``null``. A single remaining alternative takes the part's place.

    >>> without_null({"description": "A key.", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]})
    {'$ref': '#/$defs/A', 'description': 'A key.'}
    >>> without_null({"type": ["integer", "null"], "default": None})
    {'type': 'integer'}
    """
    whole = {keyword: one for keyword, one in part.items() if (keyword, one) != ("default", None)}
    types = whole.get("type")
    if isinstance(types, list):
        rest = [one for one in types if one != "null"]
        whole["type"] = rest[0] if len(rest) == 1 else rest
    for keyword in ("anyOf", "oneOf"):
        alternatives = whole.get(keyword, [])
        if isinstance(alternatives, list) and _NULL in alternatives:
            rest = [one for one in alternatives if one != _NULL]
            whole[keyword] = rest
            if len(rest) == 1:
                del whole[keyword]
                whole = {**rest[0], **whole}
    return whole


def _describe_kind(table: dict[str, Any]) -> None:
    """Gives the key ``kind`` of a variant the first paragraph of the variant's description."""
    kind = table.get("properties", {}).get("kind")
    if isinstance(kind, dict) and "const" in kind and "description" in table:
        kind.setdefault("description", table["description"].split("\n\n")[0])


def _describe_default(part: dict[str, Any]) -> None:
    """Appends a default to a description that does not state it: editors show the description."""
    default = part.get("default")
    if default in (None, [], {}) or isinstance(default, dict) or "description" not in part:
        return
    if "efault" not in part["description"]:
        part["description"] += f"\n\nDefault: {json.dumps(default)}."
