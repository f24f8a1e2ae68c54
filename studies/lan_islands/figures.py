"""Figures 1 to 5. Dashed lines: predictions by the equations. Hollow circles and triangles: values
of the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.plots.published import legend_entries, mark_curve, mark_level, mark_value, mark_words
from bentpipe.plots.style import INK, PREDICTED, figure_function, legend, line, panels
from bentpipe.predict import block_time_s, fitted_throughput_bit_s, window_limited_rate_bit_s
from bentpipe.results.netpipe import MEGABIT, Block

if TYPE_CHECKING:
    from bentpipe.studies import Statement
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Payload rate of full segments on the E1 in bit/s: 1460 bytes in 32 cells.
E1: Final = 2.048e6 * 1460 / (32 * 53)
#: Label of the throughput axis.
THROUGHPUT: Final = "throughput ($2^{20}$ bit/s)"


def one_way_s(rtt_ms: float, block: int = 1460) -> float:
    """Returns the one-way time of a block without the E1: propagation, and transmission on two
    Ethernets. A segment has 40 bytes of TCP/IP headers and 38 bytes of Ethernet overhead."""
    return rtt_ms / 2e3 + 2 * (min(block, 1460) + 78) * 8 / 10e6


def predicted(block: int, rtt_ms: float, window: int) -> float:
    """Returns the throughput in bit/s for a block size, by the equation."""
    return 8 * block / block_time_s(block, one_way_s(rtt_ms, block), E1, window_bytes=window)


def _shades(count: int) -> list[str]:
    """Returns a sequence of colours from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](0.9 * index / max(count - 1, 1))) for index in range(count)]


def _single(axes: Axes, title: str, x: str, y: str = THROUGHPUT, *, logarithmic: bool = True) -> None:
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if logarithmic:
        axes.set_xscale("log")


def _mark_table(axes: Axes, statements: Mapping[str, Statement], *, by_time: bool) -> None:
    """Marks the throughputs of table 1 against time or against block size."""
    for name, statement in statements.items():
        if name.startswith("rate-"):
            size = name.removeprefix("rate-")
            at = statements[f"time-{size}"].value if by_time else float(size)
            mark_value(axes, statement, at)


@figure_function
def table(measured: Sequence[Block], statements: Mapping[str, Statement]) -> Figure:
    """Draws table 1: time and variance of the time against block size."""
    figure, (above, below) = panels([2.8, 2.0])
    known = {one.size: one for one in measured}
    sizes = [int(name.removeprefix("time-")) for name in statements if name.startswith("time-")]
    for axes, name, values in (
        (above, "time", [known[size].time_s for size in sizes]),
        (below, "variance", [round(known[size].variance or 0.0, 9) for size in sizes]),
    ):
        axes.plot(sizes, values, marker=".", **line(0), label="simulated")
        for size in sizes:
            mark_value(axes, statements[f"{name}-{size}"], size)
        axes.set_xscale("log")
    above.set_title("Table 1: ping-pong at RTT 400 ms, socket of 8 kbyte")
    above.set_ylabel("time of a block (s)")
    above.set_ylim(0, None)
    below.set_ylabel("variance ($s^2$)")
    below.set_xlabel("block (bytes)")
    above.legend(handles=legend_entries(above), loc="upper left")
    return figure


@figure_function
def signature(
    of: Mapping[int, Sequence[Block]],
    windows: Mapping[int, int],
    statements: Mapping[str, Statement],
    split_s: float,
) -> Figure:
    """Draws figure 1: throughput against block time, by socket buffer. From ``split_s`` on, the
    large socket buffer has the higher throughput by the paper."""
    figure, (axes,) = panels([3.6])
    for index, (socket, measured) in enumerate(of.items()):
        axes.plot(
            [one.time_s for one in measured],
            [one.bit_s / MEGABIT for one in measured],
            **line(index),
            label=f"socket {socket // 1024} kbyte",
        )
        rates = [predicted(one.size, 400, windows[socket]) for one in measured]
        times = [8 * one.size / rate for one, rate in zip(measured, rates, strict=True)]
        colour = line(index)["color"]
        axes.plot(times, [rate / MEGABIT for rate in rates], color=colour, linestyle=PREDICTED, linewidth=0.8)
    small, large = sorted(of)
    colour = line(list(of).index(large))["color"]
    known = {one.size: one for one in of[large]}
    both = [(one, known[one.size]) for one in of[small] if one.size in known]
    for name, pairs in (
        ("signature-below", [pair for pair in both if pair[0].time_s < split_s]),
        ("signature-beyond", [pair for pair in both if pair[0].time_s >= split_s]),
    ):
        if name in statements:
            # A block of the large socket buffer is compared with that of its size.
            times_s = np.array([other.time_s for _, other in pairs])
            rates_of_small = np.array([one.bit_s / MEGABIT for one, _ in pairs])
            mark_curve(axes, statements[name], times_s, rates_of_small, colour=colour)
    _mark_table(axes, statements, by_time=True)
    axes.axvline(split_s, color=INK, linewidth=0.6, linestyle=":")
    words = f" paper: the same before {split_s:g} s"
    axes.text(split_s, 0.02, words, transform=axes.get_xaxis_transform(), va="bottom", fontsize=7.5)
    axes.set_ylim(-0.03, None)
    _single(axes, "Ping-pong at RTT 400 ms", "time of a block (s)")
    axes.set_xticks([0.2, 0.3, 0.5, 1, 2, 4], ["0.2", "0.3", "0.5", "1", "2", "4"])
    axes.minorticks_off()
    legend(axes)
    return figure


