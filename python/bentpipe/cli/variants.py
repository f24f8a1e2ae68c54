"""``bentpipe variants``: lists the congestion controls, from the comments in their C files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from .common import Json


def variants(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The congestion control to show in full.")
    ] = None,
    json: Json = False,
) -> None:
    """List the congestion controls, or show one in full.

    With NAME, prints the equations, constants and deviations of this congestion control. Each
    congestion control is one C file that runs in simulations and, as a BPF object, in the Linux
    kernel. A flow selects it with congestion = "NAME". In emulations, "linux-NAME" selects the
    congestion control of the running kernel.
    """
    import json as codec

    from bentpipe import _native
    from bentpipe.errors import unknown

    from .output import print_json, print_note, print_table

    listed: list[dict[str, Any]] = codec.loads(_native.variants())
    if name is not None:
        known = {variant["name"]: variant for variant in listed}
        if name not in known:
            raise unknown("congestion control", name, known)
        listed = [known[name]]
    if json:
        print_json(listed if name is None else listed[0])
    elif name is None:
        for variant in listed:
            print_note(f"{variant['name']:<11}{variant['about']}", indent=11)
            for line in (variant["source"], ", ".join(variant["homes"])):
                print_note(f"{'':<11}{line}", indent=11)
    else:
        (variant,) = listed
        for paragraph, indent in _paragraphs(variant["head"]):
            print_note(paragraph, indent=indent)
        typer.echo(f"\nRuns in:    {', '.join(variant['homes'])}")
        if variant["parameters"]:
            rows = [
                (one["name"], f"{one['min']} to {one['max']}", str(one["default"]), one["about"])
                for one in variant["parameters"]
            ]
            print_table(("parameter", "range", "default", "meaning"), rows, text_columns=4)


#: Indent of the text after the labels of a head comment, such as `Source:`.
_LABEL_WIDTH = 12


def _paragraphs(head: str) -> Iterator[tuple[str, int]]:
    r"""Yields the paragraphs of a file's head comment, with the indent of their later lines.
    An item of a list and an equation are paragraphs.

    >>> list(_paragraphs("It is\nshort.\n\nSource:     A book,\n            1990.\n                w = 2"))
    [('It is short.', 0), ('', 0), ('Source:     A book, 1990.', 12), ('                w = 2', 16)]
    >>> list(_paragraphs("Deviations:\n            - One\n              more.\n            - Two."))
    [('Deviations: - One more.', 14), ('            - Two.', 14)]
    """
    paragraph, hanging, is_text = "", 0, True
    for line in head.splitlines():
        text = line.lstrip()
        indent = len(line) - len(text)
        label = re.match(r"[A-Z][a-z]+:(?: +|$)", line)
        is_item = text.startswith("- ")
        if is_item and re.fullmatch(r"[A-Z][a-z]+:", paragraph):
            paragraph, hanging = f"{paragraph:<{indent}}{text}", indent + 2
            continue
        if paragraph and text and is_text and not label and not is_item and indent == hanging:
            paragraph += f" {text}"
            continue
        if paragraph:
            yield paragraph, hanging
        if not text:
            yield "", 0
        paragraph, is_text = line, bool(label) or is_item or indent <= _LABEL_WIDTH
        hanging = indent + 2 if is_item else len(label[0]) if label else indent
    if paragraph:
        yield paragraph, hanging
