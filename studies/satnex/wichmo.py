"""The test ``wichmo``: Wi-Fi frame errors behind a satellite.

- Figure 10: lengths of error bursts and gaps.
- Figure 11: goodput of a TCP connection with traces of frames, and with error processes that are
  fitted to the traces.
- Figure 13: error bursts under rate adaptation, over the channel of figure 12."""

from __future__ import annotations

import json as json_format
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from bentpipe import frames
from bentpipe.campaign.jobs import Job, run_all
from bentpipe.errors import InputError
from bentpipe.frames.outcomes import survival
from bentpipe.plots.data import trace_of
from bentpipe.plots.published import mark_curve, mark_value, mark_words
from bentpipe.plots.style import COLOURS, INK, figure_function, line
from bentpipe.statistics import mean_of
from bentpipe.studies import Reproduction, Statement, Table, bar, judge

from .states import STATES, draw_states

if TYPE_CHECKING:
    from bentpipe.frames import Outcomes
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).parent

#: Number of frames of a trace, which has a duration of 2000 s.
FRAMES: Final = 400_000
#: Interval between frames of a trace.
INTERVAL_S: Final = 0.005
#: Size of a frame of a trace.
FRAME_BYTES: Final = 1000
#: Time between a frame and its acknowledgment (IEEE 802.11b).
SIFS_MS: Final = 0.01
#: Duration of the run that measures the time of a frame on the air.
FRAME_S: Final = 60
#: Default number of runs of each point.
REPLICATIONS: Final = 10
#: Duration of a run.
DURATION_S: Final = 2000

#: The note on traces that are drawn from a model.
DECLARED: Final = (
    "The traces are not measured: no public 802.11 trace of this kind is at hand. They are drawn from a declared "
    "physical model; --traces FOLDER puts your own in their place."
)

#: Mean signal-to-noise ratio at each position. The values were chosen before the first run.
POSITIONS_DB: Final = (30, 26, 23, 20, 17, 15, 13)

#: Error processes of figure 11, by the paper's letters.
PROCESSES: Final[Mapping[str, str]] = {
    "a": "Bernoulli, FER",
    "b": "Bernoulli, burst",
    "c": "Bernoulli, gap",
    "d": "bistable",
    "e": "trace",
}

#: Values of the key ``adaptation`` in figure 13, by rate adaptation.
ADAPTATIONS: Final = {
    "none": '{ kind = "fixed", rate = "11 Mbit/s" }',
    "ARF": '"arf"',
    "LD-ARF": '"ld-arf"',
}

#: Overrides for experiments that the paper does not have: congestion controls, and a proxy at the
#: ship that splits the connection.
BEYOND: Final[Mapping[str, tuple[str, ...]]] = {
    **{
        name: (f'flow.download.transport={{ congestion = "{name}", profile = "linux" }}',)
        for name in ("reno", "cubic", "bbr", "hybla", "westwood")
    },
    "cubic, split at the ship": (
        'flow.download.transport={ congestion = "cubic", profile = "linux" }',
        'proxy=[{ name = "pep", node = "ship", mechanism = { kind = "split", buffer = "1 MB" } }]',
    ),
}


@dataclass(frozen=True)
class Position:
    """A position of the receiver, with the trace that was recorded there."""

    name: str
    trace: Outcomes

    def error(self, letter: str) -> dict[str, Any]:
        """Returns the error process with this letter in figure 11, fitted to the trace."""
        trace = self.trace
        burst, gap = trace.mean_burst, trace.mean_gap
        match letter:
            case "a":
                return {"kind": "packet", "probability": trace.loss}
            case "b":
                # With independent losses of probability p, the mean burst is 1 / (1 - p) frames.
                return {"kind": "packet", "probability": 1 - 1 / burst}
            case "c":
                # With independent losses of probability p, the mean gap is 1 / p frames.
                return {"kind": "packet", "probability": 1 / gap}
            case "d":
                return {"kind": "gilbert", "probability": burst / (burst + gap), "burst": burst}
            case _:
                return {"kind": "trace", "outcomes": as_text(trace)}


