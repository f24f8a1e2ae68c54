"""``bentpipe audit``: measures whether an emulated network keeps its promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .common import TROUBLE, Json
from .plain import PlainCommand
from .reflect import PORT, Key, Port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bentpipe.audit import Audit
    from bentpipe.audit.observing import Observation
    from bentpipe.audit.places import Request
    from bentpipe.audit.promises import Promises

    from .progress import Bar

_WORDS: Final = "bentpipe.audited"


class _Command(PlainCommand):
    """A command with an optional ``-- COMMAND...`` at its end."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Splits off the words after ``--`` before options are parsed."""
        own = args.index("--") if "--" in args else len(args)
        ctx.meta[_WORDS] = args[own + 1 :]
        return super().parse_args(ctx, args[:own])

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Returns the parts of the usage line."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


COMMAND_CLASS: Final = _Command


def audit(
    context: typer.Context,
    promise: Annotated[
        str,
        typer.Option(
            metavar="NAME=VALUE,...",
            help="Promises of the network: rate, delay (one way), jitter (standard deviation), loss, queue, "
            'for both directions or one, as in "rate=10 Mbit/s,up.delay=250 ms". Every network also promises '
            "granularity=2 ms, mtu=1500 B, order=kept, ecn=kept and segments=kept; the value any promises "
            "nothing.",
        ),
    ] = "",
    namespaces: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Audit from namespace A (the direction up) to B: a name of `ip netns`, a path, the number of "
            "a process, or NETWORK/HOST of `bentpipe net`.",
            show_default=False,
        ),
    ] = None,
    hosts: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Audit from this host, with the address A, to host B, which runs `bentpipe reflect`.",
            show_default=False,
        ),
    ] = None,
    key: Key = None,
    port: Port = PORT,
    reflector: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of the reflector, as seen from inside the network.",
            show_default="found by routes",
        ),
    ] = None,
    duration: Annotated[
        float,
        typer.Option(
            min=1,
            max=3600,
            metavar="SECONDS",
            help="Duration of the probes, and of each load below the rate.",
        ),
    ] = 5.0,
    deviation: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=50,
            metavar="PERCENT",
            help="Allowed deviation from a promise; for jitter and loss 4 times, for queues twice as much.",
        ),
    ] = 5.0,
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Seed of the times of the probes.")] = 1,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit's XML.", show_default=False)
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML page.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Audit whether an emulated network keeps its promises.

    Probes and loads cross the network. Each promise is reported as kept, broken or not measurable,
    with the measured number, its 99.9 % interval and the likely cause. The network lies between two
    namespaces or hosts, or around the shell that a command after -- opens.

    Exit code 1 if a promise is broken.
    """
    from bentpipe.audit import documents, judge, read_promises
    from bentpipe.audit.evidence import numbers
    from bentpipe.audit.places import Request
    from bentpipe.audit.promises import DIRECTIONS
    from bentpipe.errors import InputError

    from .output import of_format, print_json, write_text
    from .progress import Bar
    from .stopping import stoppable

    command: Sequence[str] = context.meta.get(_WORDS, [])
    if sum((namespaces is not None, hosts is not None, bool(command))) != 1:
        raise InputError(
            "give one of --namespaces A B, --hosts A B, or -- COMMAND, as in `bentpipe audit --promise "
            '"delay=50 ms" -- mm-delay 50`'
        )
    if (hosts is not None) != (key is not None):
        raise InputError("--key belongs to --hosts: the key of the reflector at the far end")
    for file, ending in ((junit, ".xml"), (html, ".html")):
        if file is not None:
            of_format(file, (ending,))
    promises = read_promises(promise)
    request = Request(promise, duration, seed, port, reflector)
    network = " to ".join(namespaces or hosts or ()) or " ".join(command)
    with stoppable() as stop, Bar(f"auditing {network}", stop) as bar:
        seen = _observed(namespaces, hosts, command, key, request, promises, bar)
    if stop.wanted:
        raise typer.Exit(stop.exit_code)
    found = judge(
        promises, numbers(seen, {side: promises.value("rate", side) for side in DIRECTIONS}), deviation / 100
    )
    about = {"network": network, "promise": promise, "duration": f"{duration:g} s", "seed": str(seed)}
    if json:
        print_json(documents.document(found, about))
    else:
        _print(found)
    if junit is not None:
        write_text(junit, documents.junit(found, about))
    if html is not None:
        write_text(html, documents.html(found, about))
    if found.broken:
        raise typer.Exit(TROUBLE)


def _observed(
    namespaces: tuple[str, str] | None,
    hosts: tuple[str, str] | None,
    command: Sequence[str],
    key: Path | None,
    request: Request,
    promises: Promises,
    bar: Bar,
) -> Observation:
    from bentpipe.audit import places
    from bentpipe.audit.observing import observe
    from bentpipe.errors import InputError

    from .reflect import key_of

    if namespaces is not None:
        return places.between(*namespaces, request, bar.advance)
    if hosts is None:
        return places.within(command, request, bar.advance)
    if not places.is_own(hosts[0]):
        raise InputError(f"--hosts: {hosts[0]} is no address of this host; run the command at {hosts[0]}")
    secret = key_of(key)
    assert secret is not None
    return observe(
        request.address or hosts[1],
        request.port,
        secret,
        promises,
        duration=request.duration,
        seed=request.seed,
        shared_clock=False,
        advance=bar.advance,
    )


def _print(found: Audit) -> None:
    from bentpipe.audit import documents
    from bentpipe.audit.verdicts import BROKEN, KEPT, UNKNOWN

    from .output import print_note, print_table

    shown = [row for row in found.rows if not (row.implied and row.verdict == UNKNOWN)]
    rows = [[row.name, row.direction, row.promised, documents.numbers_of(row), row.verdict] for row in shown]
    columns = ("promise", "direction", "promised", "measured", "verdict")
    print_table(columns, rows, text_columns=5)
    for row in shown:
        if (text := documents.explanation(row)) and row.verdict != KEPT:
            print_note(f"{row.name} {row.direction}: {text}")
    for note in found.notes:
        print_note(f"* {note}")
    counts = {
        verdict: sum(row.verdict == verdict for row in found.rows) for verdict in (KEPT, BROKEN, UNKNOWN)
    }
    typer.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
