"""One run in a process of its own, with limits: ``python -m bentpipe.testbed.runner``, which the executor starts.

Reads a JSON object from standard input: ``scenario`` (TOML, resolved), ``instrument``, ``replication``, ``folder``,
and the limits ``memory``, ``bytes`` and ``seconds``. Writes lines to standard output: ``progress FRACTION``, and at
the end ``done`` or ``failed REASON``.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

#: prctl(2): the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Do the run."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
    given: dict[str, Any] = json.load(sys.stdin)
    limit(given)
    # What is said is read by the executor, so nothing else may write to that pipe.
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        perform(given, lambda text: print(text, file=told))
        print("done", file=told)
    except MemoryError:
        print(f"failed it needed more than {given['memory'] // 1_000_000} MB of memory", file=told)
    except (ValueError, OSError) as error:
        print("failed " + " ".join(str(error).split()), file=told)


def limit(given: dict[str, Any]) -> None:
    """Limit what this process may use. The executor watches the folder and the time besides."""
    resource.setrlimit(resource.RLIMIT_AS, (given["memory"], given["memory"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (given["bytes"], given["bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Beyond a limit of size, writing is to fail with a reason instead of ending the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.nice(5)


def perform(given: dict[str, Any], say: Any) -> None:
    """Run the scenario and write its report."""
    from bentpipe.report import write_report
    from bentpipe.scenarios import ScenarioText

    said = 0.0

    def progress(fraction: float) -> bool:
        nonlocal said
        if time.monotonic() - said > 0.25:
            said = time.monotonic()
            say(f"progress {fraction:.4f}")
        return True

    scenario = ScenarioText(given["scenario"], "scenario")
    folder = Path(given["folder"])
    common: dict[str, Any] = {"out": folder, "run": given["replication"], "progress": progress}
    if given["instrument"] == "simulate":
        from bentpipe.simulation import simulate

        run = simulate(scenario, **common)
    else:
        from bentpipe.emulation import emulate

        clock: Any = "kernel" if given["instrument"] == "kernel" else "real"
        run = emulate(scenario, **common, clock=clock)
    say("progress 1")
    write_report([run], folder / "report.html")


if __name__ == "__main__":
    main()
