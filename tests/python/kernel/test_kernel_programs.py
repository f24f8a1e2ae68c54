"""The programs of an emulation in its results: outcome, last line of output, and packets."""

from __future__ import annotations

import json
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe.results.programs import program_results
from parity.pieces import PAIR
from rigs import commands
from rigs.guests import guests

#: Bytes of the headers of IPv4 and UDP.
HEADERS = 28
#: The client sends a number of datagrams of 100 bytes, 100 ms apart. The server answers each with
#: 50 bytes, except for the first.
PROGRAM = """
import socket, sys, time
role, host, port, number = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if role == "server":
    sock.bind(("0.0.0.0", port))
    for count in range(number):
        _, client = sock.recvfrom(200)
        if count:
            sock.sendto(bytes(50), client)
    print("an output")
    print("an error", "is the reason", sep="\\n", end="\\n\\n", file=sys.stderr)
    sys.exit(4)
else:
    for count in range(number):
        sock.sendto(bytes(100), (host, port))
        time.sleep(0.1)
    print("first line")
    print("sent", number)
"""
FLOW = """
[[flow]]
name = "{name}"
from = "a"
to = "b"
transport = "udp"
[flow.app]
kind = "command"
run = "python3 {program} client {{to}} {{port}} {number}"
serve = "python3 {program} server 0.0.0.0 {{port}} {number}"
"""


@guests
def test_programs_have_their_outcome_and_their_own_packets(tmp_path: Path) -> None:
    program, file = tmp_path / "program", tmp_path / "programs.toml"
    program.write_text(PROGRAM)
    numbers = {"three": 3, "five": 5}
    flows = [FLOW.format(name=name, program=program, number=number) for name, number in numbers.items()]
    file.write_text('name = "programs"\nduration = "3 s"\n' + PAIR + "".join(flows))
    words = ("emulate", file, "--clock", "kernel", "--allow-commands", "--out", tmp_path / "run")
    done = commands.run(*words, "--set", 'record.capture=["a"]', "--json")
    assert done.returncode == 0, done.stderr
    run = bp.open_run(tmp_path / "run")
    found = {(one.flow, one.serves): one for one in program_results(run)}
    assert json.loads(done.stdout)["runs"][0]["programs"] == [one.as_dict() for one in found.values()]
    for name, number in numbers.items():
        client, server = found[(name, False)], found[(name, True)]
        assert (client.outcome, client.exit_code, client.said) == ("exit code 0", 0, f"sent {number}")
        assert (server.outcome, server.exit_code, server.said) == ("exit code 4", 4, "is the reason")
        # Both flows use the same hosts, so the ports distinguish their packets.
        assert client.sent == server.received and client.received == server.sent
        assert client.sent and client.received
        assert (client.sent.packets, client.sent.bytes) == (number, number * (100 + HEADERS))
        assert (client.received.packets, client.received.bytes) == (number - 1, (number - 1) * (50 + HEADERS))
        assert client.sent.first_s is not None and client.sent.last_s is not None
        # Python's calls take no time in a guest.
        assert client.sent.last_s - client.sent.first_s == pytest.approx(0.1 * (number - 1), abs=1e-3)

    text = commands.run(*words).stdout
    assert "exit code 4" in text and "sent 5" in text and "record.capture" in text
