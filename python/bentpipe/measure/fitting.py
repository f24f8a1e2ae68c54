"""Scenarios from a measurement: a replay of the path, or a random path with the same statistics.

Each direction becomes a series of delay and loss in steps of half a second. The series come from
the probes outside trains. A one-way delay is the middle of its interval minus the transmission time
of the packet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bentpipe.errors import InputError
from bentpipe.quantities import base_value

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.results.runs import Run

#: Length of a step, in seconds.
STEP_S = 0.5
#: Mean length of the blocks of a profile, in seconds. It is longer than a slot of a LEO
#: constellation (15 s).
BLOCK_S = 20.0


def series(run: Run) -> dict[str, pl.DataFrame]:
    """Returns time (s), delay (s, one way) and loss of each direction of a measured run. Losses of
    unknown direction are divided between the two directions in proportion to the losses of known
    direction.

    Raises :class:`bentpipe.InputError` if the run was not measured or had no reply.
    """
    import polars as pl

    if run.provenance.get("instrument") != "measure":
        raise InputError(f"{run.path} was not measured; allowed: a run folder of `bentpipe measure`")
    if "direction" not in run.tables:
        raise InputError(f"{run.path}: no probe had a reply, so nothing can be fitted")
    table = run.table("direction")
    lost = dict(zip(table["direction"], table["lost"].fill_null(0), strict=True))
    every = max(1, sum(lost.values()))
    # The queueing of loads is not a property of the path.
    seen = run.trace("probe").filter((pl.col("train") < 0) & pl.col("quiet"))
    sending = 8 * pl.col("size") / base_value(run.scenario["link"][0]["rate"])
    found = {}
    for name in ("forward", "backward"):
        middle = (pl.col(f"{name}_low") + pl.col(f"{name}_high")) / 2 - sending
        part = lost[name] / every
        steps = (
            seen.with_columns(middle.fill_nan(None).alias("delay"))
            .group_by((pl.col("time") / STEP_S).floor() * STEP_S, maintain_order=True)
            .agg(
                pl.col("delay").median().clip(0),
                ((1 - pl.col("replied").cast(pl.Float64)).mean() * part).alias("loss"),
            )
            .sort("time")
        )
        found[name] = steps.with_columns(
            pl.col("delay").fill_null(strategy="forward").fill_null(strategy="backward")
        )
    return found


_HALVES: Final = "Delay: half of the round-trip time in each direction"
_NO_TRUST: Final = "Do not trust it for one-way delays, such as those of calls"


def division(run: Run) -> str:
    """Returns the note in a fitted scenario that explains how the round-trip time is divided
    between the directions."""
    table = run.table("direction")
    if not {"delay_least_low", "delay_least_high"} <= {*table.columns}:
        # Another version of bentpipe has written the run.
        return f"{_HALVES}. {_NO_TRUST}"
    rows = {row["direction"]: row for row in table.to_dicts()}
    bounds = [
        f"{1e3 * rows[name]['delay_least_low']:.1f} to {1e3 * rows[name]['delay_least_high']:.1f} ms {where}"
        for name, where in (("forward", "towards the reflector"), ("backward", "back"))
    ]
    return f"{_HALVES}. By the clocks, the minimum one-way delay is {' and '.join(bounds)}. {_NO_TRUST}"


def profile(found: dict[str, pl.DataFrame], duration_s: float, seed: int) -> dict[str, pl.DataFrame]:
    """Returns random series of length ``duration_s`` with the statistics of the given series. They
    are concatenations of random blocks of the given series (the stationary bootstrap of D. N.
    Politis and J. P. Romano, JASA 1994). The length of blocks is geometrically distributed with the
    mean :data:`BLOCK_S`. Both directions use the same blocks, which keeps their correlation."""
    import polars as pl

    source = np.random.default_rng(seed)
    steps = max(1, round(duration_s / STEP_S))
    length = min(len(frame) for frame in found.values())
    place, rows = 0, []
    for number in range(steps):
        if number == 0 or source.random() < STEP_S / BLOCK_S:
            place = int(source.integers(length))
        rows.append(place % length)
        place += 1
    times = pl.Series("time", np.arange(steps) * STEP_S)
    return {name: frame[rows].with_columns(times) for name, frame in found.items()}


def replay(run: Run, out: Path, *, as_profile: bool = False, seed: int = 1) -> list[Path]:
    """Writes a scenario that replays a measured run. With ``as_profile``, the scenario has a random
    path with the same statistics instead. The series of both directions are written to the same
    folder. Returns the files.

    Raises :class:`bentpipe.InputError` as :func:`series` does.
    """
    from bentpipe import series as files
    from bentpipe.scenario.scenarios import toml_text

    found = series(run)
    document = {key: run.scenario[key] for key in ("name", "duration", "link", "flow")}
    if as_profile:
        found = profile(found, float(base_value(document["duration"])), seed)
    (link,) = document["link"]
    written = []
    for name, direction in (("forward", link), ("backward", link["return"])):
        file = out.with_name(f"{out.stem}-{name}.csv")
        files.write(found[name], file)
        written.append(file)
        direction.pop("error", None)
        direction["trace"] = {"samples": {"file": file.name}}
    back = link.pop("return")
    flows = document.pop("flow")
    del document["link"]
    notes = [division(run), *run.fidelity["reasons"]]
    if as_profile:
        notes.append(f"drawn from its statistics with seed {seed}, in blocks of {BLOCK_S:g} s on average")
    about = "".join(f"# {note[0].upper()}{note[1:]}.\n" for note in notes)
    parts = [("", document), ("[[link]]\n", link), ("[link.return]\n", back)]
    parts += [("[[flow]]\n", flow) for flow in flows]
    text = "\n".join(f"{head}{toml_text(table).rstrip()}\n" for head, table in parts)
    what = "Behaves like" if as_profile else "Replays"
    out.write_text(f"# {what} the measured run {run.path.name}.\n{about}{text}", encoding="utf-8")
    return [out, *written]


def of_series(trace: Path, out: Path) -> list[Path]:
    """Writes a scenario that replays a series of rate, delay and loss in both directions: a table
    of comma-separated values or Parquet, or a trace of mahimahi. Returns the files.

    Raises :class:`bentpipe.InputError` for anything else.
    """
    from bentpipe import series as files

    frame = files.read(trace)
    copy = out.with_name(f"{out.stem}-series.csv")
    files.write(frame, copy)
    period = files.period_ms(trace)
    length = float(frame["time"].to_numpy()[-1]) if period is None else period / 1e3
    repeat = "" if period is None else f', repeat = "{period} ms"'
    # A link has 1 bit/s where its series has 0.
    rate = max(1.0, float(frame["rate"].to_numpy().max())) if "rate" in frame.columns else 1e8
    delay = float(frame["delay"].to_numpy().min()) if "delay" in frame.columns else 0.0
    missing = [name for name in ("rate", "delay", "loss") if name not in frame.columns]
    notes = [f"# Replays {trace.name}, the same in both directions."]
    if missing:
        stands = {"rate": "100 Mbit/s", "delay": "no delay", "loss": "no loss"}
        notes.append(
            "# Assumed, because the trace has no such column: "
            + ", ".join(f"{name} ({stands[name]})" for name in missing)
            + "."
        )
    side = [
        f'rate = "{rate:.0f} bit/s"',
        f'delay = "{1e9 * delay:.0f} ns"',
        f'trace = {{ samples = {{ file = "{copy.name}" }}{repeat} }}',
    ]
    text = [
        *notes,
        f'name = "{trace.stem}"',
        f'duration = "{max(1.0, length):g} s"',
        "",
        "[[link]]",
        'name = "path"',
        'from = "here"',
        'to = "there"',
        *side,
        "",
        "[link.return]",
        *side,
        "",
        "[[flow]]",
        'name = "upload"',
        'from = "here"',
        'to = "there"',
        'app = "bulk"',
        'transport = { kind = "tcp", congestion = "cubic" }',
    ]
    out.write_text("\n".join(text) + "\n", encoding="utf-8")
    return [out, copy]
