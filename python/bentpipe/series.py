"""Time series of a link's rate, delay and loss: reads and writes comma-separated values, Parquet
and mahimahi traces.

A scenario reads series as comma-separated values or Parquet (``trace = { samples = { file =
"lte.csv" } }``), with the columns ``time`` (s), ``rate`` (bit/s), ``delay`` (s, one way) and
``loss`` (probability of a packet); all but the first are optional.

A trace of mahimahi (Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", 2015) has a
line per opportunity to deliver a packet of 1500 bytes: its time in whole milliseconds. The trace
restarts after the last line. Here the trace is converted to rates over steps of a given length.
Packets therefore leave at most one step earlier or later than in mahimahi, and later packets of a
step can use its unused opportunities.

A trace of LeoReplayer (Lai et al., "LeoCC: Making Internet Congestion Control Robust to LEO
Satellite Dynamics", 2025, with its traces' description) is a mahimahi trace in a file
``bw_NUMBER.txt``, with a file ``delay_NUMBER.txt`` in the same folder. The lines of the latter are
one-way delays in milliseconds for intervals of 10 ms.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .errors import InputError, damaged

if TYPE_CHECKING:
    import polars as pl

#: Bytes per delivery opportunity.
OPPORTUNITY_BYTES: Final = 1500
#: Interval of the delays of LeoReplayer in milliseconds.
DELAY_STEP_MS: Final = 10

#: Maximum length of a mahimahi trace in milliseconds: one day.
MAX_TRACE_MS: Final = 86_400_000
#: Maximum number of packets of a mahimahi trace to write.
MAX_PACKETS: Final = 10_000_000

#: The columns and their maximum values; the minimum is 0. Scenarios have the same limits
#: (crates/link/src/series.rs).
MAX_VALUES: Final = {"time": 3.2e9, "rate": 1e14, "delay": 1e6, "loss": 1.0}


def read(file: str | Path, *, step_ms: int = 10, fade: bool = False) -> pl.DataFrame:
    """Reads the series in a file: ``.csv``, ``.parquet``, or mahimahi's format for any other
    ending, in steps of ``step_ms``. With ``fade``, the columns are those of a fade: ``time`` and
    the names of nodes.

    Raises :class:`bentpipe.InputError` if the file is not a series, and ``OSError`` if it cannot be
    read.
    """
    import polars as pl

    file = Path(file)
    if not file.is_file():
        raise InputError(f"{file}: {'is not a file' if file.exists() else 'there is no such file'}")
    lines: list[int] = []
    try:
        match file.suffix:
            case ".csv":
                frame, lines = _comma_separated(file)
            case ".parquet":
                frame = pl.read_parquet(file, glob=False)
                if problem := _no_numbers(frame):
                    raise InputError(f"{file}: {problem}")
            case _:
                frame = from_opportunities(_milliseconds(file), step_ms)
                delays = _delays(file)
                return _delayed(frame, delays) if delays else frame
    except damaged(UnicodeDecodeError) as error:
        allowed = (
            "a line of names, and lines with as many numbers" if file.suffix == ".csv" else "a Parquet table"
        )
        raise InputError(f"{file} is not a readable table; allowed: {allowed}") from error
    strange = [name for name in frame.columns if name not in MAX_VALUES and not fade]
    if strange or "time" not in frame.columns or frame.width < 2:
        allowed = "a column for each node" if fade else "rate, delay or loss"
        raise InputError(f"{file} has the columns {', '.join(frame.columns)}; allowed: time, and {allowed}")
    if not len(frame):
        raise InputError(f"{file} has no samples; allowed: at least one")
    # Scenarios expect the time in the first column.
    return _checked(file, frame.select("time", pl.exclude("time")), lines, fade=fade)


def _comma_separated(file: Path) -> tuple[pl.DataFrame, list[int]]:
    """Returns the table as texts, which errors quote, and the line number of each row in the
    file."""
    import polars as pl

    lines = enumerate(file.read_text(encoding="utf-8-sig").splitlines(), 1)
    kept = [(number, line) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]
    frame = pl.read_csv("\n".join(line for _, line in kept).encode(), infer_schema=False)
    frame = frame.rename({name: name.strip() for name in frame.columns})
    return frame.select(pl.all().str.strip_chars()), [number for number, _ in kept[1:]]


def _checked(file: Path, frame: pl.DataFrame, lines: list[int], *, fade: bool) -> pl.DataFrame:
    """Returns the numbers of a table after checking that a scenario accepts them. ``lines`` are the
    line numbers of its rows in a text file."""
    import polars as pl

    numbers = frame.select(pl.all().cast(pl.Float64, strict=False))
    for name, values in numbers.to_dict().items():
        if fade and name != "time":
            wrong, allowed = ~values.is_finite(), "a number"
        else:
            most = MAX_VALUES[name]
            wrong, allowed = ~values.is_between(0, most), f"a number from 0 to {most:g}"
        rows = wrong.fill_null(True).arg_true()
        if not len(rows) and name == "time":
            # The engine uses whole nanoseconds.
            rows, allowed = ((1e9 * values).round().diff() <= 0).arg_true(), "later than the sample before"
        if len(rows):
            row = rows[0]
            place = f"{file}:{lines[row]}" if lines else f"{file}"
            found = frame[name][row]
            raise InputError(
                f'{place}: {name} of sample {row + 1} is "{"" if found is None else found}"; allowed: {allowed}'
            )
    return numbers


def period_ms(file: str | Path) -> int | None:
    """Returns the length of a mahimahi trace, after which it repeats: the time of its last packet,
    or the end of LeoReplayer's delays if that is later. None for other series, which do not repeat.

    Raises :class:`bentpipe.InputError` as :func:`read` does.
    """
    file = Path(file)
    if file.suffix in {".csv", ".parquet"}:
        return None
    return max(_milliseconds(file)[-1], DELAY_STEP_MS * len(_delays(file)))


def text_of_parquet(file: str | Path) -> str:
    """Returns the table in a Parquet file as comma-separated text with the column names in the
    first line.

    The engine calls it for ``{ file = "NAME.parquet" }`` in a scenario. Raises
    :class:`bentpipe.InputError` if the file is not a table of numbers.
    """
    import polars as pl

    try:
        frame = pl.read_parquet(file, glob=False)
    except damaged(OSError) as error:
        raise InputError("is not a readable Parquet table") from error
    if problem := _no_numbers(frame):
        raise InputError(problem)
    return frame.write_csv()


def _no_numbers(frame: pl.DataFrame) -> str | None:
    """Returns an error message if a column contains other values than numbers."""
    strange = [name for name, kind in frame.schema.items() if not kind.is_numeric()]
    return (
        f'column "{strange[0]}" is of type {frame.schema[strange[0]]}; allowed: numbers' if strange else None
    )


def opportunities(file: Path) -> tuple[list[int], list[float]]:
    """Returns the times of a mahimahi trace's packets in milliseconds, and the delays in seconds of
    the LeoReplayer file that belongs to the trace; no delays without such a file.

    Raises :class:`bentpipe.InputError`.
    """
    return _milliseconds(file), _delays(file)


def _milliseconds(file: Path) -> list[int]:
    times: list[int] = []
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        # Python refuses to parse numbers with thousands of digits.
        time_ms = int(text) if text.isdecimal() and len(text) < 20 else -1
        if not (times[-1] if times else 0) <= time_ms <= MAX_TRACE_MS:
            raise InputError(
                f'{file}:{number}: "{text[:40]}" is not the time of a packet; allowed: whole milliseconds from 0 to '
                f"{MAX_TRACE_MS} (a day) that do not decrease (or a file whose name ends in .csv or .parquet)"
            )
        times.append(time_ms)
    if not times or times[-1] == 0:
        raise InputError(f"{file} has no packet after 0 ms, so it is not a mahimahi trace")
    return times


def _delays(rates: Path) -> list[float]:
    """Returns the delays in seconds from the LeoReplayer file that belongs to a file of rates, if
    there is one."""
    file = rates.with_name(f"delay_{rates.name.removeprefix('bw_')}")
    if not rates.name.startswith("bw_") or not file.is_file():
        return []
    delays: list[float] = []
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            delays.append(float(line) / 1e3)
        except ValueError:
            delays.append(-1.0)
        if not 0 <= delays[-1] <= MAX_VALUES["delay"]:
            most = f"{1e3 * MAX_VALUES['delay']:g}"
            raise InputError(
                f'{file}:{number}: "{line[:40]}" is not a delay; allowed: milliseconds from 0 to {most}'
            )
    if not delays:
        raise InputError(f"{file} has no delay")
    return delays


def _delayed(frame: pl.DataFrame, delays: list[float]) -> pl.DataFrame:
    """Returns a series of rates with the delays of LeoReplayer."""
    import polars as pl

    place = range(len(delays))
    added = pl.DataFrame({"time": [DELAY_STEP_MS * one / 1e3 for one in place], "delay": delays})
    joined = frame.join(added, on="time", how="full", coalesce=True).sort("time")
    # The shorter file's last value holds until the end of the other one.
    return joined.with_columns(pl.col("rate", "delay").forward_fill())


def from_opportunities(times_ms: list[int], step_ms: int = 10) -> pl.DataFrame:
    """Returns rates per step from the times of packets in milliseconds, with a row for each change
    of rate.

    The last step ends with the trace, at the time of the last packet.

    >>> from_opportunities([0, 1, 2, 3, 40], step_ms=10).rows()
    [(0.0, 4800000.0), (0.01, 0.0), (0.03, 1200000.0)]
    >>> from_opportunities([5, 10, 12], step_ms=10).rows()
    [(0.0, 2400000.0), (0.01, 6000000.0)]
    """
    import polars as pl

    # An opportunity at t ms belongs to the millisecond that ends then; one at 0 to the first.
    packets = Counter(max(time_ms - 1, 0) // step_ms for time_ms in times_ms)
    rows: list[tuple[float, float]] = []
    # The rate changes only at steps with packets and after them.
    for place in sorted({0} | {step for used in packets for step in (used, used + 1)}):
        length_ms = min(step_ms, times_ms[-1] - place * step_ms)
        if length_ms > 0:
            rate = packets[place] * OPPORTUNITY_BYTES * 8e3 / length_ms
            if not rows or rate != rows[-1][1]:
                rows.append((place * step_ms / 1e3, rate))
    return pl.DataFrame(rows, schema={"time": pl.Float64, "rate": pl.Float64}, orient="row")


def to_opportunities(frame: pl.DataFrame, duration_s: float) -> list[int]:
    """Returns the times, in milliseconds, of the packets that the rates carry up to ``duration_s``.

    >>> import polars as pl
    >>> to_opportunities(pl.DataFrame({"time": [0.0, 0.003], "rate": [12e6, 6e6]}), 0.007)
    [1, 2, 3, 5, 7]
    """
    if "rate" not in frame.columns:
        raise InputError("a mahimahi trace contains only rates, and the series has no rate")
    moments, rates = frame["time"].to_list(), frame["rate"].to_list()
    if not 0 < duration_s <= MAX_TRACE_MS / 1e3:
        raise InputError(
            f"a mahimahi trace of {duration_s:g} s cannot be written; allowed: up to {MAX_TRACE_MS / 1e3:g} s (a day)"
        )
    ends = [min(end, duration_s) for end in [*moments[1:], duration_s]]
    bits = sum(rate * max(0.0, end - begin) for begin, end, rate in zip(moments, ends, rates, strict=True))
    if bits / 8 > OPPORTUNITY_BYTES * MAX_PACKETS:
        raise InputError(
            f"{bits / 8 / OPPORTUNITY_BYTES:g} packets in {duration_s:g} s are too many for a mahimahi trace; "
            f"allowed: up to {MAX_PACKETS}"
        )
    packets, carried = [], 0.0
    for begin, end, rate in zip(moments, ends, rates, strict=True):
        for time_ms in range(round(begin * 1e3) + 1, round(end * 1e3) + 1):
            carried += rate / 8e3
            # Sums of fractions of a packet may end just below a whole packet.
            while carried >= OPPORTUNITY_BYTES - 1e-6:
                carried -= OPPORTUNITY_BYTES
                packets.append(time_ms)
    return packets


def write(frame: pl.DataFrame, file: str | Path, *, duration_s: float | None = None) -> None:
    """Writes a series in the format of the file's ending: ``.csv``, ``.parquet``, or else
    mahimahi's, up to ``duration_s``. Raises :class:`bentpipe.InputError` for series that mahimahi's
    format cannot express."""
    file = Path(file)
    match file.suffix:
        case ".csv":
            frame.write_csv(file)
        case ".parquet":
            frame.write_parquet(file)
        case _:
            if duration_s is None:
                raise InputError("a mahimahi trace needs a duration: add --duration")
            packets = to_opportunities(frame, duration_s)
            if not packets:
                raise InputError(f"at these rates no packet is sent within {duration_s} s")
            file.write_text("".join(f"{time_ms}\n" for time_ms in packets), encoding="ascii")
