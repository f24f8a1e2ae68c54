"""Captures of QUIC flows, read by Wireshark."""

from __future__ import annotations

import subprocess
from pathlib import Path

import bentpipe as bp
from rigs.networks import needs

SCENARIO = """
name = "page"
duration = "5 s"
record.capture = ["a"]

[[link]]
name = "path"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "100 ms"

[[flow]]
name = "f"
from = "a"
to = "b"
app = { kind = "http", object = "40 kB" }
transport = "quic"
"""


@needs("tshark")
def test_wireshark_reads_the_headers_of_every_packet(tmp_path: Path) -> None:
    """RFC 9000, section 17.2: a long header has both connection IDs, in an Initial packet a token,
    and a length. Wireshark knows a connection by its Initial packets."""
    (tmp_path / "page.toml").write_text(SCENARIO)
    run = bp.simulate(tmp_path / "page.toml", out=tmp_path / "run")
    fields = ("frame.protocols", "quic.long.packet_type", "quic.dcid", "quic.scid", "ip.src")
    command = ("tshark", "-r", str(run.path / "packets.pcapng"), "-T", "fields")
    read = subprocess.run(
        [*command, *(word for field in fields for word in ("-e", field))],
        check=True,
        capture_output=True,
        text=True,
    )
    rows = [line.split("\t") for line in read.stdout.splitlines()]
    assert len(rows) > 50 and {row[0] for row in rows} == {"raw:ip:udp:quic"}
    (_, first, server, client, source), *_ = rows
    assert first == "0" and len(server) == len(client) == 16 and server != client
    assert {kind for _, kind, *_ in rows} >= {"0", "2", ""}
    for _, kind, to, of, address in rows:
        assert to == (server if address == source else client)
        assert kind == "" or of == (client if address == source else server)
