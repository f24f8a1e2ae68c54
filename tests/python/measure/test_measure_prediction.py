"""Models fitted to two loads of an emulated path predict other loads: another congestion control,
pages, a call.

The errors are compared with the difference of a second measurement. The quick test covers one path,
by simulation. With `-m slow`, it covers several, by simulation and by emulation.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bentpipe as bp
import numpy as np
import pytest
from bentpipe import plots
from bentpipe.cli import app
from bentpipe.measure import predicting
from bentpipe.measure.bulk import controls
from bentpipe.quantities import base_value
from bentpipe.results.runs import Run, open_run
from helpers.measuring import LINK, RECEIVE_MEMORY, measure_path, path
from rigs.networks import Bentpipe, networks
from typer.testing import CliRunner

SCENARIO = (
    LINK
    + """
rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue = {{ kind = "{queue}", bytes = "{queue_bytes} B" }}
error = {{ kind = "packet", probability = {loss} }}
[link.return]
rate = "{down} Mbit/s"
delay = "{delay} ms"
queue = {{ kind = "drop-tail", bytes = "{queue_bytes} B" }}
"""
)

#: The two loads of the fit. The bursts show both queues.
FIT = """
duration = "4 s"
rate = 40
train = 0
[[load]]
kind = "tcp"
congestion = "cubic"
duration = "{seconds} s"
pause = "1 s"
[[load]]
kind = "burst"
packets = {packets}
pause = "{pause} s"
[[load]]
kind = "burst"
direction = "down"
packets = {packets}
pause = "{pause} s"
"""

HELD_OUT = """
duration = "4 s"
rate = 20
train = 0
[[load]]
kind = "tcp"
congestion = "{other}"
duration = "{seconds} s"
pause = "1 s"
[[load]]
kind = "page"
congestion = "cubic"
pages = {pages}
pause = "1 s"
[[load]]
kind = "call"
duration = "{call} s"
pause = "0 s"
"""


@dataclass(frozen=True)
class Sketch:
    """A path, and the congestion control that is predicted for it."""

    rate: float
    down: float
    delay: float
    queue: str
    queue_bytes: int
    loss: float
    other: str


#: Terrestrial, LEO, and two GEO paths; one with random losses, one whose queue drops at its front.
PATHS = (
    Sketch(8, 16, 12, "drop-tail", 60_000, 0.0, "reno"),
    Sketch(12, 40, 35, "drop-front", 120_000, 0.0, "bbr"),
    Sketch(6, 12, 260, "drop-tail", 120_000, 0.0, "bbr"),
    Sketch(3, 10, 250, "drop-tail", 80_000, 0.01, "bbr"),
    Sketch(4, 20, 255, "drop-tail", 300_000, 0.0, "reno"),
)


def measured(
    bentpipe: Bentpipe, folder: Path, one: Sketch, seconds: int, call: int, pages: int = 3, times: int = 2
) -> list[Run]:
    """Returns measurements of a path: one for the fit, and `times` of the predicted loads. Its
    hosts have Linux's default receive memory, as hosts of real paths have."""
    wanted = one.other if one.other in controls() else "reno"
    packets = 2 * one.queue_bytes // 1400 + 100
    pause = round(1.5 + 8 * one.queue_bytes / (1e6 * one.rate), 1)
    fit = FIT.format(seconds=seconds, packets=packets, pause=pause)
    held_out = HELD_OUT.format(seconds=seconds, other=wanted, call=call, pages=pages)
    found = []
    again = ["repeated", *(f"repeated-{number}" for number in range(2, times))]
    with path(bentpipe, folder, SCENARIO.format(**vars(one)), receive_memory=RECEIVE_MEMORY):
        # Further measurements have probes at other times and loads in another order, like those of
        # another day.
        plans = [
            ("fit", fit, 3),
            *((name, held_out, 3 + turn) for turn, name in enumerate(["held-out", *again])),
        ]
        for name, plan, seed in plans:
            measure_path(bentpipe, folder, plan, "--seed", seed)
            (folder / "run").rename(folder / name)
            found.append(open_run(folder / name))
    bentpipe("net", "down", "--all")
    return found


