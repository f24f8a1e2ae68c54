"""NetPIPE: the measurements of each block in a run, and the file ``np.out`` of the real program.

The program gives throughput in units of 2^20 bit/s, which it calls Mbps. ``np.out`` has the same
unit here; everywhere else bentpipe uses bit/s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe.errors import InputError, unknown

if TYPE_CHECKING:
    from .runs import Run

#: Bits in one of NetPIPE's megabits.
MEGABIT: Final = 1 << 20


@dataclass(frozen=True)
class Block:
    """The measurements of a block: its size in bytes, the repeats in each trial (0 if the file does
    not say), the time of the shortest trial per block in seconds, the variance of the trials in
    s^2, and the mean and the standard deviation of single repeats in seconds (``None`` if
    unknown)."""

    size: int
    repeats: int
    time_s: float
    variance: float | None = None
    single_mean_s: float | None = None
    single_deviation_s: float | None = None

    @property
    def bit_s(self) -> float:
        """Throughput of the block: its bits divided by its time.

        >>> round(Block(24576, 3, 1.257).bit_s / MEGABIT, 6)
        0.149165
        """
        return 8 * self.size / self.time_s


def flows(run: Run) -> list[str]:
    """Returns the flows of a run with NetPIPE, in the scenario's order."""
    return [flow["name"] for flow in run.flow_tables if flow["app"]["kind"] == "netpipe"]


def blocks(run: Run, flow: str | None = None) -> list[Block]:
    """Returns the blocks of a flow, by default of the only flow with NetPIPE. Raises
    :class:`bentpipe.InputError`."""
    known = flows(run)
    if not known:
        raise InputError(
            f'no flow of {run.name} runs NetPIPE; allowed: a flow with app = {{ kind = "netpipe" }}'
        )
    if flow is None and len(known) > 1:
        raise InputError(f"several flows run NetPIPE: choose one of {', '.join(known)} with --flow")
    chosen = flow or known[0]
    if chosen not in known:
        raise unknown("flow with NetPIPE", chosen, known)
    if "netpipe" not in run.tables:
        return []
    rows = run.table("netpipe").iter_rows(named=True)
    return [
        Block(
            row["block_bytes"],
            row["repeats"],
            row["block_time"],
            row["block_variance"],
            row["single_mean"],
            row["single_deviation"],
        )
        for row in rows
        if row["block"].rpartition(".")[0] == chosen
    ]


def pending(run: Run, flow: str | None = None) -> int:
    """Returns the size of the block that the end of the run interrupted; 0 if NetPIPE had
    finished."""
    known = flows(run)
    chosen = flow or known[0]
    values = {row["flow"]: row.get("netpipe_pending") for row in run.flows.iter_rows(named=True)}
    return int(values.get(chosen) or 0)


def np_out(measured: Sequence[Block]) -> str:
    """Returns the blocks in the format of the program's file, with the columns bytes, throughput
    and seconds.

    >>> print(np_out([Block(1, 1995, 0.00000895), Block(1021, 1411, 0.00001406)]), end="")
           1 0.852446   0.00000895
        1021 554.026445   0.00001406
    """
    return "".join(f"{block.size:8d} {block.bit_s / MEGABIT:f} {block.time_s:12.8f}\n" for block in measured)


def read_screen(file: str | Path) -> list[Block]:
    """Returns the blocks in the standard error output of NetPIPE, with repeats, and times with a
    resolution of 0.01 us."""
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    return [Block(int(size), int(repeats), float(time) * 1e-6) for size, repeats, time in _LINE.findall(text)]


#: A line of the output: number, bytes, repeats, throughput and time of a block.
_LINE: Final = re.compile(r"\d+:\s+(\d+) bytes\s+(\d+) times -->\s+\S+ Mbps in\s+(\S+) usec")


def read_np_out(file: str | Path) -> list[Block]:
    """Returns the blocks in a file of NetPIPE or :func:`np_out`. Raises
    :class:`bentpipe.InputError` with the number of an invalid line."""
    measured = []
    for number, line in enumerate(Path(file).read_text(encoding="utf-8").splitlines(), 1):
        fields = line.split()
        try:
            size, _, time_s = int(fields[0]), float(fields[1]), float(fields[2])
        except (IndexError, ValueError) as error:
            raise InputError(
                f"{file}:{number}: {line!r} is not a block; allowed: bytes, throughput, seconds"
            ) from error
        measured.append(Block(size, 0, time_s))
    return measured
