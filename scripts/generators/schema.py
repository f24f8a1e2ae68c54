"""The JSON Schema of scenarios, with names that say something and in an order in which parts come before wholes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

ROOT = "Scenario"


def named(schema: Schema) -> dict[str, Schema]:
    """All definitions by name, the root among them as ``Scenario``; what a definition refers to comes before it.

    Raises :class:`ValueError` for a name that ends in a digit: the schema's generator numbers types of the same name by
    the order in which it meets them, which changes with any key that is added before.
    """
    definitions = {**schema["$defs"], ROOT: {k: v for k, v in schema.items() if k != "$defs"}}
    numbered = sorted(name for name in definitions if name[-1].isdigit())
    if numbered:
        raise ValueError(
            f"{', '.join(numbered)}: several types have this name without the digit; "
            'give each its own with #[schemars(rename = "...")]'
        )
    ordered: dict[str, Schema] = {}
    _visit(ROOT, definitions, ordered)
    return ordered


def reference(schema: Schema) -> str | None:
    """The name of the definition that a schema refers to."""
    target = schema.get("$ref")
    return target.rpartition("/")[2] if target else None


def variants(definition: Schema) -> list[tuple[str, Schema]]:
    """Kind and table of each variant of a definition that has the key ``kind``; empty for any other."""
    found = []
    for part in definition.get("oneOf", []):
        kind = part.get("properties", {}).get("kind", {}).get("const")
        if kind is not None:
            found.append((kind, part))
    return found


def without_null(schema: Schema) -> Schema:
    """A schema without the null that stands for "not given"."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return schema | {"type": next(kind for kind in kinds if kind != "null")}
    if "anyOf" in schema:
        parts = [part for part in schema["anyOf"] if part.get("type") != "null"]
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return rest | (parts[0] if len(parts) == 1 else {"anyOf": parts})
    return schema


def references(schema: Any) -> Iterator[str]:
    """Every definition that a schema refers to, in order."""
    if isinstance(schema, dict):
        if (name := reference(schema)) is not None:
            yield name
        for key, value in schema.items():
            # A default is a value, whatever it looks like.
            if key != "default":
                yield from references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)


def camel(words: str) -> str:
    """A key as the name of a type."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_ ]", words))


def _visit(
    name: str, definitions: dict[str, Schema], ordered: dict[str, Schema], open_: frozenset[str] = frozenset()
) -> None:
    """``open_``: what refers to it, directly or not. Definitions may refer to each other; one then comes later."""
    open_ |= {name}
    for used in references(definitions[name]):
        if used not in ordered and used not in open_:
            _visit(used, definitions, ordered, open_)
    ordered.setdefault(name, definitions[name])