def sizes_of(text: str) -> dict[tuple[str, str], float]:
    """Returns each error in per cent, from the lines of a fit that compares a prediction with two
    measurements. The smaller error counts: other load on the machine may change one measurement,
    and a wrong prediction differs from both."""
    line = re.compile(r"#   (\S+): (.+) measured .* \(([-+.\d]+) %; measured again ([-+.\d]+) %\)")
    found = {}
    for flow, quantity, *values in line.findall(text):
        error, noise = (float(value) / 100 for value in values)
        found[flow, quantity] = 100 * min(abs(error), abs((1 + error) / (1 + noise) - 1))
    return found


@pytest.mark.quiet
@networks
def test_loads_that_were_not_used_in_the_fit_are_predicted(bentpipe: Bentpipe, tmp_path: Path) -> None:
    _, other, again = measured(bentpipe, tmp_path, PATHS[0], seconds=3, call=2, pages=10)
    out = tmp_path / "fitted.toml"
    words = ["fit", tmp_path / "fit", "--model", "fitted", "--out", out]
    words += ["--predict", other.path, "--predict", again.path]
    answer = CliRunner().invoke(app, list(map(str, words)))
    assert answer.exit_code == 0, answer.output
    text = out.read_text()
    assert "# Loads of held-out (not used in the fit), predicted by simulation:" in text
    # Both hosts let their receive windows grow from 64 KiB, and so do those of the scenario.
    transports = [flow["transport"] for flow in bp.load(out).data["flow"]]
    starts = [base_value(one["receive_window_start"]) for one in transports if one["kind"] == "tcp"]
    assert starts == [64 << 10]
    assert "; measured again " in text and "# Errors of the prediction: median " in text
    sizes = sizes_of(text.partition("# Loads of")[2])
    assert sizes["tcp-up-reno-1", "goodput"] <= 5 and sizes["call-1", "delay p50"] <= 5
    assert float(np.median(list(sizes.values()))) <= 5
    # One figure contains all four instruments: measurement, simulation, and the predictions of the
    # equations for both.
    simulated, *others = predicting.predicted(
        predicting.scenario(open_run(tmp_path / "fit"), other)[0], tmp_path / "again"
    )
    assert len(others) == predicting.RUNS - 1
    # A page takes a dozen turns of both hosts, so a busy machine makes it slower by a third and
    # more, never faster. The prediction is no slower than the usual page, and no faster than the
    # fastest one.
    page, what = "page-cubic-1", "completion time"
    assert (page, what) in sizes
    of_runs = (float(predicting.quantities(run)[page, what]) for run in (simulated, *others))
    usual = min(predicting.quantities(run)[page, what] for run in (other, again))
    fastest = min(run.trace("transaction", page)["took"].to_numpy().min() for run in (other, again))
    assert 0.85 * fastest <= np.median(list(of_runs)) <= 1.15 * usual
    figure = plots.flow({"measured": other, "simulated": simulated}, "tcp-up-reno-1")
    titles = ["Throughput", "Round-trip time", "Congestion window"]
    assert [axes.get_title(loc="left") for axes in figure.axes] == titles
    for axes in figure.axes:
        solid = [line for line in axes.lines if line.get_linestyle() == "-"]
        assert [line.get_label() for line in solid] == ["measured", "simulated"]
        assert len([line for line in axes.lines if line.get_linestyle() == "--"]) == 2
        assert all(np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any() for line in axes.lines)
    # Throughput is the data that has arrived, in traces of both.
    for run in (other, simulated):
        flows = {row["flow"]: row["delivered_bytes"] for row in run.flows.to_dicts()}
        assert run.trace("delivery", "tcp-up-reno-1")["delivered"].max() == flows["tcp-up-reno-1"]
        assert run.trace("datagram", "call-1")["received"].max() == flows["call-1"]
    words_of = ["compare", str(other.path), str(simulated.path), "--flow", "call-1", "--out", str(tmp_path)]
    answer = CliRunner().invoke(app, words_of)
    assert answer.exit_code == 0 and (tmp_path / "flow-call-1.png").stat().st_size > 10_000, answer.output
    answer = CliRunner().invoke(app, [*words_of[:4], "call-2", *words_of[5:]])
    assert answer.exit_code == 2 and "call-1" in answer.stderr
    # An unpredictable load is refused with the allowed ones.
    for extra in (["--model", "replay"], ["--predict", str(out)]):
        answer = CliRunner().invoke(app, [*map(str, words), *extra])
        assert answer.exit_code == 2, answer.output


