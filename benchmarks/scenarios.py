"""The measured scenarios: one function each, so that a change of the format is made in one place.

Durations are arguments in seconds because --scale shortens them.
"""

from __future__ import annotations

import math
import random

PACKET_BYTES = 1500


def bulk_tcp(seconds: float, flows: int, rate_mbps: int, delay_ms: int, congestion: str = "reno") -> str:
    """Endless TCP transfers between two hosts over one bottleneck, buffer of one BDP."""
    return f"""\
name = "{flows} bulk TCP over one bottleneck"
duration = "{seconds:g} s"

[[link]]
name = "bottleneck"
from = "server"
to = "client"
rate = "{rate_mbps} Mbit/s"
delay = "{delay_ms} ms"
queue = {{ kind = "drop-tail", packets = {bdp_packets(rate_mbps, delay_ms)} }}
""" + "".join(
        f"""
[[flow]]
name = "bulk{flow}"
from = "server"
to = "client"
app = {{ kind = "bulk" }}
transport = {{ kind = "tcp", congestion = "{congestion}", delayed_ack = false, timestamps = false }}
"""
        for flow in range(flows)
    )


def chain(seconds: float, links: int, rate_mbps: int) -> str:
    """One datagram stream at the rate of the links, through a chain of links."""
    payload = PACKET_BYTES - 28
    rate = rate_mbps * 1_000_000 * payload // PACKET_BYTES
    return (
        f"""\
name = "Chain of {links} links"
duration = "{seconds:g} s"
"""
        + "".join(
            f"""
[[link]]
name = "hop{i}"
from = "h{i}"
to = "h{i + 1}"
rate = "{rate_mbps} Mbit/s"
delay = "1 ms"
queue = {{ kind = "drop-tail", packets = 100 }}
"""
            for i in range(links)
        )
        + f"""
[[flow]]
name = "stream"
from = "h0"
to = "h{links}"
app = {{ kind = "cbr", rate = "{rate} bit/s", datagram = "{payload} B" }}
transport = {{ kind = "udp" }}
"""
    )


