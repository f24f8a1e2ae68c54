"""The process that keeps a network of ``bentpipe net up`` up: ``python -P -m
bentpipe.live.daemon``.

The process reads the description of the network from standard input, and writes to standard output
when the network is up. It ends on SIGTERM. If the network was started for another process, it also
ends when that process ends.
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

#: Time limit in seconds for a network to come up. The largest networks need some seconds.
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
    """Starts a process that keeps a network up. Returns the record when the network is up. The
    network ends when the process with the id ``process`` ends, if given. Raises ``OSError`` if the
    start fails."""
    scenario = {"toml": target.scenario.toml, "source": target.scenario.source or target.label}
    request = {
        "target": {field.name: getattr(target, field.name) for field in fields(target)}
        | {"scenario": scenario},
        "name": name,
        "internet": internet,
        "elsewhere": elsewhere,
        "process": process,
    }
    # With -P, Python does not import modules from the current folder.
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
            stdin.write(json.dumps(request).encode())
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
    # The daemon outlives this process. A return code keeps Popen from warning about a running
    # child.
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
    """Keeps a network up until SIGTERM, or until the process ends for which it was started."""
    from bentpipe.scenario.scenarios import ScenarioText, load

    from .network import LiveNetwork, acquire
    from .target import Target

    ending = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    # From here on, signals stay pending until the process waits for them, so no signal interrupts
    # the creation of the network.
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    request: dict[str, Any] = json.load(sys.stdin)
    scenario = load(ScenarioText(**request["target"].pop("scenario")))
    target = Target(scenario=scenario, **request["target"])
    try:
        acquire(internet=request["internet"])
        with LiveNetwork(
            target,
            "up",
            name=request["name"],
            internet=request["internet"],
            elsewhere=request["elsewhere"],
        ) as live:
            _answer({"record": asdict(live.record)})
            _detach(live.record)
            _wait(ending, request["process"])
    except (InputError, OSError, ValueError) as error:
        _answer({"error": str(error), "input": not isinstance(error, OSError)})
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
            received = signal.sigtimedwait(ending, 1)
            if received is not None and received.si_signo != signal.SIGHUP:
                return
    finally:
        os.close(file)


def _answer(answer: dict[str, Any]) -> None:
    # The process that started the daemon may have ended.
    with contextlib.suppress(OSError, ValueError):
        print(json.dumps(answer), flush=True)


def _detach(record: state.Record) -> None:
    """Detaches from the terminal and from the caller. Error messages go to the log from now on."""
    log = os.open(record.file("log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDWR)
    for stream, file in ((0, null), (1, null), (2, log)):
        os.dup2(file, stream)
    os.close(log)
    os.close(null)


if __name__ == "__main__":
    main()