@figure_function
def by_block(
    of: Mapping[float, Sequence[Block]],
    windows: Mapping[float, int],
    statements: Mapping[str, Statement],
    real: Mapping[str, Mapping[float, Sequence[Block]]],
) -> Figure:
    """Draws figure 2: throughput against block size, by round-trip time. Circles and plus signs:
    real NPtcp, by clock. Dotted line: blocks that take 1 s."""
    figure, (axes,) = panels([4.2])
    named: set[str] = set()
    colours = dict(zip(of, _shades(len(of)), strict=True))
    for (rtt, measured), colour in zip(of.items(), colours.values(), strict=True):
        sizes = [one.size for one in measured]
        axes.plot(sizes, [one.bit_s / MEGABIT for one in measured], color=colour, label=f"RTT {rtt:g} ms")
        equation = [predicted(size, rtt, windows[rtt]) / MEGABIT for size in sizes]
        axes.plot(sizes, equation, color=colour, linestyle=PREDICTED, linewidth=0.8)
        for (clock, by_rtt), marker in zip(real.items(), "o+", strict=False):
            own = by_rtt.get(rtt, [])
            x, y = [one.size for one in own], [one.bit_s / MEGABIT for one in own]
            axes.plot(x, y, marker, color=colour, markersize=3 if marker == "o" else 6, fillstyle="none")
            if x and clock not in named:
                named.add(clock)
                axes.plot([], [], marker, color=INK, fillstyle="none", label=f"NPtcp, {clock} clock")
    largest = max(one.size for measured in of.values() for one in measured)
    axes.plot([1, largest], [8 / MEGABIT, 8 * largest / MEGABIT], ":", color=INK, linewidth=0.9, label="1 s")
    _single(axes, "Ping-pong, socket of 8 kbyte", "block (bytes)")
    axes.set_yscale("log")
    _mark_table(axes, statements, by_time=False)
    for name, rtt in (("largest-leo", 50), ("largest-meo", 200), ("largest-geo", 400)):
        if name in statements and rtt in of:
            kbyte = statements[name]
            mark_value(
                axes, kbyte, 8 * 1024 * kbyte.value / MEGABIT, along="x", scale=1024, colour=colours[rtt]
            )
    if "block-abrupt" in statements and {20, 40} <= set(of):
        highest = max(one.bit_s for one in of[20]) / MEGABIT
        mark_level(axes, statements["block-abrupt"], (256, largest), scale=highest, colour=colours[40])
    legend(axes)
    return figure


@figure_function
def by_socket(
    of: Mapping[float, Mapping[int, float]], window: Mapping[int, int], statements: Mapping[str, Statement]
) -> Figure:
    """Draws figure 3: throughput of a stream of 1 MiB against the socket buffer, by round-trip
    time."""
    figure, (axes,) = panels([3.8])
    colours = dict(zip(of, _shades(len(of)), strict=True))
    for (rtt, rates), colour in zip(of.items(), colours.values(), strict=True):
        kbyte = [socket / 1024 for socket in rates]
        axes.plot(
            kbyte,
            [rate / MEGABIT for rate in rates.values()],
            color=colour,
            marker=".",
            label=f"RTT {rtt:g} ms",
        )
        bound = [
            min(E1, window_limited_rate_bit_s(window[socket], 2 * one_way_s(rtt))) / MEGABIT
            for socket in rates
        ]
        axes.plot(kbyte, bound, color=colour, linestyle=PREDICTED, linewidth=0.8)
    fit = [fitted_throughput_bit_s(socket) / MEGABIT for socket in window]
    axes.plot(
        [socket / 1024 for socket in window], fit, color=INK, linestyle=":", label="paper's fit, RTT 600 ms"
    )
    for kbyte_of in (8, 64):
        if (slope := statements.get(f"socket-slope-{kbyte_of}")) is not None:
            mark_value(axes, slope, kbyte_of, scale=kbyte_of, colour=colours[600])
    if (joins := statements.get("socket-joins")) is not None:
        last = max(window)
        mark_value(axes, joins, last / 1024, scale=of[100][last] / MEGABIT, colour=colours[400])
    if "socket-saturates" in statements:
        axes.set_ylim(0, 1.95)
        mark_words(axes, (32, 64), "constant up to RTT 100 ms", height=0.91)
    _single(axes, "Stream of 1 MiB", "socket buffer (kbyte)", logarithmic=False)
    legend(axes)
    return figure


