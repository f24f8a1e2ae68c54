"""Handovers under the kernel's TCP: the received data equals the sent data for any change of the
links."""

from __future__ import annotations

import hashlib
import os
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.behind import network
from rigs.networks import needs, networks
from rigs.proxied import Place, received, sent

pytestmark = [networks, needs("nsenter", "unshare")]

LINKS = """
name = "checksummed"
duration = "1000 s"
[[link]]
name = "satellite"
from = "client"
to = "server"
rate = "4 Mbit/s"
delay = "100 ms"
queue = { kind = "drop-tail", packets = 60 }
error = { kind = "packet", probability = 0.005 }
[[link]]
name = "wired"
from = "client"
to = "server"
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "drop-tail", packets = 30 }
[[multilink]]
name = "hybrid"
links = ["satellite", "wired"]
"""


def plan(seed: int) -> str:
    """Returns about ten handovers of every kind within some seconds."""
    draw = random.Random(seed)
    text, at, serving = "", 400, [0, 0]
    for _ in range(10):
        at += draw.randrange(50, 700)
        direction = draw.choice(["both", "both", "forward", "return"])
        sides = {"both": [0, 1], "forward": [0], "return": [1]}[direction]
        to = draw.randrange(2)
        same = any(serving[side] == to for side in sides)
        interruption = draw.randrange(50, 400) if same or draw.random() < 0.5 else 0
        overlap = 0 if same else draw.randrange(0, 300)
        fate = draw.choice(["forward", "lose"])
        text += (
            f'[[handover]]\nat = "{at} ms"\nto = "{("satellite", "wired")[to]}"\ndirection = "{direction}"\n'
            f'interruption = "{interruption} ms"\noverlap = "{overlap} ms"\npackets = "{fate}"\n'
        )
        at += max(interruption, overlap)
        for side in sides:
            serving[side] = to
    return text


def transfer(text: str) -> list[tuple[bytes, bytes]]:
    """Sends random bytes over one connection in both directions at once. Returns checksums of data
    sent and received."""
    with network(text, ["client", "server"]) as (_, hosts):
        client, server = (Place.at(hosts[name]["namespace"]) for name in ("client", "server"))
        address = (hosts["server"]["ipv4"], 7000)
        with server.socket() as listener, client.socket() as near:
            listener.bind(address)
            listener.listen()
            for end in (listener, near):
                end.settimeout(90)
            near.connect(address)
            far, _ = listener.accept()
            with far, ThreadPoolExecutor(2) as pool:
                far.settimeout(90)
                there, back = os.urandom(4_000_000), os.urandom(1_000_000)
                senders = [sent(near, there), sent(far, back)]
                came = [pool.submit(received, end) for end in (far, near)]
                results = [future.result() for future in came]
                for sender in senders:
                    sender.join()
        return [
            (hashlib.sha256(data).digest(), hashlib.sha256(got).digest())
            for data, got in zip((there, back), results, strict=True)
        ]


def test_no_byte_is_lost_or_changed_over_any_sequence_of_handovers() -> None:
    plans = [LINKS + plan(seed) for seed in range(6)]
    plans.append(LINKS + 'policy = { kind = "random", stay = ["500 ms", "500 ms"] }\n')
    with ThreadPoolExecutor(len(plans)) as pool:
        for text, pairs in zip(plans, pool.map(transfer, plans), strict=True):
            for data, got in pairs:
                assert data == got, text


@pytest.mark.parametrize("word", ["handover.0.to", "handover.1.at"])
def test_a_plan_that_cannot_be_is_refused_before_anything_is_made(word: str) -> None:
    bad = {
        "handover.0.to": '[[handover]]\nat = "1 s"\nto = "satellite"\n',
        "handover.1.at": '[[handover]]\nat = "1 s"\nto = "wired"\noverlap = "2 s"\n'
        '[[handover]]\nat = "2 s"\nto = "satellite"\n',
    }[word]
    with pytest.raises(Exception, match=word), network(LINKS + bad, ["client"]):
        pass
