"""``bentpipe measure``: measures the path to a host that runs a reflector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .candidates import MASK, Elements, Gateway, Mask, Slots, Terminal
from .common import TROUBLE, Json
from .reflect import PORT, Key, Port

if TYPE_CHECKING:
    from bentpipe.measure.access import Access
    from bentpipe.measure.load_results import Loaded
    from bentpipe.measure.slots import Slots as Staircase
    from bentpipe.measure.summary import Summary
    from bentpipe.results.runs import Run


def measure(
    host: Annotated[
        str, typer.Argument(metavar="HOST", help="Name or address of the reflector.", show_default=False)
    ],
    plan: Annotated[
        str, typer.Option(metavar="PLAN", help="The plan: short, geo, leo, terrestrial, or a TOML file.")
    ] = "short",
    key: Key = None,
    port: Port = PORT,
    distance: Annotated[
        str,
        typer.Option(
            metavar="LENGTH",
            help="Shortest possible path of a signal to the host, as a lower bound of the one-way delay; "
            "71572 km over GEO.",
        ),
    ] = "0 km",
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Seed of the times of the probes.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="The folder of the results.",
            show_default="runs/measure-HOST",
        ),
    ] = None,
    elements: Elements = None,
    terminal: Terminal = None,
    gateway: Gateway = None,
    mask: Mask = MASK,
    slots: Slots = None,
    json: Json = False,
) -> None:
    """Measure the path to a host that runs a reflector.

    The reflector is `bentpipe reflect` or another reflector of STAMP (RFC 8762).

    Writes a run folder, like the other instruments. One-way delays are given as intervals, because
    the clocks of two hosts cannot divide a round-trip time exactly. Ctrl-C interrupts the
    measurement and keeps its results; repeat the command to continue.
    """
    from bentpipe import measure as instrument
    from bentpipe.errors import InputError
    from bentpipe.measure import folder, resuming
    from bentpipe.measure.summary import summarise
    from bentpipe.quantities import base_value

    from . import candidates
    from .output import print_json, print_note
    from .progress import Bar
    from .reflect import key_of
    from .stopping import stoppable

    sky = candidates.sky(elements, terminal, gateway, mask, slots)
    if sky is not None:
        # Report errors of the file before the measurement, not after it.
        sky[0].looks(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", [])
    try:
        least_s = (base_value(distance) if distance.endswith("m") else -1.0) / 299_792_458
    except ValueError:
        least_s = -1.0
    if not 0 <= least_s < 1e6:
        raise InputError(f'--distance "{distance}"; allowed: a length of 0 km or more, such as "71572 km"')
    wanted, secret = instrument.read_plan(plan), key_of(key)
    place = out or Path("runs") / f"measure-{host.replace(':', '-').replace('/', '-')}"
    before = resuming.kept(place, host, seed, wanted)
    if before is None:
        folder.free(place)
    else:
        typer.echo(f"resuming the interrupted measurement in {place}", err=True)
    with stoppable() as stop, _unused(place):
        with Bar(f"measuring {host}", stop) as bar:
            if before is None:
                seen = instrument.probe(host, port, wanted, secret, seed=seed, advance=bar.advance)
            else:
                seen = resuming.joined(
                    before,
                    instrument.probe(
                        host,
                        port,
                        resuming.rest(wanted, before),
                        secret,
                        seed=seed,
                        advance=bar.advance,
                        remaining=lambda items: resuming.left(items, before),
                    ),
                )
        summary = summarise(seen, least_s)
        folder.clear(place)
        run = folder.write(place, host, seed, seen, summary)
        if not seen.complete:
            resuming.keep(place, host, seed, seen)
        known = (
            sky is not None and (summary.slots is not None or sky[1] is not None) and bool(summary.directions)
        )
        served = candidates.find_candidates(run, *sky) if sky is not None and known else None
        if json:
            print_json({"run": str(place), **_document(run)})
        else:
            _print(summary, run)
            if served is not None:
                candidates.show(*served)
            elif sky is not None:
                print_note(
                    "no step of 1 ms was found in the delay of the path; find satellites with --slots of "
                    "`bentpipe fit`"
                )
            typer.echo(f"results  {place}")
        if not seen.replied.any():
            why = _silent(secret, port)
            typer.echo(f"bentpipe: none of {len(seen.sent)} probes had a reply: {why}", err=True)
            raise typer.Exit(TROUBLE)
        if stop.wanted:
            typer.echo("interrupted; repeat the command to continue the measurement", err=True)
            raise typer.Exit(stop.exit_code)


@contextmanager
def _unused(place: Path) -> Iterator[None]:
    """Removes the folder of a measurement that could not begin."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            place.rmdir()
        raise


def _silent(secret: bytes | None, port: int) -> str:
    """Returns possible reasons why no probe had a reply, although a handshake found the reflector
    or was not needed."""
    if secret is not None:
        return f"the handshake at port {port} succeeded, but the path drops the probes or the replies"
    return f"no reflector runs at port {port}, the reflector cannot be reached, or it requires a key (--key)"


def _document(run: Run) -> dict[str, object]:
    return {
        "flow": run.flows.to_dicts()[0],
        "loads": run.flows.to_dicts()[1:],
        "directions": run.table("direction").to_dicts() if "direction" in run.tables else [],
        "candidates": run.table("candidates").to_dicts() if "candidates" in run.tables else [],
        "fidelity": run.fidelity,
    }


