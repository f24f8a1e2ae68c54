"""Error processes fitted to the outcomes of frames, by maximum likelihood.

===================  =======================================================  ==========
process              scenario                                                 parameters
===================  =======================================================  ==========
``bernoulli``        ``packet``: independent losses                           1
``bistable``         ``gilbert``: two visible states, received and lost       2
``gilbert-elliott``  ``gilbert-elliott``: two hidden states with a loss each  4
``markov-3``         ``markov``: three states, visible or hidden              4 to 9
``markov-4``         ``markov``: four states, visible or hidden               7 to 16
===================  =======================================================  ==========

A state is visible if its loss is 0 or 1. The first two processes have closed forms. For the others,
the engine computes the likelihood and its gradient by a forward and backward recursion over the
runs of frames with the same outcome (``crates/link/src/channel/hidden.rs``; by Fisher's identity,
the gradient follows from expected counts). scipy's L-BFGS-B maximises the likelihood from several
starting points, first over the first :data:`START_FRAMES` frames and then, from the best point,
over :data:`MAX_FRAMES`. Among the shapes of a Markov process, the shape with the lowest Bayesian
information criterion (BIC) is returned.

In a chain with visible states, states with the same outcome do not follow each other. Any other
chain with the same number of states and the same runs has the same likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .outcomes import Outcomes, chosen, survival

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bentpipe._native import FrameRuns

    Matrix = NDArray[np.float64]

#: Number of frames over which starting points are compared.
START_FRAMES: Final = 30_000
#: Maximum number of frames for fitting chains with hidden states or with several states per
#: outcome.
MAX_FRAMES: Final = 10_000_000
#: A shape is dropped if its BIC over the first frames exceeds the best BIC by this value.
MAX_BIC_EXCESS: Final = 60.0
#: Maximum number of run lengths at which distributions are compared.
MAX_LENGTHS: Final = 400
#: Number of frames for the first full maximisation, before all frames are used.
FIRST_FRAMES: Final = 300_000


@dataclass(frozen=True)
class Chain:
    """A Markov chain with one step per frame, and the loss probability in each state."""

    transitions: Matrix
    loss: Matrix

    @cached_property
    def stationary(self) -> Matrix:
        """The fraction of frames in each state."""
        n = len(self.loss)
        equations = np.vstack((self.transitions.T - np.eye(n), np.ones(n)))
        part = np.linalg.lstsq(equations, np.append(np.zeros(n), 1.0), rcond=None)[0]
        part = np.maximum(part, 0.0)
        shares: Matrix = part / part.sum()
        return shares

    def run_survival(self, lengths: NDArray[np.int64], *, lost: bool) -> Matrix:
        """Returns the fraction of runs of lost (or received) frames with at least each of these
        lengths, in ascending order."""
        of = self.loss if lost else 1 - self.loss
        # A run begins with the first frame of this outcome after a frame of the other outcome.
        first = (self.stationary * (1 - of)) @ self.transitions * of
        first = first / first.sum()
        step = self.transitions * of
        parts, state, at = [], first, 1
        for length in lengths:
            state = state @ np.linalg.matrix_power(step, int(length) - at)
            at = int(length)
            parts.append(state.sum())
        return np.array(parts)

    def autocorrelation(self, lags: Sequence[int]) -> Matrix:
        """Returns the autocorrelation of the losses at lags in frames."""
        mean = float(self.stationary @ self.loss)
        powers = (np.linalg.matrix_power(self.transitions, lag) for lag in lags)
        products = np.array([(self.stationary * self.loss) @ power @ self.loss for power in powers])
        correlation: Matrix = (products - mean**2) / (mean - mean**2)
        return correlation


@dataclass(frozen=True)
class Fit:
    """A process fitted to outcomes: the key ``error`` for a scenario, and measures of the quality
    of the fit."""

    process: str
    error: dict[str, Any]
    chain: Chain
    parameters: int
    log_likelihood: float
    #: Number of frames over which the likelihood is computed.
    frames: int
    loss: float
    mean_burst: float
    mean_gap: float
    #: Largest difference between the distributions of run lengths of the process and of the trace
    #: (Kolmogorov-Smirnov).
    burst_distance: float
    gap_distance: float
    #: Root mean square difference of the autocorrelations.
    autocorrelation_error: float
    notes: list[str] = field(default_factory=list)

    @property
    def aic(self) -> float:
        """Akaike's information criterion; lower is better."""
        return 2 * self.parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """The Bayesian information criterion; lower is better."""
        return self.parameters * math.log(self.frames) - 2 * self.log_likelihood


