"""The experiments through a real proxy at the gateway. Like PEPsal, it splits connections: its TCP
towards the client is Hybla, and towards the server it uses the server's TCP.

The proxy is ``bentpipe machine pep`` in the gateway's namespace. The server is behind the gateway:
it has the gateway's address in the emulated network, and the gateway forwards. In virtual time, the
proxy is a ``[[proxy]]`` (:func:`~.cases.split_job`).
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

#: Time from the start of the network to that of the transfer, in which the proxy starts.
SETTLE_S: Final = 6
PORT: Final = 5001
#: Number of concurrent experiments.
AT_A_TIME: Final = 7

_RECEIVE: Final = """
import socket, sys, time
listener = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("ready", flush=True)
end, _ = listener.accept()
total, last = 0, 0.0
try:
    while data := end.recv(1 << 16):
        total += len(data)
        print(time.monotonic(), total, flush=True)
except ConnectionResetError:
    pass  # This is how the sender ends.
"""

_SEND: Final = """
import socket, sys, time
time.sleep(max(0, float(sys.argv[3]) - time.monotonic()))
end = socket.create_connection((sys.argv[1], int(sys.argv[2])))
end.settimeout(1)
until, data = float(sys.argv[4]), bytes(1 << 16)
while time.monotonic() < until:
    try:
        end.send(data)
    except TimeoutError:
        pass
end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
"""


def run(experiments: Sequence[Experiment], out: Path, notes: list[str]) -> dict[tuple[str, str], Course]:
    """Returns the courses of the experiments with Hybla, under their names and "-pep"."""
    if why := missing():
        notes.append(f"not run through the proxy: {why}")
        return {}
    cases = [(experiment, "hybla") for experiment in experiments]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        courses = pool.map(lambda case: transfer(case[0], case[1], out), cases)
        return {(f"{case[0].name}-pep", case[1]): course for case, course in zip(cases, courses, strict=True)}


def missing() -> str | None:
    """Returns the requirement that this machine does not meet, if any."""
    if os.geteuid() != 0:
        return "not root"
    needed = [
        program for program in ("ip", "nft", "nsenter", "ss", "unshare") if shutil.which(program) is None
    ]
    return f"not installed: {', '.join(needed)}" if needed else None


def transfer(experiment: Experiment, version: str, out: Path) -> Course:
    """Runs one transfer of 60 s and writes its samples to a folder. Reads an existing folder
    instead."""
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
        (float(moment) - begin, float(cwnd))
        for moment, cwnd in (line.split() for line in (folder / "window").read_text().splitlines())
    ]
    times = np.array(window).reshape(-1, 2)
    return Course(arrivals[:, 0] - begin, arrivals[:, 1], times[:, 0], times[:, 1])


def _emulate(experiment: Experiment, version: str, folder: Path) -> None:
    # Changes of the link count from the network's start, phases of the transfer from the transfer's
    # start.
    changes = overrides(experiment, STUDY, later_s=SETTLE_S)
    longer = f'duration="{DURATION_S + 2 * SETTLE_S} s"'
    text = (HERE / "path.toml").read_text(encoding="utf-8")
    options = json.dumps({"hosts": ["gateway", "client"]})
    scenario = _native.Scenario("path.toml", text, [*changes, longer, "record.capture=[]"])
    network = _native.Network(scenario, options)
    start = time.monotonic()
    begin = start + SETTLE_S
    try:
        hosts = json.loads(network.describe())["hosts"]
        gateway, client = ([*_NSENTER, f"--net={hosts[name]['namespace']}"] for name in ("gateway", "client"))
        with ExitStack() as stack:
            server = stack.enter_context(_behind(gateway, hosts["gateway"]["ipv4"]))
            stack.enter_context(_proxy(gateway, version))
            arrivals = stack.enter_context((folder / "arrivals").open("w"))
            stack.enter_context(
                _program([*client, sys.executable, "-c", _RECEIVE, str(PORT)], stdout=arrivals)
            )
            words = (hosts["client"]["ipv4"], PORT, begin, begin + DURATION_S)
            stack.enter_context(_program([*server, sys.executable, "-c", _SEND, *map(str, words)]))
            samples = []
            while time.monotonic() < begin + DURATION_S + 0.5:
                time.sleep(0.5)
                samples += [(time.monotonic(), cwnd) for cwnd in _windows(gateway, hosts["client"]["ipv4"])]
        lines = (folder / "arrivals").read_text().splitlines()
        # The last line may be incomplete, because the program was terminated.
        whole = [line for line in lines[1:] if len(line.split()) == 2]
        (folder / "arrivals").write_text("\n".join(whole) + "\n")
        (folder / "begin").write_text(str(begin))
        (folder / "window").write_text("".join(f"{moment} {cwnd}\n" for moment, cwnd in samples))
    finally:
        network.stop()


_NSENTER: Final = ("nsenter",)

_MAIN: Final = "from bentpipe.cli import main; main()"


def _windows(gateway: Sequence[str], client: str) -> list[int]:
    """Returns the window of the proxy's connection to the client, in segments."""
    said = _run([*gateway, "ss", "-tinH", "dst", f"{client}:{PORT}"])
    return [int(word.removeprefix("cwnd:")) for word in said.split() if word.startswith("cwnd:")][:1]


def _run(words: Sequence[str]) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@contextmanager
def _program(words: Sequence[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(words, text=True, **options)  # type: ignore[call-overload]
    try:
        yield program
    finally:
        program.terminate()
        program.wait()


@contextmanager
def _behind(gateway: Sequence[str], address: str) -> Iterator[list[str]]:
    """Sets up a server behind the gateway with the given address. Yields the prefix of commands
    that run there."""
    with _program(["unshare", "-n", "sleep", "infinity"]) as keeper:
        own = Path("/proc/self/ns/net").stat().st_ino
        _until(lambda: Path(f"/proc/{keeper.pid}/ns/net").stat().st_ino != own)
        server = [*_NSENTER, "-t", str(keeper.pid), "-n"]
        [interface] = [
            one["ifname"]
            for one in json.loads(_run([*gateway, "ip", "-j", "-4", "addr", "show", "to", address]))
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
        for where, command in commands:
            _run([*where, *command.split()])
        yield server


@contextmanager
def _proxy(gateway: Sequence[str], version: str) -> Iterator[None]:
    """Starts the proxy and waits until it is ready; its state is kept apart from that of other
    proxies."""
    with tempfile.TemporaryDirectory() as state:
        log = Path(state) / "log"
        words = [*gateway, sys.executable, "-c", _MAIN, "machine", "pep", "--server-congestion", version]
        variables = os.environ | {"BENTPIPE_STATE": state}
        with log.open("w") as errors, _program(words, stderr=errors, env=variables) as proxy:
            _until(lambda: proxy.poll() is not None or '"ready"' in log.read_text())
            if proxy.poll() is not None:
                raise OSError(f"the proxy did not start: {log.read_text().strip()}")
            yield


def _until(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not true():
        if time.monotonic() > limit:
            raise OSError("the proxy's network did not come up in 30 s")
        time.sleep(0.02)
