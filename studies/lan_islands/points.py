"""The runs of the study. A point is a run of NetPIPE between the islands with a round-trip time, a
socket buffer and a bit error rate."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bentpipe.campaign.jobs import Job, run_all
from bentpipe.errors import InputError
from bentpipe.results.netpipe import Block, blocks, pending, read_screen
from bentpipe.results.runs import Run
from bentpipe.simulation import Progress

HERE: Final = Path(__file__).parent

#: Payload of a segment on Ethernet, in bytes.
SEGMENT: Final = 1460
#: Maximum window without window scaling, in bytes.
LARGEST: Final = 65_535
#: Rate of cells on an OC-3.
LINE: Final = "149.76 Mbit/s"
#: Rate of cells on the E1.
E1: Final = "2048 kbit/s"
#: Default socket buffer of the paper's hosts, in bytes.
SOCKET: Final = 8192


@dataclass(frozen=True)
class Point:
    """The parameters of a run."""

    rtt_ms: float = 400
    #: Socket buffer in bytes.
    socket: int = SOCKET
    #: Bit error rate of the satellite leg.
    ber: float = 0.0
    #: Block size in bytes, measured 100 times. ``None``: block sizes grow as in NetPIPE.
    block: int | None = None
    #: NetPIPE stops after the first block that takes at least this time.
    stop_s: float = 30
    #: Further overrides, which take precedence.
    more: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        more = f"-{abs(hash_of(self.more)):08x}" if self.more else ""
        block = f"-{self.block}" if self.block else ""
        return f"rtt{self.rtt_ms:g}-{self.socket}-ber{self.ber:g}{block}-{self.stop_s:g}{more}"

    @property
    def window(self) -> int:
        """The receive window: the size of the complete segments that fit the socket buffer, in
        bytes."""
        return rounded(min(self.socket, LARGEST))

    def overrides(self) -> tuple[str, ...]:
        """The overrides of the scenario."""
        return (
            legs(self.rtt_ms, self.ber),
            f"flow.np.transport.receive_window={self.window} B",
            f"flow.np.transport.send_buffer={self.socket} B",
            f"flow.np.app.stop={self.stop_s:g} s",
            *(
                (
                    f"flow.np.app.first={self.block} B",
                    f"flow.np.app.last={self.block} B",
                    "flow.np.app.repeats=100",
                )
                if self.block
                else ()
            ),
            *self.more,
        )


def hash_of(overrides: Sequence[str]) -> int:
    """Returns a hash for the folder name. It is equal in every process, unlike ``hash``."""
    number = 0
    for byte in "\n".join(overrides).encode():
        number = (31 * number + byte) % (1 << 32)
    return number


def rounded(buffer: int) -> int:
    """Returns the size of the complete segments that fit a buffer, in bytes."""
    return buffer // SEGMENT * SEGMENT


def legs(rtt_ms: float, ber: float = 0.0, rate: str = E1, keys: str = "") -> str:
    """Returns the override that sets the delay, the errors and the rate of the satellite leg.
    ``keys`` are further keys of the leg, after a comma."""
    error = f", error = {{ kind = 'bit', rate = {ber:g} }}" if ber else ""
    slow = f"{{ rate = '{rate}', delay = '{rtt_ms / 2:g} ms'{error}{keys} }}"
    return f"network.wan.legs=[{{ rate = '{LINE}' }}, {slow}, {{ rate = '{LINE}' }}]"


def simulate(points: Sequence[Point], out: Path, progress: Progress) -> dict[Point, Run]:
    """Runs points on the virtual clock and returns their runs. Equal points run once."""
    jobs = {
        point: Job(point.name, HERE / "islands.toml", point.overrides()) for point in dict.fromkeys(points)
    }
    runs = run_all(list(jobs.values()), out / "runs", progress)
    return {point: runs[job] for point, job in jobs.items()}


def throughput_bit_s(run: Run) -> float:
    """Returns the mean throughput of the only block size of a run. For a run that ended early, it
    is computed from the goodput. It is 0 if no block arrived."""
    measured = blocks(run)
    if measured and not pending(run):
        block = measured[-1]
        return 8 * block.size / (block.single_mean_s or block.time_s)
    goodput = run.flows["goodput"][0]
    return 0.0 if goodput is None else 2 * float(goodput)


def deviation(run: Run) -> float | None:
    """Returns the standard deviation of the block time in percent of the mean, or ``None`` if the
    run ended early."""
    measured = blocks(run)
    if not measured or pending(run):
        return None
    block = measured[-1]
    assert block.single_mean_s is not None and block.single_deviation_s is not None
    return 100 * block.single_deviation_s / block.single_mean_s


def real(rtt_ms: float, out: Path, buffer: int | None = None) -> list[Block]:
    """Runs the real NPtcp with Linux's TCP on the clock ``kernel`` and returns its measurements.
    ``buffer`` is the value of NPtcp's option -b. Raises :class:`bentpipe.InputError` if NPtcp is
    not installed."""
    _require_program()
    option = f" -b {buffer}" if buffer else ""
    common = f"-P {{port}} -n 7 -p 0 -u 65536{option} -o /dev/null"
    job = Job(
        f"nptcp-kernel-rtt{rtt_ms:g}{option.replace(' ', '')}",
        HERE / "nptcp.toml",
        (
            legs(rtt_ms),
            f"flow.np.app.run=NPtcp -h {{to}} {common}",
            f"flow.np.app.serve=NPtcp {common}",
        ),
        seed=None,
        clock="kernel",
        allow_commands=True,
    )
    run = run_all([job], out / "runs", None)[job]
    return read_screen(next((run.path / "commands").glob("np.std*err*")))


def live(rtt_ms: float, out: Path, buffer: int, last: int = 65_536) -> list[Block]:
    """Runs the real NPtcp on the real clock through ``bentpipe run`` and returns its measurements,
    for blocks of up to ``last`` bytes. Raises :class:`bentpipe.InputError` if NPtcp is not
    installed, and ``RuntimeError`` with the command's output if the command fails."""
    _require_program()
    screen = out / f"nptcp-real-rtt{rtt_ms:g}.txt"
    screen.parent.mkdir(parents=True, exist_ok=True)
    command = str(Path(sys.executable).with_name("bentpipe"))
    options = [
        "-n",
        "7",
        "-p",
        "0",
        "-u",
        str(last),
        "-b",
        str(buffer),
        "-o",
        str(screen.with_suffix(".out")),
    ]
    with screen.open("w", encoding="utf-8") as errors:
        process = subprocess.run(
            [
                command,
                "run",
                str(HERE / "islands.toml"),
                "--set",
                legs(rtt_ms),
                "--",
                "sh",
                str(HERE / "nptcp.sh"),
                *options,
            ],
            env=os.environ | {"BENTPIPE": command},
            stdout=subprocess.DEVNULL,
            stderr=errors,
            check=False,
        )
    if process.returncode:
        raise RuntimeError(
            f"NPtcp failed with exit code {process.returncode}: {screen.read_text(encoding='utf-8')}"
        )
    return read_screen(screen)


def _require_program() -> None:
    if shutil.which("NPtcp") is None:
        raise InputError("NPtcp is not installed: install Debian's package netpipe-tcp")
