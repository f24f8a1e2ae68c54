"""The channel for WICHMO's rate adaptation (figure 12): a Markov chain over three states of the
received signal. Each state has a frame loss probability for each rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from bentpipe.plots.style import COLOURS, INK, figure_function

if TYPE_CHECKING:
    from bentpipe.plots.data import FloatArray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The channel as an error process of a scenario. The first state has the strongest signal.
STATES: Final[dict[str, Any]] = {
    "kind": "snr-states",
    "step": "5 ms",
    "rates": ["1 Mbit/s", "2 Mbit/s", "5.5 Mbit/s", "11 Mbit/s"],
    "loss": [[0.0, 0.0, 0.001, 0.002], [0.001, 0.002, 0.02, 0.1], [0.01, 0.05, 0.4, 0.85]],
    "transitions": [[0.995, 0.005, 0.0], [0.005, 0.99, 0.005], [0.0, 0.02, 0.98]],
}
#: Interval between steps of the chain.
STEP_S: Final = 0.005
#: The paper's names of the states.
NAMES: Final = ("I", "II", "III")
#: The paper's ranges of the received signal, by state.
SIGNALS: Final = ("above -30 dBm", "-60 to -30 dBm", "below -60 dBm")


def shares(transitions: FloatArray) -> FloatArray:
    """Returns the fraction of time in each state, from the matrix of transition probabilities."""
    count = len(transitions)
    equations = np.vstack([transitions.T - np.eye(count), np.ones(count)])
    fractions, *_ = np.linalg.lstsq(equations, np.append(np.zeros(count), 1.0), rcond=None)
    return np.asarray(fractions)


def stays_s(transitions: FloatArray) -> FloatArray:
    """Returns the mean duration of a stay in each state in seconds, from the matrix of transition
    probabilities."""
    return np.asarray(STEP_S / (1 - np.diag(transitions)))


@figure_function
def draw_states() -> Figure:
    """Draws the chain with its transition probabilities, and the frame loss probability by state
    and rate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    _draw_chain(left, np.array(STATES["transitions"]))
    width = 0.25
    for number, (name, loss) in enumerate(zip(NAMES, STATES["loss"], strict=True)):
        positions = np.arange(len(loss)) + (number - 1) * width
        bars = right.bar(positions, loss, width, color=COLOURS[number], label=f"state {name}")
        right.bar_label(bars, [f"{one:g}" for one in loss], fontsize=6, rotation=90, padding=2)
    right.set_xticks(range(len(STATES["rates"])), [rate.removesuffix(" Mbit/s") for rate in STATES["rates"]])
    right.set_xlabel("rate of the frame (Mbit/s)")
    right.set_ylabel("probability that a frame is lost")
    right.set_ylim(0, 1)
    right.legend()
    return figure


def _draw_chain(axes: Axes, transitions: FloatArray) -> None:
    time, stay = shares(transitions), stays_s(transitions)
    for number, (name, signal) in enumerate(zip(NAMES, SIGNALS, strict=True)):
        axes.plot(number, 0, "o", markersize=44, color=COLOURS[number], alpha=0.25)
        axes.text(number, 0, name, ha="center", va="center", fontsize=13)
        about = f"{signal}\n{100 * time[number]:.0f} % of the time\n{stay[number]:g} s at a time"
        axes.text(number, -0.62, about, ha="center", va="top", fontsize=7)
    for begin, end in ((0, 1), (1, 0), (1, 2), (2, 1)):
        side = 1 if end > begin else -1
        axes.annotate(
            "",
            (end - 0.2 * side, 0.2 * side),
            (begin + 0.2 * side, 0.2 * side),
            arrowprops={"arrowstyle": "->", "connectionstyle": "arc3,rad=-0.3", "color": INK},
        )
        middle = (begin + end) / 2, 0.4 * side
        axes.text(*middle, f"{transitions[begin, end]:g}", ha="center", va="center", fontsize=8)
    axes.set(xlim=(-0.6, 2.6), ylim=(-1.25, 0.75))
    axes.set_axis_off()
    axes.set_title("States, with probabilities for each 5 ms")
