"""The pytest plug-in, tested in its own pytest without root."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from bentpipe.live import processes
from rigs.networks import needs, networks, until

TESTS = """
import pytest

@pytest.mark.bentpipe("geo-ka", overrides={"link.sat.delay": "60 ms", "link.sat.return.delay": "60 ms"})
def test_programs_run_behind_the_link_and_a_change_reaches_them(satellite):
    far = next(host for host in satellite.hosts if host != satellite.near)
    def rtt():
        done = satellite.run("ping", "-c", "1", "-q", satellite.hosts[far]["ipv4"])
        return float(done.stdout.rpartition(" = ")[2].split("/")[0])
    assert 120 <= rtt() < 140
    satellite.set(**{"link.sat.delay": "160 ms"})
    assert 220 <= rtt() < 240
    satellite.popen("sleep", "1000", host=far)

@pytest.mark.bentpipe("geo-ka")
def test_a_program_has_its_own_environment_and_that_of_its_host(satellite):
    given = {"PATH": "/usr/bin:/bin", "FOO": "a 'b' \\"$HOME\\" = \\\\ \\n*", "-u": "", "EMPTY": ""}
    done = satellite.run("env", "-0", env=given)
    seen = dict(one.split("=", 1) for one in done.stdout.split("\\0") if one)
    of_host = {name: seen.pop(name, "") for name in list(seen) if name.startswith("BENTPIPE_")}
    assert seen == given, done.stderr
    assert (of_host["BENTPIPE_RUN"], of_host["BENTPIPE_HOST"]) == (satellite.id, satellite.near)
    assert set(of_host) == {"BENTPIPE_RUN", "BENTPIPE_HOST", "BENTPIPE_HOSTS", "BENTPIPE_TOKEN"}
    assert satellite.run("env", env={"BENTPIPE_RUN": "x"}).stdout.count("BENTPIPE_RUN=x\\n") == 1

@pytest.mark.bentpipe("geo-ka", overrides={"link.sat.rate": "fast"})
def test_of_a_wrong_value(satellite):
    pass

@pytest.mark.bentpipe("geo-ka", host="nobody")
def test_of_a_host_that_is_missing(satellite):
    pass

def test_without_a_mark(satellite):
    pass
"""


LONG = """
import time
import pytest

@pytest.mark.bentpipe("geo-ka")
def test_that_does_not_end(satellite):
    satellite.popen("sh", "-c", "echo $$ >program.new; mv program.new program; exec sleep 1000")
    time.sleep(1000)
"""

#: Tests for a machine that cannot emulate. A page over 60 ms each way takes two round trips: the
#: handshake, and the request.
SIMULATED = """
import subprocess
import time
import pytest

FETCH = "import sys, urllib.request; print(len(urllib.request.urlopen(sys.argv[1]).read()))"
LOCAL = {"link.sat.delay": "60 ms", "link.sat.return.delay": "60 ms"}

