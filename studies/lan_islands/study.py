"""Reproduces the study of delay and errors on an ATM satellite link between LAN islands by Yousef
and Strange. See README.md."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe.results.netpipe import MEGABIT, Block, blocks
from bentpipe.results.runs import Run
from bentpipe.studies import Clock, PaperFigure, Reproduction, Table, bar, judge, read_published

from . import equations, figures
from .points import E1, LINE, SOCKET, Point, deviation, legs, live, real, rounded, simulate, throughput_bit_s

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: The clock "kernel" adds results of the real NPtcp to table 1 and figure 2. The clock "real" adds
#: results of the real NPtcp on both clocks to figure 2, for :data:`REAL_RTT_MS`.
CLOCKS: Final = {"kernel": ("table-1", "figure-2"), "real": ("figure-2",)}
#: Round-trip time of the runs with the clock "real".
REAL_RTT_MS: Final = 40
#: The tests. All except ``causes`` judge statements.
TESTS: Final = (
    "table-1",
    "figure-1",
    "figure-2",
    "figure-3",
    "figure-4",
    "figure-5",
    "conclusions",
    "equations",
    "causes",
)

#: All statements by id.
STATEMENTS: Final = {one.id: one for one in read_published(HERE / "published.csv")}


def _column(of: str) -> dict[int, float]:
    """Returns a column of table 1 of the paper by block size in bytes: "time" or "variance"."""
    names = [name for name in STATEMENTS if name.startswith(f"{of}-")]
    return {int(name.removeprefix(f"{of}-")): STATEMENTS[name].value for name in names}


#: Times of table 1 of the paper in seconds, by block size in bytes.
PAPER: Final = _column("time")
#: Variance of the times of table 1 in s^2, by block size in bytes.
VARIANCES: Final = _column("variance")
#: Time of a block from which the large socket buffer has the higher throughput.
SPLIT_S: Final = 0.33
#: Round-trip times of the largest blocks within 1 s.
LARGEST_RTTS_MS: Final = (40, 50, 100, 200, 400)
#: Round-trip times of figure 2.
RTTS_MS: Final = (1, 10, 20, 40, 50, 100, 200, 400)
#: Round-trip times of figure 3.
SOCKET_RTTS_MS: Final = (1, 10, 20, 50, 100, 200, 400, 600)
#: Socket buffers of figure 3, in bytes.
SOCKETS: Final = (8192, 16384, 24576, 32768, 49152, 65536)
#: Round-trip time of TCP over ABR.
ABR_RTT_MS: Final = 600
#: The connection over ABR, with the parameters of the standard and the rate of the E1 as its peak.
ABR: Final = f"network.wan.contract={{ category = 'abr', peak = '{E1}' }}"
#: Bit error rates of figures 4 and 5.
BERS: Final = (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4)
#: Block size of figure 3, and the large socket buffer of figures 1, 4 and 5, in bytes.
LARGE: Final = 65_536

#: The point of table 1.
BASE: Final = Point()
#: Overrides by possible cause of the step in table 1. A number is the window in bytes. The others
#: have a window of 7300 bytes and one change.
CAUSES: Final = {
    "7300": (),
    "8192": (f"flow.np.transport.receive_window={SOCKET} B",),
    "Nagle": ("flow.np.transport.nagle=true",),
    "8760": ("flow.np.transport.receive_window=8760 B", "flow.np.transport.send_buffer=8760 B"),
    "4096": ("flow.np.transport.receive_window=4096 B",),
    "ack 50 ms": ("flow.np.transport.delayed_ack_timeout=50 ms",),
    "TDMA 20 ms": (legs(400, keys=f", tdma = {{ frame = '20 ms', carrier = '{LINE}' }}"),),
}


def socket_point(rtt_ms: float, socket: int, more: tuple[str, ...] = ()) -> Point:
    """Returns the point of a stream of 64 KiB blocks with this socket buffer."""
    stream = ("flow.np.app.mode=stream", "flow.np.app.repeats=16", *more)
    return Point(rtt_ms, socket, block=LARGE, more=stream)


def abr_point(socket: int) -> Point:
    """Returns the point of a stream over ABR at the round-trip time of the paper's claim."""
    return socket_point(ABR_RTT_MS, socket, (ABR,))


