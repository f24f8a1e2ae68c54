"""What limits the accuracy of measurements on this host: ``bentpipe doctor --measure``."""

from __future__ import annotations

import array
import fcntl
import socket
import struct
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from . import bulk
from .sockets import clock_error_s, opened, received

#: Programs that hold a clock to others, as the kernel names them (15 characters at most).
SYNCHRONISERS: Final = ("chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys", "openntpd")
#: Largest 99th percentile of the error of a time stamp, in seconds.
GOAL_S: Final = 50e-6
#: Datagrams with which time stamps are tried.
TRIALS: Final = 2000

_SIOCETHTOOL: Final = 0x8946
_GET_TS_INFO: Final = 0x41
_HARDWARE: Final = 1 << 2 | 1 << 0 | 1 << 6


def examine() -> list[dict[str, Any]]:
    """Returns findings, each with status, what it is about, what was found, and the remedy."""
    return [_clock(), *_interfaces(), _stamps(), _buffers(), _controls(), _log()]


def _finding(what: str, status: str, found: str, remedy: str | None = None) -> dict[str, Any]:
    return {"what": what, "needed": False, "status": status, "found": found, "remedy": remedy}


def _clock() -> dict[str, Any]:
    error = clock_error_s()
    running = sorted(_programs() & set(SYNCHRONISERS))
    by = f", by {', '.join(running)}" if running else ""
    if error is None:
        said = f"nothing synchronises it{by}: one-way delays are intervals as wide as the round-trip time"
        return _finding("clock", "limited", said, "run chrony; with PTP hardware, ptp4l and phc2sys")
    return _finding("clock", "ok", f"certain to {1e3 * error:.3f} ms{by} (adjtimex, maxerror)")


def _programs() -> set[str]:
    found = set()
    for file in Path("/proc").glob("[0-9]*/comm"):
        try:
            found.add(file.read_text().strip())
        except OSError:
            continue
    return found


def _interfaces() -> list[dict[str, Any]]:
    """Whether each interface that is up stamps packets in hardware."""
    findings = []
    for _, name in socket.if_nameindex():
        folder = Path("/sys/class/net") / name
        if not (folder / "device").exists():
            continue
        flags = _stamping(name)
        if flags is None or flags & _HARDWARE != _HARDWARE:
            said = "stamps in software: some microseconds more, and more on a busy machine"
            findings.append(_finding(f"interface {name}", "limited", said, "an interface with PTP hardware"))
        else:
            findings.append(
                _finding(
                    f"interface {name}",
                    "limited",
                    "could stamp in hardware, which is not used yet; software stamps are",
                )
            )
    return findings or [
        _finding("interfaces", "limited", "none of hardware: stamps are made in software", "PTP hardware")
    ]


def _stamping(name: str) -> int | None:
    """Returns the flags of SO_TIMESTAMPING that an interface can (ethtool -T)."""
    answer = array.array("B", struct.pack("=11I", _GET_TS_INFO, *[0] * 10))
    request = struct.pack("16sP", name.encode()[:15], answer.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            fcntl.ioctl(sock, _SIOCETHTOOL, request.ljust(40, b"\0"))
        except OSError:
            return None
    return int(struct.unpack_from("=I", answer, 4)[0])


def stamp_errors(count: int = TRIALS) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """Returns the times in seconds from handing a datagram to the kernel to the stamp of its arrival over loopback: all
    of it is error. None without stamps of the kernel."""
    with opened(socket.AF_INET) as there, opened(socket.AF_INET) as here:
        there.bind(("127.0.0.1", 0))
        here.connect(there.getsockname())
        errors = []
        for _ in range(count):
            before = time.time_ns()
            here.send(bytes(100))
            end = time.monotonic() + 1
            while (got := received(there)) is None and time.monotonic() < end:
                pass
            # The kernel begins to stamp a moment after the first socket has asked for it.
            if got is not None and got.stamp is not None:
                errors.append((got.stamp - before) / 1e9)
    return np.array(errors) if len(errors) > count / 2 else None


def _stamps() -> dict[str, Any]:
    errors = stamp_errors()
    if errors is None:
        return _finding(
            "time stamps", "limited", "the kernel gives none, so those of the program are used", "Linux"
        )
    middle, high = (1e6 * float(value) for value in np.quantile(errors, (0.5, 0.99)))
    said = f"of the kernel, over loopback median {middle:.0f} us, 99th percentile {high:.0f} us"
    if high / 1e6 > GOAL_S:
        return _finding("time stamps", "limited", said, "leave the machine alone while it measures")
    return _finding("time stamps", "ok", said)


def _buffers() -> dict[str, Any]:
    size = int(Path("/proc/sys/net/core/rmem_max").read_text())
    said = f"a socket holds up to {2 * size >> 10} KiB of what arrives"
    if size < 1 << 20:
        return _finding("receive buffer", "limited", said, "sysctl net.core.rmem_max=4194304")
    return _finding("receive buffer", "ok", said)


def _controls() -> dict[str, Any]:
    found = bulk.controls()
    more = None if len(found) > 2 else "modprobe tcp_bbr; sysctl net.ipv4.tcp_allowed_congestion_control"
    return _finding("congestion controls", "ok" if len(found) > 2 else "limited", ", ".join(found), more)


def _log() -> dict[str, Any]:
    from bentpipe import _native

    try:
        _native.TcpLog(Path("/proc/self/ns/net").stat().st_ino)
    except OSError as error:
        return _finding("log of TCP", "limited", f"TCP_INFO every 10 ms: {error}", "run as root")
    return _finding("log of TCP", "ok", "the kernel's, at each acknowledgment")
