"""``bentpipe dtn`` with other bundle protocol agents: pyD3TN (MTCP, datagrams) and dtnd (TCPCL,
MTCP, datagrams)."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import dtnd
from helpers.agents import agent, counts, send, wait_for
from rigs.networks import needs

pytest.importorskip("pyd3tn", reason="pyD3TN is not installed")
import cbor2
from pyd3tn import bundle7, mtcp  # type: ignore


@contextmanager
def serving(kind: socket.SocketKind) -> Iterator[tuple[socket.socket, str]]:
    """Yields a peer's socket on loopback, and its address."""
    with socket.socket(socket.AF_INET, kind) as listening:
        listening.settimeout(20)
        listening.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            listening.listen()
        yield listening, f"127.0.0.1:{listening.getsockname()[1]}"


def bundle(destination: str, payload: bytes, **more: Any) -> bytes:
    """Returns a bundle that pyD3TN has written."""
    made: bytes = bundle7.serialize_bundle7("dtn://peer/out", destination, payload, hop_limit=9, **more)
    return made


def parsed(data: bytes) -> Any:
    """Returns a bundle as pyD3TN reads it; pyD3TN writes the identical bundle, with the checksums
    that it computes."""
    found = bundle7.Bundle.parse(data)
    assert bytes(found) == data
    return found


@pytest.mark.parametrize("layer", ["mtcp", "udp"])
def test_bundles_of_pyd3tn_are_delivered_and_reported_to_it(layer: str, tmp_path: Path) -> None:
    inbox, number = tmp_path / "delivered", bundle7.CRCType.CRC32
    flags = bundle7.BundleProcFlag.REPORT_DELIVERY
    with serving(socket.SOCK_STREAM) as (listening, back):
        options = ("--listen", f"{layer}://127.0.0.1:0", "--deliver", str(inbox))
        peer = ("--peer", f"dtn://peer/=mtcp://{back}")
        with agent("dtn://earth/", tmp_path / "earth", *options, *peer) as (earth, near):
            host, port = near.rsplit(":", 1)
            sent = [
                bundle("dtn://earth/in", b"one"),
                bundle("dtn://earth/in", b"two" * 1000, crc_type_canonical=number),
                bundle(
                    "dtn://earth/in", b"three", flags=flags, report_to_eid="dtn://peer/reports", bundle_age=1
                ),
                # The agent discards corrupted input.
                bundle("dtn://earth/in", b"four").replace(b"four", b"FOUR"),
            ]
            if layer == "mtcp":
                with mtcp.MTCPConnection(host, int(port)) as connection:
                    for one in sent:
                        connection.send_bundle(one)
            else:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
                    for one in sent:
                        datagrams.sendto(one, (host, int(port)))
            connected, _ = listening.accept()
            report = parsed(mtcp.MTCPSocket(connected, 20).recv_bundle())
            connected.close()
            wait_for(lambda: len(list(inbox.glob("in/*"))) == 3)
            payloads = {path.read_bytes() for path in inbox.glob("in/*")}
            got = counts(earth)
    assert payloads == {b"one", b"two" * 1000, b"three"}
    assert str(report.primary_block.destination) == "dtn://peer/reports"
    assert report.primary_block.has_flag(bundle7.BundleProcFlag.ADMINISTRATIVE_RECORD)
    record = bundle7.BundleStatusReport.from_cbor(cbor2.loads(report.payload_block.data))
    assert record.is_delivered and not record.is_deleted
    assert str(record.subject_source_eid) == "dtn://peer/out"
    assert (got["received"], got["delivered"], got["malformed"]) == (4, 3, 1)


@pytest.mark.parametrize("layer", ["mtcp", "udp"])
def test_pyd3tn_reads_what_the_agent_forwards(layer: str, tmp_path: Path) -> None:
    kind = socket.SOCK_STREAM if layer == "mtcp" else socket.SOCK_DGRAM
    with serving(kind) as (listening, place):
        options = ("--listen", "tcpcl://127.0.0.1:0", "--peer", f"ipn:5.0={layer}://{place}")
        with agent("ipn:3.0", tmp_path / "mars", *options) as (mars, near):
            address = ("--from", "ipn:2.1", "--to", "ipn:5.7", "--via", f"tcpcl://{near}")
            # In a datagram, the larger bundle needs fragments.
            send(*address, "--size", "40 kB", "--hops", "7")
            send(*address, "--size", "100 kB", "--lifetime", "1 h")
            if layer == "mtcp":
                connected, _ = listening.accept()
                reader = mtcp.MTCPSocket(connected, 20)
                read = [reader.recv_bundle() for _ in range(2)]
                connected.close()
            else:
                read = [listening.recv(65536) for _ in range(3)]
            sent = counts(mars)
    bundles = [parsed(one) for one in read]
    assert {str(one.primary_block.destination) for one in bundles} == {"ipn:5.7"}
    assert sum(len(one.payload_block.data) for one in bundles) == 140_000
    hops = [block for block in bundles[0].blocks if block.block_type == bundle7.BlockType.HOP_COUNT]
    assert [cbor2.loads(block.data) for block in hops] == [[7, 1]]
    if layer == "udp":
        parts = [one for one in bundles if one.is_fragmented]
        offsets = [(one.primary_block.fragment_offset, len(one.payload_block.data)) for one in parts]
        assert offsets[0][0] == 0 and offsets[1][0] == offsets[0][1]
        assert {one.primary_block.total_payload_length for one in parts} == {100_000}
    assert sent["malformed"] == 0