def lags_of(frames: int, most: int = 1000) -> list[int]:
    """Returns the lags at which autocorrelations are compared: about eight per decade, from 1 to
    ``most`` or a tenth of the frames.

    >>> lags_of(100)
    [1, 2, 3, 4, 6, 7, 10]
    """
    most = max(1, min(most, frames // 10))
    return sorted({round(lag) for lag in np.geomspace(1, most, max(1, round(8 * math.log10(most) + 1)))})


#: Called with the name of the process to be fitted next.
Tell = Callable[[str], None]


def fit_all(outcomes: Outcomes, tell: Tell = lambda _: None, only: Collection[str] = ()) -> list[Fit]:
    """Returns every process fitted to the outcomes, in the order of the table above, or those of
    ``only``."""
    frames = min(outcomes.frames, MAX_FRAMES)
    observed = _Observed(outcomes, frames)
    fits = []
    for process, fitted in _PROCESSES.items():
        if not only or process in only:
            tell(process)
            fits.append(_described(process, fitted(observed), observed))
    return fits


class _Observed:
    """Outcomes, with the statistics that all fits need."""

    def __init__(self, outcomes: Outcomes, frames: int) -> None:
        self.outcomes = outcomes
        self.frames = frames
        self.bytes = outcomes.first(frames).tobytes() if frames < outcomes.frames else b""
        if not self.bytes:
            self.bytes = b"".join(block.tobytes() for block in outcomes.blocks())
        array = np.frombuffer(self.bytes, dtype=np.uint8)
        pairs = np.bincount(2 * array[:-1] + array[1:], minlength=4).reshape(2, 2)
        #: Numbers of frames by the previous outcome and their own outcome.
        self.pairs = pairs.astype(float)
        self.first_lost = bool(array[0])
        self.lost = int(np.count_nonzero(array))
        self.lags = lags_of(outcomes.frames)

    @cached_property
    def autocorrelation(self) -> Matrix:
        return self.outcomes.autocorrelation(self.lags)


@dataclass(frozen=True)
class _Found:
    error: dict[str, Any]
    chain: Chain
    parameters: int
    log_likelihood: float
    notes: list[str] = field(default_factory=list)


def _times_log(count: float, probability: float) -> float:
    """Returns ``count`` log ``probability``, or 0 if ``count`` is 0."""
    return 0.0 if count == 0 else count * math.log(probability)


def _bernoulli(observed: _Observed) -> _Found:
    lost, received = observed.lost, observed.frames - observed.lost
    loss = lost / observed.frames
    likelihood = _times_log(lost, loss) + _times_log(received, 1 - loss)
    chain = Chain(np.ones((1, 1)), np.array([loss]))
    return _Found({"kind": "packet", "probability": loss}, chain, 1, likelihood)


def _bistable(observed: _Observed) -> _Found:
    (stays_good, leaves), (returns, stays_lost) = observed.pairs.tolist()
    # If only the last frame was lost, the trace contains no transition back.
    to_lost = leaves / (stays_good + leaves) if stays_good + leaves else 1.0
    to_good = returns / (returns + stays_lost) if returns + stays_lost else 1.0
    notes = []
    if not leaves or not returns:
        notes.append("the trace changes only once between received and lost frames")
        to_lost = to_lost or 0.5 / (stays_good + leaves)
        to_good = to_good or 0.5 / (returns + stays_lost)
    part = to_lost / (to_lost + to_good)
    likelihood = math.log(part if observed.first_lost else 1 - part) + sum(
        _times_log(count, probability)
        for count, probability in (
            (leaves, to_lost),
            (stays_good, 1 - to_lost),
            (returns, to_good),
            (stays_lost, 1 - to_good),
        )
    )
    chain = Chain(np.array([[1 - to_lost, to_lost], [to_good, 1 - to_good]]), np.array([0.0, 1.0]))
    # The engine refuses bursts shorter than probability / (1 - probability), which could result
    # from rounding.
    burst = max(1 / to_good, part / (1 - part) * (1 + 1e-12) if to_lost == 1 else 0.0)
    return _Found({"kind": "gilbert", "probability": part, "burst": burst}, chain, 2, likelihood, notes)


def _gilbert_elliott(observed: _Observed) -> _Found:
    simple = _bistable(observed).chain
    starts = [simple, *_hidden_starts(observed, 2)]
    free = [_Shape(np.ones((2, 2), dtype=bool), (None, None))] * len(starts)
    chain, likelihood, parameters, notes = _climb(observed, list(zip(free, starts, strict=True)))
    error = {
        "kind": "gilbert-elliott",
        "good_to_bad": float(chain.transitions[0, 1]),
        "bad_to_good": float(chain.transitions[1, 0]),
        "loss_good": float(chain.loss[0]),
        "loss_bad": float(chain.loss[1]),
    }
    return _Found(error, chain, parameters, likelihood, notes)


def _markov(observed: _Observed, states: int) -> _Found:
    candidates = [*_visible_starts(observed, states)]
    candidates += [
        (_Shape(np.ones((states, states), dtype=bool), (None,) * states), start)
        for start in _hidden_starts(observed, states)
    ]
    chain, likelihood, parameters, notes = _climb(observed, candidates)
    error = {
        "kind": "markov",
        "loss": [float(loss) for loss in chain.loss],
        "transitions": [[float(one) for one in row] for row in chain.transitions],
    }
    return _Found(error, chain, parameters, likelihood, notes)


@dataclass(frozen=True)
class _Shape:
    """The structure of a chain: the possible transitions, and the fixed loss probabilities."""

    allowed: NDArray[np.bool_]
    loss: tuple[float | None, ...]

    @property
    def parameters(self) -> int:
        """Number of free probabilities."""
        return int(self.allowed.sum()) - len(self.allowed) + sum(loss is None for loss in self.loss)

    def encode(self, chain: Chain) -> Matrix:
        """Returns the probabilities as unbounded numbers: log ratios to the probability of the
        first next state, and logits."""
        parts = []
        for row, allowed in zip(chain.transitions, self.allowed, strict=True):
            weights = np.log(np.maximum(row[allowed], 1e-9))
            parts.append(weights - weights[0])
        free = [loss for loss, given in zip(chain.loss, self.loss, strict=True) if given is None]
        within = np.clip(np.array(free), 1e-7, 1 - 1e-7)
        return np.concatenate([*(part[1:] for part in parts), np.log(within / (1 - within))])

    def decode(self, numbers: Matrix) -> Chain:
        """Returns the chain with these numbers, the inverse of :meth:`encode`."""
        transitions = np.zeros(self.allowed.shape)
        at = 0
        for row, allowed in zip(transitions, self.allowed, strict=True):
            count = int(allowed.sum())
            weights = np.append(0.0, numbers[at : at + count - 1])
            weights = np.exp(weights - weights.max())
            row[allowed] = weights / weights.sum()
            at += count - 1
        free = iter(1 / (1 + np.exp(-np.clip(numbers[at:], -40, 40))))
        return Chain(transitions, np.array([next(free) if given is None else given for given in self.loss]))

    def slope(self, chain: Chain, transitions: Matrix, frames: Matrix) -> Matrix:
        """Returns the gradient of the likelihood with respect to these numbers, from expected
        counts."""
        parts = []
        for row, counts, allowed in zip(chain.transitions, transitions, self.allowed, strict=True):
            parts.append((counts - counts.sum() * row)[allowed][1:])
        free = np.array([given is None for given in self.loss])
        parts.append((frames[:, 1] - frames.sum(axis=1) * chain.loss)[free])
        return np.concatenate(parts)


def _likelihood(outcomes: FrameRuns, chain: Chain) -> tuple[float, Matrix, Matrix] | None:
    found = outcomes.expected(chain.transitions.tolist(), chain.loss.tolist())
    return None if found is None else (found[0], np.array(found[1]), np.array(found[2]))


def _summit(
    outcomes: bytes, shape: _Shape, start: Chain, steps: int, exact: float = 1e-3
) -> tuple[Chain, float]:
    """Maximises the likelihood from a starting point until a step gains less than ``exact``.
    Returns the chain and its log-likelihood."""
    from scipy.optimize import minimize

    from bentpipe import _native

    frames, runs = len(outcomes), _native.FrameRuns(outcomes)

    def lower(numbers: Matrix) -> tuple[float, Matrix]:
        chain = shape.decode(numbers)
        found = _likelihood(runs, chain)
        if found is None:
            return 1e6, np.zeros(len(numbers))
        return -found[0] / frames, -shape.slope(chain, found[1], found[2]) / frames

    begin = shape.encode(start)
    bounds = [(-25.0, 25.0)] * len(begin)
    found = minimize(
        lower,
        np.clip(begin, -25.0, 25.0),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps, "ftol": exact / frames, "gtol": 1e-9},
    )
    return shape.decode(found.x), -frames * float(found.fun)


def _climb(
    observed: _Observed, candidates: Sequence[tuple[_Shape, Chain]]
) -> tuple[Chain, float, int, list[str]]:
    """Returns the best chain by BIC with its likelihood, its number of parameters, and notes."""
    few, some = observed.bytes[:START_FRAMES], observed.bytes[:FIRST_FRAMES]
    by_shape: dict[tuple[bytes, tuple[float | None, ...]], list[tuple[float, _Shape, Chain]]] = {}
    for shape, start in candidates:
        chain, likelihood = _summit(few, shape, start, 60, 0.1)
        by_shape.setdefault((shape.allowed.tobytes(), shape.loss), []).append((likelihood, shape, chain))
    best = []
    first = [max(found, key=lambda one: one[0]) for found in by_shape.values()]
    bic = [shape.parameters * math.log(len(few)) - 2 * likelihood for likelihood, shape, _ in first]
    for lowest, (_, shape, chain) in zip(bic, first, strict=True):
        if lowest > min(bic) + MAX_BIC_EXCESS:
            continue
        chain, likelihood = _summit(some, shape, chain, 200, 0.01)
        if math.isfinite(likelihood):
            best.append((shape.parameters * math.log(len(some)) - 2 * likelihood, shape, chain, likelihood))
    _, shape, chain, likelihood = min(best, key=lambda one: one[0])
    if len(observed.bytes) > len(some):
        chain, likelihood = _summit(observed.bytes, shape, chain, 30)
    chain = _ordered(chain)
    notes = [
        f"state {at + 1} covers {part:.2g} of the frames"
        for at, part in enumerate(chain.stationary)
        if part < 1e-4
    ]
    return chain, likelihood, shape.parameters, notes


def _ordered(chain: Chain) -> Chain:
    """Returns the same chain with its states sorted by loss, then by their fraction of the
    frames."""
    order = np.lexsort((-chain.stationary, np.round(chain.loss, 9)))
    return Chain(chain.transitions[np.ix_(order, order)], chain.loss[order])


def _hidden_starts(observed: _Observed, states: int) -> Iterator[Chain]:
    """Yields chains with losses around that of the trace and with different durations of the
    states."""
    loss = observed.lost / observed.frames
    simple = _bistable(observed).chain
    burst = 1 / max(simple.transitions[1, 0], 1e-9)
    for lasts, contrast in ((20.0, 0.9), (200.0, 0.5), (max(2.0, burst), 0.97)):
        losses = np.linspace(loss * (1 - contrast), min(0.97, max(4 * loss, contrast)), states)
        stay = np.array([1 - 1 / (lasts * (5.0 if at == 0 else 1.0)) for at in range(states)])
        transitions = np.full((states, states), 0.0)
        for at in range(states):
            transitions[at] = (1 - stay[at]) / (states - 1)
            transitions[at, at] = stay[at]
        yield Chain(transitions, losses)


def _visible_starts(observed: _Observed, states: int) -> Iterator[tuple[_Shape, Chain]]:
    """Yields chains with visible states, for each division into states of received and of lost
    frames. States with the same outcome have different durations and do not follow each other."""
    simple = _bistable(observed).chain
    for received in range(1, states):
        loss = np.array([0.0] * received + [1.0] * (states - received))
        same = loss[:, None] == loss[None, :]
        allowed = ~same | np.eye(states, dtype=bool)
        for spread in (4.0, 30.0):
            transitions = np.zeros((states, states))
            for at in range(states):
                group = np.flatnonzero(same[at])
                place = int(np.searchsorted(group, at))
                leaves = simple.transitions[1, 0] if loss[at] else simple.transitions[0, 1]
                # Geometric factors around the mean of the trace.
                leaves = min(0.95, max(1e-7, leaves * spread ** (place - (len(group) - 1) / 2)))
                transitions[at, at] = 1 - leaves
                others = np.flatnonzero(~same[at])
                transitions[at, others] = leaves / len(others)
            yield _Shape(allowed, tuple(loss.tolist())), Chain(transitions, loss)


def _described(process: str, found: _Found, observed: _Observed) -> Fit:
    outcomes, chain = observed.outcomes, found.chain
    mean = float(chain.stationary @ chain.loss)
    # Bursts per frame. A burst begins with a lost frame after a received one.
    begins = float((chain.stationary * (1 - chain.loss)) @ chain.transitions @ chain.loss)
    distances = {}
    for lost, lengths in ((True, outcomes.bursts), (False, outcomes.gaps)):
        values, part = survival(lengths)
        beyond = np.append(part[1:], 0.0)
        some = chosen(len(values), MAX_LENGTHS)
        values, part, beyond = values[some], part[some], beyond[some]
        # The distribution is a step function, so compare at each observed length and just after the
        # previous one.
        ours = chain.run_survival(values, lost=lost)
        after = chain.run_survival(values + 1, lost=lost)
        distances[lost] = float(max(np.abs(ours - part).max(), np.abs(after - beyond).max()))
    difference = chain.autocorrelation(observed.lags) - observed.autocorrelation
    notes = list(found.notes)
    if observed.frames < outcomes.frames:
        notes.append(f"fitted only to the first {observed.frames} frames")
    return Fit(
        process,
        found.error,
        chain,
        found.parameters,
        found.log_likelihood,
        observed.frames,
        mean,
        mean / begins if begins else math.inf,
        (1 - mean) / begins if begins else math.inf,
        distances[True],
        distances[False],
        float(np.sqrt(np.mean(difference**2))),
        notes,
    )


_PROCESSES: Final[dict[str, Callable[[_Observed], _Found]]] = {
    "bernoulli": _bernoulli,
    "bistable": _bistable,
    "gilbert-elliott": _gilbert_elliott,
    "markov-3": lambda observed: _markov(observed, 3),
    "markov-4": lambda observed: _markov(observed, 4),
}
