"""Output of packet comparisons, for ``bentpipe compare``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Final

import typer

from bentpipe.quantities import listed, number, span_text
from bentpipe.results.packets import Connection, Name, Packet, PacketComparison, Pair

from .output import print_note, print_table

#: Maximum number of connections in the table.
_MAX_CONNECTIONS: Final = 20
#: Clearer words for some names of differences.
_WORDS: Final = {"sequence": "sequence number", "sack": "SACK blocks", "dscp": "DSCP", "ecn": "ECN"}
#: Kinds of packets, in the order of the columns of totals.
_KINDS: Final = (
    *("packets", "with data", "retransmissions", "with PSH", "acknowledgments", "of one segment"),
    "with SACK blocks",
)


def print_packets(both: PacketComparison, names: tuple[str, str], flow: str | None) -> None:
    """Prints the number of packets of each connection that agree, and the packets around the first
    difference at each node. ``names`` are the names of the runs. With ``flow``, only its packets
    count."""

    def wanted(name: Name) -> bool:
        return flow is None or name.flow.partition(" (")[0] == flow

    for only, name in ((both.only_a, names[0]), (both.only_b, names[1])):
        if lost := [f"{_text(one)} ({count})" for one, count in only.items() if wanted(one)]:
            print_note(f"packets in {name} only: {listed(lost)}")
    connections = [one for one in both.connections if wanted(one.name)]
    if not connections:
        print_note("no connection has packets in both captures")
        return
    differing = sorted((one for one in connections if one.first is not None), key=lambda one: one.first_s)
    if not differing:
        apart = max(one.apart_s for one in connections)
        several = "1 connection" if len(connections) == 1 else f"{len(connections)} connections"
        print_note(
            f"all {sum(one.agree for one in connections)} packets of {several} at {listed(both.nodes)} agree, "
            + (f"with times up to {span_text(apart)} apart" if apart else "at the same times")
        )
        return
    shown = connections if len(connections) <= _MAX_CONNECTIONS else differing[:_MAX_CONNECTIONS]
    rows = [
        [
            *(one.name.node, f"{one.name.protocol} {one.name.flow}", str(one.a.packets), str(one.b.packets)),
            *(str(one.agree), str(one.in_time), number(1e3 * one.apart_s)),
        ]
        for one in shown
    ]
    heads = ["node", "connection", *(f"{name}\npackets" for name in names), "agree", "in time", "apart\nms"]
    print_table(heads, rows, text_columns=2)
    if len(shown) < len(connections):
        print_note(
            f"{len(differing)} of {len(connections)} connections differ; the first {len(shown)} are listed"
        )
    firsts = dict[str, Connection]()
    for one in differing:
        firsts.setdefault(one.name.node, one)
    for one in firsts.values():
        _print_difference(one, names, both.tolerance_s)


def _text(name: Name) -> str:
    return f"{name.protocol} {name.flow} at {name.node}"


def _print_difference(one: Connection, names: tuple[str, str], tolerance_s: float) -> None:
    print_note(f"{_text(one.name)}: {_sentence(one, names, tolerance_s)}")
    for line in _side_by_side(one, names):
        typer.echo(line)
    if one.name.protocol == "TCP":
        totals = zip(_KINDS, *(asdict(side).values() for side in (one.until, one.a, one.b)), strict=True)
        print_table(["number of", "before\ndifference", *names], [list(map(str, row)) for row in totals])
    else:
        typer.echo()


def _sentence(one: Connection, names: tuple[str, str], tolerance_s: float) -> str:
    late = f"times differ by more than {span_text(tolerance_s)} from packet {one.in_time + 1} on"
    counts = (one.a.packets, one.b.packets)
    shorter = "" if counts[0] == counts[1] else f" that {names[counts.index(min(counts))]} has"
    if one.agree == min(counts):
        return f"all {one.agree} packets{shorter} agree" + (
            f", but {late}" if one.in_time < one.agree else ""
        )
    place = one.agree + 1
    match one.differs:
        case ["only in A"] | ["only in B"]:
            what = f"packet {place} is in {names[one.differs == ['only in B']]} only"
        case ["order"]:
            what = f"packets {place} and {place + 1} are in a different order"
        case words:
            named = [_WORDS.get(word, word) for word in words if word != "time" or one.in_time == one.agree]
            what = f"packet {place} differs in {', '.join(named[:-1])}{' and ' * (len(named) > 1)}{named[-1]}"
    count = f"{one.agree} packets agree" if one.agree != 1 else "1 packet agrees"
    return f"{count}, {what}" + (f"; {late}" if one.in_time < one.agree else "")


def _side_by_side(one: Connection, names: Sequence[str]) -> Iterator[str]:
    """Yields lines with the packets around the first difference, with both runs side by side."""
    pairs: list[Pair] = [*one.before, *([one.first] if one.first else []), *one.after]
    numbers = [str(max(packet.number for packet in pair if packet)) for pair in pairs]
    numbers[len(one.before)] = f"* {numbers[len(one.before)]}"
    times = max(len(f"{packet.time_s:.6f}") for pair in pairs for packet in pair if packet)
    differs = [one.differs if pair is one.first else [] for pair in pairs]
    sides = [
        [_lines(pair[side], times, words) for pair, words in zip(pairs, differs, strict=True)]
        for side in (0, 1)
    ]
    width = max(map(len, ("packet", *numbers)))
    left, right = (max(24, *(len(line) for lines in side for line in lines)) for side in sides)
    heads = [f"{'time, s':>{times}}   {name}" for name in names]
    yield f" {'packet':>{width}}  {_cut(heads[0], left):<{left}}  {_cut(heads[1], right)}"
    for text, *both in zip(numbers, *sides, strict=True):
        for row, (ours, theirs) in enumerate(zip_longest(*both, fillvalue="")):
            yield f" {'' if row else text:>{width}}  {ours:<{left}}  {theirs}".rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _lines(packet: Packet | None, width: int, differs: Collection[str]) -> list[str]:
    """Returns a packet in words: its time, its direction, its sequence number and length or its
    acknowledgment number, and its flags. SACK blocks and other differences follow in further
    lines."""
    if packet is None:
        return [""]
    flags = [flag for flag in packet.flags if flag != "ACK" or "SYN" in packet.flags]
    if not packet.flags:
        words = [f"length {packet.payload}"]
    elif packet.payload or flags:
        words = [f"{packet.sequence}+{packet.payload}" if packet.payload else str(packet.sequence), *flags]
    else:
        words = [f"ack {packet.acknowledgment}"]
    blocks = [f"{left}-{right}" for left, right in zip(packet.sack[::2], packet.sack[1::2], strict=True)]
    further = [f"{'    ' if place else 'sack'} {block}" for place, block in enumerate(blocks)]
    shown = {
        "sequence": words[0].startswith("ack") and f"sequence {packet.sequence}",
        "acknowledgment": not words[0].startswith("ack") and f"ack {packet.acknowledgment}",
        "dscp": f"DSCP {packet.dscp}",
        "ecn": f"ECN {packet.ecn}",
        "window": f"window {packet.window}",
    }
    further += [text for part, text in shown.items() if part in differs and text]
    first = f"{packet.time_s:{width}.6f} {packet.direction} {' '.join(words)}"
    return [first, *(f"{'':{width}}   {line}" for line in further)]
