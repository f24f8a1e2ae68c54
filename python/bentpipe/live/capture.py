"""Captures the packets of a host into a pcap file, until the process is ended.

Started in the host by ``bentpipe net exec``: ``python -m bentpipe.live.capture FILE``. The file has
the format of libpcap with microseconds and packets of raw IP.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from pathlib import Path
from typing import Final

#: From <linux/if_ether.h>: all protocols.
ALL: Final = 0x0003
#: Magic number and version of pcap, and LINKTYPE_RAW.
HEAD: Final = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 101)
#: Longest recorded part of a packet in bytes: the headers, and the start of the payload.
SNAP: Final = 256


def capture(file: Path) -> None:
    """Writes all packets of the host's interfaces other than loopback."""
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL)) as packets,
        file.open("wb") as out,
    ):
        out.write(HEAD)
        out.flush()
        while True:
            packet, (interface, *_) = packets.recvfrom(65_536)
            if interface == "lo":
                continue
            now = time.time_ns()
            kept = packet[:SNAP]
            head = struct.pack("<IIII", now // 10**9, now // 1000 % 10**6, len(kept), len(packet))
            out.write(head + kept)
            # The process is ended by a signal.
            out.flush()


if __name__ == "__main__":
    capture(Path(sys.argv[1]))
