"""``python/bentpipe/scenario_types.py``: the scenario as typed dictionaries."""

from __future__ import annotations

import json
import keyword
import textwrap

from .schema import ROOT, Schema, camel, named, reference, variants, without_null, written

HEAD = '''"""A scenario as typed dictionaries, for ``bentpipe.simulate({...})`` in a typed program.

Generated from the engine's JSON Schema by scripts/generate: change the Config struct beside the model, then run
``make generate``. Ranges are checked by the engine, not by these types; quantities are texts with a unit.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

'''


def module(schema: Schema) -> str:
    """Returns the module's text, before formatting."""
    definitions = named(with_bases(schema))
    names = [ROOT, *sorted(name for name in definitions if name != ROOT)]
    listed = "".join(f'    "{name}",\n' for name in sorted(names))
    return (
        HEAD
        + f"__all__ = [\n{listed}]\n\n"
        + "\n\n".join(_define(*item) for item in definitions.items())
        + "\n"
    )


def with_bases(schema: Schema) -> Schema:
    """Returns the schema in which a variant that has the keys of a definition, and `kind`, refers to that definition
    instead of repeating the keys: the TCP of a transport has those of the TCP of a proxy's side."""
    definitions = schema["$defs"]
    tables = {
        (_keys(one), tuple(sorted(one.get("required", ())))): name
        for name, one in definitions.items()
        if one.get("type") == "object" and one.get("properties")
    }
    return schema | {
        "$defs": {
            name: one | {"oneOf": [_on_base(part, tables) for part in one["oneOf"]]} if variants(one) else one
            for name, one in definitions.items()
        }
    }


def _on_base(part: Schema, tables: dict[tuple[str, tuple[str, ...]], str]) -> Schema:
    """Returns a variant that refers to the table with its other keys, if there is one."""
    required = tuple(sorted(key for key in part.get("required", ()) if key != "kind"))
    base = tables.get((_keys(part), required))
    if base is None:
        return part
    own = {key: value for key, value in part["properties"].items() if key == "kind"}
    return part | {"allOf": [{"$ref": f"#/$defs/{base}"}], "properties": own, "required": ["kind"]}


def _keys(table: Schema) -> str:
    """The keys of a table but `kind`, with their schemas, as a text that can be compared."""
    properties = table.get("properties", {})
    return json.dumps({key: value for key, value in properties.items() if key != "kind"}, sort_keys=True)


def _define(name: str, definition: Schema) -> str:
    about = definition.get("description", "")
    kinds = variants(definition)
    if kinds:
        tables = [
            _table(camel(kind) + name, _with_kind(table, f"{name} of the kind `{kind}`."))
            for kind, table in kinds
        ]
        union = " | ".join([camel(kind) + name for kind, _ in kinds] + _plain(definition))
        return "\n\n".join([*tables, f"{_comment(about)}{name}: TypeAlias = {_quoted(union)}"])
    if definition.get("type") == "object" and "properties" in definition:
        return _table(name, definition)
    return f"{_comment(about)}{name}: TypeAlias = {_quoted(_type(definition))}"


def _with_kind(table: Schema, kind: str) -> Schema:
    """Returns a variant's table with a description that names its kind."""
    return table | {"description": f"{kind} {table.get('description', '')}"}


def _plain(definition: Schema) -> list[str]:
    """Returns the form of a variant other than a table: its name alone."""
    return [_type(part) for part in definition["oneOf"] if "properties" not in part]


def _table(name: str, definition: Schema) -> str:
    required = definition.get("required", [])
    fields = {
        key: _type(schema) if key in required else f"NotRequired[{_type(without_null(schema))}]"
        for key, schema in definition["properties"].items()
    }
    about = definition.get("description", "").partition("\n\n")[0].replace("\n", " ")
    if any(keyword.iskeyword(key) for key in fields):
        body = "".join(f'        "{key}": {_quoted(kind)},\n' for key, kind in fields.items())
        return f'{_comment(about)}{name} = TypedDict(\n    "{name}",\n    {{\n{body}    }},\n)'
    lines = []
    for key, kind in fields.items():
        lines.append(f"    {key}: {kind}")
        lines += _docstring(definition["properties"][key].get("description", ""), 4)
    bases = [reference(base) for base in definition.get("allOf", ())] or ["TypedDict"]
    head = f"class {name}({', '.join(map(str, bases))}):"
    return "\n".join([head, *_docstring(about or f"The table {name}.", 4), "", *lines])


def _type(schema: Schema) -> str:
    if (name := reference(schema)) is not None:
        return name
    if "const" in schema:
        return f'Literal["{schema["const"]}"]'
    if "enum" in schema:
        values = [f'"{value}"' if isinstance(value, str) else repr(value) for value in schema["enum"]]
        return f"Literal[{', '.join(values)}]"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(_type(part) for part in written(schema[key])))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type(schema | {"type": one}) for one in kind)
    if kind == "array":
        return f"list[{_type(schema['items'])}]"
    if kind == "object":
        inner = schema.get("additionalProperties", True)
        return f"dict[str, {_type(inner) if isinstance(inner, dict) else 'object'}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(
        str(kind), "object"
    )


def _docstring(text: str, indent: int) -> list[str]:
    words = " ".join(text.split())
    if not words:
        return []
    lines = textwrap.wrap(f'"""{words}"""', 110 - indent, break_long_words=False, break_on_hyphens=False)
    return [" " * indent + line for line in lines]


def _comment(text: str) -> str:
    words = " ".join(text.partition("\n\n")[0].split())
    return "".join(f"#: {line}\n" for line in textwrap.wrap(words, 107))


def _quoted(kind: str) -> str:
    return f'"{kind}"' if '"' not in kind else f"'{kind}'"
