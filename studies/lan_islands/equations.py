"""The test ``equations``: the paper's formulas compared with the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bentpipe.predict import (
    bandwidth_delay_product_bytes,
    buffer_cells,
    fitted_throughput_bit_s,
    request_response_s,
    window_limited_rate_bit_s,
)
from bentpipe.results.netpipe import MEGABIT, blocks
from bentpipe.results.runs import Run
from bentpipe.studies import Table

from . import figures
from .points import LINE, SEGMENT, Point, legs, rounded

#: Bit rate of the cells on the E1.
E1_CELLS: Final = 2.048e6
#: Bit rate of the Ethernet.
LAN: Final = 10e6
#: Number of cells of a full segment.
CELLS: Final = 32
#: Socket buffers in bytes. Each gives a burst that fills the cell buffer before the E1.
BURSTS: Final = (8192, 16384, 24576, 32768, 49152, 65536)
#: Duration of a frame of the time-division access.
FRAME_MS: Final = 20.0
#: Number of one-way delays, equally spaced over a frame, so that cells arrive in each part of it.
PHASES: Final = 8
#: Rates of the satellite leg: E1, 25.6 Mbit/s and OC-3.
RATES: Final = ("2048 kbit/s", "25.6 Mbit/s", "149.76 Mbit/s")
#: Round-trip time of the tests of the window for the full rate.
FULL_RTT_MS: Final = 500.0


def request_point(rtt_ms: float) -> Point:
    """Returns the point with blocks of one byte."""
    return Point(rtt_ms, block=1, more=("flow.np.app.repeats=7",))


def burst_point(socket: int) -> Point:
    """Returns the point with blocks that fill the window, so that each is sent as one burst."""
    return Point(400, socket, block=rounded(socket), more=("flow.np.app.repeats=7",))


def phase_points(tdma: bool) -> list[Point]:
    """Returns points with blocks of one byte, at :data:`PHASES` one-way delays, with or without
    time-division access to the satellite leg."""
    keys = f", tdma = {{ frame = '{FRAME_MS:g} ms', carrier = '{LINE}' }}" if tdma else ""
    delays = [200 + FRAME_MS * (phase + 0.5) / PHASES for phase in range(PHASES)]
    more = ("flow.np.app.repeats=7",)
    return [Point(2 * delay, block=1, more=(*more, legs(2 * delay, keys=keys))) for delay in delays]


def window_point(share: float) -> Point:
    """Returns the point of a stream whose window is this fraction of the window for the full rate.
    The stream uses window scaling."""
    window = int(share * full_window())
    return Point(
        FULL_RTT_MS,
        block=65_536,
        more=(
            "flow.np.app.mode=stream",
            "flow.np.app.repeats=200",
            "flow.np.transport.window_scaling=true",
            f"flow.np.transport.receive_window={window} B",
            f"flow.np.transport.send_buffer={2 * window} B",
        ),
    )


def rate_point(rate: str) -> Point:
    """Returns the point with blocks that fill a window of 64 KiB, over a satellite leg with this
    rate."""
    more = ("flow.np.app.repeats=7", legs(400, rate=rate))
    return Point(400, 65_536, block=rounded(65_535), more=more)


def needed() -> list[Point]:
    """Returns the points of the test."""
    return [
        *(request_point(rtt) for rtt in (1, 40, 400)),
        *(burst_point(socket) for socket in BURSTS),
        *phase_points(tdma=True),
        *phase_points(tdma=False),
        *(window_point(share) for share in (1.0, 0.5)),
        *(rate_point(rate) for rate in RATES),
    ]


def full_window() -> float:
    """Returns the window for the full rate, as payload in bytes. The product of rate and RTT is
    128 kbyte of cells."""
    product = bandwidth_delay_product_bytes(E1_CELLS, FULL_RTT_MS / 1e3)
    return product * SEGMENT / (CELLS * 53)


def request_s(rtt_ms: float) -> float:
    """Returns the time of a request and a response of one byte each by the equation. It includes
    the RTT, and the transmission of both on two Ethernets (minimum frame) and on the E1 (two
    cells)."""
    sending = 2 * 84 * 8 / LAN + 2 * 53 * 8 / E1_CELLS
    return request_response_s(2 * sending, 0, rtt_ms / 1e3)


def burst_cells(socket: int) -> float:
    """Returns the buffer BB for a window by the equation, in cells. The burst arrives at the rate
    of the Ethernet."""
    segments = rounded(socket) // SEGMENT
    on_lan = CELLS * 53 * LAN / (SEGMENT + 78)
    return buffer_cells(on_lan, E1_CELLS, segments * CELLS * 53)


def waiting(run: Run) -> float:
    """Returns the maximum number of cells in the queue before the satellite leg."""
    (row,) = (row for row in run.table("atm_leg").iter_rows(named=True) if row["leg"] == "wan.forward.2")
    return float(row["queue_max"])


def time_s(run: Run) -> float:
    """Returns the time of the only block size of a run."""
    return blocks(run)[-1].time_s


def access_s(runs: Mapping[Point, Run]) -> float:
    """Returns the one-way time that time-division access adds, as the mean over :data:`PHASES`."""
    pairs = zip(phase_points(tdma=True), phase_points(tdma=False), strict=True)
    return sum(time_s(runs[one]) - time_s(runs[other]) for one, other in pairs) / PHASES


def share(runs: Mapping[Point, Run], of: float) -> float:
    """Returns the throughput as a fraction of the E1's payload rate. ``of`` is the window as a
    fraction of the window for the full rate."""
    return blocks(runs[window_point(of)])[-1].bit_s / figures.E1


def bursts(runs: Mapping[Point, Run]) -> dict[int, tuple[float, float]]:
    """Returns the maximum number of queued cells and the buffer BB, by socket buffer."""
    return {socket: (waiting(runs[burst_point(socket)]), burst_cells(socket)) for socket in BURSTS}


def measures(runs: Mapping[Point, Run]) -> dict[str, float | None]:
    """Returns the values for the test ``equations``."""
    waited, buffer = bursts(runs)[65_536]
    return {
        "eq-request": 2 * time_s(runs[request_point(400)]) / request_s(400),
        "eq-window-full": share(runs, 1.0),
        "eq-window-half": share(runs, 0.5),
        "eq-buffer": waited / buffer,
        "eq-tdma": access_s(runs) / (FRAME_MS / 1e3),
    }


def table(runs: Mapping[Point, Run], rates_600: Mapping[int, float]) -> Table:
    """Returns the table that compares each equation with the simulation. ``rates_600`` is the
    throughput of figure 3 at an RTT of 600 ms, by socket buffer."""
    rows: list[list[str]] = []

    def row(quantity: str, unit: str, equation: float, ours: float) -> None:
        rows.append([quantity, unit, f"{equation:.4g}", f"{ours:.4g}", f"{ours / equation:.3f}"])

    for rtt in (1, 40, 400):
        ours = 2 * time_s(runs[request_point(rtt)])
        row(f"request and response, RTT {rtt} ms", "s", request_s(rtt), ours)
    rows.append(
        [
            "window for the full rate, RTT 500 ms",
            "byte of cells",
            f"{E1_CELLS * FULL_RTT_MS / 8e3:.0f}",
            "-",
            "-",
        ]
    )
    for part in (1.0, 0.5):
        quantity = f"share of the E1, {part:g} of that window"
        row(quantity, "1", min(part, 1.0), share(runs, part))
    for socket, (waited, buffer) in bursts(runs).items():
        row(f"cells of buffer BB, socket {socket // 1024} kbyte", "cells", buffer, waited)
    row("access of a frame of 20 ms, half of it", "s", FRAME_MS / 2e3, access_s(runs))
    for rate in RATES:
        ours = time_s(runs[rate_point(rate)])
        row(f"block of 64240 bytes, satellite leg of {rate}", "s", leg_time_s(rate), ours)
    for socket, found in rates_600.items():
        limit = window_limited_rate_bit_s(rounded(min(socket, 65_535)), 2 * figures.one_way_s(600))
        row(
            f"window / RTT, RTT 600 ms, {socket // 1024} kbyte",
            "2^20 bit/s",
            limit / MEGABIT,
            found / MEGABIT,
        )
        fit = fitted_throughput_bit_s(socket) / MEGABIT
        row(f"linear fit, RTT 600 ms, {socket // 1024} kbyte", "2^20 bit/s", fit, found / MEGABIT)
    return Table("Equations beside the simulation", ["what", "unit", "equation", "ours", "ratio"], rows)


def leg_time_s(rate: str) -> float:
    """Returns the time of a block that fills the window, by the equation, over a satellite leg with
    this rate. The Ethernet may be slower than the leg."""
    value, unit = rate.split()
    cells = float(value) * {"kbit/s": 1e3, "Mbit/s": 1e6}[unit] * SEGMENT / (CELLS * 53)
    lan = LAN * SEGMENT / (SEGMENT + 78)
    block = rounded(65_535)
    # Each line forwards a segment after it has arrived completely. The slowest line limits the
    # rate.
    lines = [lan, cells, lan]
    return 0.2 + 8 * block / min(lines) + sum(8 * SEGMENT / line for line in lines) - 8 * SEGMENT / min(lines)
