"""A program that runs in a host in the foreground. The program shares the standard streams and the
terminal of this process. Signals to this process are forwarded to the program."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, Self

from . import processes
from .environment import environment, overlays

if TYPE_CHECKING:
    from .network import LiveNetwork

#: Signals that the terminal sends. If this process is in the foreground of the terminal, the
#: terminal also sends them to the program.
_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)

#: Time in seconds after the start of a program during which it may miss signals of the terminal,
#: because it is still a fork of this process. Signals are also forwarded during this time.
_STARTING_S: Final = 0.5

#: Signals of other processes that request the end of this process.
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


def _in_foreground() -> bool:
    """Returns true if this process is in the foreground of its terminal. A signal may then come
    from the terminal, which sends it to the program too. Otherwise, another process has sent the
    signal to this process only."""
    try:
        with Path("/dev/tty").open() as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


class CannotRun(OSError):  # noqa: N818 - as a shell says it
    """A command that cannot be run. ``exit_code`` is the exit code that a shell returns for it."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def check(command: Sequence[str]) -> None:
    """Raises :class:`CannotRun` if a command does not exist or is not executable."""
    name = command[0]
    if "/" in name:
        if not Path(name).exists():
            raise CannotRun(f"{name}: no such file", 127)
        if not os.access(name, os.X_OK) or Path(name).is_dir():
            raise CannotRun(f"{name}: not an executable program", 126)
    elif shutil.which(name) is None:
        raise CannotRun(f"{name}: command not found", 127)


class Signals:
    """Context manager in which no signal ends this process. Signals that arrive before the program
    runs are stored, and forwarded to the program when it runs."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._process: int | None = None
        self._attached = 0.0
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in (*_TERMINAL, *_ENDING):
            # The program inherits ignored signals, for example under nohup or in a background job.
            # They stay ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _take(self, number: int, _frame: FrameType | None) -> None:
        ours = number in _ENDING or not _in_foreground()
        if self._process is None or ours:
            self.received = number
        if ours or time.monotonic() - self._attached < _STARTING_S:
            self._send(number)

    def _send(self, number: int) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, number)
        if number in _ENDING:
            timer = threading.Timer(processes.GRACE_S, self._kill)
            timer.daemon = True
            timer.start()

    def _kill(self) -> None:
        self._send(signal.SIGKILL)

    def attach(self, pid: int) -> None:
        """Forwards signals to this child from now on. The child must not have been waited for
        yet."""
        self._process, self._attached = os.pidfd_open(pid), time.monotonic()
        if self.received is not None:
            self._send(self.received)

    def detach(self) -> None:
        """Stops forwarding signals after the end of the child."""
        if self._process is not None:
            process, self._process = self._process, None
            os.close(process)


def run(living: LiveNetwork, host: str, command: Sequence[str], signals: Signals) -> int:
    """Runs a program in a host and waits for its end. Returns its exit code; for a program that a
    signal has ended, 128 plus the signal number, as in a shell."""
    if signals.received is not None:
        return 128 + signals.received
    outcome: list[int | BaseException] = []
    ended = threading.Event()

    def wait() -> None:
        try:
            outcome.append(
                living.network.run(
                    host,
                    list(command),
                    overlays(living.record),
                    environment(living.record, host),
                    signals.attach,
                )
            )
        except BaseException as error:  # noqa: BLE001 - raised again below
            outcome.append(error)
        finally:
            signals.detach()
            ended.set()

    # Python calls signal handlers only in the main thread. The main thread therefore waits here,
    # and another thread waits in the engine.
    threading.Thread(target=wait, name="program").start()
    ended.wait()
    (result,) = outcome
    if isinstance(result, OSError):
        raise CannotRun(str(result), 126)
    if isinstance(result, BaseException):
        raise result
    return result
