"""Conformance cases: our controls against their standards, and mutants against the cases."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import bentpipe
import pytest
from bentpipe.conform import FAIL, PASS, Lab, Result, emulated, simulated, standard
from helpers import ROOT
from rigs import commands
from rigs.guests import guests

VARIANTS = ROOT / "crates/congestion/variants"

#: Cases that our controls fail, with the failed checks. A case that begins to pass fails the test
#: as well, so that this list stays true.
DIFFERENCES: Mapping[str, Mapping[str, str]] = {
    "bbr3": {
        # bbr3.c follows the working group's later text, with an interval of 10 s.
        "probe-rtt": "begin after the smallest round-trip time",
    },
    # Deviations that cubic.c names, which are those of Linux.
    "cubic": {
        "reno-alpha": "segments per round trip above the previous window",
        "timeout": "largest deviation from the convex curve in 4 s",
        "spurious-recovery": "ssthresh, relative to before; largest deviation from the curve after it",
    },
}

#: Mutants of our C files: a text that occurs once, its replacement, and the case that the mutant
#: fails and the original passes.
MUTANTS = {
    "startup gain of 2": ("bbr3", "BBR3_STARTUP_GAIN 709", "BBR3_STARTUP_GAIN 512", "startup-plateau"),
    "no ProbeRTT": ("bbr3", "if (bbr_enter_probe_rtt(tp, common, is_old))", "if (0)", "probe-rtt-startup"),
    "loss threshold of 20 %": (
        "bbr3",
        "PARAMETER(loss_threshold, 20,",
        "PARAMETER(loss_threshold, 200,",
        "up-loss",
    ),
    "DRAIN without time limit": ("bbr3", "bbr->drain_rounds > 3", "0", "drain-time"),
    "gain of 0.75 in DOWN": ("bbr3", "BBR3_DOWN_GAIN 230", "BBR3_DOWN_GAIN 192", "down-inflight"),
    "beta of 0.5": ("cubic", "PARAMETER(beta, 700,", "PARAMETER(beta, 500,", "decrease"),
    "C of 4": ("cubic", "PARAMETER(c, 400,", "PARAMETER(c, 4000,", "concave"),
    "no fast convergence": (
        "cubic",
        "PARAMETER(fast_convergence, 1,",
        "PARAMETER(fast_convergence, 0,",
        "fast-convergence",
    ),
}


@cache
def card(name: str) -> dict[str, Result]:
    """The results of our control by case."""
    lab = Lab(name, simulated)
    return {case.name: case.run(lab) for case in standard(name).cases}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_our_control_differs_from_its_standard_only_as_known(name: str) -> None:
    assert _differences(card(name)) == DIFFERENCES[name]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_fails_the_case_of_its_rule(tmp_path: Path, mutant: str) -> None:
    name, text, replacement, case = MUTANTS[mutant]
    source = (VARIANTS / f"{name}.c").read_text()
    assert source.count(text) == 1, f"{text} occurs {source.count(text)} times in {name}.c"
    assert card(name)[case].verdict == PASS
    file = tmp_path / f"{name}.c"
    file.write_text(source.replace(text, replacement))
    bentpipe.allow_code()
    (wanted,) = standard(name).matching(case)
    assert wanted.run(Lab({"file": str(file)}, simulated)).verdict == FAIL


def test_all_cases_of_the_appendix_exist_once() -> None:
    """Appendix A of draft-ietf-ccwg-bbr-06 has 22 cases; A.1 also runs on other paths."""
    sections = [case.section for case in standard("bbr3").cases if case.section.startswith("A.")]
    assert sorted(sections) == sorted(["A.1", *(f"A.{number}" for number in range(1, 23))])


def _differences(cards: Mapping[str, Result]) -> dict[str, str]:
    """The failed checks of each case that did not pass."""
    return {
        case: "; ".join(check.what for check in result.checks if not check.passed)
        for case, result in cards.items()
        if result.verdict != PASS
    }


@guests
def test_a_case_runs_with_the_tcp_of_linux() -> None:
    (case,) = standard("cubic").matching("decrease")
    assert case.run(Lab("linux-cubic", emulated)).verdict == PASS


@guests
@pytest.mark.slow
def test_the_cubic_of_linux_differs_from_its_standard_as_ours() -> None:
    lab = Lab("linux-cubic", emulated)
    linux = {case.name: case.run(lab) for case in standard("cubic").cases}
    assert _differences(linux) == DIFFERENCES["cubic"]


def _table(name: str) -> str:
    """The card of our control as a table of the documentation."""
    given = standard(name)
    rows = [
        f"| {case.section} | `{case.name}` | {case.title} | {result.verdict} | {_shown(result)} |"
        for case in given.cases
        for result in [card(name)[case.name]]
    ]
    head = ["| section | case | title | verdict | measured |", "| --- | --- | --- | --- | --- |"]
    return "\n".join(["", f"{given.title}:", "", *head, *rows, ""])


def _shown(result: Result) -> str:
    """The first failed check, else the first check."""
    first = min(result.checks, key=lambda check: check.passed, default=None)
    return first.text if first else result.reason


def test_the_page_shows_the_cards() -> None:
    page = ROOT / "docs/how-to/conform.md"
    text = page.read_text(encoding="utf-8")
    tables = "\n".join(map(_table, DIFFERENCES))
    now = re.sub(r"(?<=<!-- cards -->\n).*(?=<!-- end -->)", lambda _: tables + "\n", text, flags=re.DOTALL)
    if "BENTPIPE_RECORD" in os.environ:
        page.write_text(now, encoding="utf-8")
    assert now == page.read_text(encoding="utf-8"), "the page is out of date; see its text"


def test_the_command_prints_the_same_card_as_text_json_and_page(tmp_path: Path) -> None:
    page = tmp_path / "card.html"
    words = ("conform", "bbr3", "--control", VARIANTS / "bbr3.c", "--case", "probe-rtt*")
    text = commands.run(*words, "--html", page)
    results = [result for case, result in card("bbr3").items() if case.startswith("probe-rtt")]
    assert text.returncode == 1
    assert "2 passed, 1 failed" in text.stdout
    assert all(line in page.read_text() for result in results for line in result.explanation)
    printed = json.loads(commands.run(*words, "--json").stdout)
    assert [one["verdict"] for one in printed["cases"]] == [result.verdict for result in results]
    assert printed["failed"] == 1
