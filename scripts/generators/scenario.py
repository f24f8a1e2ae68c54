"""Generates ``docs/reference/scenario.md`` and the pages below it: every scenario key, from the
schema.

A definition that only one table uses is on the page of that table; a definition that several tables
use has its own page. In graph terms, a page contains a node of the dominator tree of the schema's
references and all nodes below it. If such a page would be too long, its larger subtrees become
separate pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bentpipe.scenario.editor_schema import without_null

from .markdown import GENERATED, page, table
from .schema import ROOT, Schema, named, reference, references, variants, written

#: Maximum lines of a page; the larger subtrees of a longer page become separate pages.
LONG = 160

#: Minimum lines of a separate page; a shorter subtree stays on the page of the table that uses it.
SHORT = 30

#: A definition (with an empty second name), or one kind of a definition with variants.
Node = tuple[str, str]


def scenario(schema: Schema) -> dict[str, str]:
    """Returns path (relative to ``docs/reference``) and text of every page."""
    definitions = named(schema)
    quantities = {name: part for name, part in definitions.items() if "pattern" in part}
    tables = {name: part for name, part in definitions.items() if name not in quantities}
    above = dominators(tables)
    placed = places(tables, above)
    links = {name: placed[name, ""] for name in tables} | dict.fromkeys(quantities, "quantities")
    contents = _contents(tables, placed)
    pages = {
        _file(head): _written(
            head, [node for node in ordered(tables) if placed[node] == head], tables, links, contents
        )
        for head in dict.fromkeys(placed.values())
    }
    pages[_file("quantities")] = page(["# Quantities", GENERATED, _QUANTITIES, _quantities(quantities)])
    return pages


_QUANTITIES = "A quantity is a text of a number and a unit. Bare numbers are only for dimensionless values."

_FIRST = (
    "A scenario is a TOML file. The first table lists its top-level keys; a key that contains a table links to the "
    "description of that table. A key is required unless it has a default or is marked optional. A variant is a "
    "table with the key `kind`, or just the name of the kind if all other keys have defaults: "
    '`app = "bulk"`. A {change} of the scenario can set every key that is marked *can change while it runs*, and '
    "all keys below it."
)


def ordered(tables: dict[str, Schema]) -> Iterator[Node]:
    """Yields all definitions, each before the definitions it refers to and followed by its
    kinds."""
    for name in [ROOT, *(name for name in reversed(tables) if name != ROOT)]:
        yield name, ""
        for kind, _ in variants(tables[name]):
            yield name, kind


def edges(tables: dict[str, Schema]) -> dict[Node, list[Node]]:
    """Returns the nodes that each node refers to."""
    found: dict[Node, list[Node]] = {}
    for name, definition in tables.items():
        kinds = variants(definition)
        own = {"properties": definition.get("properties", {})} if kinds else definition
        found[name, ""] = [
            *((used, "") for used in references(own) if used in tables),
            *((name, kind) for kind, _ in kinds),
        ]
        for kind, part in kinds:
            found[name, kind] = [(used, "") for used in references(part) if used in tables]
    return found


def dominators(tables: dict[str, Schema]) -> dict[Node, Node]:
    """Returns the immediate dominator of every node except the root.

    The immediate dominator is the last node before it on all paths from the root.

    >>> one = {"properties": {"b": {"$ref": "#/$defs/B"}, "c": {"$ref": "#/$defs/C"}}}
    >>> two = {"properties": {"d": {"$ref": "#/$defs/D"}}}
    >>> found = dominators({"Scenario": one, "B": two, "C": {"properties": {}}, "D": {"properties": {}}})
    >>> found["D", ""], found["C", ""]
    (('B', ''), ('Scenario', ''))
    """
    follows = edges(tables)
    root = (ROOT, "")
    order: list[Node] = []

    def visit(node: Node, seen: set[Node]) -> None:
        seen.add(node)
        for after in follows[node]:
            if after not in seen:
                visit(after, seen)
        order.append(node)

    visit(root, set())
    order.reverse()
    rank = {node: index for index, node in enumerate(order)}
    before: dict[Node, list[Node]] = {node: [] for node in order}
    for node in order:
        for after in follows[node]:
            before[after].append(node)
    above = {root: root}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [one for one in before[node] if one in above]
            nearest = known[0]
            for other in known[1:]:
                while nearest != other:
                    if rank[nearest] > rank[other]:
                        nearest = above[nearest]
                    else:
                        other = above[other]
            if above.get(node) != nearest:
                above[node] = nearest
                changed = True
    del above[root]
    return above


def places(tables: dict[str, Schema], above: Mapping[Node, Node]) -> dict[Node, str]:
    """Returns the page of every node, as the slug of the page's first node; the first page has an
    empty slug."""
    below: dict[Node, list[Node]] = {}
    for node in ordered(tables):
        if node in above:
            below.setdefault(above[node], []).append(node)
    size: dict[Node, int] = {}

    def measure(node: Node) -> int:
        size[node] = _lines(tables, node) + sum(measure(one) for one in below.get(node, []))
        return size[node]

    placed: dict[Node, str] = {}

    def place(node: Node, on: str, room: bool) -> None:
        placed[node] = on
        for one in below.get(node, []):
            if size[one] >= SHORT and not room:
                place(one, _slug(one), size[one] <= LONG)
            else:
                place(one, on, room)

    root = (ROOT, "")
    measure(root)
    place(root, "", False)
    return placed


def _lines(tables: dict[str, Schema], node: Node) -> int:
    name, kind = node
    part = dict(variants(tables[name]))[kind] if kind else tables[name]
    return 6 + len(part.get("properties", {}))


def _slug(node: Node) -> str:
    """Returns the slug of the page that begins with a node.

    >>> _slug(("NetworkKind", "dvb-rcs")), _slug(("LinkPair", ""))
    ('network-kind-dvb-rcs', 'link-pair')
    """
    name, kind = node
    words = re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
    return f"{words}-{kind}" if kind else words


def _file(head: str) -> str:
    return f"scenario/{head}.md" if head else "scenario.md"


def _written(
    head: str, own: Sequence[Node], tables: dict[str, Schema], links: Mapping[str, str], contents: str
) -> str:
    """Returns one page. The first page also lists the other pages (`contents`)."""

    def link(name: str) -> str:
        target = links[name]
        anchor = f"#{name.lower()}"
        if target == head:
            return anchor
        folder = "scenario/" if not head else ""
        file = f"{folder}{target}.md" if target else "../scenario.md"
        return f"{file}{anchor}"

    writer = _Writer(link)
    if not head:
        change = f"[Change]({link('Change')})"
        parts = ["# Scenario keys", GENERATED, _FIRST.format(change=change)]
        parts += writer.node(tables[ROOT], "")
        parts += ["## Pages", contents]
    else:
        name, kind = own[0]
        parts = [f"# {name}: `{kind}`" if kind else f"# {name}", GENERATED]
        parts += writer.node(tables[name], kind)
    own = own[1:]
    for name, kind in own:
        # The kinds of the page's first table have headings of the same level as other tables.
        mark = "###" if kind and (name, "") in own else "##"
        title = f"{name}: `{kind}`" if kind else name
        parts += [f"{mark} {title}", *writer.node(tables[name], kind)]
    return page(parts)


class _Writer:
    """Writes the definitions of one page, with links relative to the page."""

    def __init__(self, link: Callable[[str], str]) -> None:
        self.link = link

    def node(self, definition: Schema, kind: str) -> Iterable[str]:
        """Yields the parts of a definition or of one of its kinds, without the heading."""
        kinds = dict(variants(definition))
        part = kinds[kind] if kind else definition
        if about := part.get("description"):
            yield about
        if kind:
            properties = {key: value for key, value in part["properties"].items() if key != "kind"}
            yield self.keys(properties, part.get("required", [])) if properties else "No keys besides `kind`."
        elif "properties" in part:
            yield self.keys(part["properties"], part.get("required", []))
        elif not kinds:
            alternatives = list(part.get("oneOf") or part.get("anyOf") or [part])
            yield table(
                ["value", "meaning"], [[self.kind(one), one.get("description", "")] for one in alternatives]
            )

    def keys(self, properties: Mapping[str, Schema], required: Sequence[str]) -> str:
        """Returns the table of keys: value, default and meaning."""
        rows = []
        for key, schema in properties.items():
            about = schema.get("description", "")
            if schema.get("changeable"):
                about += " *Can change while it runs.*"
            value = self.kind(without_null(schema)) + _range(schema)
            rows.append([f"`{key}`", value, _default(schema, key in required), about])
        return table(["key", "value", "default", "meaning"], rows)

    def kind(self, schema: Schema) -> str:
        """Returns the type of a value in words, with links."""
        if (name := reference(schema)) is not None:
            return f"[{name}]({self.link(name)})"
        if "const" in schema:
            return f'`"{schema["const"]}"`'
        if "enum" in schema:
            return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return " or ".join(self.kind(part) for part in written(schema[key]))
        kind = schema.get("type")
        if kind == "object" and list(schema.get("properties", {})) == ["file"]:
            return '`{ file = "PATH" }`'
        if kind == "array":
            return f"list of {self.kind(schema['items'])}"
        if kind == "object":
            inner = schema.get("additionalProperties")
            return f"table of {self.kind(inner)} by name" if isinstance(inner, dict) else "table"
        return {
            "integer": "whole number",
            "number": "number",
            "string": "text",
            "boolean": "true or false",
        }.get(str(kind), "value")


def _default(schema: Schema, required: bool) -> str:
    if required:
        return "must be given"
    if "default" not in schema or schema["default"] is None:
        return "optional"
    return f"`{json.dumps(schema['default'], ensure_ascii=False)}`"


def _range(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and high is None:
        return ""
    return f", {low if low is not None else '...'} to {high if high is not None else '...'}"


def _quantities(quantities: Mapping[str, Schema]) -> str:
    return "\n\n".join(
        f'## {name}\n\n{part["description"]} Example: `"{part["examples"][0]}"`.'
        for name, part in quantities.items()
    )


def _contents(tables: dict[str, Schema], placed: Mapping[Node, str]) -> str:
    """Returns the list of the other pages, with a summary of each."""
    lines = ["- [Quantities](scenario/quantities.md): rates, times, sizes and their units."]
    for head in sorted(set(placed.values()) - {""}):
        (name, kind), *rest = (node for node in ordered(tables) if placed[node] == head)
        part = dict(variants(tables[name]))[kind] if kind else tables[name]
        about = re.split(r"(?<=\.)\s", " ".join(part.get("description", "").split()))[0]
        title = f"{name}: `{kind}`" if kind else name
        others = [other for other, of in rest if not of]
        also = f" Also: {', '.join(others)}." if others else ""
        lines.append(f"- [{title}](scenario/{head}.md): {about}{also}")
    return "\n".join(lines)
