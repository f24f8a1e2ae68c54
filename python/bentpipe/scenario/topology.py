"""A scenario's topology as a text drawing: a tree of nodes that starts at the node with the most
neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from bentpipe.quantities import base_value, rate_text, span_text

if TYPE_CHECKING:
    from .scenarios import Scenario


@dataclass(frozen=True)
class _Edge:
    """A link or network between two nodes: its name and its description."""

    name: str
    about: str
    ends: tuple[str, str]


def drawing(scenario: Scenario) -> list[str]:
    """Returns the lines of the drawing. Many identical nodes of a network share a line. A node that
    is reached a second time is marked with an arrow.

    >>> from bentpipe import load
    >>> for line in drawing(load("examples/geo-bulk.toml")):
    ...     print(line)
    server
    `- sat: 10 Mbit/s, 250 ms - user
    """
    edges = list(_edges(scenario))
    neighbours: dict[str, list[_Edge]] = {}
    for edge in edges:
        for end in edge.ends:
            neighbours.setdefault(end, []).append(edge)
    drawn: set[str] = set()
    used: set[int] = set()
    lines: list[str] = []
    for node in sorted(neighbours, key=lambda name: (-len(neighbours[name]), name)):
        if node not in drawn:
            drawn.add(node)
            lines.append(node)
            lines += _branches(node, neighbours, drawn, used)
    return lines


def _branches(
    node: str, neighbours: Mapping[str, Sequence[_Edge]], drawn: set[str], used: set[int]
) -> list[str]:
    """Returns the lines below a node."""
    edges = [edge for edge in neighbours[node] if id(edge) not in used]
    used.update(map(id, edges))
    parts: list[tuple[str, list[str]]] = []
    for label, members in groupby(edges, key=lambda edge: (edge.name, edge.about)):
        name, about = label
        head = about if name == node else f"{name}: {about}"
        others = [next(end for end in edge.ends if end != node) for edge in members]
        leaves = [other for other in others if other not in drawn and len(neighbours[other]) == 1]
        drawn.update(leaves)
        rest = [other for other in others if other not in leaves]
        if leaves:
            parts.append((f"{head} - {ranges(leaves)}", []))
        for other in rest:
            if other in drawn:
                parts.append((f"{head} -> {other}", []))
                continue
            drawn.add(other)
            parts.append((f"{head} - {other}", _branches(other, neighbours, drawn, used)))
    lines = []
    for index, (head, below) in enumerate(_merged(parts)):
        last = index == len(_merged(parts)) - 1
        lines.append(f"{'`' if last else '|'}- {head}")
        lines += [f"{' ' if last else '|'}  {line}" for line in below]
    return lines


def _merged(parts: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Returns the branches, with consecutive branches merged if they differ only in their
    numbers."""
    merged = []
    for _, run in groupby(
        parts, key=lambda part: (re.sub(r"\d+", "#", part[0].split(": ")[0]), len(part[1]))
    ):
        members = list(run)
        if len(members) > 3 and len({re.sub(r"\d+", "#", head) for head, _ in members}) == 1:
            first, last = members[0], members[-1]
            merged.append((f"{first[0]}", first[1]))
            merged.append((f"... {len(members) - 2} more", []))
            merged.append(last)
        else:
            merged += members
    return merged


def _edges(scenario: Scenario) -> Iterator[_Edge]:
    for link in scenario.links:
        yield _Edge(link["name"], _about(link), (link["from"], link["to"]))
    for name, nodes in scenario.attached.items():
        network = scenario.data["network"][name]
        hub = network.get("gateway") or name
        about = str(network["kind"])
        for node in nodes:
            if node != hub:
                yield _Edge(name, about, (hub, node))


def _about(link: Mapping[str, Any]) -> str:
    """Returns the rate and the delay of a link, for both directions if they differ."""
    there = (link["rate"], link["delay"])
    back = link.get("return")
    texts = [_numbers(*there)]
    if back is not None and (back["rate"], back["delay"]) != there:
        texts.append(_numbers(back["rate"], back["delay"]))
    return " / ".join(texts)


def _numbers(rate: str, delay: str) -> str:
    return f"{rate_text(base_value(rate))}, {span_text(base_value(delay))}"


def ranges(names: Sequence[str], most: int = 6) -> str:
    """Returns an abbreviated list of names: consecutive numbers as a range, and only the first few
    of many others.

    >>> ranges(["st1", "st2", "st3", "gw"]), ranges(["a", "b"])
    ('st1 ... st3 (3), gw', 'a, b')
    """
    parts = []
    run: list[str] = []
    for name in [*names, ""]:
        if run and _follows(run[-1], name):
            run.append(name)
            continue
        if run:
            parts += [f"{run[0]} ... {run[-1]} ({len(run)})"] if len(run) > 2 else run
        run = [name]
    if len(parts) > most:
        return f"{', '.join(parts[:most])}, ... ({len(names)} in all)"
    return ", ".join(parts)


def _follows(name: str, other: str) -> bool:
    match, after = (re.fullmatch(r"(.*?)(\d+)", text) for text in (name, other))
    return bool(match and after and match[1] == after[1] and int(match[2]) + 1 == int(after[2]))
