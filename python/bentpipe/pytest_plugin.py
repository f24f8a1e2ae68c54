"""A pytest plug-in for tests whose programs run behind a satellite.

::

    @pytest.mark.bentpipe("geo-ka", overrides={"link.sat.rate": "2 Mbit/s"})
    def test_the_first_page_comes_within_three_seconds(satellite):
        server = satellite.popen("python3", "-m", "http.server", "8000", host="server")
        ...
        page = satellite.run("curl", "-s", f"http://{satellite.address('server', 8000)}/", timeout=30)
        assert page.returncode == 0

The mark names a profile, a preset or a scenario file. The fixture ``satellite`` brings the network
up before the test. After the test it takes the network down and ends all programs in it. On a
machine that cannot emulate, the simulated path is imposed on connections between programs of this
machine, and the output says so. An invalid scenario fails the test. The files of a failed test are
in the folder of the option ``--bentpipe-artifacts``. docs/how-to/ci.md has recipes for continuous
integration without root.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from .errors import BAD_INPUT

if TYPE_CHECKING:
    from .live.target import Target
    from .relay import Relay

#: The command line of bentpipe, with the Python of the tests.
_BENTPIPE: Final = (
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'bentpipe'; from bentpipe.cli import main; main()",
)
#: The variables that a host sets for its programs. They are kept when a test passes its own
#: environment.
_OF_THE_HOST: Final = ("BENTPIPE_RUN", "BENTPIPE_HOST", "BENTPIPE_HOSTS", "BENTPIPE_TOKEN")
#: Shell command that starts a program with only these variables and those that follow.
_CLEARED: Final = (
    *("sh", "-c"),
    "exec env -i -- " + " ".join(f'{name}="${name}"' for name in _OF_THE_HOST) + ' "$@"',
    "sh",
)
_NUMBERS: Final = itertools.count(1)
#: The property of a test, in JUnit and in the summary, that says how its path was imposed.
_PATH: Final = "bentpipe path"
_EMULATED: Final = "emulated network"
_SIMULATED: Final = "simulated path"


class Satellite:
    """A network that is up while a test runs.

    ``id`` is its name for ``bentpipe net exec`` and similar commands. ``hosts`` maps each host to
    its addresses ``ipv4`` and ``ipv6``. ``near`` is the default host for programs. ``scenario`` is
    the scenario of the mark.
    """

    #: True if the simulated path replaces the network: see :class:`SimulatedSatellite`.
    simulated = False

    def __init__(
        self,
        id: str,  # noqa: A002 - its name
        hosts: Mapping[str, Mapping[str, str]],
        near: str,
        scenario: str = "",
    ) -> None:
        self.id = id
        self._hosts = hosts
        self.near = near
        self.scenario = scenario
        self._capture: tuple[Path, subprocess.Popen[bytes]] | None = None

    @property
    def hosts(self) -> Mapping[str, Mapping[str, str]]:
        """The addresses of the hosts by name."""
        return self._hosts

    def address(self, host: str, port: int) -> str:
        """Returns the address ``ADDRESS:PORT`` at which programs in other hosts reach a port of a
        host. On a machine that cannot emulate, connections to this address cross the simulated
        path."""
        return f"{self.hosts[host]['ipv4']}:{port}"

    def words(
        self, *command: str, host: str | None = None, env: Mapping[str, str] | None = None
    ) -> list[str]:
        """Returns the command line that runs ``command`` in a host, for other functions that start
        processes. ``env`` is the program's environment, by default that of the tests. bentpipe
        itself always uses the environment of the tests."""
        if env is not None:
            command = (*_CLEARED, *(f"{name}={value}" for name, value in env.items()), *command)
        return [*_BENTPIPE, "net", "exec", self.id, host or self.near, "--", *command]

    def run(
        self,
        *command: str,
        host: str | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program in a host and waits for it. ``options`` are passed to
        :func:`subprocess.run`. By default, the output is captured as text."""
        return subprocess.run(
            self.words(*command, host=host, env=env),
            **{"capture_output": True, "text": True, "check": False} | options,
        )

    def popen(
        self,
        *command: str,
        host: str | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[str]:
        """Starts a program in a host. A program that still runs at the end of the network is
        ended."""
        return subprocess.Popen(self.words(*command, host=host, env=env), **{"text": True} | options)

    def set(self, **changes: Any) -> None:
        """Changes parameters of the network as ``bentpipe net set`` does:
        ``set(**{"link.sat.rate": "1 Mbit/s"})``."""
        from bentpipe.scenario.scenarios import toml_value

        words = [f"{key}={toml_value(value)}" for key, value in changes.items()]
        _refused(_call("net", "set", self.id, *words))

    def start_capture(self) -> None:
        """Starts to capture the packets of the default host, if this user may capture."""
        descriptor, name = tempfile.mkstemp(prefix="bentpipe-", suffix=".pcap")
        os.close(descriptor)
        words = self.words(sys.executable, "-m", "bentpipe.live.capture", name)
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._capture = Path(name), process
        # The file begins with a head as soon as the socket is open.
        while not self._capture[0].stat().st_size and process.poll() is None:
            time.sleep(0.01)

    def collect(self, folder: Path) -> list[Path]:
        """Writes what explains a failure into a folder: the counters of the network, and the
        captured packets. Returns the files."""
        counters = folder / "counters.json"
        counters.write_text(_call("net", "watch", self.id, "--once", "--json").stdout, encoding="utf-8")
        written = [counters]
        if self._capture is not None and self._capture[0].stat().st_size:
            written.append(folder / "capture.pcap")
            written[-1].write_bytes(self._capture[0].read_bytes())
        return written

    def report(self) -> str:
        """Returns the state of the network as text."""
        return _call("net", "watch", self.id, "--once").stdout

    def close(self) -> None:
        """Takes the network down, and ends all programs in it."""
        if self._capture is not None:
            self._capture[1].kill()
            self._capture[1].wait()
            self._capture[0].unlink()
        _refused(_call("net", "down", self.id))


class SimulatedSatellite(Satellite):
    """The simulated path of a scenario, on a machine that cannot emulate networks.

    Programs run on this machine itself. Connections to :meth:`address` cross a relay that imposes
    rate and delay of the path. A test that uses addresses of hosts or changes the network is
    skipped, because its packets would not cross the path.
    """

    simulated = True

    def __init__(self, target: Target, reason: str) -> None:
        super().__init__("", {}, target.near, target.label)
        self.reason = reason
        self._target = target
        self._relays: dict[str, Relay] = {}
        self._programs: list[subprocess.Popen[str]] = []

    @property
    def hosts(self) -> Mapping[str, Mapping[str, str]]:
        """Skips the test: packets to an address would not cross the path."""
        pytest.skip(f"hosts have addresses only in an emulated network: {self.reason}")

    def _checked(self, host: str) -> str:
        if host not in self._target.hosts:
            pytest.fail(f"host {host} is unknown; allowed: {', '.join(self._target.hosts)}", False)
        return host

    def address(self, host: str, port: int) -> str:
        """Returns the address of a relay to a port of this machine, which imposes the path between
        the default host and ``host``."""
        from .relay import Relay
        from .tools.course import course

        if self._checked(host) == self.near:
            return f"127.0.0.1:{port}"
        if host not in self._relays:
            path = course(self._target.scenario, self.near, host)
            self._relays[host] = Relay(path).__enter__()
        return f"127.0.0.1:{self._relays[host].port(port)}"

    def words(
        self, *command: str, host: str | None = None, env: Mapping[str, str] | None = None
    ) -> list[str]:
        """Returns the command line, which runs on this machine itself."""
        self._checked(host or self.near)
        cleared = (
            [] if env is None else ["env", "-i", "--", *(f"{name}={value}" for name, value in env.items())]
        )
        return [*cleared, *command]

    def popen(
        self, *command: str, host: str | None = None, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Starts a program on this machine. It is ended after the test."""
        self._programs.append(super().popen(*command, host=host, env=env, **options))
        return self._programs[-1]

    def set(self, **changes: Any) -> None:  # noqa: ARG002 - as in the base class
        """Skips the test: the simulated path is that of the whole scenario."""
        pytest.skip(f"only an emulated network can be changed: {self.reason}")

    def start_capture(self) -> None:
        """Captures nothing: the packets do not cross a network of their own."""

    def collect(self, folder: Path) -> list[Path]:
        """Writes the course of the simulated path."""
        file = folder / "counters.json"
        steps = {
            host: [
                [
                    step.at_ms / 1e3,
                    step.down.rate_bit_s,
                    step.down.delay_s,
                    step.up.rate_bit_s,
                    step.up.delay_s,
                ]
                for step in relay.course.steps(1000)
            ]
            for host, relay in self._relays.items()
        }
        columns = ["time", "rate_down", "delay_down", "rate_up", "delay_up"]
        document = {"path": _SIMULATED, "reason": self.reason, "columns": columns, "steps": steps}
        file.write_text(json.dumps(document, indent=1), encoding="utf-8")
        return [file]

    def report(self) -> str:
        """Returns the reason for the simulated path, and its limits."""
        return (
            f"{_SIMULATED}: {self.reason}\nRate and delay of the path were imposed on TCP connections of this "
            "machine. There were no losses, and no congestion control on the path.\n"
        )

    def close(self) -> None:
        """Ends the programs and the relays."""
        for program in self._programs:
            with contextlib.suppress(ProcessLookupError):
                program.kill()
            program.wait()
        for relay in self._relays.values():
            relay.__exit__(None, None, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options of the plug-in."""
    group = parser.getgroup("bentpipe")
    group.addoption(
        "--bentpipe-artifacts",
        metavar="FOLDER",
        default="bentpipe-artifacts",
        help="Folder for the files of failed tests: report, counters and capture.",
    )
    group.addoption(
        "--bentpipe-simulated",
        action="store_true",
        help="Use the simulated path even if this machine can emulate networks.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the mark `bentpipe` to pytest."""
    config.addinivalue_line(
        "markers",
        "bentpipe(scenario, overrides={}, host=None, internet=False, simulated=True): programs of the fixture "
        "`satellite` run behind this profile, preset or scenario, in `host` unless a call names another; the "
        "simulated path is allowed on machines that cannot emulate",
    )


@pytest.fixture
def satellite(request: pytest.FixtureRequest) -> Iterator[Satellite]:
    """The network of the test's mark ``bentpipe``."""
    mark = request.node.get_closest_marker("bentpipe")
    if mark is None or len(mark.args) != 1:
        pytest.fail(
            'the fixture satellite needs a mark with one scenario, as in @pytest.mark.bentpipe("geo-ka")',
            False,
        )
    known = {"overrides", "host", "internet", "simulated"}
    if unknown := sorted(set(mark.kwargs) - known):
        pytest.fail(f"mark bentpipe: {unknown[0]} is unknown; allowed: {', '.join(sorted(known))}", False)
    network = _network(request.config, str(mark.args[0]), mark.kwargs)
    path = f"{_SIMULATED}: {network.reason}" if isinstance(network, SimulatedSatellite) else _EMULATED
    request.node.user_properties.append((_PATH, path))
    try:
        network.start_capture()
        yield network
    finally:
        network.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps the files of a failed test while its network is still up."""
    report = yield
    satellite = getattr(item, "funcargs", {}).get("satellite")
    if call.when != "call" or not report.failed or not isinstance(satellite, Satellite):
        return report
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", item.nodeid).strip("-")
    folder = Path(item.config.getoption("--bentpipe-artifacts")) / name
    folder.mkdir(parents=True, exist_ok=True)
    state = satellite.report()
    file = folder / "report.md"
    blocks = "".join(f"\n```text\n{text.rstrip()}\n```\n" for text in (state, report.longreprtext))
    file.write_text(f"# {item.nodeid}\n\nScenario: {satellite.scenario}\n{blocks}", encoding="utf-8")
    files = [file, *satellite.collect(folder)]
    # GitLab shows such lines of a JUnit file as links.
    links = "".join(f"[[ATTACHMENT|{one}]]\n" for one in files)
    report.sections.append(("bentpipe", f"{state}{links}"))
    # The JUnit file has the sections of standard output of later reports.
    item.add_report_section("call", "stdout of bentpipe", f"{state}{links}")
    item.user_properties.append(("bentpipe artifacts", str(folder)))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Reports how many tests used an emulated network, and how many the simulated path."""
    paths: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                paths.update(str(value) for name, value in report.user_properties if name == _PATH)
    for path, count in sorted(paths.items()):
        terminalreporter.write_line(f"bentpipe: {path} ({count} test{'s' if count > 1 else ''})")


def _network(config: pytest.Config, scenario: str, options: Mapping[str, Any]) -> Satellite:
    """Brings up the network of a mark, or else its simulated path."""
    overrides, internet, near = (
        options.get("overrides", {}),
        options.get("internet", False),
        options.get("host"),
    )
    reason = "the option --bentpipe-simulated is set"
    if not config.getoption("--bentpipe-simulated"):
        up = _up(scenario, overrides, internet=internet)
        if isinstance(up, dict):
            network = Satellite(up["run"], up["hosts"], near or up["near"], scenario)
            if network.near not in up["hosts"]:
                network.close()
                _unknown_host(network.near, up["hosts"])
            return network
        reason = up
    if internet or not options.get("simulated", True):
        pytest.skip(reason)
    from .live.target import target
    from .scenario.scenarios import toml_value

    replaced = [f"{key}={toml_value(value)}" for key, value in overrides.items()]
    try:
        found = target(scenario, replaced)
        if near not in (None, *found.hosts):
            _unknown_host(near, found.hosts)
        return SimulatedSatellite(target(scenario, replaced, near), reason)
    except ValueError as error:
        pytest.fail(str(error), False)


def _unknown_host(host: str | None, hosts: Iterable[str]) -> NoReturn:
    """Fails the test because the host of its mark is unknown."""
    pytest.fail(f"mark bentpipe: host {host} is unknown; allowed: {', '.join(hosts)}", False)


def _up(scenario: str, overrides: Mapping[str, Any], *, internet: bool) -> dict[str, Any] | str:
    """Brings a network up under a unique name. Returns the report of ``bentpipe net up --json``, or
    the reason why this machine cannot."""
    from bentpipe.scenario.scenarios import toml_value

    name = f"pytest-{os.getpid()}-{next(_NUMBERS)}"
    replaced = [word for key, value in overrides.items() for word in ("--set", f"{key}={toml_value(value)}")]
    access = "--internet" if internet else "--no-internet"
    # A killed pytest cannot take the network down, so the network ends with the process.
    until = ("--process", str(os.getpid()))
    done = _call("net", "up", scenario, "--name", name, access, "--json", *until, *replaced)
    if done.returncode not in {0, BAD_INPUT}:
        return done.stderr.strip().removeprefix("bentpipe: ")
    _refused(done)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _call(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_BENTPIPE, *words], capture_output=True, text=True, check=False)


def _refused(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        pytest.fail(done.stderr.strip(), False)