def as_text(trace: Outcomes) -> str:
    """Returns the bursts and gaps of a trace as the text of a CSV file."""
    lost = (np.arange(len(trace.lengths)) + int(trace.lost_first)) % 2
    rows = (f"{one},{length}" for one, length in zip(lost.tolist(), trace.lengths.tolist(), strict=True))
    return "\n".join(["lost,frames", *rows])


def model(snr_db: float) -> dict[str, Any]:
    """Returns the model of the channel from which traces are drawn: no line of sight, and shadowing
    by people who walk slowly."""
    return {
        "kind": "snr",
        "snr_db": snr_db,
        "fading": "rayleigh",
        "speed": "0.5 m/s",
        "shadowing": {"deviation_db": 4, "distance": "3 m"},
        "mode": "cck-11",
    }


def positions(traces: Path | None) -> list[Position]:
    """Returns the positions with the traces of a folder or, if ``traces`` is ``None``, with traces
    drawn from the model."""
    if traces is None:
        return [
            Position(
                f"{snr_db} dB",
                frames.draw(
                    model(snr_db), FRAMES, interval_s=INTERVAL_S, frame_bytes=FRAME_BYTES, seed=number
                ),
            )
            for number, snr_db in enumerate(POSITIONS_DB, 1)
        ]
    files = sorted(file for file in traces.glob("*") if file.suffix in (".csv", ".parquet"))
    if len(files) < 3:
        raise InputError(f"{traces} has {len(files)} traces; allowed: at least 3 files .csv or .parquet")
    return [Position(file.stem, frames.read(file)) for file in files]


def inline(error: Mapping[str, Any]) -> str:
    """Returns an error process as TOML."""
    return "{ " + ", ".join(f"{key} = {_toml(value)}" for key, value in error.items()) + " }"


def _toml(value: Any) -> str:
    return inline(value) if isinstance(value, dict) else json_format.dumps(value)


