"""One scenario, two clocks: simulation and real kernels agree in each case."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import parity
import pytest
from bentpipe.quantities import base_value
from helpers import agreement
from helpers.agreement import without_hosts
from rigs.guests import guests

#: The results must agree to 5 %.
pytestmark = pytest.mark.quiet

#: Number of concurrent emulations: each takes some hundredths of a processor, mostly at its start.
AT_A_TIME = 16


Outcome = Callable[[parity.Case, bool], list[agreement.Difference]]

MODELLED = [case for case in parity.CASES if case.in_memory]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The outcome of each case, with the kernel's sockets or in memory. Cases run in parallel,
    because each takes the duration of its scenario."""
    folder: Path = tmp_path_factory.mktemp("parity")
    pool = ThreadPoolExecutor(AT_A_TIME)
    why = without_hosts()

    def run(case: parity.Case, in_memory: bool) -> list[agreement.Difference]:
        own = folder / f"{case.name}-{in_memory}"
        own.mkdir()
        return agreement.compare(case, own, in_memory=in_memory)

    with_kernels = [] if why else [(case, False) for case in parity.CASES]
    both = [*with_kernels, *((case, True) for case in MODELLED)]
    # The longest case first, so that none remains at the end.
    both.sort(key=lambda one: -base_value(one[0].duration))
    futures: dict[tuple[str, bool], Future[list[agreement.Difference]]] = {
        (case.name, in_memory): pool.submit(run, case, in_memory) for case, in_memory in both
    }

    def result(case: parity.Case, in_memory: bool) -> list[agreement.Difference]:
        if (case.name, in_memory) not in futures:
            pytest.skip(f"no emulation here: {why}")
        return futures[case.name, in_memory].result()

    return result


@pytest.mark.parametrize("case", parity.CASES, ids=lambda case: case.name)
def test_real_kernels_do_what_is_simulated(case: parity.Case, outcome: Outcome) -> None:
    agree(outcome(case, False))


@guests
@pytest.mark.skipif("BENTPIPE_LONG" not in os.environ, reason="takes minutes: make test-kernel")
@pytest.mark.parametrize("case", parity.CASES, ids=lambda case: case.name)
def test_real_kernels_in_virtual_time_do_what_is_simulated(case: parity.Case, tmp_path: Path) -> None:
    agree(agreement.compare(case, tmp_path, clock="kernel"))


@pytest.mark.parametrize("case", MODELLED, ids=lambda case: case.name)
def test_the_real_clock_does_what_is_simulated(case: parity.Case, outcome: Outcome) -> None:
    """Runs without privileges: the engine of an emulation, and models behind ports in memory."""
    agree(outcome(case, True))


def agree(differences: list[agreement.Difference]) -> None:
    wrong = [
        f"{difference.flow} {difference.quantity}: simulated {difference.simulated}, emulated {difference.emulated}, "
        f"ratio {difference.ratio:.3f}, allowed 1 within {difference.tolerance}"
        for difference in differences
        if not difference.holds
    ]
    assert not wrong, "\n".join(wrong)


def test_a_comparison_that_differs_is_repeated_if_packets_were_late(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    agrees, differs = (
        [agreement.Difference("case", "f", "goodput", 1.0, emulated, 0.1, "")] for emulated in (1.0, 2.0)
    )

    def attempts(*outcomes: tuple[list[agreement.Difference], float]) -> list[agreement.Difference]:
        remaining = list(outcomes)
        monkeypatch.setattr(agreement, "_compare_once", lambda *_, **__: remaining.pop(0))
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        result = agreement.compare(parity.CASES[0], folder)
        assert not remaining
        return result

    assert attempts((agrees, 0.5)) == agrees
    assert attempts((differs, 0.0)) == differs
    assert attempts((differs, 0.5), (agrees, 0.5)) == agrees
    with pytest.raises(agreement.DisturbedError, match=r"0\.500 s, 0\.400 s, 0\.300 s"):
        attempts((differs, 0.5), (differs, 0.4), (differs, 0.3))
