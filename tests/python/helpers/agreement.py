"""Cases of :mod:`parity` on the virtual and on the real clock, and the differences between them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import sqrt
from statistics import mean, variance
from typing import TYPE_CHECKING

import bentpipe as bp
from bentpipe import _native
from disturbance import ATTEMPTS, LATE_S
from parity import IN_MEMORY, Case

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.emulation import Clock


class DisturbedError(Exception):
    """Raised when the machine was too busy for an emulation: the results differ, and packets were
    late."""


@dataclass(frozen=True)
class Difference:
    """A quantity of a flow on the two clocks."""

    case: str
    flow: str
    quantity: str
    simulated: float | None
    emulated: float | None
    tolerance: float
    reason: str
    #: The difference that chance may cause, in the unit of the quantity.
    chance: float = 0.0

    @property
    def ratio(self) -> float:
        """The emulated value over the simulated one; NaN if either is missing."""
        if self.simulated is None or self.emulated is None:
            return float("nan")
        return self.emulated / self.simulated if self.simulated else float(self.emulated == 0)

    @property
    def holds(self) -> bool:
        """True if the two values agree, or if both are missing."""
        if self.simulated is None and self.emulated is None:
            return True
        if self.simulated is None or self.emulated is None:
            return False
        return abs(self.ratio - 1) <= self.tolerance or abs(self.emulated - self.simulated) <= self.chance


def compare(case: Case, folder: Path, *, in_memory: bool = False, clock: Clock = "real") -> list[Difference]:
    """Simulates and emulates a case, all seeds at once, and compares the means over the seeds.

    A comparison that differs is repeated if packets were late. A pause of the machine of about 100
    ms, in which a slow start fills a queue, makes the first loss earlier. A window that is
    otherwise halved to just above the capacity is then halved to less, and not a second time some
    seconds later (docs/notes/linux-tcp.md). Raises :class:`DisturbedError` if no repetition helps.
    """
    late = []
    for attempt in range(ATTEMPTS):
        own = folder / f"attempt{attempt}"
        own.mkdir()
        differences, lateness = _compare_once(case, own, in_memory=in_memory, clock=clock)
        if lateness <= LATE_S or all(one.holds for one in differences):
            return differences
        late.append(f"{lateness:.3f} s")
    raise DisturbedError(f"{case.name} differs, and packets were late by up to {', '.join(late)}")


def _compare_once(
    case: Case, folder: Path, *, in_memory: bool, clock: Clock
) -> tuple[list[Difference], float]:
    """Returns the differences, and the largest lateness of a packet."""
    if in_memory:
        case = replace(case, exceptions={}, tolerance=IN_MEMORY)
    with ThreadPoolExecutor() as pool:
        file, seeds = case.file(folder), range(1, case.seeds + 1)
        real = pool.map(
            lambda seed: bp.emulate(
                file, seed=seed, out=folder / f"e{seed}", in_memory=in_memory, clock=clock
            ),
            seeds,
        )
        model = pool.map(lambda seed: bp.simulate(file, seed=seed, out=folder / f"s{seed}"), seeds)
        runs = (list(model), list(real))
    lateness = max(run.fidelity["lateness"]["max_s"] for run in runs[1])
    rows = [
        [
            {
                row["flow"]: row
                | ({"filled": filled(run, row["flow"])} if "filled" in case.quantities else {})
                for row in run.flows.to_dicts()
            }
            for run in clock
        ]
        for clock in runs
    ]
    differences = []
    flows = list(rows[0][0])
    for group in [flows] if case.mean_of_flows else [[flow] for flow in flows]:
        for quantity in case.quantities:
            samples = [[run[flow][quantity] for run in clock for flow in group] for clock in rows]
            values = [_mean(one) for one in samples]
            special = case.exceptions.get(quantity)
            tolerance = special.tolerance if special else case.tolerance
            reason = special.reason if special else ""
            differences.append(
                Difference(
                    case.name,
                    ", ".join(group),
                    quantity,
                    values[0],
                    values[1],
                    tolerance,
                    reason,
                    _chance(samples) if case.varies else 0.0,
                )
            )
    return differences, lateness


def filled(run: bp.Run, flow: str) -> float | None:
    """Returns the seconds until the acknowledgments of one second reach nine tenths of their
    maximum."""
    if not run.has_trace("tcp"):
        return None
    trace = run.trace("tcp")
    mine = trace.filter(trace["flow"] == flow)
    if mine.is_empty():
        return None
    times, bytes_ = mine["time"].to_list(), mine["acknowledged"].to_list()
    rates, first = [], 0
    for index, time in enumerate(times):
        while times[first] < time - 1:
            first += 1
        rates.append(bytes_[index] - bytes_[first])
    most = max(rates)
    return float(next(time for time, rate in zip(times, rates, strict=True) if rate >= 0.9 * most))


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def _chance(samples: list[list[float | None]]) -> float:
    """Returns two standard errors of the difference of two means."""
    known = [[value for value in one if value is not None] for one in samples]
    return 2 * sqrt(sum(variance(one) / len(one) for one in known if len(one) > 1))


def without_hosts() -> str | None:
    """Returns the reason why this machine cannot emulate; None if it can."""
    link = '[[link]]\nname = "l"\nfrom = "a"\nto = "b"\nrate = "1 Mbit/s"\ndelay = "1 ms"\n'
    flow = '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\napp = "bulk"\ntransport = "tcp"\n'
    try:
        text = f'name = "probe"\nduration = "1 s"\n{link}{flow}'
        _native.Network(_native.Scenario("probe", text, []), "{}").stop()
    except OSError as error:
        return str(error)
    return None
