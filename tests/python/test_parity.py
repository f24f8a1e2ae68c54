"""One scenario, two clocks: what is simulated and what real kernels do agree, case by case."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import parity
import pytest
from bentpipe import _native

#: Emulations at a time: few enough that they do not disturb each other on two processors.
AT_A_TIME = 6


def without_hosts() -> str | None:
    """Why this machine cannot emulate; None when it can."""
    link = '[[link]]\nname = "l"\nfrom = "a"\nto = "b"\nrate = "1 Mbit/s"\ndelay = "1 ms"\n'
    flow = '[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\napp = "bulk"\ntransport = "tcp"\n'
    try:
        _native.Network("probe", f'name = "probe"\nduration = "1 s"\n{link}{flow}', [], "{}").stop()
    except OSError as error:
        return str(error)
    return None


Outcome = Callable[[parity.Case], list[parity.Difference]]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """What came of a case; all of them run side by side, since each takes as long as its scenario says."""
    if why := without_hosts():
        pytest.skip(f"no emulation here: {why}")
    folder: Path = tmp_path_factory.mktemp("parity")
    pool = ThreadPoolExecutor(AT_A_TIME)

    def run(case: parity.Case) -> list[parity.Difference]:
        own = folder / case.name
        own.mkdir()
        return parity.compare(case, own)

    futures: dict[str, Future[list[parity.Difference]]] = {
        case.name: pool.submit(run, case) for case in parity.CASES
    }
    return lambda case: futures[case.name].result()


@pytest.mark.parametrize("case", parity.CASES, ids=lambda case: case.name)
def test_real_kernels_do_what_is_simulated(case: parity.Case, outcome: Outcome) -> None:
    wrong = [
        f"{difference.flow} {difference.quantity}: simulated {difference.simulated}, emulated {difference.emulated}, "
        f"ratio {difference.ratio:.3f}, allowed 1 within {difference.tolerance}"
        for difference in outcome(case)
        if not difference.holds
    ]
    assert not wrong, "\n".join(wrong)