@needs("dtnd")
@pytest.mark.parametrize("layer", dtnd.LAYERS)
def test_dtnd_and_the_agent_exchange_bundles(layer: str, tmp_path: Path) -> None:
    inbox = tmp_path / "delivered"
    port = dtnd.free(socket.SOCK_DGRAM if layer == "udp" else socket.SOCK_STREAM)
    options = ("--listen", f"{layer}://127.0.0.1:0", "--deliver", str(inbox))
    peer = ("--peer", f"dtn://theirs/={layer}://127.0.0.1:{port}")
    # dtnd accepts at most 64 kB by TCPCL, and does not reassemble fragments.
    large = bytes(range(256)) * 230
    file = tmp_path / "large"
    file.write_bytes(large)
    with agent("dtn://earth/", tmp_path / "earth", *options, *peer) as (earth, near):
        with dtnd.running("theirs", layer, port, f"{near}/earth", tmp_path) as theirs:
            there = [b"one", b"two" * 1000, large]
            for payload in there:
                theirs.send("dtn://earth/in", payload)
            wait_for(lambda: len(list(inbox.glob("in/*"))) == 3)
            assert sorted(path.read_bytes() for path in inbox.glob("in/*")) == sorted(there)
            ends = ("--from", "dtn://earth/out", "--to", "dtn://theirs/incoming")
            address = (*ends, "--via", f"{layer}://{near}")
            send(*address, str(file))
            send(*address, "--size", "1 kB", "--count", "20", "--hops", "5")
            back: list[Any] = []
            reports: list[Any] = []

            def arrived(endpoint: str, found: list[Any]) -> int:
                found.extend(map(bundle7.Bundle.parse, theirs.received(endpoint)))
                return len(found)

            wait_for(lambda: arrived("incoming", back) == 21)
            wait_for(lambda: arrived("dtn://theirs/", reports) == 3)
        got = counts(earth)
    assert large in [one.payload_block.data for one in back]
    assert [len(one.payload_block.data) for one in back].count(1000) == 20
    records = [bundle7.BundleStatusReport.from_cbor(cbor2.loads(one.payload_block.data)) for one in reports]
    assert all(
        record.is_delivered and str(record.subject_source_eid) == "dtn://theirs/" for record in records
    )
    assert (got["delivered"], got["reports"], got["malformed"], got["stored"]) == (3, 3, 0, 0)


@needs("hardy-echo")
def test_hardy_sends_back_what_the_agent_sends(tmp_path: Path) -> None:
    """``tests/peers/hardy`` echoes with hardy's libraries: payloads return over the session that
    the agent opens."""
    inbox, file, port = tmp_path / "delivered", tmp_path / "file", dtnd.free()
    file.write_bytes(bytes(range(256)) * 1000)
    theirs = subprocess.Popen(["hardy-echo", "5", f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
    try:
        assert theirs.stdout is not None and theirs.stdout.readline().startswith("listens on")
        options = ("--listen", "tcpcl://127.0.0.1:0", "--deliver", str(inbox))
        with agent("ipn:3.0", tmp_path / "mars", *options, "--peer", f"ipn:5.0=tcpcl://127.0.0.1:{port}") as (
            mars,
            near,
        ):
            address = ("--from", "ipn:3.1", "--to", "ipn:5.7", "--via", f"tcpcl://{near}")
            send(*address, str(file))
            send(*address, "--size", "1 kB", "--count", "20")
            wait_for(lambda: len(list(inbox.glob("1/*"))) == 21)
            payloads = [path.read_bytes() for path in inbox.glob("1/*")]
            got = counts(mars)
    finally:
        theirs.kill()
        theirs.communicate()
    assert file.read_bytes() in payloads and [len(one) for one in payloads].count(1000) == 20
    assert (got["forwarded"], got["delivered"], got["malformed"], got["stored"]) == (21, 21, 0, 0)