def error_point(ber: float, socket: int = SOCKET, more: tuple[str, ...] = ()) -> Point:
    """Returns the point with bit errors, whose blocks have the size of the socket buffer."""
    return Point(400, socket, ber, block=socket, more=more)


def sack_points(ber: float) -> tuple[Point, Point]:
    """Returns the points without and with selective acknowledgments, with socket buffers of 64
    kbyte."""
    return error_point(ber, LARGE), error_point(ber, LARGE, ("flow.np.transport.recovery=sack",))


_EQUATIONS: Final = "Dashed: equations."
#: The figures, by label.
FIGURES: Final = {
    "table-1": PaperFigure(
        "table-1", "Time of a block against its size, and the variance of the time, with the paper's values"
    ),
    "1": PaperFigure(
        "figure-1",
        f"Network signature: throughput against transfer time. {_EQUATIONS} Circles: table 1. Below 0.33 s both "
        "sockets have the same throughput by the paper, beyond it the larger socket has more.",
    ),
    "2": PaperFigure(
        "figure-2",
        f"Throughput against block size, by round-trip time. {_EQUATIONS} Circles: table 1. Level: by the paper, the "
        'throughput "declines abruptly" from RTT 20 to 40 ms. Marks on the dotted line: largest blocks within 1 s.',
    ),
    "3": PaperFigure(
        "figure-3",
        f"Throughput against the size of the socket buffer. {_EQUATIONS} Circles: RTT 600 ms. Triangle: RTT 400 ms "
        "joins RTT 100 ms.",
    ),
    "4": PaperFigure(
        "figure-4",
        f"Throughput against the bit error rate. {_EQUATIONS} Marks: parts of the throughput at 1e-12 with the "
        "small socket, as we read the paper's words.",
    ),
    "5": PaperFigure(
        "figure-5",
        f"Variation of block times against the bit error rate. {_EQUATIONS} Marks: with the small socket, as we "
        "read the paper's words.",
    ),
    "buffers": PaperFigure(
        "equations", "Buffer that a burst of a window needs, measured and by the equation"
    ),
}


def needed(test: str) -> list[Point]:
    """Returns the points of a test."""
    return {
        "table-1": [BASE],
        "figure-1": [BASE, Point(400, LARGE)],
        "figure-2": [Point(rtt) for rtt in RTTS_MS],
        "figure-3": [
            *(socket_point(rtt, socket) for rtt in SOCKET_RTTS_MS for socket in SOCKETS),
            *(abr_point(socket) for socket in SOCKETS),
        ],
        "figure-4": [error_point(ber, socket) for socket in (SOCKET, LARGE) for ber in BERS],
        "figure-5": [error_point(ber, socket) for socket in (SOCKET, LARGE) for ber in BERS],
        "conclusions": [
            *(Point(rtt, stop_s=1) for rtt in LARGEST_RTTS_MS),
            socket_point(600, LARGE),
            *sack_points(1e-6),
            *(error_point(ber) for ber in (1e-12, 1e-8, 1e-6)),
        ],
        "equations": [*equations.needed(), *(socket_point(600, socket) for socket in SOCKETS)],
        "causes": [Point(more=more) for more in CAUSES.values()],
    }[test]


