"""Draws the picture of the crates: a box with the description of each, and arrows to the crates it
uses."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

#: Width and height of a box, gap between boxes, height of a row, and margin, in pixels.
WIDE, HIGH, GAP, ROW, MARGIN = 190, 86, 16, 122, 16
#: Maximum characters in a line of a box.
LINE = 29

FONT = "font-family='Helvetica, Arial, sans-serif'"


def svg(packages: Sequence[Mapping[str, Any]]) -> str:
    """Returns the picture of the packages of ``cargo metadata``, with each crate above those that
    it uses.

    An arrow leads to each used crate in the next row; used crates in lower rows are named in the
    box. Both are left out if an indirect path to the used crate exists.
    """
    about = {short(one["name"]): one["description"] for one in packages}
    uses = {
        short(one["name"]): {
            short(used["name"])
            for used in one["dependencies"]
            if used["kind"] is None and short(used["name"]) in about
        }
        for one in packages
    }
    below = {name: reached(uses, name) for name in uses}
    arrows = {
        name: sorted(one for one in used if not any(one in below[other] for other in used))
        for name, used in uses.items()
    }
    rows = placed(uses, arrows)
    width = MARGIN * 2 + max(len(row) for row in rows) * (WIDE + GAP) - GAP
    height = MARGIN * 2 + len(rows) * ROW - (ROW - HIGH)
    corner = {
        name: (
            (width - len(row) * (WIDE + GAP) + GAP) / 2 + column * (WIDE + GAP),
            MARGIN + (len(rows) - 1 - level) * ROW,
        )
        for level, row in enumerate(rows)
        for column, name in enumerate(row)
    }
    level = {name: row for row, names in enumerate(rows) for name in names}
    near = {name: [one for one in found if level[one] == level[name] - 1] for name, found in arrows.items()}
    lines = [arrow(corner[user], corner[used]) for user, found in sorted(near.items()) for used in found]
    far = {name: [one for one in found if one not in near[name]] for name, found in arrows.items()}
    boxes = [box(name, about[name], far[name], corner[name]) for name in sorted(corner)]
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:g} {height:g}' width='{width:g}' role='img'>",
            "<title>The crates of bentpipe: each uses the crates below it</title>",
            "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
            "<path d='M0 0 L8 4 L0 8 z' fill='#667'/></marker></defs>",
            f"<rect width='{width:g}' height='{height:g}' fill='#fff'/>",
            *lines,
            *boxes,
            "</svg>",
            "",
        ]
    )


def short(name: str) -> str:
    """Returns the name of a crate without the prefix ``bentpipe-``."""
    return name.removeprefix("bentpipe-")


def reached(uses: Mapping[str, set[str]], name: str) -> set[str]:
    """Returns all crates that a crate uses, directly or indirectly."""
    return {one for used in uses[name] for one in ({used} | reached(uses, used))}


def placed(uses: Mapping[str, set[str]], arrows: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Returns the rows of crates, from the bottom. Within a row, each crate is near the crates that
    it uses."""

    def level(name: str) -> int:
        return 1 + max((level(one) for one in uses[name]), default=-1)

    levels = {name: level(name) for name in uses}
    # A crate with at most two users is placed right below the lower one, which shortens arrows.
    users = {name: [one for one in uses if name in uses[one]] for name in uses}
    for name in sorted(uses, key=lambda one: -levels[one]):
        if users[name] and len(users[name]) <= 2:
            levels[name] = min(levels[one] for one in users[name]) - 1
    rows: list[list[str]] = [[] for _ in range(max(levels.values()) + 1)]
    place: dict[str, float] = {}
    for row_level, row in enumerate(rows):
        found = sorted(one for one in levels if levels[one] == row_level)
        near = {one: [place[used] for used in arrows[one]] for one in found}
        row.extend(
            sorted(found, key=lambda one: (sum(near[one]) / len(near[one]) if near[one] else 0.0, one))
        )
        place |= {one: column - (len(row) - 1) / 2 for column, one in enumerate(row)}
    return rows


def box(name: str, about: str, far: Sequence[str], corner: tuple[float, float]) -> str:
    """Returns the box of a crate: name, start of the description, and the used crates without an
    arrow."""
    left, top = corner
    texts = textwrap.wrap(about, LINE, max_lines=3, placeholder=" ...")
    words = "".join(f"<tspan x='{left + 9:g}' dy='14'>{escape(text, quote=False)}</tspan>" for text in texts)
    also = f"uses {', '.join(far)}" if far else ""
    return (
        f"<g><rect x='{left:g}' y='{top:g}' width='{WIDE}' height='{HIGH}' rx='6' fill='#eef3fa' stroke='#46618c'/>"
        f"<text x='{left + 9:g}' y='{top + 19:g}' font-size='14' font-weight='bold' fill='#1c2b45' {FONT}>{name}</text>"
        f"<text x='{left + 9:g}' y='{top + 23:g}' font-size='11' fill='#333' {FONT}>{words}</text>"
        f"<text x='{left + 9:g}' y='{top + HIGH - 8:g}' font-size='11' font-style='italic' fill='#46618c' {FONT}>"
        f"{also}</text></g>"
    )


def arrow(user: tuple[float, float], used: tuple[float, float]) -> str:
    """Returns the arrow from a crate to a crate that it uses."""
    x, y = user[0] + WIDE / 2, user[1] + HIGH
    to_x, to_y = used[0] + WIDE / 2, used[1]
    bend = (to_y - y) / 2
    return (
        f"<path d='M{x:g} {y:g} C{x:g} {y + bend:g} {to_x:g} {to_y - bend:g} {to_x:g} {to_y - 2:g}' fill='none' "
        "stroke='#667' stroke-width='1.2' marker-end='url(#tip)'/>"
    )