def _print(summary: Summary, run: Run) -> None:
    import numpy as np

    from bentpipe.measure import transport_results
    from bentpipe.measure.survey_results import text
    from bentpipe.quantities import number, rate_text

    from .output import print_note, print_table

    rows = [
        [
            one.name,
            f"{1e3 * one.least[0]:.2f} to {1e3 * one.least[1]:.2f}",
            *(number(1e3 * one.variation[quantile]) for quantile in (50, 95, 99)),
            "-" if one.lost is None else str(one.lost),
            "-" if one.lost is None else f"{100 * one.loss[0]:.2g} to {100 * one.loss[1]:.2g}",
        ]
        for one in summary.directions
    ]
    columns = ("direction", "minimum delay\nms", "p50\nms", "p95\nms", "p99\nms", "lost", "loss\n%")
    title = "Each direction at rest: minimum delay, variation above the minimum, loss"
    if rows:
        print_table(columns, rows, text_columns=2, title=title)
    known = summary.rtt[np.isfinite(summary.rtt)]
    if len(known):
        least, middle, high = (f"{1e3 * float(value):.2f}" for value in np.quantile(known, (0, 0.5, 0.95)))
        typer.echo(f"round-trip time: least {least} ms, median {middle} ms, 95th percentile {high} ms")
    if summary.rate:
        middle, low, high = (rate_text(rate) for rate in summary.rate)
        typer.echo(f"rate of trains: {middle} (5th to 95th percentile {low} to {high})")
    if summary.loads:
        load_columns = (
            "load",
            "goodput",
            "lost",
            "delay above\nminimum, p95",
            "RTT of\nprobes, p95",
            "RTT of\nICMP, p95",
        )
        rows = [_load_row(one) for one in summary.loads]
        print_table(load_columns, rows, title="Loads, with the delay of their own datagrams")
    for row in run.flows.to_dicts():
        if (text_of := _user(row)) is not None:
            print_note(text_of)
    for one in summary.queues:
        if one.rate is not None:
            held = "holds" if one.overflowed else "holds at least"
            policy = f", {one.policy}" if one.policy else ""
            most = f" to {one.depth_most / 1e3:.1f}" if one.depth_most is not None else " or more"
            reason = f"; {one.depth_reason}" if one.depth_reason and one.overflowed else ""
            print_note(
                f"{one.load}: {rate_text(one.rate)}; the queue {held} {one.depth / 1e3:.1f} kB "
                f"({one.depth_least / 1e3:.1f}{most}; {one.packets} packets of {one.size} B){policy}{reason}"
            )
    for seen in summary.surveys:
        print_note(text(seen))
    for tried in summary.ways:
        print_note(transport_results.text(tried))
    for reason in summary.proxy:
        print_note(f"a proxy terminates connections between the hosts: {reason}")
    if summary.slots is not None:
        print_note(_slots(summary.slots))
    for scheduler in summary.access:
        print_note(_scheduler(scheduler))
    for note in summary.notes:
        print_note(f"* {note}")


def _load_row(one: Loaded) -> list[str]:
    import numpy as np

    from bentpipe.quantities import rate_text

    delay, rtt, icmp = (values[np.isfinite(values)] for values in (one.delay, one.probes, one.echoes))
    sent = int((one.outcome.sent > 0).sum())
    return [
        one.name,
        rate_text(one.goodput),
        f"{one.lost} of {sent}" if sent else "-",
        f"{1e3 * float(np.quantile(delay, 0.95) - delay.min()):.1f} ms" if len(delay) else "-",
        *(f"{1e3 * float(np.quantile(own, 0.95)):.1f} ms" if len(own) else "-" for own in (rtt, icmp)),
    ]


def _user(row: dict[str, Any]) -> str | None:
    """Returns the results for the user of a call or of pages; None for other flows."""
    if (r := row.get("voice_r")) is not None:
        heard, jitter = (1e3 * row[f"voice_{name}"] for name in ("delay", "jitter"))
        return (
            f"{row['flow']}: R {r:.1f}, MOS {row['voice_mos']:.2f}; {row['voice_lost']} lost and {row['voice_late']} "
            f"late of {row['voice_expected']}, {heard:.0f} ms from mouth to ear, jitter {jitter:.2g} ms"
        )
    if row.get("transaction_p50") is not None:
        middle, most = (1e3 * row[f"transaction_{name}"] for name in ("p50", "max"))
        broken = f", {row['broken_off']} broken off" if row["broken_off"] else ""
        return f"{row['flow']}: {row['transactions']} pages, median {middle:.0f} ms, at most {most:.0f} ms{broken}"
    return None


def _slots(one: Staircase) -> str:
    delays = [1e3 * level for _, level in one.levels]
    kind = "no grid" if one.period is None else f"slots of {one.period:.3f} s"
    odd = ", ".join(f"{at:.2f} s" for at in one.odd)
    return (
        f"the delay of the path changed {_times(len(one.steps))}, in {kind}: round-trip times of "
        f"{min(delays):.2f} to {max(delays):.2f} ms" + (f"; not at a slot boundary: {odd}" if odd else "")
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _scheduler(one: Access) -> str:
    from bentpipe.quantities import rate_text

    parts = [f"access ({one.direction}): {one.scheme or 'scheme unknown'}"]
    if one.superframe is not None:
        parts.append(f"superframe {1e3 * one.superframe:.3f} ms")
    if one.wait is not None:
        parts.append(f"requested capacity after {1e3 * one.wait[0]:.0f} to {1e3 * one.wait[2]:.0f} ms")
    if one.response is not None:
        parts.append(f"({one.response} superframes)")
    if one.cra:
        parts.append(f"constant rate {rate_text(one.cra)}")
    return ", ".join(parts)