def reproduce(test: str, out: Path, json: bool, clock: Clock = "virtual") -> Reproduction:
    """Runs a test and judges its statements. ``clock`` is "virtual" or one of :data:`CLOCKS`."""
    with bar("NetPIPE between LAN islands", shown=not json) as progress:
        runs = simulate(needed(test), out, progress)
    programs: dict[str, dict[float, list[Block]]] = {}
    # Linux doubles the requested buffer size.
    option = SOCKET // 2
    if clock == "kernel":
        rtts = RTTS_MS if test == "figure-2" else (400,)
        programs["kernel"] = {rtt: real(rtt, out, option) for rtt in rtts}
    elif clock == "real":
        programs = {
            "kernel": {REAL_RTT_MS: real(REAL_RTT_MS, out, option)},
            "real": {REAL_RTT_MS: live(REAL_RTT_MS, out, option)},
        }
    ours: dict[str, float | None] = {}
    tables: list[Table] = []
    if test == "table-1":
        ours |= table_1(blocks(runs[BASE]))
        tables.append(table_of(blocks(runs[BASE]), programs.get("kernel", {}).get(400, [])))
    if test == "causes":
        tables.append(
            table_of_causes({name: blocks(runs[Point(more=more)]) for name, more in CAUSES.items()})
        )
    if test == "equations":
        tables.append(equations.table(runs, {socket: stream_rate(runs, 600, socket) for socket in SOCKETS}))
    if test in MEASURES:
        ours |= MEASURES[test](runs)
    statements = [one for one in STATEMENTS.values() if one.test == test]
    return Reproduction(
        judge(statements, ours),
        figures=drawn(test, runs, programs),
        notes=["Causes of the differences: studies/lan_islands/README.md"],
        tables=tables,
    )


def by_size(measured: Sequence[Block]) -> dict[int, Block]:
    """Returns the blocks by size."""
    return {block.size: block for block in measured}


def table_1(measured: Sequence[Block]) -> dict[str, float | None]:
    """Returns the values for table 1: time, throughput and variance of each row, and the step in
    time from 6144 to 8192 bytes."""
    known = by_size(measured)
    ours: dict[str, float | None] = {}
    for size in PAPER:
        ours[f"time-{size}"] = known[size].time_s
        ours[f"rate-{size}"] = known[size].bit_s / MEGABIT
        ours[f"variance-{size}"] = round(known[size].variance or 0.0, 9)
    return ours | {"step": known[8192].time_s - known[6144].time_s}


def table_of(measured: Sequence[Block], kernel: Sequence[Block]) -> Table:
    """Returns table 1 with the paper's values, ours, and the values of the real NPtcp, if any."""
    known, others = by_size(measured), by_size(kernel)
    rows = []
    for size, time in PAPER.items():
        block, other = known[size], others.get(size)
        equation = 8 * size / figures.predicted(size, 400, BASE.window)
        rows.append(
            [
                str(size),
                f"{time:.4f}",
                f"{block.time_s:.4f}",
                f"{equation:.4f}",
                f"{block.bit_s / MEGABIT:.6f}",
                f"{VARIANCES[size]:.1e}",
                f"{round(block.variance or 0, 9):.1e}",
                *([f"{other.time_s:.4f}" if other else "-"] if kernel else []),
            ]
        )
    header = ["bytes", "paper s", "ours s", "equation s", "2^20 bit/s", "paper s^2", "ours s^2"]
    return Table("Table 1, RTT 400 ms, socket 8192 bytes", [*header, *(["NPtcp s"] if kernel else [])], rows)


def table_of_causes(of: dict[str, list[Block]]) -> Table:
    """Returns the table of block times for each of :data:`CAUSES`."""
    known = {name: by_size(measured) for name, measured in of.items()}
    rows = [
        [str(size), f"{time:.3f}", *(f"{measured[size].time_s:.3f}" for measured in known.values())]
        for size, time in PAPER.items()
    ]
    return Table(
        "What could make the step, in seconds, by the window in bytes (others: 7300)",
        ["bytes", "paper", *known],
        rows,
    )


def figure_1(runs: dict[Point, Run]) -> dict[str, float | None]:
    """Returns the values for figure 1: the ratio of the throughputs with the large and the small
    socket buffer, for blocks that take less and more than :data:`SPLIT_S`."""
    small, large = by_size(blocks(runs[BASE])), by_size(blocks(runs[Point(400, LARGE)]))
    ratios = [
        (small[size].time_s, large[size].bit_s / small[size].bit_s) for size in small.keys() & large.keys()
    ]
    return {
        "signature-below": max(ratio for time, ratio in ratios if time < SPLIT_S),
        "signature-beyond": min(ratio for time, ratio in ratios if time >= SPLIT_S),
    }