#: Number of measurements of the predicted loads, and of resamples that give the interval of a
#: difference of medians.
MEASURED = 3
REDRAWN = 2000


def excess(found: Sequence[tuple[str, predicting.Error]]) -> tuple[float, float, float]:
    """Returns the excess of a prediction's median error over that of a further measurement, and its
    90 % interval. Loads, identified by their names, are resampled with replacement (B. Efron,
    "Bootstrap methods", Annals of Statistics 1979), because the quantities of one load depend on
    each other."""
    names = sorted({name for name, _ in found})
    own = {
        name: (
            [abs(one.relative) for other, one in found if other == name],
            [abs(noise) for other, one in found if other == name for noise in one.noise],
        )
        for name in names
    }

    def of(drawn: Iterable[str]) -> float:
        predicted, again = (np.concatenate([own[name][side] for name in drawn]) for side in (0, 1))
        return float(np.median(predicted) - np.median(again))

    source = np.random.default_rng(1)
    low, high = np.quantile([of(source.choice(names, len(names))) for _ in range(REDRAWN)], (0.05, 0.95))
    return of(names), float(low), float(high)


@pytest.mark.slow
@pytest.mark.alone
@networks
def test_several_paths_by_simulation_and_by_emulation(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """The 95th percentile of the errors is at most 15 %. The median does not exceed that of a
    further measurement of the same path significantly: it would if both bounds of the difference
    were above 0. Each of three measurements is predicted and compared with the other two."""
    errors: dict[str, list[tuple[str, predicting.Error]]] = {"simulation": [], "emulation": []}
    for number, one in enumerate(PATHS):
        folder = tmp_path / str(number)
        folder.mkdir()
        fit, *runs = measured(bentpipe, folder, one, seconds=12, call=10, times=MEASURED)
        document, _ = predicting.scenario(fit, runs[0])
        for how, found in errors.items():
            with tempfile.TemporaryDirectory() as work:
                seen = predicting.predicted(document, Path(work), emulate=how == "emulation")
                for place, other in enumerate(runs):
                    own = predicting.errors(other, seen, runs[:place] + runs[place + 1 :])
                    if not place:
                        said = [error.text() for error in own]
                        print(one, how, *said, *predicting.verdict(own), sep="\n  ", flush=True)
                    # A load is a transfer, pages or a call, in both directions.
                    found += [(f"{number} {error.flow.split('.')[0]}", error) for error in own]
    for how, found in errors.items():
        sizes = np.abs([error.relative for _, error in found])
        noise = np.abs([noise for _, error in found for noise in error.noise])
        verdict = predicting.verdict([error for _, error in found])
        value, low, high = excess(found)
        print(how, verdict[0], f"of repeats: {100 * np.quantile(noise, 0.95):.1f} %")
        print(f"  medians differ by {100 * value:+.3f} % ({100 * low:+.3f} to {100 * high:+.3f})", flush=True)
        assert np.quantile(sizes, 0.95) <= 0.15, how
        assert low <= 0, how
