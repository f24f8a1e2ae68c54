"""Reads and writes traces of frame outcomes.

A comma-separated table has the names of its columns in the first line. The column ``lost`` is 0 for
a received frame and 1 for a lost frame. The column ``frames``, if present, is the number of
consecutive frames that a row represents; otherwise a row represents one frame. Other columns are
ignored, and lines that start with # are comments. A Parquet table has the same columns. Files are
read in pieces, so they may be larger than memory.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bentpipe.errors import InputError, reading
from bentpipe.scenario.scenarios import ScenarioText, load

from .outcomes import Joined, Outcomes

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

#: Number of bytes read at a time.
PIECE: Final = 1 << 25

#: Number of rows of a Parquet table read at a time.
ROWS: Final = 1 << 22

#: Maximum length of the first line.
MAX_HEADER: Final = 1 << 16

#: Maximum length of a run in frames, as in the engine.
MAX_FRAMES: Final = 10**12

#: Called with the number of bytes read so far and the size of the file.
Progress = Callable[[int, int], None]


def is_frame_trace(file: str | Path) -> bool:
    """Returns true if the file is a table with a column ``lost``, according to its first line or
    its schema."""
    import polars as pl

    file = Path(file)
    try:
        if file.suffix == ".parquet":
            return "lost" in pl.scan_parquet(file, glob=False).collect_schema()
        with file.open("rb") as stream:
            head = _head(stream)
    except (OSError, pl.exceptions.PolarsError):
        return False
    return head is not None and "lost" in head[1]


def read(file: str | Path, progress: Progress | None = None) -> Outcomes:
    """Reads the trace in a file. Raises :class:`bentpipe.InputError` with file and line for invalid
    contents, and for a trace without received or without lost frames."""
    file = Path(file)
    if not file.is_file():
        raise InputError(
            f"{file}: {'is not a regular file' if file.exists() else 'there is no such file'}; "
            "allowed: a table with a column lost"
        )
    joined = Joined()
    pieces = _parquet(file) if file.suffix == ".parquet" else _comma_separated(file, progress)
    for lost, frames in pieces:
        if frames is None:
            joined.add_frames(lost)
        else:
            joined.add_runs(lost, frames)
    outcomes = joined.outcomes()
    if len(outcomes.lengths) < 2:
        what = (
            "no frames"
            if not len(outcomes.lengths)
            else "no received frame"
            if outcomes.lost
            else "no lost frame"
        )
        raise InputError(f"{file} has {what}; allowed: at least one received and one lost frame")
    return outcomes


Piece = tuple["NDArray[np.uint8]", "NDArray[np.int64] | None"]


def _head(stream: Any) -> tuple[int, list[str]] | None:
    """Returns the number of the line with the column names, and the names; ``None`` at the end of
    the file."""
    number = 0
    while line := stream.readline(MAX_HEADER):
        number += 1
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace").strip()
        if text and not text.startswith("#"):
            return number, [name.strip().strip('"') for name in text.split(",")]
    return None


def _comma_separated(file: Path, progress: Progress | None) -> Iterator[Piece]:
    size = file.stat().st_size
    with file.open("rb") as stream:
        head = _head(stream)
        if head is None:
            raise InputError(f"{file} is empty; allowed: a line that names the columns, then frames")
        line, names = head
        if "lost" not in names:
            shown = ",".join(names)[:60]
            if "\ufffd" in shown or not shown.isprintable():
                raise InputError(f"{file} is not UTF-8 text; allowed: a table with a column lost")
            raise InputError(
                f'{file}:{line}: the columns are "{shown}"; allowed: a column lost, 0 or 1 for each frame, '
                "and a column frames for run lengths"
            )
        for name in ("lost", "frames"):
            if names.count(name) > 1:
                raise InputError(f'{file}:{line}: the column "{name}" occurs twice; allowed: once')
        rest = b""
        while piece := stream.read(PIECE):
            cut = piece.rfind(b"\n") + 1
            if not cut and len(rest) < PIECE:
                rest += piece
                continue
            block, rest = rest + piece[:cut], piece[cut:]
            yield _parse(block, names, file, line)
            line += block.count(b"\n")
            if progress is not None:
                progress(stream.tell(), size)
        if rest:
            yield _parse(rest, names, file, line)


def _parse(block: bytes, names: list[str], file: Path, before: int) -> Piece:
    """Returns the outcomes in complete lines, which follow ``before`` other lines."""
    import polars as pl

    if names == ["lost"]:
        # Fast path: each line is one digit.
        for end in (b"\n", b"\r\n"):
            width = 1 + len(end)
            text = np.frombuffer(block, dtype=np.uint8)
            if len(text) % width == 0:
                rows = text.reshape(-1, width)
                digits = rows[:, 0] - ord("0")
                if (digits <= 1).all() and (rows[:, 1:] == np.frombuffer(end, dtype=np.uint8)).all():
                    return digits, None
    wanted = [name for name in ("lost", "frames") if name in names]
    table: pl.DataFrame | None = None
    try:
        table = pl.read_csv(
            BytesIO(block),
            has_header=False,
            new_columns=[name if name in wanted else f"other {place}" for place, name in enumerate(names)],
            infer_schema=False,
            comment_prefix="#",
            truncate_ragged_lines=False,
        )
        table = table.select(pl.col(wanted).str.strip_chars()).drop_nulls() if _full(table, wanted) else None
    except pl.exceptions.NoDataError:
        return np.zeros(0, dtype=np.uint8), None
    except pl.exceptions.PolarsError:
        table = None
    if table is not None:
        lost = table["lost"].replace_strict({"0": 0, "1": 1}, default=None, return_dtype=pl.UInt8)
        frames = table["frames"].cast(pl.Int64, strict=False) if "frames" in wanted else None
        ranged = frames is None or (frames.null_count() == 0 and frames.is_between(1, MAX_FRAMES).all())
        if lost.null_count() == 0 and ranged:
            return lost.to_numpy(), None if frames is None else frames.to_numpy()
    return _by_line(block, names, file, before)


def _full(table: pl.DataFrame, wanted: Sequence[str]) -> bool:
    return all(name in table.columns and table[name].null_count() == 0 for name in wanted)


def _by_line(block: bytes, names: list[str], file: Path, before: int) -> Piece:
    """Returns the same as :func:`_parse`, line by line, to find the line of an error."""
    lost: list[int] = []
    frames: list[int] = []
    for number, raw in enumerate(block.decode("utf-8", errors="replace").split("\n"), before + 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        cells = [cell.strip().strip('"') for cell in line.split(",")]
        if len(cells) != len(names):
            raise InputError(
                f"{file}:{number}: {len(cells)} values; allowed: {len(names)}, as in the line of names"
            )
        row = dict(zip(names, cells, strict=True))
        if row["lost"] not in ("0", "1"):
            raise InputError(f'{file}:{number}: lost is "{row["lost"][:40]}"; allowed: 0 or 1')
        lost.append(int(row["lost"]))
        if "frames" in row:
            text = row["frames"]
            if not (text.isascii() and text.isdecimal() and 1 <= int(text[:20]) <= MAX_FRAMES):
                raise InputError(f'{file}:{number}: frames is "{text[:40]}"; allowed: a whole number from 1')
            frames.append(int(text))
    return np.array(lost, dtype=np.uint8), np.array(frames, dtype=np.int64) if "frames" in names else None


def _parquet(file: Path) -> Iterator[Piece]:
    import polars as pl

    with reading(file):
        schema = pl.scan_parquet(file, glob=False).collect_schema()
        if "lost" not in schema:
            raise InputError(
                f"{file} has the columns {', '.join(schema)}; allowed: lost, and frames for run lengths"
            )
        wanted = [name for name in ("lost", "frames") if name in schema]
        for name in wanted:
            if not (schema[name].is_numeric() or schema[name] == pl.Boolean):
                raise InputError(f"{file}: the column {name} has the type {schema[name]}; allowed: numbers")
        table = pl.scan_parquet(file, glob=False).select(wanted)
        rows = int(table.select(pl.len()).collect().item())
        for begin in range(0, rows, ROWS):
            part = table.slice(begin, ROWS).collect()
            for name in wanted:
                least, most = (0, 1) if name == "lost" else (1, MAX_FRAMES)
                whole = part[name].cast(pl.Float64)
                good = whole.is_between(least, most) & (whole.floor() == whole)
                bad = (~good.fill_null(False)).arg_true()
                if len(bad):
                    value = part[name][int(bad[0])]
                    allowed = "0 or 1" if name == "lost" else "a whole number from 1"
                    raise InputError(
                        f"{file}: {name} of row {begin + int(bad[0]) + 1} is {value}; allowed: {allowed}"
                    )
            lost = part["lost"].cast(pl.UInt8).to_numpy()
            yield lost, part["frames"].cast(pl.Int64).to_numpy() if "frames" in wanted else None


def write(outcomes: Outcomes, file: str | Path, *, runs: bool = False) -> None:
    """Writes a trace as ``.csv`` or ``.parquet``, depending on the ending, with a row per frame or,
    with ``runs``, a row per run."""
    file = Path(file)
    if file.suffix not in (".csv", ".parquet"):
        raise InputError(f"{file}: the ending is not one of a trace of frames; allowed: .csv, .parquet")
    part = file.with_name(f".{file.name}.part")
    try:
        _write(outcomes, part, runs=runs, parquet=file.suffix == ".parquet")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _write(outcomes: Outcomes, file: Path, *, runs: bool, parquet: bool) -> None:
    import polars as pl

    lost = (np.arange(len(outcomes.lengths)) + (1 if outcomes.lost_first else 0)) % 2
    if runs:
        table = pl.DataFrame({"lost": lost.astype(np.uint8), "frames": outcomes.lengths})
        if parquet:
            table.write_parquet(file)
        else:
            table.write_csv(file)
    elif parquet:
        whole = pl.concat([pl.DataFrame({"lost": block}) for block in outcomes.blocks()], rechunk=False)
        whole.write_parquet(file)
    else:
        with file.open("wb") as stream:
            stream.write(b"lost\n")
            for block in outcomes.blocks():
                rows = np.empty((len(block), 2), dtype=np.uint8)
                rows[:, 0] = block + ord("0")
                rows[:, 1] = ord("\n")
                stream.write(rows.tobytes())


def draw(
    error: dict[str, Any] | str | Path,
    frames: int,
    *,
    interval_s: float = 0.005,
    frame_bytes: int = 1000,
    seed: int = 1,
) -> Outcomes:
    """Draws the outcomes of frames from an error process: a dict with the keys of a scenario's
    ``error``, or a TOML file whose only key is ``error``. Frames of ``frame_bytes`` bytes arrive
    every ``interval_s`` seconds.

    Raises :class:`bentpipe.InputError`, and :class:`bentpipe.ScenarioError` if the engine refuses
    the error process.
    """
    from bentpipe import _native

    name = "error process"
    if not isinstance(error, dict):
        name = str(error)
        try:
            document = tomllib.loads(Path(error).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
            raise InputError(f"{name}: {wrong}; allowed: error = {{ kind = ... }}") from wrong
        if list(document) != ["error"]:
            raise InputError(f"{name} has the keys {', '.join(document) or 'none'}; allowed: error, alone")
        error = document["error"]
    link = {"name": "air", "from": "a", "to": "b", "rate": "11 Mbit/s", "delay": "0 s", "error": error}
    link_text = json.dumps({"name": "frames", "duration": "1 s", "link": [link]})
    try:
        drawn = _native.draw_outcomes(
            load(ScenarioText(link_text, name)).native, frames, interval_s, frame_bytes, seed
        )
    except ValueError as wrong:
        if isinstance(wrong, _native.ScenarioError):
            raise
        raise InputError(f"{name}: {wrong}") from wrong
    return Outcomes.of(np.frombuffer(drawn, dtype=np.uint8))
