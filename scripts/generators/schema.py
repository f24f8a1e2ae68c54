"""Reads the JSON Schema of scenarios: definitions in dependency order, references, variants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

Schema = dict[str, Any]

ROOT = "Scenario"


def named(schema: Schema) -> dict[str, Schema]:
    """Returns all definitions by name, each after the definitions it refers to; the root is
    ``Scenario``.

    Raises :class:`ValueError` for a name that ends in a digit. The schema's generator numbers types
    of the same name in order of appearance, so such a name would change with any key added earlier.
    """
    definitions = {**schema["$defs"], ROOT: {k: v for k, v in schema.items() if k != "$defs"}}
    numbered = sorted(name for name in definitions if name[-1].isdigit())
    if numbered:
        raise ValueError(
            f"{', '.join(numbered)}: several types have this name without the digit; "
            'give each a distinct name with #[schemars(rename = "...")]'
        )
    ordered: dict[str, Schema] = {}
    _visit(ROOT, definitions, ordered)
    return ordered


def reference(schema: Schema) -> str | None:
    """Returns the name of the definition that a schema refers to."""
    target = schema.get("$ref")
    return target.rpartition("/")[2] if target else None


def variants(definition: Schema) -> list[tuple[str, Schema]]:
    """Returns kind and table of each variant of a definition with the key ``kind``; otherwise
    nothing."""
    found = []
    for part in definition.get("oneOf", []):
        kind = part.get("properties", {}).get("kind", {}).get("const")
        if kind is not None:
            found.append((kind, part))
    return found


def written(parts: Iterable[Schema]) -> list[Schema]:
    """Returns the alternatives that users write, without the text of a file's lines.

    Only a resolved scenario contains such a text; its schema would accept any text in place of a
    name.
    """
    return [part for part in parts if part.get("pattern") != "\n"]


def references(schema: Any) -> Iterator[str]:
    """Yields the name of every definition that a schema refers to, in order."""
    if isinstance(schema, dict):
        if (name := reference(schema)) is not None:
            yield name
        for key, value in schema.items():
            # A default is a value, even if it looks like a schema.
            if key != "default":
                yield from references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)


def camel(words: str) -> str:
    """Returns a key in the spelling of a type's name."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_ ]", words))


def _visit(
    name: str, definitions: dict[str, Schema], ordered: dict[str, Schema], open_: frozenset[str] = frozenset()
) -> None:
    """Appends a definition after those it refers to. Definitions in ``open_`` wait for it
    (cycles)."""
    open_ |= {name}
    for used in references(definitions[name]):
        if used not in ordered and used not in open_:
            _visit(used, definitions, ordered, open_)
    ordered.setdefault(name, definitions[name])
