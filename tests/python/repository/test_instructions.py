"""Instructions of five scenarios stay within 1 % of the committed table
(``benchmarks/instructions.csv``)."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import pytest
from helpers import ROOT

pytestmark = pytest.mark.compiles


@pytest.fixture(scope="module")
def instructions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("instructions", ROOT / "benchmarks" / "instructions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def table(instructions: ModuleType) -> dict[str, Any]:
    """Returns the committed counts, once the program is built in the same way; skips on machines
    without counters."""
    if reason := instructions.reason_to_skip():
        pytest.skip(reason)
    counts: dict[str, Any] = instructions.recorded()
    compiler = instructions.compiler()
    if others := {row.compiler for row in counts.values()} - {compiler}:
        pytest.skip(f"instructions were counted with {', '.join(sorted(others))}, and this is {compiler}")
    instructions.build()
    return counts


def test_every_scenario_has_a_count_with_its_reason(instructions: ModuleType) -> None:
    counts = instructions.recorded()
    assert list(counts) == list(instructions.cases())
    assert all(row.reason for row in counts.values())


def test_no_scenario_costs_more_than_the_table_says(instructions: ModuleType, table: dict[str, Any]) -> None:
    compiler = instructions.compiler()
    counts = [instructions.count(name, text, compiler) for name, text in instructions.cases().items()]
    above = [
        f"{new.scenario}: {new.instructions} instructions instead of {table[new.scenario].instructions}"
        for new in counts
        if instructions.exceeds(new, table[new.scenario])
    ]
    assert not above, "\n".join([*above, "see benchmarks/instructions.py"])


def test_a_count_repeats_and_a_longer_run_is_found_to_exceed_it(
    instructions: ModuleType, table: dict[str, Any]
) -> None:
    assert table
    name = "one Reno flow"
    text = instructions.cases()[name]
    one, again, longer = (
        instructions.count(name, scenario, "")
        for scenario in (text, text, text.replace('duration = "60 s"', 'duration = "63 s"'))
    )
    assert abs(again.instructions - one.instructions) < one.instructions / 100_000
    assert not instructions.exceeds(again, one)
    assert instructions.exceeds(longer, one)
