"""A run in its own process, with limits: ``python -m bentpipe.testbed.runner``, started by the
executor.

Reads lines of JSON from standard input. The first is an object with ``scenario`` (TOML, resolved),
``instrument``, ``replication``, ``pace``, ``folder``, the ``level`` of the run's owner, and the
limits ``memory`` (null if a control group limits it) and ``bytes``. Each later line is a requested
change: number, key and value. Writes lines to standard output: ``progress FRACTION``,
``changed JSON`` with a change's number, time and refusal, and at the end ``summary JSON``
(:mod:`bentpipe.testbed.summaries`), and ``done`` or ``failed REASON``. Rows of traces go to a file
next to the folder (:mod:`bentpipe.testbed.live`).
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Final

from . import live, sandbox

if TYPE_CHECKING:
    from bentpipe.scenario.scenarios import Scenario

#: A function that sends a line to the executor.
Send = Callable[[str], None]

#: prctl(2): the signal that a process receives when its parent ends.
_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Executes the run of the process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
    given: dict[str, Any] = json.loads(sys.stdin.readline())
    limit(given)
    if given["instrument"] == "simulate":
        # This process starts in the folder of the run's owner, DATA/runs/OWNER.
        owner = Path.cwd()
        sandbox.enter(owner.parents[1], owner)
    # Standard output is redirected, because only messages to the executor may enter the pipe.
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        perform(given, lambda text: print(text, file=output))
        print("done", file=output)
    except MemoryError:
        bound = given["memory"]
        more = "memory than available" if bound is None else f"than {bound // 1_000_000} MB of memory"
        print(f"failed the run needed more {more}", file=output)
    except (ValueError, OSError) as error:
        print("failed " + " ".join(str(error).split()), file=output)


def limit(given: dict[str, Any]) -> None:
    """Limits the resources of this process. The executor also watches the folder and the time."""
    if given["memory"] is not None:
        resource.setrlimit(resource.RLIMIT_AS, (given["memory"], given["memory"]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (given["bytes"], given["bytes"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A write beyond the size limit must fail with an error instead of ending the process.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.nice(5)


class Changes:
    """The changes requested by the executor, read by a thread because reading blocks."""

    def __init__(self, lines: IO[str], send: Send) -> None:
        self._send = send
        self._wanted: SimpleQueue[tuple[int, str, str]] = SimpleQueue()
        self._made: deque[int] = deque()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            number, key, value = json.loads(line)
            self._wanted.put((number, key, value))

    def next(self) -> list[tuple[str, str]]:
        """Returns the changes to make now."""
        found = []
        while not self._wanted.empty():
            number, key, value = self._wanted.get()
            self._made.append(number)
            found.append((key, value))
        return found

    def answer(self, answers: Sequence[dict[str, Any]]) -> None:
        """Reports the results of the changes returned last, in their order."""
        for one in answers:
            result = {"number": self._made.popleft(), "time": one["time"], "refused": one["refused"]}
            self._send("changed " + json.dumps(result))


def permitted(given: dict[str, Any]) -> Scenario:
    """Returns the scenario, checked by the rules of the owner's level. Raises ``ValueError`` with
    the reason of a refusal."""
    from bentpipe._native import ScenarioError
    from bentpipe.errors import InputError
    from bentpipe.scenario.facts import facts

    from .refused import Refused
    from .rules import check_cost, cost, read

    try:
        scenario = read(given["scenario"], given["level"])
        wanted = cost(scenario.data, facts(scenario))
        check_cost(wanted, given["instrument"], given["level"], given["pace"])
    except (Refused, ScenarioError, InputError) as refused:
        raise ValueError(f"refused: {refused}") from refused
    return scenario


def perform(given: dict[str, Any], send: Send) -> None:
    """Runs the scenario and writes its report."""
    from bentpipe.report import write_report

    from .summaries import summary_of

    last_report = 0.0

    def progress(fraction: float) -> bool:
        nonlocal last_report
        if time.monotonic() - last_report > 0.25:
            last_report = time.monotonic()
            send(f"progress {fraction:.4f}")
        return True

    folder = Path(given["folder"])
    if given["instrument"] == "study":
        from .reproducing import run_job as reproduce

        reproduce(given["scenario"], folder)
        return
    scenario = permitted(given)
    rows = live.Writer(live.live_file(folder))
    changes = Changes(sys.stdin, send)

    def watch(seen: dict[str, Any]) -> list[tuple[str, str]]:
        changes.answer(seen["changes"])
        rows.add(seen)
        return changes.next()

    common: dict[str, Any] = {
        "out": folder,
        "run": given["replication"],
        "progress": progress,
        "watch": watch,
    }
    if given["instrument"] == "simulate":
        from bentpipe.simulation import simulate

        run = simulate(scenario, **common, pace=given["pace"])
    else:
        from bentpipe.emulation import emulate

        clock: Any = "kernel" if given["instrument"] == "kernel" else "real"
        run = emulate(scenario, **common, clock=clock)
    rows.close()
    send("progress 1")
    # The test bed shows reports in a sandbox without scripts.
    write_report([run], folder / "report.html", script=False)
    send("summary " + json.dumps(summary_of(run).as_dict()))


if __name__ == "__main__":
    main()
