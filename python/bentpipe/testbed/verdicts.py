"""Fidelity of the runs of real kernels: the accuracy with which the emulation followed its
scenario."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from bentpipe.errors import InputError
from bentpipe.results.fidelity import fidelity_text
from bentpipe.results.runs import Run

from .instruments import REAL_TCP
from .tables import FINAL

#: The verdicts, from the most to the least accurate.
Grade = Literal["valid", "degraded", "void"]
GRADES: Final[tuple[Grade, ...]] = get_args(Grade)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run, and its reason in a sentence."""

    verdict: Grade
    text: str


def verdict_of(folder: Path, instrument: str, state: str) -> Verdict | None:
    """Returns the verdict on a run that has ended; None for a simulation, which is exact, for a run
    in progress, and for a run without a recorded fidelity."""
    return _read(folder) if instrument in REAL_TCP and state in FINAL else None


# Cached, because lists of runs request it often and the results of a run do not change.
@functools.lru_cache(maxsize=20_000)
def _read(folder: Path) -> Verdict | None:
    run = Run(folder) if (folder / "provenance.json").is_file() else None
    try:
        text = None if run is None else fidelity_text(run)
        if run is None or text is None:
            return None
        return Verdict(run.fidelity["verdict"], text.removeprefix(f"{run.fidelity['verdict']}: "))
    except (InputError, KeyError):
        return None


def worst(runs: Iterable[tuple[int, Verdict | None]]) -> Verdict | None:
    """Returns the verdict on a mean over runs: that of the least accurate run. ``runs`` are the
    numbers of the runs with their verdicts. None without verdicts."""
    known = [(number, one) for number, one in runs if one is not None]
    if not known:
        return None
    grade = max((one.verdict for _, one in known), key=GRADES.index)
    having = [(number, one) for number, one in known if one.verdict == grade]
    number, first = having[0]
    return Verdict(grade, f"{len(having)} of {len(known)} runs; run {number}: {first.text}")
