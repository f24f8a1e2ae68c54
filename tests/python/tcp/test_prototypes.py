"""Congestion controls from any folder: C source in a scenario, and Python classes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import bentpipe as bp
import pytest
from helpers import ROOT
from rigs import commands
from rigs.networks import needs, networks

EXAMPLE = "examples/geo-bulk.toml"
KEY = "flow.download.transport.congestion"

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="not installed: cc")


def recipe() -> str:
    """The C file of the recipe; its test in congestion/ describes it."""
    page = (ROOT / "docs" / "congestion-recipe.md").read_text()
    return page.partition("```c\n")[2].partition("```")[0]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a congestion control, and a scenario that names the file by a relative path."""
    (tmp_path / "mine.c").write_text(recipe())
    scenario = (ROOT / EXAMPLE).read_text().replace('"reno"', '{ file = "./mine.c" }')
    (tmp_path / "mine.toml").write_text(scenario.replace("400 s", "60 s"))
    return tmp_path


def call(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return commands.run(*words, folder=folder)


def test_source_runs_only_when_it_is_allowed(own: Path) -> None:
    refused = call("simulate", "mine.toml", folder=own)
    assert refused.returncode == 2 and "bentpipe --allow-code" in refused.stderr, refused.stderr
    assert "Traceback" not in refused.stderr and not (own / "runs").exists()
    done = call("--allow-code", "simulate", "mine.toml", "--out", "run", "--no-report", folder=own)
    assert done.returncode == 0, done.stderr
    run = bp.open_run(own / "run")
    assert run.flows["congestion"][0] == "aimd"
    # After a loss it keeps 7/8 of its window instead of half: general AIMD with b = 875.
    windows = run.trace("cwnd")["cwnd"].to_list()
    assert windows and max(windows) > 100
    # The run folder needs no other file.
    again = call("--allow-code", "simulate", "run/scenario.toml", "--out", "again", "--no-report", folder=own)
    assert again.returncode == 0, again.stderr
    assert bp.open_run(own / "again").trace("cwnd")["cwnd"].to_list() == windows


def test_a_comparison_calls_source_by_its_name(own: Path) -> None:
    for out, more in (("mine", ()), ("reno", ("--set", f"{KEY}=reno"))):
        words = ("simulate", "mine.toml", "--set", "duration=2 s", *more, "--out", out, "--no-report")
        done = call("--allow-code", *words, folder=own)
        assert done.returncode == 0, done.stderr
    compared = call("compare", "reno", "mine", "--figure", "none", folder=own)
    assert re.search(rf"{re.escape(KEY)} +reno +C source: aimd *$", compared.stdout, re.MULTILINE), (
        compared.stdout
    )
    assert "BP_" not in compared.stdout


def test_parameters_and_mistakes_of_source_are_reported(own: Path) -> None:
    change = "flow.download.transport.parameters.b"
    refused = call("--allow-code", "check", "mine.toml", "--set", f"{change}=1000", folder=own)
    assert refused.returncode == 2 and "allowed: 1 to 999" in refused.stderr, refused.stderr
    (own / "mine.c").write_text(recipe().replace("aimd->credit +=", "aimd->credits +="))
    refused = call("--allow-code", "check", "mine.toml", folder=own)
    assert refused.returncode == 2 and re.search(r"aimd\.c:\d+:\d+: error: .*credits", refused.stderr), (
        refused.stderr
    )


def test_source_of_a_scalable_control_requests_accurate_ecn(own: Path) -> None:
    """As for the name `prague` (RFC 9331, section 4.3)."""
    (own / "mine.c").write_text("#define BP_SCALABLE 1\n" + recipe())
    shown = call("--allow-code", "show", "mine.toml", folder=own)
    assert "accurate" in shown.stdout, shown.stdout + shown.stderr
    (own / "mine.c").write_text(recipe())
    assert "accurate" not in call("--allow-code", "show", "mine.toml", folder=own).stdout


@networks
@needs("clang")
@pytest.mark.alone
def test_the_kernel_gets_the_same_source(own: Path) -> None:
    words = ("emulate", "mine.toml", "--set", "duration=2 s", "--out", "run", "--no-report")
    done = call("--allow-code", *words, folder=own)
    if "cannot be loaded" in done.stderr or "is not available" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    notes = json.dumps(bp.open_run(own / "run").provenance["notes"])
    assert "congestion control aimd is the scenario's source, loaded as bp_aimd" in notes


class Halving:
    """Reno without an end of slow start, in Python."""

    def ssthresh(self, tcp: Any) -> int:
        return max(2, int(tcp.snd_cwnd) // 2)

    def cong_avoid(self, tcp: Any, _ack: int, acked: int) -> None:
        if tcp.snd_cwnd < tcp.snd_ssthresh:
            tcp.snd_cwnd = min(tcp.snd_cwnd + acked, tcp.snd_ssthresh)
            return
        tcp.snd_cwnd_cnt += acked
        if tcp.snd_cwnd_cnt >= tcp.snd_cwnd:
            tcp.snd_cwnd_cnt -= tcp.snd_cwnd
            tcp.snd_cwnd += 1


def test_a_class_of_reno_behaves_as_reno(tmp_path: Path) -> None:
    bp.congestion("halving")(Halving)
    changes = {"duration": "60 s", "link.sat.queue": {"kind": "drop-tail", "packets": 300}}
    runs = [
        bp.simulate(EXAMPLE, overrides=changes | {KEY: name}, out=tmp_path / name)
        for name in ("reno", "halving")
    ]
    goodputs = [run.flows["goodput"][0] for run in runs]
    assert goodputs[1] == pytest.approx(goodputs[0], rel=0.05)


def test_a_syn_is_delivered_before_any_data(tmp_path: Path) -> None:
    # In Linux, tcpi_delivered (TCP_INFO) is 1 after the handshake. No data has been written when
    # the connection is made, so the first samples are limited by the application; the following
    # ones are not.
    samples: list[tuple[int, int]] = []

    @bp.congestion("watching")
    class Watching:
        def cong_control(self, tcp: Any, sample: Any) -> None:
            samples.append((sample.prior_delivered, sample.is_app_limited))
            tcp.snd_cwnd = 4

    changes = {KEY: "watching", "duration": "5 s", "flow.download.transport.initial_window": 4}
    bp.simulate(EXAMPLE, overrides=changes, out=tmp_path / "run")
    assert samples[:5] == [(1, 1), (1, 1), (1, 1), (1, 1), (2, 0)]
    assert all(not limited for _, limited in samples[4:])


def test_an_exception_of_a_class_ends_the_run_and_is_raised(tmp_path: Path) -> None:
    @bp.congestion("broken")
    class Broken:
        def cong_avoid(self, tcp: Any, _ack: int, _acked: int) -> None:
            raise RuntimeError(f"window {tcp.snd_cwnd}")

    with pytest.raises(RuntimeError, match="window 1"):
        bp.simulate(EXAMPLE, overrides={KEY: "broken", "duration": "20 s"}, out=tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "made", "message"),
    [
        ("reno", Halving, "is a congestion control of bentpipe"),
        ("Not a name", Halving, "cannot name"),
        ("empty", type("Empty", (), {}), "neither cong_avoid nor cong_control"),
    ],
)
def test_a_name_or_class_that_cannot_be_used_is_refused(name: str, made: type, message: str) -> None:
    with pytest.raises(bp.InputError, match=message):
        bp.congestion(name)(made)