@pytest.mark.bentpipe("geo-ka", overrides=LOCAL)
def test_a_page_crosses_the_path(satellite):
    assert satellite.simulated
    serve = ("python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "0")
    server = satellite.popen(*serve, host="server", stdout=subprocess.PIPE)
    port = int(server.stdout.readline().split(" port ")[1].split()[0])
    begin = time.monotonic()
    page = satellite.run("python3", "-c", FETCH, f"http://{satellite.address('server', port)}/")
    assert int(page.stdout) > 0 and time.monotonic() - begin >= 0.24

@pytest.mark.bentpipe("geo-ka")
def test_a_program_has_only_its_own_environment(satellite):
    assert satellite.run("env", env={"FOO": "a b", "PATH": "/usr/bin:/bin"}).stdout.split("\\n")[0] == "FOO=a b"

@pytest.mark.bentpipe("geo-ka")
def test_of_addresses(satellite):
    assert satellite.hosts

@pytest.mark.bentpipe("geo-ka")
def test_of_a_change(satellite):
    satellite.set(**{"link.sat.rate": "1 Mbit/s"})

@pytest.mark.bentpipe("geo-ka", simulated=False)
def test_of_an_emulated_network(satellite):
    pass

@pytest.mark.bentpipe("geo-ka")
def test_of_a_missing_host(satellite):
    satellite.address("nobody", 80)

@pytest.mark.bentpipe("geo-ka", overrides={"link.sat.rate": "fast"})
def test_of_a_wrong_value(satellite):
    pass
"""

#: An unprivileged user.
NOBODY = 65534


@networks
@needs("ping")
def test_a_pytest_of_its_own_runs_programs_behind_a_preset(tmp_path: Path) -> None:
    run_inside(tmp_path, [])


@networks
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_network_ends_with_its_pytest(tmp_path: Path, number: int) -> None:
    (tmp_path / "test_long.py").write_text(LONG)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_long.py"]
    with subprocess.Popen(
        words, cwd=tmp_path, env=variables(tmp_path), stdout=subprocess.PIPE, text=True
    ) as run:
        try:
            until((tmp_path / "program").exists)
            program = int((tmp_path / "program").read_text())
            assert len(networks_in(tmp_path)) == 1 and processes.started(program) is not None
        finally:
            run.send_signal(number)
        run.wait(60)
    until(lambda: not networks_in(tmp_path))
    until(lambda: processes.started(program) is None)


@networks
@needs("ping", "setpriv", "unshare")
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, as root")
def test_it_needs_no_root() -> None:
    folder = Path(tempfile.mkdtemp(prefix="bentpipe-nobody-"))
    try:
        before = as_nobody(folder)
        refused = subprocess.run(
            [*before, "unshare", "--user", "--net", "true"], capture_output=True, text=True, check=False
        )
        if refused.returncode:
            pytest.skip(f"nobody may create no namespaces: {refused.stderr.strip()}")
        run_inside(folder, before)
    finally:
        shutil.rmtree(folder)


def as_nobody(folder: Path) -> list[str]:
    """Returns the words that run a command as an unprivileged user, who can read Python and
    bentpipe, and owns the folder."""
    os.chown(folder, NOBODY, NOBODY)
    python = Path(sys.base_prefix)
    # Other users cannot read root's home, but Python may be installed there. An otherwise empty
    # home is mounted with Python visible in it.
    there = (
        f"mkdir -p {folder}/python && mount --bind {python} {folder}/python && "
        f"mount -t tmpfs -o mode=755 none /root && mkdir -p {python} && mount --bind {folder}/python {python} && "
    )
    # The device with the mode that distributions give it, which every user may open, in this mount
    # namespace only.
    device = f"rm -f {folder}/tun && mknod -m 666 {folder}/tun c 10 200 && mount --bind {folder}/tun /dev/net/tun && "
    steps = (there if python.is_relative_to("/root") else "") + device + 'exec "$@"'
    return [
        *("unshare", "--mount", "sh", "-c", steps, "sh"),
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    ]


def run_inside(folder: Path, before: list[str]) -> None:
    """Runs a test file: two tests pass, three fail with a message instead of a traceback, and
    nothing is left behind."""
    (folder / "test_one.py").write_text(TESTS)
    words = [*before, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_one.py"]
    done = subprocess.run(
        words, cwd=folder, env=variables(folder), capture_output=True, text=True, check=False
    )
    if before and "ermission denied" in done.stderr and str(Path(sys.prefix)) in done.stderr:
        pytest.skip("nobody else may run this Python")
    assert "2 passed, 3 errors" in done.stdout, done.stdout + done.stderr
    for message in ("link.sat.rate", "host nobody is unknown; allowed: ", "needs a mark with one scenario"):
        assert message in done.stdout, message
    assert "Traceback" not in done.stdout
    assert networks_in(folder) == []


def variables(folder: Path) -> dict[str, str]:
    """Returns the environment of a pytest that keeps its networks in this folder."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BENTPIPE_", "PYTEST_"))
    }
    return kept | {"BENTPIPE_STATE": str(folder / "state"), "HOME": str(folder)}


def networks_in(folder: Path) -> list[str]:
    """Returns the names of leftovers of networks, and of networks that are up."""
    return sorted({file.stem for file in (folder / "state").iterdir() if file.name != "lock"})


@needs("python3")
@pytest.mark.parametrize("missing", [False, True], ids=["by option", "without the device"])
def test_the_simulated_path_replaces_the_network(missing: bool, tmp_path: Path) -> None:
    """The output says so, and tests that need the network itself are skipped."""
    (tmp_path / "test_one.py").write_text(SIMULATED)
    words = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "test_one.py"]
    reason = "the option --bentpipe-simulated is set"
    if missing:
        if os.geteuid() != 0:
            pytest.skip("hides the device, as root")
        hide = 'mount --bind /dev/null /dev/net/tun && exec "$@"'
        words, reason = ["unshare", "--mount", "sh", "-c", hide, "sh", *words], "TUN"
    else:
        words.append("--bentpipe-simulated")
    done = subprocess.run(
        words, cwd=tmp_path, env=variables(tmp_path), capture_output=True, text=True, check=False
    )
    assert "2 failed, 2 passed, 3 skipped" in done.stdout or (
        "1 failed, 2 passed, 3 skipped, 1 error" in done.stdout
    ), done.stdout + done.stderr
    (path,) = (line for line in done.stdout.splitlines() if line.startswith("bentpipe: simulated path: "))
    assert reason in path
    for message in (
        "hosts have addresses only in an emulated network",
        "only an emulated network can be changed",
        "host nobody is unknown; allowed: server, user",
        "link.sat.rate",
    ):
        assert message in done.stdout, message
    assert "Traceback" not in done.stdout
