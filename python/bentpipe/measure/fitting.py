"""From a measurement to a scenario: the path as it was, replayed.

Each direction becomes a series of delay and loss in steps of half a second, from the probes that were not in trains.
One-way delays are those of the middle of their intervals, without the time that a packet takes to be sent.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bentpipe.errors import InputError
from bentpipe.quantities import base_value

if TYPE_CHECKING:
    import polars as pl

    from bentpipe.runs import Run

#: Length of a step, in seconds.
STEP_S = 0.5


def series(run: Run) -> dict[str, pl.DataFrame]:
    """Returns time (s), delay (s, one way) and loss of each direction of a measured run. Losses count as those of the
    direction towards the reflector and back in the proportion in which they were told apart.

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
    # What loads did to their own queue is not the path's.
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


def replay(run: Run, out: Path) -> list[Path]:
    """Writes a scenario that replays a measured run, and beside it the series of both directions. Returns the files.

    Raises :class:`bentpipe.InputError` as :func:`series` does.
    """
    from bentpipe import series as files
    from bentpipe.scenarios import toml_text

    found = series(run)
    document = {key: run.scenario[key] for key in ("name", "duration", "link", "flow")}
    (link,) = document["link"]
    written = []
    for name, direction in (("forward", link), ("backward", link["return"])):
        file = out.with_name(f"{out.stem}-{name}.csv")
        files.write(found[name], file)
        written.append(file)
        direction.pop("error", None)
        direction["trace"] = {"samples": {"file": file.name}}
    back = link.pop("return")
    (flow,) = document.pop("flow")
    del document["link"]
    about = "".join(f"# {note[0].upper()}{note[1:]}.\n" for note in run.fidelity["reasons"])
    parts = {"": document, "[[link]]\n": link, "[link.return]\n": back, "[[flow]]\n": flow}
    text = "\n".join(f"{head}{toml_text(table).rstrip()}\n" for head, table in parts.items())
    out.write_text(f"# Replays the measured run {run.path.name}.\n{about}{text}", encoding="utf-8")
    return [out, *written]