def figure_2(runs: dict[Point, Run]) -> dict[str, float | None]:
    """Returns the values for figure 2: 1 if the maximum throughput falls with the round-trip time
    (0 otherwise), its decline from 20 to 40 ms, and the maximum throughput at 400 ms."""
    rates = {rtt: max(block.bit_s for block in blocks(runs[Point(rtt)])) for rtt in RTTS_MS}
    falls = all(one > other for one, other in itertools.pairwise(rates.values()))
    return {
        "block-order": float(falls),
        "block-abrupt": rates[40] / rates[20],
        "block-400": rates[400] / MEGABIT,
    }


def stream_rate(runs: dict[Point, Run], rtt_ms: float, socket: int) -> float:
    """Returns the throughput of a stream in bit/s."""
    return blocks(runs[socket_point(rtt_ms, socket)])[-1].bit_s


def socket_rates(runs: dict[Point, Run]) -> dict[float, dict[int, float]]:
    """Returns the throughput of a stream in bit/s, by round-trip time and socket buffer."""
    return {rtt: {socket: stream_rate(runs, rtt, socket) for socket in SOCKETS} for rtt in SOCKET_RTTS_MS}


def by_kbyte(rates: dict[int, float]) -> list[float]:
    """Returns the throughput in 2^20 bit/s for each kbyte of socket buffer, by socket buffer."""
    return [rate / MEGABIT / (socket / 1024) for socket, rate in rates.items()]


def figure_3(runs: dict[Point, Run]) -> dict[str, float | None]:
    """Returns the values for figure 3: slopes and saturation by round-trip time."""
    rates = socket_rates(runs)
    slopes = {rtt: by_kbyte(of) for rtt, of in rates.items()}
    over_abr = by_kbyte({socket: blocks(runs[abr_point(socket)])[-1].bit_s for socket in SOCKETS})

    def gain(rtt_ms: int) -> float:
        """Returns the throughput gained from 8 to 32 kbyte, in bit/s."""
        return rates[rtt_ms][32_768] - rates[rtt_ms][SOCKET]

    return {
        "socket-saturates": min(rates[rtt][32_768] / rates[rtt][LARGE] for rtt in (1, 10, 20, 50, 100)),
        "socket-faster": min(gain(50), gain(100)) / gain(400),
        "socket-linear-400": min(slopes[400]) / max(slopes[400]),
        "socket-joins": rates[400][LARGE] / rates[100][LARGE],
        "socket-joins-200": rates[200][LARGE] / rates[100][LARGE],
        "socket-linear-600": min(slopes[600]) / max(slopes[600]),
        "socket-slope-8": slopes[600][0],
        "socket-slope-64": slopes[600][-1],
        "abr-linear-600": min(over_abr) / max(over_abr),
        "abr-slope-8": over_abr[0],
        "abr-slope-64": over_abr[-1],
    }


def figure_4(runs: dict[Point, Run]) -> dict[str, float | None]:
    """Returns the values for figure 4: the throughput with errors relative to a bit error rate of
    1e-12."""
    rate = {ber: throughput_bit_s(runs[error_point(ber)]) for ber in BERS}
    return {
        "ber-1e-7": rate[1e-7] / rate[1e-12],
        "ber-1e-6": rate[1e-6] / rate[1e-12],
        "ber-steep": (rate[1e-6] - rate[1e-4]) / (rate[1e-12] - rate[1e-6]),
        "ber-1e-4": rate[1e-4] / rate[1e-12],
    }


def figure_5(runs: dict[Point, Run]) -> dict[str, float | None]:
    """Returns the values for figure 5: the relative standard deviation of the block time, in
    percent."""
    percent = {ber: deviation(runs[error_point(ber)]) for ber in BERS}
    return {"cdv-1e-8": percent[1e-8], "cdv-1e-6": percent[1e-6], "cdv-1e-5": percent[1e-5]}


