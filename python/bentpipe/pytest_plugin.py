"""A pytest plug-in for tests whose programs run behind a satellite.

::

    @pytest.mark.bentpipe("geo-ka", overrides={"link.sat.rate": "2 Mbit/s"})
    def test_the_first_page_comes_within_three_seconds(satellite):
        server = satellite.popen("python3", "-m", "http.server", "8000", host="server")
        ...
        page = satellite.run("curl", "-s", f"http://{satellite.hosts['server']['ipv4']}:8000/", timeout=30)
        assert page.returncode == 0

The mark names a preset or a scenario file. The fixture ``satellite`` brings the network up before
the test. After the test it takes the network down and ends all programs in it. On a machine that
cannot emulate, the test is skipped with the reason. An invalid scenario fails the test.
docs/pytest.md has a recipe for continuous integration without root.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from .errors import BAD_INPUT

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


class Satellite:
    """A network that is up while a test runs.

    ``id`` is its name for ``bentpipe net exec`` and similar commands. ``hosts`` maps each host to
    its addresses ``ipv4`` and ``ipv6``. ``near`` is the default host for programs.
    """

    def __init__(self, id: str, hosts: Mapping[str, Mapping[str, str]], near: str) -> None:  # noqa: A002 - its name
        self.id = id
        self.hosts = hosts
        self.near = near

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


def pytest_configure(config: pytest.Config) -> None:
    """Declares the mark `bentpipe` to pytest."""
    config.addinivalue_line(
        "markers",
        "bentpipe(scenario, overrides={}, host=None, internet=False): programs of the fixture `satellite` run behind "
        "this preset or scenario, in `host` unless a call names another",
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
    known = {"overrides", "host", "internet"}
    if unknown := sorted(set(mark.kwargs) - known):
        pytest.fail(f"mark bentpipe: {unknown[0]} is unknown; allowed: {', '.join(sorted(known))}", False)
    up = _up(str(mark.args[0]), mark.kwargs.get("overrides", {}), internet=mark.kwargs.get("internet", False))
    try:
        near = mark.kwargs.get("host") or up["near"]
        if near not in up["hosts"]:
            pytest.fail(f"mark bentpipe: host {near} is unknown; allowed: {', '.join(up['hosts'])}", False)
        yield Satellite(up["run"], up["hosts"], near)
    finally:
        _refused(_call("net", "down", up["run"]))


def _up(scenario: str, overrides: Mapping[str, Any], *, internet: bool) -> dict[str, Any]:
    """Brings a network up under a unique name. Returns the report of ``bentpipe net up --json``."""
    from bentpipe.scenario.scenarios import toml_value

    name = f"pytest-{os.getpid()}-{next(_NUMBERS)}"
    replaced = [word for key, value in overrides.items() for word in ("--set", f"{key}={toml_value(value)}")]
    access = "--internet" if internet else "--no-internet"
    # A killed pytest cannot take the network down, so the network ends with the process.
    until = ("--process", str(os.getpid()))
    done = _call("net", "up", scenario, "--name", name, access, "--json", *until, *replaced)
    if done.returncode not in {0, BAD_INPUT}:
        pytest.skip(done.stderr.strip())
    _refused(done)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _call(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_BENTPIPE, *words], capture_output=True, text=True, check=False)


def _refused(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        pytest.fail(done.stderr.strip(), False)
