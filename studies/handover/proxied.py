"""Runs the experiments through a real proxy at the gateway.

Like PEPsal, the proxy splits connections. It uses Hybla towards the study's client, across the
satellite, and the kernel's default congestion control towards the study's server.

The proxy is ``bentpipe machine pep`` in the gateway's namespace. The study's server has its own
namespace, which is connected to the gateway. It has taken over the gateway's address in the
emulated network, and the gateway forwards its packets. In virtual time, the proxy is a
``[[proxy]]`` instead (:func:`~.cases.split_job`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from bentpipe import _native

from .cases import DURATION_S, HERE, STUDY, Experiment, overrides
from .measures import Course

#: Time from the start of the network to the start of the transfer, in seconds. The proxy starts in
#: this time.
SETTLE_S: Final = 6
#: TCP port of the study's client.
PORT: Final = 5001
#: Maximum number of concurrent experiments.
CONCURRENCY: Final = 7

#: The program of the study's client. Argument: port. It prints the time and the total number of
#: received bytes after each read.
_RECEIVE: Final = """
import socket, sys, time
listener = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("ready", flush=True)
connection, _ = listener.accept()
total = 0
try:
    while data := connection.recv(1 << 16):
        total += len(data)
        print(time.monotonic(), total, flush=True)
except ConnectionResetError:
    pass  # The sender resets the connection at the end of the transfer.
"""

#: The program of the study's server, which opens the connection. Arguments: address and port of the
#: client, start and end of the transfer by the monotonic clock.
_SEND: Final = """
import socket, sys, time
time.sleep(max(0, float(sys.argv[3]) - time.monotonic()))
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
connection.settimeout(1)
end, data = float(sys.argv[4]), bytes(1 << 16)
while time.monotonic() < end:
    try:
        connection.send(data)
    except TimeoutError:
        pass
connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
"""


def run(experiments: Sequence[Experiment], out: Path, notes: list[str]) -> dict[tuple[str, str], Course]:
    """Runs the experiments with Hybla and returns their courses. The key of a course is
    ("EXPERIMENT-pep", "hybla").

    If this machine does not meet a requirement, adds a note to ``notes`` and returns nothing."""
    if reason := missing():
        notes.append(f"not run through the proxy: {reason}")
        return {}
    cases = [(experiment, "hybla") for experiment in experiments]
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        courses = pool.map(lambda case: transfer(case[0], case[1], out), cases)
        return {(f"{case[0].name}-pep", case[1]): course for case, course in zip(cases, courses, strict=True)}


def missing() -> str | None:
    """Returns the missing requirement, or ``None`` if this machine can run the proxy."""
    if os.geteuid() != 0:
        return "not root"
    needed = [
        program for program in ("ip", "nft", "nsenter", "ss", "unshare") if shutil.which(program) is None
    ]
    return f"not installed: {', '.join(needed)}" if needed else None


def transfer(experiment: Experiment, version: str, out: Path) -> Course:
    """Runs a transfer of 60 s, writes its samples to a folder, and returns its course. If the
    folder is complete, reads it and runs nothing.

    ``version`` is the congestion control towards the study's client."""
    folder = out / f"{experiment.name}-pep-{version}-real"
    if not (folder / "window").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _emulate(experiment, version, folder)
    return _course(folder)


def _course(folder: Path) -> Course:
    begin = float((folder / "begin").read_text())
    arrivals = np.loadtxt(folder / "arrivals", ndmin=2)
    arrivals = arrivals[arrivals[:, 0] <= begin + DURATION_S]
    window = [
        (float(time_s) - begin, float(cwnd))
        for time_s, cwnd in (line.split() for line in (folder / "window").read_text().splitlines())
    ]
    samples = np.array(window).reshape(-1, 2)
    return Course(arrivals[:, 0] - begin, arrivals[:, 1], samples[:, 0], samples[:, 1])