def dvb_rcs(seconds: float, terminals: int) -> str:
    """Terminals that each upload without end over one RBDC return link.

    The link is the default one, 32 slots in 2048 kbit/s, multiplied until every terminal has
    a slot: with less than a segment per round trip, TCP would measure its time-outs and nothing else.
    """
    times = -(-terminals // 32)
    return f"""\
name = "{terminals} terminals on one return link"
duration = "{seconds:g} s"

[network.sat]
kind = "dvb-rcs"
forward = {{ rate = "{10 * times} Mbit/s" }}
terminals = [{{ name = "st", count = {terminals} }}]
gateway = "gw"

[network.sat.return]
rate = "{2048 * times} kbit/s"
slots_per_frame = {32 * times}
dama = {{ scheme = "rbdc", cra = "0 bit/s" }}
""" + "".join(
        f"""
[[flow]]
name = "upload{i}"
from = "st{i}"
to = "gw"
app = {{ kind = "bulk" }}
transport = {{ kind = "tcp", congestion = "reno" }}
"""
        for i in range(1, terminals + 1)
    )


def loaded_return_link(seconds: float, terminals: int) -> str:
    """Terminals that send datagrams over one VBDC return link, a fifth more than it carries."""
    payload = PACKET_BYTES - 28
    rate = 2_048_000 * 6 // 5 // terminals * payload // PACKET_BYTES
    return f"""\
name = "{terminals} terminals, more than the return link carries"
duration = "{seconds:g} s"

[network.sat]
kind = "dvb-rcs"
forward = {{ rate = "10 Mbit/s" }}
terminals = [{{ name = "st", count = {terminals} }}]
gateway = "gw"

[network.sat.return]
rate = "2048 kbit/s"
dama = {{ scheme = "vbdc", cra = "0 bit/s" }}
""" + "".join(
        f"""
[[flow]]
name = "stream{i}"
from = "st{i}"
to = "gw"
app = {{ kind = "cbr", rate = "{rate} bit/s", datagram = "{payload} B" }}
transport = {{ kind = "udp" }}
"""
        for i in range(1, terminals + 1)
    )


def starlink(seconds: float, sites: int) -> str:
    """Flows of 1 Mbit/s between sites over Starlink's first shell: 1584 satellites in a grid of links."""
    chosen = random.Random(7)
    places = [
        (math.degrees(math.asin(chosen.uniform(-0.82, 0.82))), chosen.uniform(-180, 180))
        for _ in range(sites)
    ]
    return f"""\
name = "{sites} sites under Starlink's first shell"
duration = "{seconds:g} s"
preset = "starlink-shell1"
""" + "".join(
        f"""
[network.sky.sites.s{i:02d}]
latitude = "{latitude:.3f} deg"
longitude = "{longitude:.3f} deg"

[[flow]]
name = "f{i}"
from = "s{i:02d}"
to = "s{(37 * i + 11) % sites:02d}"
app = {{ kind = "cbr", rate = "1 Mbit/s", datagram = "1472 B" }}
transport = {{ kind = "udp" }}
"""
        for i, (latitude, longitude) in enumerate(places)
    )


def beam(seconds: float, terminals: int, carriers: int, idle: int = 0) -> str:
    """Terminals on a beam of several carriers, each with files of 100 kB on average that begin at moments of a Poisson
    process, half a minute apart in the mean beyond the transfers; and others that are logged on and idle."""
    every = 60 * terminals / carriers / 32
    return f"""\
name = "{terminals} terminals on {carriers} carriers, {idle} idle"
duration = "{seconds:g} s"

[network.sat]
kind = "dvb-rcs"
forward = {{ rate = "200 Mbit/s" }}
terminals = [{{ name = "st", count = {terminals} }}, {{ name = "idle", count = {max(idle, 1)} }}]
gateway = "gw"

[network.sat.return]
rate = "2048 kbit/s"
carriers = [{{ rate = "2048 kbit/s", count = {carriers} }}]
dama = {{ scheme = "avbdc", cra = "0 bit/s", allocator = "max-min" }}
""" + "".join(
        f"""
[[flow]]
name = "files{i}"
from = "st{i}"
to = "gw"
app = {{ kind = "ftp", size = "100 kB", distribution = "exponential", every = "{every:g} s" }}
transport = {{ kind = "tcp", congestion = "reno" }}
"""
        for i in range(1, terminals + 1)
    )


def calls(seconds: float, count: int) -> str:
    """Calls with G.729A from one terminal over one return link, all at the same time; they are answered after 4 s."""
    rate = 40 * count
    return f"""\
name = "{count} calls over one return link"
duration = "{seconds:g} s"

[network.sat]
kind = "dvb-rcs"
forward = {{ rate = "{rate} kbit/s" }}
terminals = ["st"]
gateway = "gw"

[network.sat.return]
rate = "{rate} kbit/s"
slots_per_frame = {count * 5 // 8}
dama = {{ scheme = "rbdc", cra = "0 bit/s" }}

[[flow]]
name = "calls"
from = "st"
to = "gw"
app = {{ kind = "calls", codec = "G.729A", calls = {count}, lines = {count} }}
transport = "sip"
"""


def saturated_wifi(seconds: float, stations: int) -> str:
    """Stations of 802.11a at 54 Mbit/s, each with more to send than its share; packets as long on the air as in ns3."""
    return f"""\
name = "{stations} saturated stations"
duration = "{seconds:g} s"

[network.wlan]
kind = "wifi"
standard = "802.11a"
access_point = "ap"
stations = [{{ prefix = "st", count = {stations} }}]
adaptation = "fixed"
""" + "".join(
        f"""
[[flow]]
name = "f{i}"
from = "st{i}"
to = "ap"
app = {{ kind = "cbr", rate = "700 kbit/s", datagram = "1472 B" }}
transport = {{ kind = "udp" }}
"""
        for i in range(1, stations + 1)
    )


def bdp_packets(rate_mbps: int, delay_ms: int) -> int:
    """Packets in a bandwidth-delay product, both directions, as benchmarks/ns3 rounds it."""
    return round(rate_mbps * 1e6 / 8 * 2 * delay_ms / 1e3 / PACKET_BYTES)
