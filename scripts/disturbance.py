"""A pytest plug-in that repeats a failed test on the real clock if a busy machine disturbed it.

It applies to tests marked ``quiet`` or ``alone`` that fail by an assertion or a time limit. Such a
test was disturbed if

- one of its emulations has a verdict (``fidelity.json``) other than ``valid`` because of lateness,
- one of its networks delivered a packet later than an emulation tolerates, or
- a process that only sleeps was woken later than an emulation tolerates.

An undisturbed test fails at once. A test that was disturbed in all attempts is skipped, with the
reason, if the sleeping process was late in each attempt. A verdict alone does not suffice: it is
computed by the product under test, and must not excuse a product that is always late. pytest lists
skipped and repeated tests at its end.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol

#: Maximum number of attempts of a disturbed test.
ATTEMPTS: Final = 3

#: Tolerated lateness of a packet, in seconds: the default of the scenario key ``lateness_max``.
LATE_S: Final = 0.02

MARKS: Final = ("quiet", "alone")
#: The property of a test report that holds the reasons for repeating earlier attempts.
REPEATED: Final = "repeated"

#: A verdict's reasons that a busy machine causes: late packets and datagrams, and a stopped engine
#: or machine.
_MACHINE_REASON: Final = re.compile(r"late by|later than|waited for|did not run")

#: A program that prints time and lateness of each late wake-up, in seconds, until its parent ends.
#: It needs its own process, because a Python thread also waits for other threads.
_SLEEPER: Final = """
import os, sys, time
parent, limit = os.getppid(), float(sys.argv[1])
os.set_blocking(1, False)
while os.getppid() == parent:
    begin = time.monotonic()
    time.sleep(0.01)
    late = time.monotonic() - begin - 0.01
    if late > limit:
        try:
            os.write(1, f"{begin} {late}\\n".encode())
        except BlockingIOError:
            pass
        except BrokenPipeError:
            break
"""


@functools.cache
def _sleeper() -> subprocess.Popen[bytes]:
    """Starts the process that only sleeps, which ends with this one."""
    words = [sys.executable, "-I", "-S", "-c", _SLEEPER, str(LATE_S)]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return process


def _max_lateness() -> float:
    """Returns the maximum lateness of the sleeping process since the last call, in seconds."""
    stream = _sleeper().stdout
    assert stream is not None
    lines = (stream.read() or b"").decode().splitlines()
    return max((float(line.split()[1]) for line in lines if len(line.split()) == 2), default=0.0)


def verdict_reasons(folder: Path) -> list[str]:
    """Returns the reasons by which emulations in a folder count as disturbed."""
    found = []
    for file in sorted(folder.rglob("fidelity.json")):
        with suppress(OSError, ValueError):
            fidelity = json.loads(file.read_text(encoding="utf-8"))
            if "lateness" in fidelity and fidelity["verdict"] != "valid":
                found += [reason for reason in fidelity["reasons"] if _MACHINE_REASON.search(reason)]
    return found


def network_reasons(state_folder: Path) -> list[str]:
    """Returns the reasons by which running networks with their state in a folder count as
    disturbed."""
    from bentpipe.live import control, state

    found = []
    with _environment(state.FOLDER_VARIABLE, str(state_folder)):
        for record in state.records():
            with suppress(OSError):
                late = control.ask(record, "status")["late"]["max"]
                if late > LATE_S:
                    found.append(f"a packet of {record.label} was late by {late:.3f} s")
    return found


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@dataclass
class Attempts:
    """The attempts of one test."""

    #: Reasons by which the current attempt counts as disturbed; empty if it passed.
    reasons: list[str] = field(default_factory=list)
    #: True if the kind of failure allows a repetition.
    repeatable: bool = False
    #: True if the sleeping process was late, which does not depend on the product.
    slept_late: bool = False
    #: The reasons of each disturbed attempt, joined to one text.
    disturbed: list[str] = field(default_factory=list)


_ATTEMPTS: Final = pytest.StashKey[Attempts]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    """Collects the disturbances of a failed test, before its fixtures are torn down."""
    attempts = item.stash.get(_ATTEMPTS, None)
    if attempts is not None and call.when == "call" and call.excinfo is not None:
        attempts.repeatable = call.excinfo.errisinstance((AssertionError, subprocess.TimeoutExpired))
        arguments = getattr(item, "funcargs", None) or {}
        if (folder := arguments.get("tmp_path")) is not None:
            attempts.reasons += verdict_reasons(folder)
        if (command := arguments.get("bentpipe")) is not None:
            attempts.reasons += network_reasons(command.state)
        if late := _max_lateness():
            attempts.slept_late = True
            attempts.reasons.append(f"a process that sleeps was woken {late:.3f} s late")
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test on the real clock, and repeats it if the machine disturbed it."""
    if not any(item.get_closest_marker(mark) for mark in MARKS):
        return None
    attempts = item.stash[_ATTEMPTS] = Attempts()
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    always_late = True
    for number in range(1, ATTEMPTS + 1):
        attempts.reasons, attempts.repeatable, attempts.slept_late = [], False, False
        _max_lateness()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        failed = [report for report in reports if report.failed]
        if not attempts.repeatable or not attempts.reasons or [report.when for report in failed] != ["call"]:
            break
        attempts.disturbed.append("; ".join(dict.fromkeys(attempts.reasons)))
        always_late = always_late and attempts.slept_late
        if number == ATTEMPTS and always_late:
            _skip(failed[0], attempts.disturbed)
    for report in reports:
        if attempts.disturbed and report.when == "call":
            report.user_properties.append((REPEATED, " | ".join(attempts.disturbed)))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _skip(report: pytest.TestReport, reasons: list[str]) -> None:
    """Turns the report of a failed test into the report of a skipped test."""
    path, line, _ = report.location
    crash = getattr(report.longrepr, "reprcrash", None)
    failure = crash.message.splitlines()[0] if crash is not None else "no message"
    report.outcome = "skipped"
    reason = f"the machine disturbed all {len(reasons)} attempts ({reasons[-1]}); last failure: {failure}"
    report.longrepr = (path, (line or 0) + 1, f"Skipped: {reason}")


def pytest_unconfigure() -> None:
    """Ends the process that only sleeps, if it was started."""
    if _sleeper.cache_info().currsize:
        process = _sleeper()
        assert process.stdout is not None
        process.kill()
        process.wait()
        process.stdout.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Lists the tests that passed in a repetition."""
    for report in terminalreporter.stats.get("passed", []):
        for name, reasons in getattr(report, "user_properties", []):
            if name == REPEATED:
                terminalreporter.write_line(f"REPEATED {report.nodeid}: {reasons}")
