"""The outcomes of frames as runs of received or of lost frames, and their statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Number of frames per block when frames are processed one by one.
BLOCK: Final = 1 << 23


@dataclass(frozen=True)
class Outcomes:
    """Alternating runs of lost and received frames: their ``lengths``, and the outcome of the first
    run."""

    lengths: NDArray[np.int64]
    lost_first: bool

    @classmethod
    def of(cls, lost: Sequence[int] | NDArray[np.uint8]) -> Outcomes:
        """Returns the runs of outcomes, 1 for a lost frame and 0 for a received one.

        >>> Outcomes.of([0, 0, 1, 1, 1, 0]).lengths.tolist()
        [2, 3, 1]
        """
        joined = Joined()
        joined.add_frames(np.asarray(lost, dtype=np.uint8))
        return joined.outcomes()

    @cached_property
    def frames(self) -> int:
        """Number of frames in all runs."""
        return int(self.lengths.sum())

    @property
    def bursts(self) -> NDArray[np.int64]:
        """Lengths of the runs of lost frames."""
        return self.lengths[0 if self.lost_first else 1 :: 2]

    @property
    def gaps(self) -> NDArray[np.int64]:
        """Lengths of the runs of received frames."""
        return self.lengths[1 if self.lost_first else 0 :: 2]

    @cached_property
    def lost(self) -> int:
        """Number of lost frames."""
        return int(self.bursts.sum())

    @property
    def loss(self) -> float:
        """Fraction of lost frames (frame error rate)."""
        return self.lost / self.frames

    @property
    def mean_burst(self) -> float:
        """Mean length of the runs of lost frames."""
        return float(self.bursts.mean())

    @property
    def mean_gap(self) -> float:
        """Mean length of the runs of received frames."""
        return float(self.gaps.mean())

    def blocks(self, size: int | None = None) -> Iterator[NDArray[np.uint8]]:
        """Yields the outcomes frame by frame, in blocks of at most ``size`` frames (by default
        :data:`BLOCK`)."""
        size = size or BLOCK
        ends = np.cumsum(self.lengths)
        begin = 0
        while begin < self.frames:
            end = min(begin + size, self.frames)
            first = int(np.searchsorted(ends, begin, side="right"))
            last = int(np.searchsorted(ends, end - 1, side="right"))
            pieces = self.lengths[first : last + 1].copy()
            pieces[-1] -= ends[last] - end
            pieces[0] -= begin - (ends[first] - self.lengths[first])
            lost = (np.arange(first, last + 1) + (1 if self.lost_first else 0)) % 2
            yield np.repeat(lost.astype(np.uint8), pieces)
            begin = end

    def first(self, frames: int) -> NDArray[np.uint8]:
        """Returns the outcomes of the first frames, one by one."""
        return next(self.blocks(min(frames, self.frames)))

    def autocorrelation(self, lags: Sequence[int]) -> NDArray[np.float64]:
        """Returns the autocorrelation of the losses at lags in frames, each below the number of
        frames."""
        products = np.zeros(len(lags))
        max_lag = max(lags, default=0)
        held = np.zeros(0, dtype=np.uint8)
        for block in self.blocks():
            joined = np.concatenate((held, block))
            for place, lag in enumerate(lags):
                # Pairs of frames whose later frame is in this block.
                begin = max(0, len(held) - lag)
                earlier = joined[begin : max(begin, len(joined) - lag)]
                later = joined[begin + lag : begin + lag + len(earlier)]
                products[place] += np.count_nonzero(earlier & later)
            held = joined[-max_lag:] if max_lag else held
        mean = self.loss
        pairs = self.frames - np.array(lags, dtype=float)
        correlation: NDArray[np.float64] = (products / pairs - mean**2) / (mean - mean**2)
        return correlation


def survival(lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Returns the observed lengths in ascending order, and the fraction of runs with at least each
    length.

    >>> values, part = survival(np.array([1, 1, 3, 1]))
    >>> values.tolist(), part.tolist()
    ([1, 3], [1.0, 0.25])
    """
    values, counts = np.unique(lengths, return_counts=True)
    return values, np.cumsum(counts[::-1])[::-1] / counts.sum()


def chosen(count: int, most: int) -> NDArray[np.int64]:
    """Returns the indices of at most ``most`` of ``count`` values, denser at the beginning than at
    the end.

    >>> chosen(3, 5).tolist(), chosen(1000, 4).tolist()
    ([0, 1, 2], [0, 9, 99, 999])
    """
    if count <= most:
        return np.arange(count)
    return np.unique(np.rint(np.geomspace(1, count, most)).astype(np.int64) - 1)


class Joined:
    """Collects outcomes piece by piece."""

    def __init__(self) -> None:
        """Begins with empty statistics."""
        self._runs: list[NDArray[np.int64]] = []
        self._lost_first: bool | None = None
        #: Outcome and length of the last run, which may still grow.
        self._last: tuple[int, int] | None = None

    def add_frames(self, lost: NDArray[np.uint8]) -> None:
        """Adds outcomes frame by frame."""
        if not len(lost):
            return
        changes = np.flatnonzero(lost[1:] != lost[:-1]) + 1
        edges = np.concatenate(([0], changes, [len(lost)]))
        self.add_runs(lost[edges[:-1]], np.diff(edges))

    def add_runs(self, lost: NDArray[np.uint8], lengths: NDArray[np.int64]) -> None:
        """Adds runs. Adjacent runs may have the same outcome."""
        if not len(lost):
            return
        if self._lost_first is None:
            self._lost_first = bool(lost[0])
        begins = np.concatenate(([0], np.flatnonzero(lost[1:] != lost[:-1]) + 1))
        lengths = np.add.reduceat(lengths.astype(np.int64), begins)
        lost = lost[begins]
        if self._last is not None:
            if self._last[0] == lost[0]:
                lengths[0] += self._last[1]
            else:
                self._runs.append(np.array([self._last[1]], dtype=np.int64))
        self._runs.append(lengths[:-1])
        self._last = (int(lost[-1]), int(lengths[-1]))

    def outcomes(self) -> Outcomes:
        """Returns all outcomes collected so far."""
        last = [] if self._last is None else [np.array([self._last[1]], dtype=np.int64)]
        pieces = [*self._runs, *last]
        lengths = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)
        return Outcomes(lengths, bool(self._lost_first))
