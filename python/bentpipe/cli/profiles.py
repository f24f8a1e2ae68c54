"""``bentpipe profiles``: lists profiles of satellite accesses with their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import completion
from .common import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bentpipe.profiles import Profile


def profiles(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The profile to show, or an unambiguous beginning of its name. If unset, lists the profiles.",
            autocompletion=completion.profiles,
            show_default=False,
        ),
    ] = None,
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="Simulate the profile, and add the quantiles of this simulation."),
    ] = False,
    json: Json = False,
) -> None:
    """List profiles of satellite accesses, with their sources.

    A profile is a scenario in which each value has a source, or says that it is assumed. With NAME,
    prints the sources, and compares published quantities with those of the profile: rates of a
    saturated direction, one-way delays without load, and the round-trip time. `bentpipe new NAME`
    writes the scenario, and `bentpipe run NAME` uses it.
    """
    from bentpipe.measure.profiled import quantiles
    from bentpipe.profiles import profile_named
    from bentpipe.profiles import profiles as known

    from .output import print_json, print_table

    if name is None:
        if json:
            print_json([{"name": one.name, "about": one.about, **one.head} for one in known().values()])
        else:
            rows = [[one.name, one.about] for one in known().values()]
            print_table(["profile", "description"], rows, text_columns=2)
        return
    profile = profile_named(name)
    measured = quantiles(profile) if simulate else {}
    if json:
        document = {"name": profile.name, "about": profile.about, **profile.head}
        print_json(document | ({"measured": measured} if simulate else {}))
        return
    _print(profile, measured)


def _print(profile: Profile, measured: dict[str, list[float]]) -> None:
    """Prints a profile as text."""
    from .output import print_note, print_table

    head = profile.head
    print_note(f"{profile.name}: {profile.about}", indent=0)
    typer.echo()
    print_note(f"band     {head['band']}", indent=9)
    print_note(f"score    {head['score'] or 'none: no trace to compare with'}", indent=9)
    audit = head.get("audit")
    findings = filter(None, [audit["promise"], audit["finding"]]) if audit else ["none"]
    print_note(f"audit    {': '.join(findings)}", indent=9)
    for key, source in head["sources"].items():
        print_note(f"source   {key}: {source['authors']}: {source['title']}, {source['date']}", indent=9)
        if source["url"]:
            typer.echo(f"         {source['url']}")
    typer.echo()
    print_table(*_table(head, measured), text_columns=3)
    for quantity, published in head["published"].items():
        if "differs" in published:
            print_note(f"note     {quantity}: {published['differs']}", indent=9)
    typer.echo()
    for line in profile.source_lines():
        print_note(line)


def _table(head: Mapping[str, Any], measured: dict[str, list[float]]) -> tuple[list[str], list[list[str]]]:
    """Returns headings and rows of the table of quantities."""
    from bentpipe.profiles import STATISTICS, UNITS
    from bentpipe.quantities import number

    rows = []
    for quantity, unit in UNITS.items():
        published = head["published"].get(quantity)
        origins = {f"published: {published['source']}": published} if published else {}
        origins["profile"] = dict(zip(STATISTICS, head["quantiles"][quantity], strict=True))
        if measured:
            origins["measured now"] = dict(zip(STATISTICS, measured[quantity], strict=True))
        for origin, values in origins.items():
            row = [number(values[one]) if one in values else "-" for one in STATISTICS]
            rows.append([quantity, unit, origin, *row])
    return ["quantity", "unit", "origin", *STATISTICS], rows
