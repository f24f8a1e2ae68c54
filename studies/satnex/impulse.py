"""The test ``votos-impulse`` of VOTOS, which validates the DAMA module (figure 4): the response of
the throughput to impulses of UDP traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.plots.data import FloatArray, trace_of
from bentpipe.plots.published import legend_entries, mark_curve, mark_value
from bentpipe.plots.style import COLOURS, INK, figure_function, panels
from bentpipe.results.runs import Run
from bentpipe.statistics import mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

from .common import ONE_WAY_S, offsets_s

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Number of start times per impulse, equally spaced over a super-frame.
RUNS: Final = 8
#: First start time.
FIRST_S: Final = 5.0
#: Duration of an impulse.
LENGTH_S: Final = 1.0
#: Rates of the impulses. All are below the capacity of the channel, 2112 kbit/s.
HEIGHTS_KBIT_S: Final = (300, 600, 1200)
#: Numbers of frames per multi-frame: the paper's number, and half of it, which halves the
#: super-frame.
FRAMES: Final = (8, 4)

#: Frames per multi-frame, rate of the impulse in kbit/s, and start time in seconds.
Key = tuple[int, int, float]


def reproduce(statements: Sequence[Statement], out: Path, json: bool) -> Reproduction:
    """Simulates impulses with three rates at eight offsets in the super-frame, with the paper's and
    with half the super-frame. Judges the statements."""
    jobs: dict[Key, Job] = {}
    for frames in FRAMES:
        for height in HEIGHTS_KBIT_S:
            for number, moment in enumerate(offsets_s(RUNS, FIRST_S)):
                changes = (
                    f"network.sat.frames={frames}",
                    f'flow.impulse.app.rate="{height} kbit/s"',
                    f'flow.impulse.start="{moment} s"',
                )
                name = f"impulse-{frames}-{height}-{number}"
                jobs[frames, height, moment] = Job(name, HERE / "votos-impulse.toml", changes)
    with bar("votos-impulse", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    responses = {key: response(runs[job], key[2]) for key, job in jobs.items()}
    heights, lengths, rows = {}, {}, []
    for frames in FRAMES:
        for height in HEIGHTS_KBIT_S:
            of = [value for key, value in responses.items() if key[:2] == (frames, height)]
            heights[frames, height] = mean_of([volume_late_kbit(*one) for one in of])
            lengths[frames, height] = mean_of([length_s(*one) for one in of])
            cells = [heights[frames, height], lengths[frames, height]]
            rows.append([str(frames), str(height), *(one.text(2) for one in cells)])
    ours: dict[str, float | None] = {
        "impulse-height": round(heights[8, 1200].value / heights[8, 300].value, 4),
        "impulse-length-structure": round(lengths[8, 600].value - lengths[4, 600].value, 4),
    }
    table = Table(
        "Impulses of 1 s over Skyplex DATA (figure 4), means over eight offsets with 95 % confidence intervals: by how "
        "much what has arrived is behind what was sent at most, and time from its end until all is there",
        ["L", "kbit/s", "deficit kbit", "length s"],
        rows,
    )
    figure = draw(responses, statements)
    return Reproduction(judge(statements, ours), figures={"figure-04-impulses": figure}, tables=[table])


def response(run: Run, start_s: float) -> tuple[FloatArray, FloatArray]:
    """Returns times in seconds and the total payload received by then in kbit. Time 0 is the
    arrival time of the impulse without demand assignment."""
    time, received = trace_of(run, "datagram.received")["impulse"]
    return time - start_s - ONE_WAY_S, received * 8 / 1e3


def volume_late_kbit(time_s: FloatArray, received_kbit: FloatArray) -> float:
    """Returns the height of the transient: the maximum volume that was sent and has not arrived,
    after the propagation delay."""
    rate = received_kbit[-1] / LENGTH_S
    sent = np.clip(time_s, 0, LENGTH_S) * rate
    before = np.concatenate(([0.0], received_kbit[:-1]))
    return float((sent - before).max())


def length_s(time_s: FloatArray, received_kbit: FloatArray) -> float:
    """Returns the length of the transient: the time from the end of the impulse, after the
    propagation delay, to the arrival of the last packet."""
    del received_kbit
    return float(time_s[-1]) - LENGTH_S


@figure_function
def draw(responses: Mapping[Key, tuple[FloatArray, FloatArray]], statements: Sequence[Statement]) -> Figure:
    """Draws figure 4: throughput over intervals of :data:`STEP_S`, as mean and range of eight
    offsets, for each rate of the impulse. Dotted line: mean with half the super-frame. Marks: the
    response that is proportional to the lowest impulse, and the end of the longer transient."""
    figure, axes = panels([2.1] * len(HEIGHTS_KBIT_S))
    edges = np.arange(0, 5.01, STEP_S)
    paper = {statement.id: statement for statement in statements}
    rates = {
        key: np.array([_rates(*one, edges) for of, one in responses.items() if of[:2] == key])
        for key in dict.fromkeys(of[:2] for of in responses)
    }
    for below, height, colour in zip(axes, HEIGHTS_KBIT_S, COLOURS, strict=False):
        values = rates[FRAMES[0], height]
        minimum, maximum = values.min(axis=0), values.max(axis=0)
        label = f"range of {len(values)} offsets"
        below.fill_between(
            edges[:-1], minimum, maximum, step="post", color=colour, alpha=0.2, linewidth=0, label=label
        )
        below.step(edges[:-1], values.mean(axis=0), where="post", color=colour, label="mean")
        half = rates[FRAMES[1], height].mean(axis=0)
        below.step(
            edges[:-1], half, where="post", color=colour, linestyle=":", label="mean, half the super-frame"
        )
        below.plot([0, 0, LENGTH_S, LENGTH_S], [0, height, height, 0], color=INK, linewidth=0.9, label="sent")
        if (length := paper.get("impulse-length-structure")) is not None:
            shorter = [length_s(*one) for of, one in responses.items() if of[:2] == (FRAMES[1], height)]
            mark_value(below, length, 0.0, along="x", base=LENGTH_S + float(np.mean(shorter)), colour=colour)
        lowest, highest = HEIGHTS_KBIT_S[0], HEIGHTS_KBIT_S[-1]
        if height == highest and (proportional := paper.get("impulse-height")) is not None:
            mark_curve(
                below,
                proportional,
                edges[:-1] + STEP_S / 2,
                rates[FRAMES[0], lowest].mean(axis=0),
                colour=INK,
            )
        below.set_title(f"Impulse of {height} kbit/s for 1 s")
        below.set_ylabel("received (kbit/s)")
        below.set_xlim(0, 5)
        below.set_ylim(0, None)
    figure.legend(handles=legend_entries(axes[0]), loc="outside lower center", ncols=3)
    axes[-1].set_xlabel("time since the impulse would arrive without any wait (s)")
    return figure


#: Length of the intervals over which the throughput is averaged.
STEP_S: Final = 0.2


def _rates(time_s: FloatArray, received_kbit: FloatArray, edges_s: FloatArray) -> FloatArray:
    """Returns the throughput in kbit/s in each interval between the edges."""
    before = np.concatenate(([0.0], received_kbit))[np.searchsorted(time_s, edges_s, side="right")]
    rates: FloatArray = np.diff(before) / STEP_S
    return rates
