"""Checks parts of scenarios in the documentation against the schema.

A part cannot be loaded, because the rest of the scenario is missing. Instead, the value of each key
must be valid for a key of the same name in any table of the schema.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator


def check(text: str) -> None:
    """Checks a part of a scenario as TOML, or a single inline table. Raises
    :class:`AssertionError`.

    >>> check('queue = { kind = "drop-tail", packets = 10 }')
    >>> check('queue = { kind = "drop-tail", packet = 10 }')
    Traceback (most recent call last):
    AssertionError: queue = {'kind': 'drop-tail', 'packet': 10} is valid for no key of this name
    >>> check('network.sat.forward.rate = "10 Mbit/s"')
    >>> check('network.sat.forward.speed = "10 Mbit/s"')
    Traceback (most recent call last):
    AssertionError: network = {'sat': {'forward': {'speed': '10 Mbit/s'}}} is valid for no key of this name
    """
    if text.lstrip().startswith("{"):
        value = tomllib.loads(f"value = {text.strip()}")["value"]
        kinds = [schema for schemas in _places().values() for schema in schemas]
        assert any(_valid(value, schema) for schema in kinds), f"{value} is valid for no key"
        return
    for key, value in tomllib.loads(text).items():
        schemas = _places().get(key, [])
        assert schemas, f"unknown key {key}"
        assert any(_valid(value, schema) for schema in schemas), (
            f"{key} = {value} is valid for no key of this name"
        )


@functools.cache
def _schema() -> dict[str, Any]:
    from bentpipe import _native

    schema: dict[str, Any] = json.loads(_native.schema())
    return schema


@functools.cache
def _places() -> dict[str, list[dict[str, Any]]]:
    """Returns the schemas of all keys by name, in which almost no key is required (`_partial`)."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in _tables(_schema()):
        for key, schema in table["properties"].items():
            found.setdefault(key, []).append(schema)
    return found


def _tables(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for value in schema.values():
            yield from _tables(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _tables(value)


def _valid(value: Any, schema: dict[str, Any]) -> bool:
    whole = {**schema, "$defs": _partial()}
    return bool(Draft202012Validator(whole).is_valid(value))


@functools.cache
def _partial() -> dict[str, Any]:
    """Returns the definitions, in which only the kind of a variant is required.

    A network does not need its kind: a preset sets the kind, and the part adds keys to the preset.
    """

    def loosened(part: Any, kept: str) -> Any:
        if isinstance(part, dict):
            # A part without required keys can match several kinds.
            found = {"anyOf" if key == "oneOf" else key: loosened(value, kept) for key, value in part.items()}
            if isinstance(found.get("required"), list):
                found["required"] = [name for name in found["required"] if name == kept]
            return found
        return [loosened(value, kept) for value in part] if isinstance(part, list) else part

    definitions: dict[str, Any] = _schema()["$defs"]
    return {
        name: loosened(part, "" if name == "NetworkKind" else "kind") for name, part in definitions.items()
    }
