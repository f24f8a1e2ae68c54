"""Fits a scheduled access over low orbits, with slots, holes and bursts, to traces of mahimahi and
LeoReplayer.

The trace has the delivery opportunities in whole milliseconds, and the one-way delays in intervals
of 10 ms. The fitted scenario has a link with the keys ``slots`` (``crates/link/src/slots.rs``) and
``jitter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from bentpipe import series
from bentpipe.errors import InputError

from .load import HEADERS

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

#: Steps in which the rate is compared and redrawn, in milliseconds.
STEP_MS: Final = 100
#: Steps of the noise in a fitted scenario, in milliseconds. They are short, so that the variance in
#: steps of STEP_MS does not depend on the time of the first step.
NOISE_MS: Final = 20
#: Length of a hole in multiples of the 99.9th percentile of the intervals between opportunities.
HOLE_FACTOR: Final = 3.0
#: Largest difference between a hole and its point of the grid, in milliseconds.
GRID_MS: Final = 200.0
#: Slots are searched with these durations, in milliseconds.
SLOT_MS: Final = (5_000.0, 60_000.0)
#: Means of normal parts of the delay, in standard deviations: few draws are truncated at 0.
MEAN_DEVIATIONS: Final = 3.0
#: Largest lag for the autocorrelation of the rate, in steps.
LAGS: Final = 20

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Access:
    """Observations of an access: the bytes that could be delivered in each millisecond, and the
    one-way delays in milliseconds with their times. ``delays`` is empty without observations."""

    deliveries: Values
    delays: Values
    delay_times: Values

    @property
    def end_ms(self) -> int:
        """Duration of the observation."""
        return len(self.deliveries)


def read(file: str | Path) -> Access:
    """Reads a trace of mahimahi, with the delays of LeoReplayer in the same folder if present.

    Raises :class:`bentpipe.InputError`.
    """
    times, delays = series.opportunities(Path(file))
    deliveries = np.bincount(np.asarray(times)).astype(np.float64) * series.OPPORTUNITY_BYTES
    return Access(
        deliveries,
        1e3 * np.asarray(delays, float),
        np.arange(len(delays), dtype=np.float64) * series.DELAY_STEP_MS,
    )


def of_run(run: Run) -> tuple[Access | None, Access | None]:
    """Returns the observations of a measured run, towards this host and from this host. A direction
    is observed if it had a load of datagrams above its rate. Its delays are those of the probes
    without load.

    Raises :class:`bentpipe.InputError` for a run with no such load.
    """
    import polars as pl

    flows = run.flows.filter(pl.col("app") == "cbr") if "app" in run.flows.columns else run.flows.clear()
    if flows.is_empty() or not {"datagram", "probe"} <= set(run.traces):
        raise InputError(f"{run.path} {_NO_LOAD}")
    found: list[Access | None] = []
    for source, side in (("there", "backward"), ("here", "forward")):
        own = flows.filter(
            (pl.col("from") == source) & (pl.col("sent_packets") > pl.col("delivered_packets"))
        )
        if own.is_empty():
            found.append(None)
            continue
        name = own.sort("delivered_packets")["flow"][-1]
        arrived = run.trace("datagram", name)
        times = 1e3 * arrived["time"].to_numpy()
        start = float(times[0])
        sizes = arrived["payload"].to_numpy() + HEADERS
        deliveries = np.bincount(np.floor(times - start).astype(int), weights=sizes).astype(np.float64)
        probes = run.trace("probe").filter(pl.col("quiet") & pl.col("replied") & (pl.col("train") < 0))
        middle = 1e3 * (probes[f"{side}_low"] + probes[f"{side}_high"]).to_numpy() / 2
        known = np.isfinite(middle)
        found.append(Access(deliveries, middle[known], 1e3 * probes["time"].to_numpy()[known] - start))
    down, up = found
    if down is None and up is None:
        raise InputError(f"{run.path} {_NO_LOAD}")
    return down, up


_NO_LOAD: Final = (
    "has no load of datagrams that lost packets, which would show the rate of the access; allowed: a measured run "
    'with a load of kind "udp" above the rate, for at least three slots'
)


@dataclass(frozen=True)
class Hole:
    """An interval without delivery, in milliseconds from the start of the trace."""

    start: float
    length: float


def holes(access: Access) -> list[Hole]:
    """Returns the intervals without delivery that are longer than the pauses between bursts."""
    used = np.flatnonzero(access.deliveries)
    gaps = np.diff(used)
    if len(gaps) == 0:
        return []
    least = HOLE_FACTOR * np.quantile(gaps, 0.999)
    return [Hole(float(used[at] + 1), float(gaps[at] - 1)) for at in np.flatnonzero(gaps > least)]


@dataclass(frozen=True)
class Grid:
    """The grid of reconfigurations: duration of a slot, and start of the first slot, in
    milliseconds."""

    every: float
    offset: float

    def slots(self, times: Values) -> NDArray[np.int64]:
        """The number of the slot of each time; -1 before the first start."""
        return np.floor((times - self.offset) / self.every).astype(np.int64)


def grid(found: list[Hole]) -> tuple[Grid, list[Hole]] | None:
    """Returns the grid of most holes, with its holes; None for fewer than three holes on a grid.

    Each difference between two holes, and its fractions, are candidates. The grid with the longest
    total of holes near its points wins; a regression of the holes' starts refines it.
    """
    best: tuple[float, float, float] | None = None
    starts = np.array([one.start for one in found])
    lengths = np.array([one.length for one in found])
    for first in range(len(found)):
        for second in range(first + 1, len(found)):
            for parts in (1, 2, 3, 4):
                every = (starts[second] - starts[first]) / parts
                if not SLOT_MS[0] <= every <= SLOT_MS[1]:
                    continue
                off = np.abs((starts - starts[first] + every / 2) % every - every / 2)
                points = (starts[-1] - starts[0]) / every + 1
                near = off < GRID_MS
                # Holes off the grid do not count, and points without a hole speak against it.
                value = lengths[near].sum() * min(1.0, near.sum() / max(points - 1, 1)) ** 2
                if best is None or value > best[0] * 1.0001:
                    best = (float(value), every, starts[first])
    if best is None:
        return None
    _, every, anchor = best
    numbers = np.round((starts - anchor) / every)
    near = np.abs(starts - anchor - numbers * every) < GRID_MS
    # The longest hole near a point is the hole of the point.
    chosen: dict[int, int] = {}
    for at in np.flatnonzero(near):
        number = int(numbers[at])
        if number not in chosen or lengths[at] > lengths[chosen[number]]:
            chosen[number] = int(at)
    if len(chosen) < 3:
        return None
    order = sorted(chosen)
    kept = [chosen[number] for number in order]
    slope, intercept = np.polyfit(order, starts[kept], 1)
    return Grid(float(slope), float(intercept % slope)), [found[one] for one in kept]


def rates(access: Access, without: list[Hole], step_ms: int = STEP_MS) -> tuple[Values, Values]:
    """Returns the middle of each step in milliseconds, and its rate in bit/s outside of holes.
    Steps that are mostly holes are left out."""
    open_ms = np.ones(access.end_ms)
    for one in without:
        open_ms[int(one.start) : int(one.start + one.length)] = 0.0
    whole = access.end_ms // step_ms * step_ms
    sent = access.deliveries[:whole].reshape(-1, step_ms).sum(1)
    used = open_ms[:whole].reshape(-1, step_ms).sum(1)
    middles = (np.arange(len(sent)) + 0.5) * step_ms
    kept = used > step_ms / 2
    return middles[kept], 8e3 * sent[kept] / used[kept]


def spread(values: Values, slots: NDArray[np.int64], lags: int) -> tuple[float, Values]:
    """Returns the variance of the slots' levels and the autocovariance within slots, both without
    the bias of short slots."""
    within = np.zeros(lags)
    pairs = np.zeros(lags)
    means, counts = [], []
    for slot in np.unique(slots):
        part = values[slots == slot]
        if len(part) <= lags:
            continue
        rest = part - part.mean()
        for lag in range(lags):
            within[lag] += (rest[: len(rest) - lag] * rest[lag:]).sum()
            pairs[lag] += len(rest) - lag
        means.append(part.mean())
        counts.append(len(part))
    within /= np.maximum(pairs, 1)
    if len(means) < 2:
        return 0.0, within
    # The mean of a slot varies with the process within it, which also lowers the autocovariance.
    count = float(np.mean(counts))
    of_mean = (within[0] + 2 * within[1:].clip(0).sum()) / count
    return max(0.0, float(np.var(means, ddof=1)) - of_mean), within + of_mean


def process(within: Values, step: float) -> tuple[float, float, float]:
    """Returns variance and correlation time of an exponential autocovariance at the lags above 0,
    and the variance of the noise, which only lag 0 has."""
    lags = np.arange(1, len(within)) * step
    best = (np.inf, 0.0, step)
    for correlation in np.geomspace(step / 2, step * len(within) * 2, 60):
        shape = np.exp(-lags / correlation)
        variance = float((shape @ within[1:]) / (shape @ shape))
        variance = min(max(0.0, variance), float(within[0]))
        error = float(((within[1:] - variance * shape) ** 2).sum())
        if error < best[0]:
            best = (error, variance, float(correlation))
    _, variance, correlation = best
    return variance, correlation, max(0.0, float(within[0]) - variance)


def ms(value: float) -> str:
    """Returns milliseconds as the text of a scenario."""
    return f"{value:.6g} ms"


@dataclass(frozen=True)
class Fit:
    """A fitted access. Times are in milliseconds, rates in bit/s; ``level``, ``wander`` and
    ``noise`` are relative to the rate."""

    grid: Grid | None
    hole: float
    hole_deviation: float
    rate: float
    level: float
    wander: float
    correlation: float
    noise: float
    delay: float
    delay_level: float
    delay_deviation: float
    delay_wander: float
    delay_correlation: float
    peak: float
    lasts: float
    recovery: float
    bursts: tuple[float, float]

    def link(self) -> dict[str, object]:
        """The keys of one direction of a link."""
        every, offset = (self.grid.every, self.grid.offset) if self.grid else (15_000.0, 0.0)

        least, most = self.bursts
        parts: list[dict[str, object]] = [{"kind": "bursts", "least": ms(least), "most": ms(most)}]
        if self.delay_deviation > 0.01:
            normal = {"kind": "normal", "mean": ms(self.delay_level), "deviation": ms(self.delay_deviation)}
            parts.append({"kind": "levels", "every": ms(every), "offset": ms(offset), "of": normal})
        if self.delay_wander > 0.01:
            parts.append(
                {
                    "kind": "wander",
                    "mean": ms(MEAN_DEVIATIONS * self.delay_wander),
                    "deviation": ms(self.delay_wander),
                    "correlation": ms(self.delay_correlation),
                }
            )
        if self.grid and self.peak > 0.01:
            # Spikes delay packets that have crossed the link.
            spikes = {"every": ms(every), "offset": ms(offset + self.delay), "peak": ms(self.peak)}
            parts.append({"kind": "spikes", **spikes, "lasts": ms(self.lasts), "recovery": ms(self.recovery)})
        slots = {
            "every": ms(every),
            "offset": ms(offset),
            "hole": ms(self.hole),
            "hole_deviation": ms(self.hole_deviation),
            "level": round(self.level, 4),
            "wander": round(self.wander, 4),
            "correlation": ms(self.correlation),
            "noise": round(self.noise, 4),
            "step": ms(NOISE_MS),
        }
        return {
            "rate": f"{round(self.rate / 1e3)} kbit/s",
            "delay": ms(self.delay),
            "slots": slots,
            "jitter": {"kind": "sum", "parts": parts},
        }

    def lines(self) -> list[str]:
        """The fitted values in words, a line per group."""
        grid = self.grid
        slots = f"slots of {grid.every / 1e3:.4g} s from {grid.offset / 1e3:.4g} s" if grid else "no slots"
        return [
            f"{slots}, holes of {self.hole:.3g} ms (deviation {self.hole_deviation:.2g} ms)",
            f"rate {self.rate / 1e6:.4g} Mbit/s; deviations: levels {100 * self.level:.3g} %, within slots "
            f"{100 * self.wander:.3g} % over {self.correlation / 1e3:.2g} s, noise {100 * self.noise:.3g} % "
            f"in steps of {NOISE_MS} ms",
            f"bursts every {self.bursts[0]:.2g} to {self.bursts[1]:.2g} ms",
            f"delay from {self.delay:.3g} ms, peak at the grid {self.peak:.3g} ms",
        ]


def scenario(found: Fit, name: str, back: Fit | None = None) -> str:
    """Returns a scenario as TOML, with the fitted access between a server and a user. Without
    ``back``, the return direction has the same keys."""
    queue = {"queue": {"kind": "drop-front", "packets": 500}}
    link: dict[str, object] = {**found.link(), **queue}
    lines = found.lines()
    if back is not None:
        link["return"] = {**back.link(), **queue}
        lines += ["return direction:", *back.lines()]
    return link_scenario(link, lines, name)


def link_scenario(link: dict[str, object], lines: list[str], name: str) -> str:
    """Returns the scenario of a download over a link with these keys. The lines describe its
    origin."""
    from bentpipe.scenario.scenarios import toml_text

    back = link.pop("return", None)
    flow: dict[str, object] = {
        "name": "download",
        "from": "server",
        "to": "user",
        "app": "bulk",
        "transport": "tcp",
    }
    parts: list[tuple[str, dict[str, object]]] = [
        ("", {"name": f"Access as in {name}", "duration": "60 s"}),
        ("[[link]]\n", {"name": "access", "from": "server", "to": "user", **link}),
        ("[[flow]]\n", flow),
    ]
    if isinstance(back, dict):
        parts.insert(2, ("[link.return]\n", back))
    about = [f"Fitted to {name} by `bentpipe fit --kind leo-scheduled`", *lines]
    comments = "".join(f"# {line[0].upper()}{line[1:]}.\n" for line in about)
    return comments + "\n".join(f"{head}{toml_text(table).rstrip()}\n" for head, table in parts)


def fit(access: Access, of_other: Grid | None = None) -> Fit:
    """Fits the access. ``of_other`` is the grid of the other direction, for an access whose own
    holes show none. Raises :class:`bentpipe.InputError` for an observation of less than three
    slots."""
    found = holes(access)
    known = grid(found)
    if known is None and of_other is None:
        raise InputError(
            f"the trace has {len(found)} holes, and fewer than three of them on a grid; "
            "allowed: a trace of at least three slots of a scheduled access"
        )
    slots, of_grid = known or (of_other or Grid(0.0, 0.0), [])
    times, values = rates(access, of_grid)
    level, within = spread(values, slots.slots(times), LAGS)
    wander, correlation, noise = process(within, STEP_MS)
    rate = float(values.mean())
    lengths = np.array([one.length for one in of_grid] or [0.0])
    used = np.flatnonzero(access.deliveries)
    begins = used[np.r_[True, np.diff(used) > 1]]
    intervals = np.diff(begins)
    # Intervals across holes do not count. A uniform distribution has the mean and the deviation.
    intervals = intervals[intervals < min((one.length for one in found), default=np.inf)]
    half = 3**0.5 * float(intervals.std())
    least, most = max(0.1, float(intervals.mean()) - half), float(intervals.mean()) + half
    delays = _delays(access, slots, float(lengths.mean()), least, most)
    return Fit(
        grid=slots,
        # The first packet after a hole has the peak of the delay, which lengthens the hole at the
        # receiver.
        hole=max(1.0, float(lengths.mean()) - delays["peak"]) if of_grid else 0.0,
        hole_deviation=float(lengths.std(ddof=1)) if of_grid else 0.0,
        rate=rate,
        level=float(np.sqrt(level)) / rate,
        wander=float(np.sqrt(wander)) / rate,
        correlation=correlation,
        # Noise of independent steps: the variance of a mean is inverse to the number of steps.
        noise=float(np.sqrt(noise * STEP_MS / NOISE_MS)) / rate,
        bursts=(least, most),
        **delays,
    )


def _delays(access: Access, slots: Grid, hole: float, least: float, most: float) -> dict[str, float]:
    """Fits the delay outside and after holes."""
    if len(access.delays) == 0:
        return dict.fromkeys(
            (
                *("delay", "delay_level", "delay_deviation", "delay_wander"),
                *("delay_correlation", "peak", "lasts", "recovery"),
            ),
            0.0,
        )
    times, delays = access.delay_times, access.delays
    since = (times - slots.offset) % slots.every
    quiet = (since > 500) & (since < slots.every - 200)
    number = slots.slots(times)
    level, within = spread(delays[quiet], number[quiet], LAGS)
    burst_mean = (least**2 + least * most + most**2) / (3 * (least + most))
    second = (least + most) * (least**2 + most**2) / 4 / (3 * (least + most) / 2)
    burst_variance = second - burst_mean**2
    variance, correlation, noise = process(within, series.DELAY_STEP_MS)
    # The part without correlation is that of bursts; the rest of it joins the process.
    wander = float(np.sqrt(max(0.0, variance + noise - burst_variance)))
    deviation = float(np.sqrt(level))
    rest = float(delays[quiet].mean())
    levels = MEAN_DEVIATIONS * deviation
    base = max(0.0, rest - burst_mean - MEAN_DEVIATIONS * wander - levels)
    peaks, recoveries = [], []
    for start in slots.offset + slots.every * np.unique(number):
        # Packets that were sent in the hole arrive together at its end; their delay is a wait.
        window = (times + delays > start + hole + most + 1) & (times < start + 500)
        high = delays[window] - rest
        if len(high) == 0:
            continue
        peaks.append(float(high.max()))
        above = times[window][high > high.max() / 4]
        recoveries.append(float(above.max() - start) - hole if len(above) else 0.0)
    peak = float(np.median(peaks)) if peaks else 0.0
    return {
        "delay": base,
        "delay_level": levels,
        "delay_deviation": deviation,
        "delay_wander": wander,
        "delay_correlation": correlation,
        "peak": peak,
        "lasts": hole,
        "recovery": max(10.0, float(np.median(recoveries)) if recoveries else 0.0),
    }