def _emulate(experiment: Experiment, version: str, folder: Path) -> None:
    # The times of link changes are relative to the start of the network, which is SETTLE_S before
    # the start of the transfer.
    changes = overrides(experiment, STUDY, later_s=SETTLE_S)
    duration = f'duration="{DURATION_S + 2 * SETTLE_S} s"'
    text = (HERE / "path.toml").read_text(encoding="utf-8")
    options = json.dumps({"hosts": ["gateway", "client"]})
    scenario = _native.Scenario("path.toml", text, [*changes, duration, "record.capture=[]"])
    network = _native.Network(scenario, options)
    start = time.monotonic()
    begin = start + SETTLE_S
    try:
        hosts = json.loads(network.describe())["hosts"]
        gateway, client = ([*_NSENTER, f"--net={hosts[name]['namespace']}"] for name in ("gateway", "client"))
        with ExitStack() as stack:
            server = stack.enter_context(_server(gateway, hosts["gateway"]["ipv4"]))
            stack.enter_context(_proxy(gateway, version))
            arrivals = stack.enter_context((folder / "arrivals").open("w"))
            stack.enter_context(
                _program([*client, sys.executable, "-c", _RECEIVE, str(PORT)], stdout=arrivals)
            )
            arguments = (hosts["client"]["ipv4"], PORT, begin, begin + DURATION_S)
            stack.enter_context(_program([*server, sys.executable, "-c", _SEND, *map(str, arguments)]))
            samples = []
            while time.monotonic() < begin + DURATION_S + 0.5:
                time.sleep(0.5)
                samples += [(time.monotonic(), cwnd) for cwnd in _windows(gateway, hosts["client"]["ipv4"])]
        lines = (folder / "arrivals").read_text().splitlines()
        # The first line is "ready". The last line may be incomplete, because the program was
        # terminated.
        complete = [line for line in lines[1:] if len(line.split()) == 2]
        (folder / "arrivals").write_text("\n".join(complete) + "\n")
        (folder / "begin").write_text(str(begin))
        (folder / "window").write_text("".join(f"{time_s} {cwnd}\n" for time_s, cwnd in samples))
    finally:
        network.stop()


_NSENTER: Final = ("nsenter",)

_MAIN: Final = "from bentpipe.cli import main; main()"


def _windows(gateway: Sequence[str], client: str) -> list[int]:
    """Returns a list with the congestion window of the proxy's connection to the study's client, in
    segments. The list is empty if there is no such connection."""
    output = _run([*gateway, "ss", "-tinH", "dst", f"{client}:{PORT}"])
    return [int(word.removeprefix("cwnd:")) for word in output.split() if word.startswith("cwnd:")][:1]


def _run(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def _program(command: Sequence[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(command, text=True, **options)  # type: ignore[call-overload]
    try:
        yield program
    finally:
        program.terminate()
        program.wait()


@contextmanager
def _server(gateway: Sequence[str], address: str) -> Iterator[list[str]]:
    """Creates the server's namespace, connects it to the gateway, and moves ``address``, the
    gateway's address in the emulated network, to it. ``gateway`` is the prefix of commands that run
    in the gateway's namespace. Yields the prefix of commands that run in the server's namespace."""
    with _program(["unshare", "-n", "sleep", "infinity"]) as keeper:
        this_namespace = Path("/proc/self/ns/net").stat().st_ino
        _until(lambda: Path(f"/proc/{keeper.pid}/ns/net").stat().st_ino != this_namespace)
        server = [*_NSENTER, "-t", str(keeper.pid), "-n"]
        [interface] = [
            link["ifname"]
            for link in json.loads(_run([*gateway, "ip", "-j", "-4", "addr", "show", "to", address]))
        ]
        commands = [
            (gateway, f"ip addr flush dev {interface} scope global"),
            (gateway, f"ip route replace default dev {interface}"),
            (gateway, f"ip link add lan type veth peer name lan netns {keeper.pid}"),
            (gateway, "ip addr add 10.78.0.1/32 dev lan"),
            (gateway, "ip link set lan up"),
            (gateway, f"ip route add {address}/32 dev lan"),
            (gateway, "sysctl -qw net.ipv4.ip_forward=1"),
            (server, "ip link set lo up"),
            (server, f"ip addr add {address}/32 dev lan"),
            (server, "ip link set lan up"),
            (server, "ip route add 10.78.0.1/32 dev lan"),
            (server, f"ip route replace default via 10.78.0.1 src {address}"),
        ]
        for prefix, command in commands:
            _run([*prefix, *command.split()])
        yield server


@contextmanager
def _proxy(gateway: Sequence[str], version: str) -> Iterator[None]:
    """Starts the proxy with the congestion control ``version`` towards the study's client, and
    waits until the proxy is ready. Each proxy has its own state folder.

    The option is ``--server-congestion``, because the proxy calls the host that opens a connection
    its client. In this study, the server opens the connection, so the proxy's server is the study's
    client."""
    with tempfile.TemporaryDirectory() as state:
        log = Path(state) / "log"
        command = [*gateway, sys.executable, "-c", _MAIN, "machine", "pep", "--server-congestion", version]
        variables = os.environ | {"BENTPIPE_STATE": state}
        with log.open("w") as errors, _program(command, stderr=errors, env=variables) as proxy:
            _until(lambda: proxy.poll() is not None or '"ready"' in log.read_text())
            if proxy.poll() is not None:
                raise OSError(f"the proxy did not start: {log.read_text().strip()}")
            yield


def _until(condition: Callable[[], bool]) -> None:
    """Waits until a condition is true. Raises ``OSError`` after 30 s."""
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            raise OSError("the proxy's network did not come up in 30 s")
        time.sleep(0.02)
