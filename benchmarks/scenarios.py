"""The measured scenarios. Each function returns the text of a scenario in TOML.

Every function takes the simulated duration in seconds, because --scale changes the duration.
"""

from __future__ import annotations

import math
import random

PACKET_BYTES = 1500


def bulk_tcp(seconds: float, flows: int, rate_mbps: int, delay_ms: int, congestion: str = "reno") -> str:
    """Returns a scenario with endless TCP transfers between two hosts. The bottleneck has a buffer
    of one bandwidth-delay product."""
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
    """Returns a scenario with one stream of datagrams through a chain of links, at the rate of the
    links."""
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
    """Returns a scenario in which every terminal uploads endlessly over one RBDC return link.

    The default return link has 32 slots per frame at 2048 kbit/s. For more than 32 terminals, slots
    and rate are multiplied, so that every terminal has a slot. A terminal without a slot of its own
    could send less than one segment per round trip, and its TCP would mostly wait for time-outs.
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
    """Returns a scenario in which the terminals send datagrams over one VBDC return link, together
    at 1.2 times its capacity."""
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
    """Returns a scenario with a flow of 1 Mbit/s from each site to another site over Starlink's
    first shell, a grid of 1584 satellites."""
    generator = random.Random(7)
    coordinates = [
        (math.degrees(math.asin(generator.uniform(-0.82, 0.82))), generator.uniform(-180, 180))
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
        for i, (latitude, longitude) in enumerate(coordinates)
    )


def beam(seconds: float, terminals: int, carriers: int, idle: int = 0) -> str:
    """Returns a scenario in which terminals send files over a beam of several carriers, while other
    terminals are idle.

    The files have 100 kB on average. Each terminal starts files in a Poisson process. The mean
    interval is proportional to the number of terminals per carrier: 58.6 s for 1000 terminals on 32
    carriers. Idle terminals are logged on. A group of terminals cannot be empty, so the scenario
    has one idle terminal even if `idle` is 0.
    """
    interval_s = 60 * terminals / carriers / 32
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
app = {{ kind = "ftp", size = "100 kB", distribution = "exponential", every = "{interval_s:g} s" }}
transport = {{ kind = "tcp", congestion = "reno" }}
"""
        for i in range(1, terminals + 1)
    )


def calls(seconds: float, count: int) -> str:
    """Returns a scenario with concurrent G.729A calls from one terminal over one return link. Each
    call is answered after 4 s."""
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
    """Returns a scenario with saturated stations of 802.11a at 54 Mbit/s. Frames have the same
    duration as in ns3/wifi.cc."""
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
    """Returns the bandwidth-delay product of a round trip in packets, rounded to the nearest
    integer as in benchmarks/ns3."""
    return round(rate_mbps * 1e6 / 8 * 2 * delay_ms / 1e3 / PACKET_BYTES)