def conclusions(runs: dict[Point, Run]) -> dict[str, float | None]:
    """Returns the values of the paper's conclusions."""
    measured = {rtt: blocks(runs[Point(rtt, stop_s=1)]) for rtt in LARGEST_RTTS_MS}
    largest = {
        rtt: max(block.size for block in of if block.time_s <= 1) / 1024 for rtt, of in measured.items()
    }
    without, selective = (throughput_bit_s(runs[point]) for point in sack_points(1e-6))
    full = {ber: throughput_bit_s(runs[error_point(ber)]) for ber in (1e-12, 1e-6)}
    return {
        "buffer-long": blocks(runs[socket_point(600, LARGE)])[-1].bit_s / figures.E1,
        "largest-leo": min(largest[40], largest[50]),
        "largest-meo": largest[200],
        "largest-meo-100": largest[100],
        "largest-geo": largest[400],
        "largest-measured": max(block.size for block in measured[400]) / 1024,
        "acceptable-throughput": full[1e-6] / full[1e-12],
        "acceptable-cdv": deviation(runs[error_point(1e-8)]),
        "sack": selective / without,
    }


#: The function that returns the values of a test, by test.
MEASURES: Final[dict[str, Callable[[dict[Point, Run]], dict[str, float | None]]]] = {
    "figure-1": figure_1,
    "figure-2": figure_2,
    "figure-3": figure_3,
    "figure-4": figure_4,
    "figure-5": figure_5,
    "conclusions": conclusions,
    "equations": equations.measures,
}


def drawn(
    test: str, runs: dict[Point, Run], programs: dict[str, dict[float, list[Block]]]
) -> dict[str, Figure]:
    """Returns the figures of a test."""
    drawings: dict[str, Figure] = {}
    if test == "table-1":
        drawings["table-1-times"] = figures.table(blocks(runs[BASE]), STATEMENTS)
    if test == "figure-1":
        of = {point.socket: blocks(runs[point]) for point in (BASE, Point(400, LARGE))}
        drawings["figure-1-signature"] = figures.signature(
            of, {point.socket: point.window for point in (BASE, Point(400, LARGE))}, STATEMENTS, SPLIT_S
        )
    if test == "figure-2":
        measured: dict[float, list[Block]] = {rtt: blocks(runs[Point(rtt)]) for rtt in RTTS_MS}
        windows: dict[float, int] = dict.fromkeys(RTTS_MS, BASE.window)
        drawings["figure-2-blocks"] = figures.by_block(measured, windows, STATEMENTS, programs)
    if test == "figure-3":
        windows_of = {socket: rounded(min(socket, 65_535)) for socket in SOCKETS}
        drawings["figure-3-sockets"] = figures.by_socket(socket_rates(runs), windows_of, STATEMENTS)
    sockets = (SOCKET, LARGE)
    if test == "figure-4":
        rates: dict[int, dict[float, float | None]] = {
            socket: {ber: throughput_bit_s(runs[error_point(ber, socket)]) / MEGABIT for ber in BERS}
            for socket in sockets
        }
        bound = {
            socket: {ber: figures.under_errors(socket, ber)[0] / MEGABIT for ber in BERS}
            for socket in sockets
        }
        drawings["figure-4-errors"] = figures.by_errors(
            rates,
            bound,
            figures.THROUGHPUT,
            [one for one in STATEMENTS.values() if one.test == test],
            rates[SOCKET][BERS[0]] or 0.0,
        )
    if test == "figure-5":
        percent = {
            socket: {ber: deviation(runs[error_point(ber, socket)]) for ber in BERS} for socket in sockets
        }
        expected = {
            socket: {ber: 100 * figures.under_errors(socket, ber)[1] for ber in BERS} for socket in sockets
        }
        drawings["figure-5-variation"] = figures.by_errors(
            percent,
            expected,
            "variation of block times (% CDV)",
            [one for one in STATEMENTS.values() if one.test == test],
        )
    if test == "equations":
        drawings["buffers"] = figures.by_burst(equations.bursts(runs))
    return drawings