def goodputs(
    receivers: Sequence[Position], out: Path, json: bool, replications: int, duration_s: int
) -> dict[tuple[int, str], list[float]]:
    """Runs every position with every error process. Returns the goodputs of the replications in
    bit/s, by the index of the position and the letter of the process."""
    jobs = {
        (index, letter, seed): Job(
            f"wichmo-{index}-{letter}-{seed}",
            HERE / "wichmo.toml",
            (f'duration="{duration_s} s"', f"network.wlan.error={inline(position.error(letter))}"),
            seed,
        )
        for index, position in enumerate(receivers)
        for letter in PROCESSES
        for seed in range(1, replications + 1)
    }
    with bar("figure 11", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    found: dict[tuple[int, str], list[float]] = {}
    for (index, letter, _), job in jobs.items():
        found.setdefault((index, letter), []).append(float(runs[job].flows["goodput"][0]))
    return found


def convexity(fer: Sequence[float], goodput: Sequence[float]) -> float:
    """Returns the mean height of the inner points above the chord between the first and the last
    point, relative to the maximum goodput. It is negative for a convex curve."""
    order = np.argsort(fer)
    x, y = np.array(fer)[order], np.array(goodput)[order]
    chord = np.interp(x, [x[0], x[-1]], [y[0], y[-1]])
    return float(np.mean((y - chord)[1:-1]) / y.max())


def adaptations(out: Path, json: bool, duration_s: int) -> dict[str, tuple[Outcomes, float]]:
    """Runs each rate adaptation and returns the outcomes of frames on the air, and the goodput in
    bit/s."""
    jobs = {
        name: Job(
            f"wichmo-{name.lower()}",
            HERE / "wichmo.toml",
            (
                f'duration="{duration_s} s"',
                f"network.wlan.adaptation={adaptation}",
                f"network.wlan.error={inline(STATES)}",
                'record.traces=["wifi"]',
            ),
        )
        for name, adaptation in ADAPTATIONS.items()
    }
    with bar("figure 13", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    found = {}
    for name, job in jobs.items():
        acknowledged = trace_of(runs[job], "wifi.acknowledged")
        _, values = acknowledged["wlan.ship"]
        found[name] = (
            frames.Outcomes.of((values == 0).astype(np.uint8)),
            float(runs[job].flows["goodput"][0]),
        )
    return found


def frame_ms(out: Path, json: bool) -> float:
    """Measures the mean time on the air of a frame of 1000 bytes at 11 Mbit/s and its
    acknowledgment. Returns it in milliseconds."""
    rate, datagram = round(FRAME_BYTES * 8 / INTERVAL_S), FRAME_BYTES - 28
    job = Job(
        "wichmo-frame",
        HERE / "wichmo.toml",
        (
            f'duration="{FRAME_S} s"',
            'network.wlan.error="none"',
            "flow.download.transport=udp",
            f'flow.download.app={{kind="cbr",rate="{rate} bit/s",datagram="{datagram} B"}}',
        ),
    )
    with bar("a frame", shown=not json) as progress:
        run = run_all([job], out / "runs", progress)[job]
    stations = run.table("wifi").to_dicts()
    sent_s = FRAME_S * sum(station["airtime"] for station in stations)
    return float(1e3 * sent_s / sum(station["frames"] for station in stations)) + SIFS_MS


def errorless(out: Path, json: bool, replications: int, duration_s: int) -> float:
    """Returns the goodput over the satellite with its frame errors, divided by the goodput without
    them. The wireless LAN has no errors in either."""
    jobs = {
        (errors, seed): Job(
            f"wichmo-satellite-{number}-{seed}",
            HERE / "wichmo.toml",
            (f'duration="{duration_s} s"', 'network.wlan.error="none"', *errors),
            seed,
        )
        for number, errors in enumerate(((), ('link.satellite.error="none"',)))
        for seed in range(1, replications + 1)
    }
    with bar("errors of the satellite", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    goodput: dict[tuple[str, ...], list[float]] = {}
    for (errors, _), job in jobs.items():
        goodput.setdefault(errors, []).append(float(runs[job].flows["goodput"][0]))
    lossy, clean = (float(np.mean(of)) for of in goodput.values())
    return lossy / clean


def beyond(position: Position, out: Path, json: bool, replications: int, duration_s: int) -> Table:
    """Runs :data:`BEYOND` over the trace of a position and returns the table of goodputs."""
    jobs = {
        (name, seed): Job(
            f"wichmo-beyond-{number}-{seed}",
            HERE / "wichmo.toml",
            (
                f'duration="{duration_s} s"',
                f"network.wlan.error={inline(position.error('e'))}",
                *changes,
            ),
            seed,
        )
        for number, (name, changes) in enumerate(BEYOND.items())
        for seed in range(1, replications + 1)
    }
    with bar("beyond the paper", shown=not json) as progress:
        runs = run_all(list(jobs.values()), out / "runs", progress)
    rows = []
    for name in BEYOND:
        of = [runs[job] for (other, _), job in jobs.items() if other == name]
        rates = [float(run.flows["goodput"][0]) / 1e6 for run in of]
        rows.append([name, mean_of(rates).text(3), f"{min(rates):.3f}", f"{max(rates):.3f}"])
    title = f"Beyond the paper: goodput in Mbit/s over the trace of {position.name}, Linux's TCP"
    return Table(title, ["congestion control", "mean", "min", "max"], rows)


def reproduce(
    statements: Sequence[Statement],
    out: Path,
    json: bool,
    replications: int | None = None,
    traces: Path | None = None,
) -> Reproduction:
    """Reads the traces of a folder or draws traces from the model, simulates all figures, and
    judges the statements."""
    count, duration_s = replications or REPLICATIONS, DURATION_S
    receivers = positions(traces)
    found = goodputs(receivers, out, json, count, duration_s)
    fer = [receiver.trace.loss for receiver in receivers]
    means = {
        letter: [float(np.mean(found[index, letter])) for index in range(len(receivers))]
        for letter in PROCESSES
    }
    errors = {
        letter: float(np.mean([abs(ours / true - 1) for ours, true in zip(of, means["e"], strict=True)]))
        for letter, of in means.items()
        if letter != "e"
    }
    ranks = {letter: rank for rank, letter in enumerate(sorted(errors, key=errors.__getitem__), 1)}
    adapted = adaptations(out, json, duration_s)
    gaps = {name: outcomes.mean_gap for name, (outcomes, _) in adapted.items()}
    ours: dict[str, float | None] = {
        "wichmo-bursts": min(receiver.trace.mean_burst * (1 - receiver.trace.loss) for receiver in receivers),
        "wichmo-gaps": min(receiver.trace.mean_gap * receiver.trace.loss for receiver in receivers),
        "wichmo-gap-fer": max(1 / (receiver.trace.mean_gap * receiver.trace.loss) for receiver in receivers),
        "wichmo-best": float(ranks["d"]),
        "wichmo-values-a": errors["a"] / errors["d"],
        "wichmo-values-b": errors["b"] / errors["d"],
        "wichmo-farthest": float(ranks["c"]),
        "wichmo-convex-a": convexity(fer, means["a"]),
        "wichmo-convex-b": convexity(fer, means["b"]),
        "wichmo-convex-e": convexity(fer, means["e"]),
        "wichmo-arf": gaps["ARF"] / gaps["none"],
        "wichmo-ld-arf": gaps["LD-ARF"] / gaps["ARF"],
        "wichmo-throughput": min(adapted[name][1] for name in ("ARF", "LD-ARF")) / adapted["none"][1],
        "wichmo-errorless": errorless(out, json, count, duration_s),
        "wichmo-frame": frame_ms(out, json),
    }
    figures = {
        "figure-10-lengths": draw_lengths(receivers, statements),
        "figure-11-goodput": draw_goodput(fer, found, statements),
        "figure-12-states": draw_states(),
        "figure-13-adaptation": draw_adaptations(
            {name: outcomes for name, (outcomes, _) in adapted.items()}, statements
        ),
    }
    middle = min(range(len(receivers)), key=lambda index: abs(fer[index] - 0.05))
    first = DECLARED if traces is None else f"The traces are those in {traces}."
    tables = [
        Table(
            f"{first}\nTraces: frame error rate, burst and gap (frames), and those of independent losses",
            ["position", "FER", "burst", "Bernoulli", "gap", "Bernoulli"],
            [
                [
                    receiver.name,
                    f"{receiver.trace.loss:.4f}",
                    f"{receiver.trace.mean_burst:.2f}",
                    f"{1 / (1 - receiver.trace.loss):.2f}",
                    f"{receiver.trace.mean_gap:.1f}",
                    f"{1 / receiver.trace.loss:.1f}",
                ]
                for receiver in receivers
            ],
        ),
        Table(
            f"Goodput in Mbit/s of {count} runs of {duration_s} s",
            ["position", "process", "mean", "min", "max"],
            [
                [
                    receiver.name,
                    f"({letter}) {name}",
                    *(f"{of / 1e6:.3f}" for of in (np.mean(all_of), min(all_of), max(all_of))),
                ]
                for number, receiver in enumerate(receivers)
                for letter, name in PROCESSES.items()
                for all_of in [found[number, letter]]
            ],
        ),
        Table(
            "Mean relative difference of goodput from (e)",
            ["process", "difference"],
            [[f"({letter}) {PROCESSES[letter]}", f"{error:.3f}"] for letter, error in errors.items()],
        ),
        Table(
            "Frames on the air under rate adaptation",
            ["adaptation", "lost", "burst", "gap", "goodput Mbit/s"],
            [
                [
                    name,
                    f"{outcomes.loss:.4f}",
                    f"{outcomes.mean_burst:.2f}",
                    f"{outcomes.mean_gap:.1f}",
                    f"{goodput / 1e6:.3f}",
                ]
                for name, (outcomes, goodput) in adapted.items()
            ],
        ),
        beyond(receivers[middle], out, json, count, duration_s),
    ]
    return Reproduction(judge(statements, ours), figures=figures, notes=[first], tables=tables)


@figure_function
def draw_lengths(receivers: Sequence[Position], statements: Sequence[Statement]) -> Figure:
    """Draws figure 10: mean lengths of bursts and gaps against the frame error rate. Dashed lines:
    independent losses, and the factor above them that the paper states."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    fer = np.array([receiver.trace.loss for receiver in receivers])
    grid = np.geomspace(fer.min() / 1.3, min(0.9, fer.max() * 1.3), 100)
    paper = {statement.id: statement for statement in statements}
    for axes, values, curve, label, statement in zip(
        figure.subplots(1, 2),
        (
            [receiver.trace.mean_burst for receiver in receivers],
            [receiver.trace.mean_gap for receiver in receivers],
        ),
        (1 / (1 - grid), 1 / grid),
        ("mean burst (frames)", "mean gap (frames)"),
        ("wichmo-bursts", "wichmo-gaps"),
        strict=True,
    ):
        axes.loglog(fer, values, "o", color=COLOURS[0], label="traces")
        axes.loglog(grid, curve, color=INK, linestyle=":", label="independent losses")
        if statement in paper:
            mark_curve(axes, paper[statement], grid, curve)
        axes.set_xlabel("frame error rate")
        axes.set_ylabel(label)
    figure.axes[0].legend()
    return figure


@figure_function
def draw_goodput(
    fer: Sequence[float], found: Mapping[tuple[int, str], list[float]], statements: Sequence[Statement]
) -> Figure:
    """Draws figure 11: goodput against the frame error rate of the trace, as mean, minimum and
    maximum."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    order = np.argsort(fer)
    paper = {statement.id for statement in statements}
    for number, (letter, name) in enumerate(PROCESSES.items()):
        of = [np.array(found[int(index), letter]) / 1e6 for index in order]
        mean = np.array([one.mean() for one in of])
        spread = [mean - [one.min() for one in of], [one.max() for one in of] - mean]
        style = {"color": INK, "linewidth": 1.8} if letter == "e" else line(number)
        # Markers and dashes distinguish overlapping curves; bars are drawn next to each other.
        style |= {
            "marker": "osD^v"[number],
            "markersize": 4,
            "linestyle": (0, (4, 4)) if letter == "c" else "-",
        }
        shifted_fer = np.array(fer)[order] * 1.02 ** (number - 2)
        axes.errorbar(shifted_fer, mean, spread, capsize=2, label=f"({letter}) {name}", **style)
    axes.set_xscale("log")
    axes.set_xlabel("frame error rate of the trace")
    axes.set_ylabel("goodput (Mbit/s)")
    axes.set_ylim(0, None)
    for height, (words, ids) in zip(
        (0.84, 0.76, 0.68),
        {
            "(a) not convex; (b) and (e) convex": [f"wichmo-convex-{letter}" for letter in "abe"],
            "(d) nearest to (e)": ["wichmo-best"],
            "(c) farthest from (e)": ["wichmo-farthest"],
        }.items(),
        strict=True,
    ):
        if paper >= set(ids):
            between = (math.sqrt(min(fer) * max(fer)), max(fer))
            mark_words(axes, between, words, height=height)
    axes.legend()
    return figure


@figure_function
def draw_adaptations(adapted: Mapping[str, Outcomes], statements: Sequence[Statement]) -> Figure:
    """Draws figure 13: the distributions of error bursts and of success bursts on the air. Each
    column has one rate adaptation; thin lines in grey are those without adaptation. Vertical lines:
    means. Marks: the means of success bursts by the paper."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    paper = {statement.id: statement for statement in statements}
    fixed, *others = adapted
    rows = figure.subplots(2, len(others), sharex="row", sharey="row")
    for column, name in enumerate(others):
        # The paper compares ARF with no adaptation, and LD-ARF with ARF.
        before = others[column - 1] if column else fixed
        for axes, quantity in zip(rows[:, column], ("bursts", "gaps"), strict=True):
            styles: dict[str, dict[str, Any]] = {
                fixed: {"color": INK, "linewidth": 0.8, "alpha": 0.6},
                name: {"color": COLOURS[column], "linewidth": 1.4},
            }
            for of, style in styles.items():
                lengths = getattr(adapted[of], quantity)
                values, part = survival(lengths)
                label = f"{'fixed rate' if of == fixed else of}: mean {np.mean(lengths):.3g}"
                axes.loglog(values, part, label=label, **style)
                axes.axvline(float(np.mean(lengths)), linestyle=":", **style)
        statement = paper.get(f"wichmo-{name.lower()}")
        if statement is not None:
            mean = adapted[before].mean_gap
            mark_value(rows[1, column], statement, 0.3, along="x", scale=mean, colour=COLOURS[column])
        rows[0, column].set_title(name)
        rows[0, column].set_xlabel("error burst (frames)")
        rows[1, column].set_xlabel("success burst (frames)")
    for row in rows:
        row[0].set_ylabel("part at least as long")
    for row, location in zip(rows, ("upper right", "lower left"), strict=True):
        for axes in row:
            axes.legend(loc=location, handlelength=1.5, frameon=True, edgecolor="none", framealpha=0.8)
    return figure
