"""Every congestion control in the engine and, the same C file, in the kernel: `make test-variants`."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import parity
import pytest
from bentpipe import _native
from test_parity import without_hosts

#: Cases at a time, of up to five runs each: few enough that they do not disturb each other on two processors.
AT_A_TIME = 2

CASES = parity.variant_cases(one["name"] for one in json.loads(_native.variants()))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Callable[[parity.Case], list[parity.Difference]]:
    """What came of a case; they run side by side, since each takes as long as its scenario says."""
    if why := without_hosts():
        pytest.skip(f"no emulation here: {why}")
    folder: Path = tmp_path_factory.mktemp("variants")
    pool = ThreadPoolExecutor(AT_A_TIME)

    def run(case: parity.Case) -> list[parity.Difference]:
        own = folder / case.name
        own.mkdir()
        return parity.compare(case, own)

    futures = {case.name: pool.submit(run, case) for case in CASES}
    return lambda case: futures[case.name].result()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_congestion_controls_do_the_same_in_both_homes(
    case: parity.Case, outcome: Callable[[parity.Case], list[parity.Difference]]
) -> None:
    differences = outcome(case)
    for one in differences:
        print(f"{case.name:<26}{one.quantity:<16}{one.simulated!s:>20}{one.emulated!s:>20}{one.ratio:>8.3f}")
    wrong = [
        f"{one.quantity}: ratio {one.ratio:.3f}, allowed {one.tolerance}"
        for one in differences
        if not one.holds
    ]
    assert not wrong, "\n".join(wrong)
