"""Limits to the accuracy of measurements on this host: ``bentpipe machine doctor --measure``."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from bentpipe.quantities import rate_text

from . import bulk, hardware
from .clock import Times
from .sockets import clock_error_s, departures, opened, received

#: Programs that synchronise a clock, by their kernel names (at most 15 characters).
SYNCHRONISERS: Final = ("chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys", "openntpd")
#: Maximum accepted 99th percentile of the error of a time stamp, in seconds.
GOAL_S: Final = 50e-6
#: Datagrams sent to test time stamps.
TRIALS: Final = 2000
#: Load during the second test of time stamps, in bit/s.
LOAD_BIT_S: Final = 1e9
#: Minimum fraction of this load that the test must reach.
MIN_LOAD_FRACTION: Final = 0.9
#: Duration of the second test in seconds.
LOADED_S: Final = 1.5

#: SO_MAX_PACING_RATE of <asm-generic/socket.h>. The value of this option is in bytes per second.
_SO_MAX_PACING_RATE: Final = 47


def examine() -> list[dict[str, Any]]:
    """Examines this host. Returns findings, each with its subject, status, result and remedy."""
    return [_clock(), *_interfaces(), _stamps(), _stamps(LOAD_BIT_S), _buffers(), _controls(), _log()]


def _finding(what: str, status: str, found: str, remedy: str | None = None) -> dict[str, Any]:
    return {"what": what, "needed": False, "status": status, "found": found, "remedy": remedy}


def _clock() -> dict[str, Any]:
    error = clock_error_s()
    running = sorted(_programs() & set(SYNCHRONISERS))
    by = f", by {', '.join(running)}" if running else ""
    if error is None:
        said = (
            f"the clock is not synchronised{by}: one-way delays are intervals as wide as the round-trip time"
        )
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
    """Returns a finding on hardware time stamps for each interface that is up."""
    findings = []
    for _, name in socket.if_nameindex():
        folder = Path("/sys/class/net") / name
        if not (folder / "device").exists():
            continue
        found = hardware.card(name)
        if isinstance(found, str):
            said = (
                f"software time stamps, with errors of some microseconds, and more on a busy machine: {found}"
            )
            findings.append(_finding(f"interface {name}", "limited", said, "an interface with PTP hardware"))
        else:
            found.close()
            findings.append(
                _finding(f"interface {name}", "ok", "the network card stamps probes by a readable clock")
            )
    return findings or [
        _finding(
            "interfaces", "limited", "no hardware time stamps: software stamps the packets", "PTP hardware"
        )
    ]


@dataclass(frozen=True)
class Stamps:
    """Errors of time stamps over loopback."""

    #: Time from the kernel's stamp of a departure to its stamp of the arrival, in seconds.
    kernel: Times
    #: Time from the kernel's stamp of the arrival until the program has read the packet, in
    #: seconds.
    program: Times
    #: Concurrent load in bit/s.
    bit_s: float

    def high(self) -> float:
        """The 99th percentile of the errors of the kernel's stamps."""
        return float(np.quantile(self.kernel, 0.99))


def stamp_errors(count: int = TRIALS, bit_s: float = 0.0) -> Stamps | None:
    """Measures the errors of the stamps of datagrams over loopback. A TCP transfer at ``bit_s``
    runs in the same program at the same time, as the loads of a measurement do. Returns None if the
    kernel provides no stamps."""
    sent, arrived, read = (np.zeros(count, dtype=np.int64) for _ in range(3))
    with opened(socket.AF_INET) as there, opened(socket.AF_INET, departing=True) as here, _load(bit_s) as got:
        there.bind(("127.0.0.1", 0))
        here.connect(there.getsockname())
        begin, before = time.monotonic(), got.total
        for number in range(count):
            here.send(bytes(100))
            if select.select([there], [], [], 1.0)[0] and (packet := received(there)) is not None:
                read[number], arrived[number] = time.time_ns(), packet.stamp or 0
            if bit_s:
                time.sleep(LOADED_S / count)
            for own, stamp in departures(here):
                sent[own] = stamp
        rate = 8 * (got.total - before) / (time.monotonic() - begin)
        for own, stamp in departures(here):
            sent[own] = stamp
    # The kernel starts to stamp packets shortly after the first socket has requested stamps.
    good = (sent > 0) & (arrived > 0)
    if good.sum() < count / 2:
        return None
    kernel, program = (arrived - sent)[good] / 1e9, (read - arrived)[good] / 1e9
    return Stamps(np.abs(kernel), program, rate)


@contextlib.contextmanager
def _load(bit_s: float) -> Iterator[bulk.Received]:
    """Runs a TCP transfer over loopback at ``bit_s``, with the same code as measurements. Yields
    the received data."""
    found = bulk.Received()
    if not bit_s:
        yield found
        return
    ending = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as here:
        here.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, struct.pack("=Q", int(bit_s / 8)))
        here.connect(listener.getsockname())
        there, _ = listener.accept()

        def should_continue() -> bool:
            return not ending.is_set()

        threads = [
            threading.Thread(target=bulk.send, args=(here, 60.0, should_continue)),
            threading.Thread(
                target=bulk.receive, args=(there, time.time_ns, should_continue), kwargs={"found": found}
            ),
        ]
        for thread in threads:
            thread.start()
        try:
            # Slow start is over.
            time.sleep(0.2)
            yield found
        finally:
            ending.set()
            for thread in threads:
                thread.join()
            there.close()


def _stamps(bit_s: float = 0.0) -> dict[str, Any]:
    about = f"stamps at {rate_text(bit_s)}" if bit_s else "time stamps"
    errors = stamp_errors(bit_s=bit_s)
    if errors is None:
        return _finding(
            about, "limited", "the kernel provides no time stamps, so the program takes its own", "Linux"
        )
    middle, late = (1e6 * float(np.median(values)) for values in (errors.kernel, errors.program))
    high, latest = (1e6 * float(np.quantile(values, 0.99)) for values in (errors.kernel, errors.program))
    said = f"by the kernel; over loopback, median {middle:.0f} us, 99th percentile {high:.0f} us"
    is_wrong = high / 1e6 > GOAL_S
    if is_wrong:
        said += f", above {1e6 * GOAL_S:.0f} us"
    if bit_s:
        said += f"; the program's own times are {late:.0f} us later, 99th percentile {latest:.0f} us"
    remedy = "run nothing else on this machine during measurements"
    if is_slow := errors.bit_s < MIN_LOAD_FRACTION * bit_s:
        said += f"; the load reached only {rate_text(errors.bit_s)}"
    return _finding(about, "limited", said, remedy) if is_wrong or is_slow else _finding(about, "ok", said)


def _buffers() -> dict[str, Any]:
    size = int(Path("/proc/sys/net/core/rmem_max").read_text())
    said = f"a socket buffers up to {2 * size >> 10} KiB of received data"
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
    return _finding("log of TCP", "ok", "by the kernel, at each acknowledgment")
