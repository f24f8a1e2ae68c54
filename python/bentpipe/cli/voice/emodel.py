"""``bentpipe voice emodel``: rates a call by the E-model."""

from __future__ import annotations

from typing import Annotated

import typer

from ..common import Json


def emodel(
    codec: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A codec, such as G.729A. Sets Ie and Bpl.", show_default=False),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SYMBOL=VALUE",
            help="A parameter of G.107 in its unit, such as Ta=300 (ms) or Ppl=2 (%). Repeatable.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Rate a telephone call by the E-model (ITU-T G.107).

    Without options, rates a call with all default values (R = 93.2). For a call without echo
    cancellation, set the delays T and Ta to the one-way delay, and Tr to twice the one-way delay.
    """
    from bentpipe.errors import InputError
    from bentpipe.voice import emodel as model

    from ..output import print_json, print_note, print_table

    given: dict[str, float] = {}
    for text in values or ():
        name, equals, value = text.partition("=")
        try:
            given[name.strip()] = float(value)
        except ValueError:
            form = "SYMBOL=VALUE" if not equals else "a number after the equals sign"
            raise InputError(f'--set "{text}": expected {form}, such as Ta=300') from None
    rating = model.rate(codec, **given)
    if json:
        from dataclasses import asdict

        print_json(asdict(rating))
        return
    rows = [(name, about, f"{getattr(rating, name):.2f}") for name, about in _PARTS]
    if rating.A:
        rows += [
            (name, "without the advantage factor", f"{rating.without_advantage[name]:.2f}")
            for name in ("R", "MOS")
        ]
    title = f"{codec or 'Call'}: {rating.category}"
    print_table(("symbol", "meaning", "value"), rows, text_columns=2, title=title)
    for note in rating.notes:
        print_note(f"* {note}")


_PARTS = (
    ("Ro", "basic signal-to-noise ratio"),
    ("Is", "simultaneous impairments"),
    ("Id", "delay impairments"),
    ("Ieeff", "effective equipment impairment"),
    ("A", "advantage factor"),
    ("R", "transmission rating, Ro - Is - Id - Ieeff + A"),
    ("MOS", "mean opinion score of a conversation"),
)
