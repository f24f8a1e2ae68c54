"""Parts of scenarios that several tests combine."""

from __future__ import annotations

from typing import Final

#: Hosts a and b with a link between them; keys of the link, such as queue and error, may follow.
PAIR: Final = """
[[link]]
name = "l"
from = "a"
to = "b"
rate = "5 Mbit/s"
delay = "10 ms"
"""

#: A user and a server with a geostationary link between them; further keys of the link may follow.
GEO: Final = """
[[link]]
name = "sat"
from = "user"
to = "server"
rate = "4 Mbit/s"
delay = "250 ms"
queue = { kind = "drop-tail", bytes = "250 kB" }
"""


def flow(
    name: str,
    source: str,
    destination: str,
    app: str = '"bulk"',
    transport: str = '{ kind = "tcp", congestion = "reno" }',
    *more: str,
) -> str:
    """Returns a flow as TOML, with additional lines."""
    lines = "".join(f"{line}\n" for line in more)
    return f"""
[[flow]]
name = "{name}"
from = "{source}"
to = "{destination}"
app = {app}
transport = {transport}
{lines}"""
