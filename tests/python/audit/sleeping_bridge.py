"""A bridge between the interfaces `left` and `right` that sleeps for each packet, as careless
emulators in user space do.
`serial MS` sleeps before it takes the next packet; `tick MS` sends at multiples of a timer's tick;
`bleach 0` clears ECN and does not sleep."""

import socket
import struct
import sys
import threading
import time

#: From <linux/if_ether.h> and <linux/if_packet.h>. The header keeps unfinished checksums.
EVERYTHING, SOL_PACKET, VNET_HEADER, HEADER_BYTES = 3, 263, 15, 10


def forward(source: socket.socket, target: socket.socket, mode: str, span: float) -> None:
    while True:
        data, address = source.recvfrom(70_000)
        if address[2] == socket.PACKET_OUTGOING:
            continue
        frame, ip = bytearray(data), HEADER_BYTES + 14
        if mode == "bleach" and frame[ip] >> 4 == 4:
            frame[ip + 1] &= 0xFC
            frame[ip + 10 : ip + 12] = bytes(2)
            total = sum(struct.unpack_from("!10H", frame, ip))
            struct.pack_into("!H", frame, ip + 10, ~(total + (total >> 16)) & 0xFFFF)
        if span:
            early = time.time() % span
            time.sleep(span if mode == "serial" else (early > span / 10) * (span - early))
        target.send(frame)


if __name__ == "__main__":
    ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERYTHING)) for _ in range(2)]
    for end, name in zip(ends, ("left", "right"), strict=True):
        end.setsockopt(SOL_PACKET, VNET_HEADER, 1)
        end.bind((name, EVERYTHING))
    for one, other in (ends, reversed(ends)):
        arguments = (one, other, sys.argv[1], float(sys.argv[2]) / 1e3)
        threading.Thread(target=forward, args=arguments).start()