#: Mean time-out after a lost segment: the minimum of 1 s, rounded up to the profile's clock ticks
#: of 500 ms.
TIMEOUT_S: Final = 1.25


def under_errors(socket: int, ber: float) -> tuple[float, float]:
    """Predicts the effect of bit errors at an RTT of 400 ms, for blocks of the socket buffer's
    size. Returns the throughput in bit/s and the relative standard deviation of the block time.

    Each lost segment causes a time-out. A segment is lost if one of the 48 payload bytes of one of
    its cells has a bit error (single errors in a header are corrected). With n segments and a loss
    probability p, the mean number of time-outs is n p, and its variance is n p (1 - p). Each
    direction carries one block."""
    window = min(socket, 65_535) // 1460 * 1460
    once = block_time_s(socket, one_way_s(400, socket), E1, window_bytes=window)
    lost = 1 - (1 - ber) ** (32 * 48 * 8)
    count = 2 * socket / 1460
    # Losses of one window share a time-out, and their retransmissions can be lost again.
    windows = 2 * max(socket / window, 1.0)
    any_lost = 1 - (1 - lost) ** (count / windows)
    again = 1 / max(1 - lost, 1e-12)
    mean = windows * any_lost * again * TIMEOUT_S
    variance = windows * any_lost * max(1 - any_lost, 0.0) * (again * TIMEOUT_S) ** 2
    time = once + mean / 2
    return 8 * socket / time, math.sqrt(variance) / 2 / time


@figure_function
def by_errors(
    values: Mapping[int, Mapping[float, float | None]],
    equation: Mapping[int, Mapping[float, float]],
    label: str,
    statements: Sequence[Statement],
    scale: float = 1.0,
) -> Figure:
    """Draws figures 4 and 5: a measure against the bit error rate at a round-trip time of 400 ms,
    by socket buffer. The values of the ``statements`` are about the small socket buffer, in
    ``scale``."""
    figure, (axes,) = panels([3.2])
    for index, (socket, of) in enumerate(values.items()):
        x = [ber for ber, value in of.items() if value is not None]
        y = [value for value in of.values() if value is not None]
        axes.plot(x, y, marker=".", **line(index), label=f"socket {socket // 1024} kbyte")
        known = [ber for ber in equation[socket] if ber <= 1e-5]
        expected = [equation[socket][ber] for ber in known]
        axes.plot(known, expected, color=line(index)["color"], linestyle=PREDICTED, linewidth=0.8)
    for statement in statements:
        # "ber-1e-7" is the part of the throughput at this bit error rate. "ber-steep" has no place.
        of_rate = statement.id.split("-", 1)[1]
        if of_rate[0].isdigit():
            mark_value(axes, statement, float(of_rate), scale=scale, colour=line(0)["color"])
    _single(axes, "Blocks of the socket's size, RTT 400 ms", "bit error rate", label)
    legend(axes)
    return figure


@figure_function
def by_burst(of: Mapping[int, tuple[float, float]]) -> Figure:
    """Draws the maximum number of cells in the queue before the E1 if a window is sent as one
    burst, and the buffer BB of the equation."""
    figure, (axes,) = panels([2.6])
    kbyte = [socket / 1024 for socket in of]
    axes.plot(kbyte, [waited for waited, _ in of.values()], marker=".", **line(0), label="simulated")
    axes.plot(kbyte, [cells for _, cells in of.values()], color=INK, linestyle=PREDICTED, label="BB")
    _single(axes, "A window sent at once", "socket buffer (kbyte)", "cells before the E1", logarithmic=False)
    legend(axes)
    return figure
