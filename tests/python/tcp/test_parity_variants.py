"""Every congestion control in the engine and in the kernel: `make test-variants`.

Two comparisons: the same C file in this machine's kernel, in real time; and the kernel's own
control of that name, in virtual time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import parity
import pytest
from bentpipe import _native
from bentpipe.emulation import Clock
from helpers import agreement
from helpers.agreement import without_hosts
from rigs.guests import guests

#: Number of concurrent cases, of up to 16 runs each: few enough not to disturb each other on two
#: processors.
AT_A_TIME = 2

OURS = parity.home_cases(one["name"] for one in json.loads(_native.variants())) + parity.UNDO_CASES
KERNELS = parity.kernel_cases() + parity.shared_cases()

Outcome = Callable[[parity.Case], list[agreement.Difference]]


def outcomes(cases: tuple[parity.Case, ...], folder: Path, clock: Clock) -> Outcome:
    """Returns the outcome of each case. Cases run in parallel, because each takes the duration of
    its scenario."""
    pool = ThreadPoolExecutor(AT_A_TIME)

    def run(case: parity.Case) -> list[agreement.Difference]:
        own = folder / case.name
        own.mkdir()
        return agreement.compare(case, own, clock=clock)

    futures: dict[str, Future[list[agreement.Difference]]] = {
        case.name: pool.submit(run, case) for case in cases
    }
    return lambda case: futures[case.name].result()


@pytest.fixture(scope="module")
def in_real_time(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The C files in this machine's kernel."""
    if why := without_hosts():
        pytest.skip(f"no emulation here: {why}")
    return outcomes(OURS, tmp_path_factory.mktemp("variants"), "real")


@pytest.fixture(scope="module")
def in_virtual_time(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The congestion controls of the kernel itself."""
    return outcomes(KERNELS, tmp_path_factory.mktemp("kernels"), "kernel")


def judge(case: parity.Case, outcome: Outcome, known: Mapping[str, str]) -> None:
    """Prints a case's quantities, and fails for large differences that are not known."""
    differences = outcome(case)
    for one in differences:
        print(f"{case.name:<26}{one.quantity:<16}{one.simulated!s:>20}{one.emulated!s:>20}{one.ratio:>8.3f}")
    wrong = [
        f"{one.quantity}: ratio {one.ratio:.3f}, allowed {one.tolerance}"
        for one in differences
        if not one.holds
    ]
    if wrong and case.name in known:
        pytest.xfail(known[case.name])
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("case", OURS, ids=lambda case: case.name)
def test_congestion_controls_do_the_same_in_both_homes(case: parity.Case, in_real_time: Outcome) -> None:
    judge(case, in_real_time, parity.KNOWN_HOME_DIFFERENCES)


@guests
@pytest.mark.slow
@pytest.mark.parametrize("case", KERNELS, ids=lambda case: case.name)
def test_congestion_controls_do_what_the_kernels_do(case: parity.Case, in_virtual_time: Outcome) -> None:
    judge(case, in_virtual_time, parity.KNOWN_DIFFERENCES)
