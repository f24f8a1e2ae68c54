"""The process that keeps a network of ``bentpipe net up``: ``python -P -m bentpipe.live.daemon``.

The process reads the description of the network from standard input and reports on standard output
that the network is up. It ends on SIGTERM, or at the end of the process for which the network is
up, if any.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError

from . import processes, state

if TYPE_CHECKING:
    from .target import Target

#: Time limit for a network to come up. The largest networks need some seconds.
_LIMIT_S: Final = 120.0

#: Time limit in seconds for a daemon to end after SIGTERM before it is killed.
_GRACE_S: Final = processes.GRACE_S + 10


def start(
    target: Target,
    *,
    name: str | None,
    internet: bool,
    elsewhere: dict[str, str],
    process: int | None = None,
) -> state.Record:
    """Starts a process that keeps a network, and returns when the network is up. The network ends
    with ``process``, if given. Raises ``OSError`` if the start fails."""
    scenario = {"toml": target.scenario.toml, "source": target.scenario.source or target.label}
    question = {
        "target": {field.name: getattr(target, field.name) for field in fields(target)}
        | {"scenario": scenario},
        "name": name,
        "internet": internet,
        "elsewhere": elsewhere,
        "process": process,
    }
    # -P: do not search for modules in the current folder, which is arbitrary.
    daemon = subprocess.Popen(
        [sys.executable, "-P", "-m", "bentpipe.live.daemon"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )
    try:
        assert daemon.stdin is not None and daemon.stdout is not None
        with daemon.stdin as stdin, contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(question).encode())
            stdin.flush()
        with daemon.stdout as stdout:
            # The daemon answers with one line in one write.
            if not select.select([stdout], [], [], _LIMIT_S)[0]:
                raise OSError(f"the network was not up after {_LIMIT_S:g} s, so its process was ended")
            line = stdout.readline()
    except BaseException:
        _end(daemon)
        raise
    try:
        answer = json.loads(line)
    except ValueError:
        _end(daemon)
        raise OSError("the process of the network ended before the network was up") from None
    if "error" in answer:
        _end(daemon)
        raise InputError(answer["error"]) if answer["input"] else OSError(answer["error"])
    # The daemon continues after this process, which does not wait for its end.
    daemon.returncode = 0
    return state.Record(**answer["record"])


def _end(daemon: subprocess.Popen[bytes]) -> None:
    """Ends a daemon by SIGTERM, or by SIGKILL if it does not end."""
    daemon.terminate()
    try:
        daemon.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def main() -> None:
    """Keeps a network until SIGTERM, or until the end of the process for which it is up."""
    from bentpipe.scenario.scenarios import ScenarioText, load

    from .network import LiveNetwork, acquire
    from .target import Target

    ending = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    # From here on, signals stay pending until the process waits for them, so no signal interrupts
    # the creation of the network.
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    question: dict[str, Any] = json.load(sys.stdin)
    scenario = load(ScenarioText(**question["target"].pop("scenario")))
    target = Target(scenario=scenario, **question["target"])
    try:
        acquire(internet=question["internet"])
        with LiveNetwork(
            target,
            "up",
            name=question["name"],
            internet=question["internet"],
            elsewhere=question["elsewhere"],
        ) as living:
            _say({"record": asdict(living.record)})
            _detach(living.record)
            _wait(ending, question["process"])
    except (InputError, OSError, ValueError) as error:
        _say({"error": str(error), "input": not isinstance(error, OSError)})
        sys.exit(1)


def _wait(ending: set[signal.Signals], process: int | None) -> None:
    """Waits for a signal in ``ending`` other than SIGHUP, or for the end of a process."""
    if process is None:
        while signal.sigwait(ending) == signal.SIGHUP:
            pass
        return
    try:
        file = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        while not processes.wait(file, 0):
            said = signal.sigtimedwait(ending, 1)
            if said is not None and said.si_signo != signal.SIGHUP:
                return
    finally:
        os.close(file)


def _say(answer: dict[str, Any]) -> None:
    # The caller may be gone, and output after the answer belongs in the log.
    with contextlib.suppress(OSError, ValueError):
        print(json.dumps(answer), flush=True)


def _detach(record: state.Record) -> None:
    """Detaches from the terminal and from the caller."""
    log = os.open(record.file("log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream, file in ((0, nothing), (1, nothing), (2, log)):
        os.dup2(file, stream)
    os.close(log)
    os.close(nothing)


if __name__ == "__main__":
    main()
