"""Fits a scheduled access to the history that a dish of Starlink reports.

A dish keeps the last samples of each second in ring buffers: the round-trip time to the point of
presence and the fraction of lost pings. It also keeps the rates that were used, which are not the
rates that were available. It answers the gRPC request ``get_history``; a file holds the answer as
JSON, as ``grpcurl`` and protobuf's ``MessageToJson`` write it:

.. code-block:: text

    grpcurl -plaintext -d '{"get_history": {}}' 192.168.100.1:9200 SpaceX.API.Device.Device/Handle

The samples of a second cannot show the holes at the start of a slot.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bentpipe.errors import InputError

from .scheduled import LAGS, MEAN_DEVIATIONS, Grid, Values, link_scenario, ms, process, spread

#: Duration of a slot in seconds (Z. Lai et al., "LeoCC", 2025). A history of 15 minutes of whole
#: seconds determines the phase of the grid, but hardly its period.
SLOT_S: Final = 15
#: Fraction of lost pings from which a second counts as an outage.
OUTAGE: Final = 0.5
#: Least difference between the steps of the delay at the grid and elsewhere, in standard errors.
#: None of 3000 histories of 15 minutes with independent delays reached it.
LEAST_CONTRAST: Final = 4.0
#: Least number of seconds with a reply.
LEAST_REPLIES: Final = 4 * SLOT_S

_COLUMNS: Final = ("poppinglatencyms", "poppingdroprate", "downlinkthroughputbps", "uplinkthroughputbps")


@dataclass(frozen=True)
class History:
    """One sample per second, the oldest first: round-trip time in milliseconds, NaN in a second
    without a reply; fraction of lost pings; and used rates of both directions in bit/s."""

    rtt: Values
    loss: Values
    down: Values
    up: Values


def read(file: Path) -> History:
    """Reads the answer to ``get_history``.

    Raises :class:`bentpipe.InputError` for other files.
    """
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{file} is not JSON: {error}") from error
    found = _plain(document)
    found = found.get("dishgethistory", found)
    arrays = []
    for name in ("current", *_COLUMNS):
        if name not in found:
            allowed = "the answer of a dish to get_history, with current, popPingLatencyMs and others"
            raise InputError(f"{file} has no {name}; allowed: {allowed}")
    for name in _COLUMNS:
        try:
            arrays.append(np.array(found[name], dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise InputError(f"{file}: {name} is not a list of numbers") from error
    size = len(arrays[0])
    if size == 0 or any(one.shape != (size,) for one in arrays):
        raise InputError(f"{file}: the lists have different lengths, or are empty")
    # Sample k since the start of the dish is at k modulo the length.
    count = int(found["current"])
    order = np.arange(max(0, count - size), count) % size
    rtt, loss, down, up = (one[order] for one in arrays)
    return History(np.where((loss < 1) & (rtt > 0), rtt, np.nan), loss.clip(0, 1), down, up)


def _plain(document: Any) -> dict[str, Any]:
    """Returns a table whose names have neither capitals nor underscores, as the two notations of
    JSON differ in them."""
    if not isinstance(document, dict):
        return {}
    return {
        name.replace("_", "").lower(): _plain(value) if isinstance(value, dict) else value
        for name, value in document.items()
    }


def phase(rtt: Values) -> int | None:
    """Returns the phase of the grid in seconds, from 0 to 14; None if the delay does not step at a
    grid."""
    steps = np.abs(np.diff(rtt))
    places = np.arange(1, len(rtt)) % SLOT_S
    contrasts = []
    for one in range(SLOT_S):
        at, others = (
            steps[(places == one) & np.isfinite(steps)],
            steps[(places != one) & np.isfinite(steps)],
        )
        if len(at) < 3:
            return None
        error = float(np.sqrt(at.var(ddof=1) / len(at) + others.var(ddof=1) / len(others)))
        contrasts.append((at.mean() - others.mean()) / error if error > 0 else 0.0)
    best = int(np.argmax(contrasts))
    return best if contrasts[best] >= LEAST_CONTRAST else None


@dataclass(frozen=True)
class Fit:
    """An access fitted to a history. Times are in milliseconds, round trip; rates in bit/s."""

    phase: int | None
    rtt: float
    level: float
    wander: float
    correlation: float
    #: Loss of pings outside and in outages.
    loss: tuple[float, float]
    #: Probabilities per second that an outage begins and ends.
    begins: float
    ends: float
    down: float
    up: float

    def link(self) -> dict[str, object]:
        """The keys of both directions of a link."""
        return {**self._direction(self.down), "return": self._direction(self.up)}

    def _direction(self, rate: float) -> dict[str, object]:
        # Each direction has half of the mean, and half of the variance.
        parts: list[dict[str, object]] = []
        share = 2**-0.5
        every, offset = ms(1e3 * SLOT_S), ms(1e3 * (self.phase or 0))
        level, wander = self.level * share, self.wander * share
        if self.phase is not None and level > 0.01:
            normal = {"kind": "normal", "mean": ms(MEAN_DEVIATIONS * level), "deviation": ms(level)}
            parts.append({"kind": "levels", "every": every, "offset": offset, "of": normal})
        else:
            level = 0.0
        if wander > 0.01:
            own = {
                "mean": ms(MEAN_DEVIATIONS * wander),
                "deviation": ms(wander),
                "correlation": ms(self.correlation),
            }
            parts.append({"kind": "wander", **own})
        else:
            wander = 0.0
        keys: dict[str, object] = {
            "rate": f"{max(1, round(rate / 1e3))} kbit/s",
            "delay": ms(max(0.0, self.rtt / 2 - MEAN_DEVIATIONS * (level + wander))),
        }
        if parts:
            keys["jitter"] = {"kind": "sum", "parts": parts}
        if max(self.loss) > 0:
            # A ping is lost in one of two directions, whose outages are independent.
            clear, begins = 1 - (1 - self.loss[0]) ** 0.5, self.begins / 2
            keys["error"] = {
                "kind": "snr-states",
                "step": "1 s",
                "loss": [[round(clear, 6)], [round(self.loss[1], 6)]],
                "transitions": [[1 - begins, begins], [self.ends, 1 - self.ends]],
            }
        return keys

    def lines(self) -> list[str]:
        """The fitted values in words, a line per group."""
        grid = f"slots of {SLOT_S} s from {self.phase} s" if self.phase is not None else "no slots"
        lasts = f", for {1 / self.ends:.3g} s on average" if self.begins > 0 else ""
        return [
            f"{grid}; round-trip time {self.rtt:.3g} ms, deviations {self.level:.2g} ms between slots and "
            f"{self.wander:.2g} ms within",
            f"loss {100 * self.loss[0]:.2g} %; outages begin {3600 * self.begins:.2g} times per hour{lasts}",
            "outages of the two directions are independent, and each direction has half of them",
            "rates: the highest that were used, which are lower bounds of the rates that were available",
            "not in a history: holes at the start of a slot, variation of the rate, and the queue",
        ]


def fit(history: History) -> Fit:
    """Fits the access. Raises :class:`bentpipe.InputError` for a history with too few replies."""
    replied = np.isfinite(history.rtt)
    if replied.sum() < LEAST_REPLIES:
        raise InputError(
            f"the history has {replied.sum()} seconds with a reply; allowed: at least {LEAST_REPLIES}"
        )
    found = phase(history.rtt)
    times = np.flatnonzero(replied).astype(np.float64)
    grid = Grid(float(SLOT_S), float(found or 0))
    values = history.rtt[replied]
    numbers = grid.slots(times) if found is not None else np.zeros(len(times), dtype=np.int64)
    level, within = spread(values, numbers, min(LAGS, SLOT_S // 2))
    variance, correlation, noise = process(within, 1e3)
    out = history.loss >= OUTAGE
    begins, ends = _changes(out)
    return Fit(
        phase=found,
        rtt=float(values.mean()),
        level=level**0.5,
        wander=(variance + noise) ** 0.5,
        correlation=correlation,
        loss=(_mean(history.loss[~out]), _mean(history.loss[out])),
        begins=begins,
        ends=ends,
        down=float(history.down.max()),
        up=float(history.up.max()),
    )


def _mean(values: Values) -> float:
    return float(values.mean()) if len(values) else 0.0


def _changes(out: NDArray[np.bool_]) -> tuple[float, float]:
    """Returns the probabilities per second that an outage begins and that an outage ends."""
    before, after = out[:-1], out[1:]
    clear, lost = int((~before).sum()), int(before.sum())
    begins = float((~before & after).sum() / clear) if clear else 0.0
    ends = float((before & ~after).sum() / lost) if lost else 1.0
    # An outage that lasts until the end of the history also ends.
    return begins, max(ends, 1.0 / (lost + 1))


def scenario(found: Fit, name: str) -> str:
    """Returns a scenario as TOML, with the fitted access between a server and a user."""
    return link_scenario(found.link(), found.lines(), name)
