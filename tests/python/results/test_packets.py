"""Packet-by-packet comparison of the captures of two runs: ``bentpipe compare`` and
:mod:`bentpipe.results.packets`."""

from __future__ import annotations

import itertools
import json
import shutil
import struct
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import bentpipe as bp
import polars as pl
import pytest
from bentpipe.errors import InputError
from bentpipe.results.captures import packets
from bentpipe.results.packets import (
    FILE,
    Connection,
    PacketComparison,
    UncapturedError,
    compare_packets,
)
from hypothesis import given
from hypothesis import strategies as st
from parity import pieces
from rigs.commands import call
from rigs.networks import needs, networks

LOSSES = 'error = { kind = "packet", probability = 0.02 }\n'
TCP = '{ kind = "tcp", profile = "linux-6.12" }'
#: Enhanced packets of pcapng, and the offsets of their IPv4 header and of the TCP header after it.
PACKET, IP, HEADER = 6, 28, 48


def scenario(*changes: str, capture: str = '"a"', more: str = "", duration: str = "4 s") -> bp.Scenario:
    record = f"[record]\ntraces = []\ncapture = [{capture}]\n"
    text = f'name = "captured"\nduration = "{duration}"\n{record}{pieces.PAIR}{LOSSES}'
    return bp.load(tomllib.loads(text + pieces.flow("f", "a", "b", transport=TCP) + more), list(changes))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated upload over 5 Mbit/s with losses, captured at its source."""
    return bp.simulate(scenario(), out=tmp_path_factory.mktemp("runs") / "run").path


def blocks_of(file: Path) -> list[bytes]:
    content, blocks, at = file.read_bytes(), [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<I", content, at + 4)
        blocks.append(content[at : at + length])
        at += length
    return blocks


def edited(run: Path, to: Path, edit: Callable[[list[bytearray]], Sequence[bytes | bytearray]]) -> Path:
    """Copies a run and replaces its captured packets (blocks) by the result of ``edit``."""
    shutil.copytree(run, to)
    blocks = blocks_of(to / FILE)
    heads = [block for block in blocks if block[0] != PACKET]
    changed = edit([bytearray(block) for block in blocks if block[0] == PACKET])
    (to / FILE).write_bytes(b"".join([*heads, *changed]))
    return to


def only(both: PacketComparison) -> Connection:
    (one,) = both.connections
    return one


def added(block: bytearray, at: int, number: int) -> None:
    """Adds to a 32-bit number in a header."""
    (before,) = struct.unpack_from("!I", block, at)
    struct.pack_into("!I", block, at, (before + number) % 2**32)


def moved(block: bytearray, nanoseconds: int) -> None:
    high, low = struct.unpack_from("<II", block, 12)
    time = (high << 32 | low) + nanoseconds
    struct.pack_into("<II", block, 12, time >> 32, time & 0xFFFFFFFF)


def option(block: bytearray, kind: int) -> int | None:
    """Returns the offset of a TCP option."""
    at, end = HEADER + 20, HEADER + (block[HEADER + 12] >> 4) * 4
    while at < end and block[at] != kind:
        at += 1 if block[at] == 1 else block[at + 1]
    return at if at < end else None


def test_runs_of_one_scenario_and_seed_agree(run: Path, tmp_path: Path) -> None:
    again = bp.simulate(scenario(), out=tmp_path / "again").path
    both = compare_packets(run, again)
    one = only(both)
    count = sum(block[0] == PACKET for block in blocks_of(run / FILE))
    assert both.equal and one.first is None and one.differs == []
    assert one.agree == one.in_time == one.until.packets == one.a.packets == one.b.packets == count
    said = " ".join(call("compare", run, again, "--figure", "none").output.split())
    assert f"all {count} packets of 1 connection at a agree, at the same times" in said


def content(block: bytes) -> tuple[object, ...]:
    """Returns the content of a packet, parsed independently: ends, length, numbers, flags, SACK
    blocks."""
    at = option(bytearray(block), 5)
    sack = block[at : at + block[at + 1]] if at else b""
    return block[IP + 2 : IP + 4], block[IP + 12 : HEADER + 12], block[HEADER + 13], sack


@pytest.mark.parametrize(
    "key", ["ack_pushed=false", "congestion=vegas", "initial_window=4", "delayed_ack=false"]
)
def test_a_changed_key_shows_at_the_first_packet_that_differs(run: Path, tmp_path: Path, key: str) -> None:
    """Initial sequence numbers of one seed are equal, so headers can be compared directly."""
    other = bp.simulate(scenario(f"flow.f.transport.{key}"), out=tmp_path / "other").path
    ours, theirs = (
        [content(block) for block in blocks_of(folder / FILE) if block[0] == PACKET]
        for folder in (run, other)
    )
    first = next(place for place, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
    one = only(compare_packets(run, other))
    assert one.agree == first > 0 and one.differs
    assert one.first is not None and {packet.number for packet in one.first if packet} == {first + 1}
    assert [packet.number for packet, _ in one.before if packet] == list(range(max(1, first - 2), first + 1))
    assert one.until.packets == first and (one.a.packets, one.b.packets) == (len(ours), len(theirs))


def test_a_segment_with_psh_is_acknowledged_at_once_by_one_run_only(run: Path, tmp_path: Path) -> None:
    """If the acknowledgments differ, that of the run with ``ack_pushed`` is earlier and covers one
    segment less."""
    other = bp.simulate(scenario("flow.f.transport.ack_pushed=false"), out=tmp_path / "other").path
    one = only(compare_packets(run, other))
    assert "acknowledgment" in one.differs and one.first is not None
    ours, theirs = one.first
    assert ours and theirs and ours.direction == theirs.direction == "<"
    assert theirs.acknowledgment - ours.acknowledgment == 1460 and ours.time_s < theirs.time_s
    assert one.a.of_one_segment > one.b.of_one_segment


def with_data(blocks: list[bytearray]) -> list[int]:
    return [place for place, block in enumerate(blocks) if struct.unpack_from("!H", block, IP + 2)[0] > 1000]


EDITS: dict[str, tuple[list[str], Callable[[bytearray], None]]] = {
    "sequence": (["sequence"], lambda block: added(block, HEADER + 4, 1)),
    "acknowledgment": (["acknowledgment"], lambda block: added(block, HEADER + 8, -1)),
    "push": (["PSH"], lambda block: block.__setitem__(HEADER + 13, block[HEADER + 13] ^ 0x08)),
    "flags": (["FIN", "CWR"], lambda block: block.__setitem__(HEADER + 13, block[HEADER + 13] ^ 0x81)),
    "payload": (["payload"], lambda block: struct.pack_into("!H", block, IP + 2, 1000)),
    "dscp": (["dscp"], lambda block: block.__setitem__(IP + 1, 46 << 2)),
    "ecn": (["ecn"], lambda block: block.__setitem__(IP + 1, 3)),
    "late": (["time"], lambda block: moved(block, 1_000_001)),
    "early": (["time"], lambda block: moved(block, -1_000_001)),
    "hardly late": ([], lambda block: moved(block, 1_000_000)),
    "window": ([], lambda block: block.__setitem__(HEADER + 14, block[HEADER + 14] ^ 1)),
    "identification": ([], lambda block: block.__setitem__(IP + 4, block[IP + 4] ^ 1)),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("share", [0.1, 0.6, 0.999])
def test_one_altered_packet_is_found(run: Path, tmp_path: Path, name: str, share: float) -> None:
    words, edit = EDITS[name]
    found = []

    def change(blocks: list[bytearray]) -> list[bytearray]:
        having = with_data(blocks)
        place = having[int(share * len(having))]
        edit(blocks[place])
        found.append(place)
        return blocks

    other = edited(run, tmp_path / "other", change)
    for both, order in ((compare_packets(run, other), (0, 1)), (compare_packets(other, run), (1, 0))):
        one = only(both)
        assert one.differs == words
        assert (both.equal, one.first is None) == (not words, not words)
        (place,) = found
        total = one.a.packets
        assert one.agree == (place if words not in ([], ["time"]) else total)
        assert one.in_time == (place if words else total)
        if one.first is not None:
            assert one.first[order[0]] != one.first[order[1]]
            assert all(packet and packet.number == place + 1 for packet in one.first)


def test_parts_that_are_ignored_do_not_differ(run: Path, tmp_path: Path) -> None:
    def change(blocks: list[bytearray]) -> list[bytearray]:
        for name in ("push", "window", "dscp"):
            for place in with_data(blocks):
                EDITS[name][1](blocks[place])
        return blocks

    other = edited(run, tmp_path / "other", change)
    assert only(compare_packets(run, other)).differs == ["PSH", "dscp"]
    assert only(compare_packets(run, other, ignore=["psh"])).differs == ["dscp", "window"]
    assert only(compare_packets(run, other, ignore=["dscp", "window"])).differs == ["PSH"]
    assert compare_packets(run, other, ignore=["flags", "dscp", "window"]).equal
    with pytest.raises(InputError, match='unknown part of packets "pushed"'):
        compare_packets(run, other, ignore=["pushed"])


def test_an_edge_of_a_sack_block_is_found(run: Path, tmp_path: Path) -> None:
    found = []

    def change(blocks: list[bytearray]) -> list[bytearray]:
        for place in reversed(range(len(blocks))):
            if at := option(blocks[place], 5):
                # The right edge of the last block.
                added(blocks[place], at + blocks[place][at + 1] - 4, 1)
                found.append(place)
                break
        return blocks

    one = only(compare_packets(run, edited(run, tmp_path / "other", change)))
    assert (one.agree, one.differs) == (found[0], ["sack"])
    assert one.first and one.first[0] and one.first[1]
    assert [b - a for a, b in zip(one.first[0].sack, one.first[1].sack, strict=True)][-1] == 1


def test_a_missing_packet_stands_alone_and_what_follows_side_by_side(run: Path, tmp_path: Path) -> None:
    def change(blocks: list[bytearray]) -> list[bytearray]:
        return blocks[:100] + blocks[101:]

    other = edited(run, tmp_path / "other", change)
    for both, word, having in (
        (compare_packets(run, other), "only in A", 0),
        (compare_packets(other, run), "only in B", 1),
    ):
        one = only(both)
        assert (one.agree, one.differs) == (100, [word])
        assert one.first and one.first[1 - having] is None
        packet = one.first[having]
        assert packet and packet.number == 101
        for pair in one.after:
            assert pair[having] and pair[1 - having]
            assert pair[having]._replace(number=0) == pair[1 - having]._replace(number=0)  # type: ignore[union-attr]
        assert len(one.after) == 3


def test_packets_in_another_order_are_named(run: Path, tmp_path: Path) -> None:
    def change(blocks: list[bytearray]) -> list[bytearray]:
        place = next(p for p in with_data(blocks) if p > 50 and p + 1 in with_data(blocks))
        blocks[place], blocks[place + 1] = blocks[place + 1], blocks[place]
        return blocks

    assert only(compare_packets(run, edited(run, tmp_path / "other", change))).differs == ["order"]


def test_a_run_that_ends_earlier_agrees_as_far_as_it_goes(run: Path, tmp_path: Path) -> None:
    other = edited(run, tmp_path / "other", lambda blocks: blocks[:-5])
    one = only(compare_packets(run, other))
    assert one.differs == ["only in A"] and one.agree == one.b.packets == one.a.packets - 5
    assert [pair[1] for pair in [one.first, *one.after] if pair] == [None] * 4
    said = " ".join(call("compare", run, other, "--figure", "none").output.split())
    assert f"all {one.agree} packets that other has agree" in said


def test_sequence_numbers_ports_and_the_time_of_day_do_not_matter(run: Path, tmp_path: Path) -> None:
    """Differences of an emulation: other initial sequence numbers, which wrap after 32 bits, the
    port of the end that opens, the time since 1970, and times of a slower machine."""

    def change(blocks: list[bytearray]) -> list[bytearray]:
        (first,) = struct.unpack_from("!I", blocks[0], HEADER + 4)
        client = 2**32 - 100_000 - first
        for place, block in enumerate(blocks):
            up = block[IP + 12 : IP + 16] == blocks[0][IP + 12 : IP + 16]
            own, other = (client, 2**31) if up else (2**31, client)
            added(block, HEADER + 4, own)
            if block[HEADER + 13] & 0x10:
                added(block, HEADER + 8, other)
            if at := option(block, 5):
                for edge in range(at + 2, at + block[at + 1], 4):
                    added(block, edge, other)
            struct.pack_into("!H", block, HEADER + (0 if up else 2), 1024)
            moved(block, 1_577_836_810_000_000_000 + place * 100)
        return blocks

    other = edited(run, tmp_path / "other", change)
    for a, b in ((run, other), (other, run), (other, other)):
        both = compare_packets(a, b)
        one = only(both)
        assert both.equal and one.until == only(compare_packets(run, run)).until
    one = only(compare_packets(run, other))
    assert one.apart_s == pytest.approx(1e-7 * (one.agree - 1))
    assert one.name == ("a", "TCP", "f")


def test_one_direction_alone_tells_the_numbers_of_the_other(run: Path, tmp_path: Path) -> None:
    """If packets return on another path, the first acknowledgment is that of the SYN: 1 above its
    number."""

    def change(blocks: list[bytearray], shift: int) -> list[bytearray]:
        sent = [block for block in blocks if block[IP + 12 : IP + 16] == blocks[0][IP + 12 : IP + 16]]
        for block in sent[1:]:
            added(block, HEADER + 8, shift)
        if shift:
            EDITS["sequence"][1](sent[20])
        return sent

    ours = edited(run, tmp_path / "ours", lambda blocks: change(blocks, 0))
    theirs = edited(run, tmp_path / "theirs", lambda blocks: change(blocks, 2**31))
    one = only(compare_packets(ours, theirs))
    assert (one.agree, one.differs) == (20, ["sequence"])
    assert all(packet.acknowledgment == 1 for pair in one.before for packet in pair if packet)


def test_totals_are_those_of_the_run(run: Path) -> None:
    """Retransmissions as the sender counts them; the others by their definitions, from individual
    headers."""
    totals = only(compare_packets(run, run)).a
    rows = pl.concat(packets(run / FILE)).to_dicts()
    data = [row for row in rows if row["payload"] > 0]
    acknowledgments = [row["acknowledgment"] for row in rows if row["payload"] == 0 and row["flags"] == 0x10]
    # The first packet belongs to the handshake, and leaves at the source.
    steps = [b - a for a, b in itertools.pairwise(acknowledgments[1:])]
    first = acknowledgments[1] - data[0]["sequence"]
    assert totals.retransmissions == bp.open_run(run).flows["retransmissions"][0] > 5
    assert (totals.packets, totals.data) == (len(rows), len(data))
    assert totals.pushed == sum(row["flags"] & 0x08 > 0 for row in rows) > 20
    assert totals.acknowledgments == len(acknowledgments)
    assert totals.of_one_segment == sum(0 < step <= 1460 for step in [first, *steps]) > 5
    assert totals.with_sack == sum(row["sack"] is not None for row in rows) > 20


@needs("tshark")
def test_packets_are_those_that_tshark_reads(run: Path, tmp_path: Path) -> None:
    """Compared with relative sequence numbers and scaled windows."""

    def change(blocks: list[bytearray]) -> list[bytearray]:
        EDITS["sequence"][1](blocks[with_data(blocks)[-1]])
        return blocks

    other = edited(run, tmp_path / "other", change)
    ours = [packet for packet, _ in only(compare_packets(run, other, context=10**6)).before if packet]
    names = ("seq", "len", "ack", "flags", "window_size", "options.sack_le", "options.sack_re")
    words = [word for name in names for word in ("-e", f"tcp.{name}")]
    said = subprocess.run(
        ["tshark", "-r", run / FILE, "-T", "fields", "-e", "frame.time_epoch", *words],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert len(ours) > 500
    for packet, line in zip(ours, said.splitlines(), strict=False):
        time, seq, length, ack, flags, window, left, right = line.split("\t")
        edges = [
            int(edge) for pair in zip(left.split(","), right.split(","), strict=True) for edge in pair if edge
        ]
        assert packet.time_s == float(time)
        assert (packet.sequence, packet.payload, packet.acknowledgment) == (int(seq), int(length), int(ack))
        assert (packet.window, packet.sack) == (int(window), edges)
        bits = sum(1 << ("FIN", "SYN", "RST", "PSH", "ACK").index(flag) for flag in packet.flags)
        assert bits == int(flags, 16)


def test_nodes_connections_and_datagrams_are_told_apart(tmp_path: Path) -> None:
    """Nodes match by name in any order; flows by name, and further connections by order."""
    app = '{ kind = "http", object = "12 kB", pages = 3, think = "100 ms" }'
    probe = pieces.flow(
        "probe", "b", "a", '{ kind = "cbr", rate = "64 kbit/s", datagram = "200 B" }', '"udp"'
    )
    more = pieces.flow("web", "b", "a", app, TCP) + probe
    ours = bp.simulate(scenario(capture='"a", "b"', more=more), out=tmp_path / "ours").path
    theirs = bp.simulate(scenario(capture='"b", "a"', more=more), out=tmp_path / "theirs").path
    both = compare_packets(ours, theirs)
    assert both.equal and both.nodes == ["a", "b"]
    names = {(*one.name[:2], one.name.flow.partition(" ")[0]) for one in both.connections}
    assert names == {(node, *of) for node in "ab" for of in (("TCP", "f"), ("TCP", "web"), ("UDP", "probe"))}
    assert len({one.name for one in both.connections}) == len(both.connections) > len(names)

    alone = bp.simulate(scenario(capture='"b"'), out=tmp_path / "alone").path
    both = compare_packets(ours, alone)
    assert both.nodes == ["b"] and {name.flow.partition(" ")[0] for name in both.only_a} == {"web", "probe"}
    assert (
        not both.equal and both.only_b == {} and [one.name for one in both.connections] == [("b", "TCP", "f")]
    )
    said = call("compare", ours, alone, "--figure", "none").output
    assert "packets in ours only" in said and "UDP probe at b" in said
    assert "probe at" not in call("compare", ours, alone, "--figure", "none", "--flow", "f").output


def test_the_command_shows_both_runs_within_80_columns(run: Path, tmp_path: Path) -> None:
    other = bp.simulate(scenario("flow.f.transport.ack_pushed=false"), out=tmp_path / "other").path
    one = only(compare_packets(run, other, context=2))
    assert one.first and one.first[0] and one.first[1]
    said = call("compare", run, other, "--figure", "none", "--context", "2").output
    lines = said.splitlines()
    assert max(map(len, lines)) <= 80
    assert f"TCP f at a: {one.agree} packets agree, packet {one.agree + 1} differs in acknowledgment" in said
    begin = next(place for place, line in enumerate(lines) if line.lstrip().startswith("packet   "))
    shown = [line for line in lines[begin + 1 : begin + 20] if " < " in line or " > " in line]
    assert len(shown) == 5
    assert shown[2].split() == [
        *("*", str(one.agree + 1)),
        *(f"{one.first[0].time_s:.6f}", "<", "ack", str(one.first[0].acknowledgment)),
        *(f"{one.first[1].time_s:.6f}", "<", "ack", str(one.first[1].acknowledgment)),
    ]
    # The columns are aligned.
    assert (
        len({line.rindex(" < ") if line.count(" < ") == 2 else line.rindex(" > ") for line in shown[:2]}) == 1
    )
    totals = next(line for line in lines if line.startswith(" of one segment"))
    assert totals.split()[-3:] == [str(side.of_one_segment) for side in (one.until, one.a, one.b)]
    document = json.loads(call("compare", run, other, "--figure", "none", "--json").stdout)
    (connection,) = document["packets"]["connections"]
    assert connection["agree"] == one.agree and connection["differs"] == one.differs
    assert connection["first"][0]["acknowledgment"] == one.first[0].acknowledgment
    assert connection["a"]["packets"] == one.a.packets
    assert (
        json.loads(call("compare", run, other, "--figure", "none", "--no-packets", "--json").stdout)[
            "packets"
        ]
        is None
    )


def test_packets_that_cannot_be_compared_are_refused_in_words(run: Path, tmp_path: Path) -> None:
    others = {
        "nothing": scenario(capture=""),
        "elsewhere": scenario(capture='"b"'),
        "cut": scenario("record.capture_bytes=60"),
    }
    said = {
        "nothing": f'{tmp_path}/nothing has no packets.pcapng: record.capture = ["NODE"]',
        "elsewhere": f"different nodes: {run} at a, {tmp_path}/elsewhere at b; use the same nodes in record.capture",
        "cut": "has only 60 bytes of each packet, which may cut off headers; set record.capture_bytes to 80 or more",
    }
    for name, one in others.items():
        bp.simulate(one, out=tmp_path / name)
        with pytest.raises(UncapturedError):
            compare_packets(run, tmp_path / name)
        refused = call("compare", run, tmp_path / name, "--figure", "none", "--packets", code=2).output
        assert refused.startswith("bentpipe: ") and said[name] in refused
        # The numbers of flows can be compared.
        shown = call("compare", run, tmp_path / name, "--figure", "none")
        assert f"warning: packets are not compared: {refused[len('bentpipe: ') :]}" in shown.stderr
    assert not call("compare", tmp_path / "nothing", tmp_path / "nothing", "--figure", "none").stderr
    for words in (["--tolerance", "5"], ["--tolerance", "-1 ms"], ["--ignore", "color"], ["--context", "-1"]):
        assert call("compare", run, run, "--figure", "none", *words, code=2).output
    call("compare", run, run, "--figure", "none", "--tolerance", "0 s", "--ignore", "PSH", "--context", "0")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda content: content[:-1], "is truncated: its last packet, from byte "),
        (lambda content: content[:50_001], "is truncated: its last packet, from byte "),
        (lambda content: content[:0], "is not a capture of bentpipe"),
        (lambda content: content[:10], "is not a capture of bentpipe"),
        (
            lambda content: content[:50_000] + bytes(64) + content[50_000:],
            "is damaged: no block of pcapng begins",
        ),
        (lambda content: bytes(len(content)), "is not a capture of bentpipe"),
    ],
)
def test_a_damaged_capture_is_refused(
    run: Path, tmp_path: Path, made: Callable[[bytes], bytes], said: str
) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    (other / FILE).write_bytes(made((run / FILE).read_bytes()))
    refused = call("compare", run, other, "--figure", "none", code=2).output
    assert refused.startswith(f"bentpipe: {other / FILE} {said}") and len(refused.splitlines()) == 1


@given(st.data())
def test_bytes_of_any_kind_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, run: Path, data: st.DataObject
) -> None:
    content = bytearray((run / FILE).read_bytes()[: data.draw(st.integers(0, 3000))])
    for _ in range(data.draw(st.integers(0, 20))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.getbasetemp() / "any.pcapng"
    file.write_bytes(content)
    try:
        assert all(batch.height >= 0 for batch in packets(file))
    except InputError as error:
        assert str(file) in str(error)


MEMORY = """
import resource, sys
from bentpipe.results.packets import compare_packets
def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = most()
(one,) = compare_packets(*sys.argv[1:]).connections
print(one.agree, one.a.packets, (most() - before) / one.a.packets)
"""


def test_a_million_packets_take_some_400_bytes_each(tmp_path: Path) -> None:
    changes = ("link.l.rate=100 Mbit/s", "link.l.error={kind='none'}", "record.capture_bytes=80")
    run = bp.simulate(scenario(*changes, duration="80 s"), out=tmp_path / "run").path

    def change(blocks: list[bytearray]) -> list[bytearray]:
        EDITS["push"][1](blocks[with_data(blocks)[-1]])
        return blocks

    other = edited(run, tmp_path / "other", change)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, run, other], capture_output=True, text=True, check=True
    )
    agree, count, each = done.stdout.split()
    assert int(count) > 1_000_000 and int(agree) > 0.999 * int(count)
    assert float(each) < 450, each


@networks
@pytest.mark.quiet
def test_an_emulation_begins_as_its_simulation(tmp_path: Path) -> None:
    """Compares the handshake and the initial window of ten segments (RFC 6928), with the time of
    day, ports and initial sequence numbers of real hosts."""
    simulated = bp.simulate(scenario(duration="1 s"), out=tmp_path / "simulated").path
    emulated = bp.emulate(scenario(duration="1 s"), out=tmp_path / "emulated").path
    one = only(compare_packets(simulated, emulated, ignore=["window", "psh"], tolerance_s=1.0))
    assert one.name == ("a", "TCP", "f") and one.agree >= 13 and one.in_time >= 13
    assert one.until.data >= 10
