"""The plug-in, inside a pytest of its own, without root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from networks import needs, networks

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


#: Another user, who has no rights.
NOBODY = 65534


@networks
@needs("ping")
def test_a_pytest_of_its_own_runs_programs_behind_a_preset(tmp_path: Path) -> None:
    run_inside(tmp_path, [])


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
    """Returns the words that run a command as a user without rights, who may read Python and bentpipe, and owns the
    folder."""
    os.chown(folder, NOBODY, NOBODY)
    python = Path(sys.base_prefix)
    # Other users cannot read root's home, but Python may be installed there: then nobody sees it in an otherwise empty
    # home.
    there = (
        f"mkdir -p {folder}/python && mount --bind {python} {folder}/python && "
        f"mount -t tmpfs -o mode=755 none /root && mkdir -p {python} && mount --bind {folder}/python {python} && "
    )
    # A device as distributions have it, which every user may open, in this mount namespace alone.
    device = f"rm -f {folder}/tun && mknod -m 666 {folder}/tun c 10 200 && mount --bind {folder}/tun /dev/net/tun && "
    steps = (there if python.is_relative_to("/root") else "") + device + 'exec "$@"'
    return [
        *("unshare", "--mount", "sh", "-c", steps, "sh"),
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    ]


def run_inside(folder: Path, before: list[str]) -> None:
    """Two tests pass, three fail with a message instead of a traceback, and nothing is left."""
    (folder / "test_one.py").write_text(TESTS)
    state = {"BENTPIPE_STATE": str(folder / "state"), "HOME": str(folder)}
    words = [*before, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_one.py"]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("BENTPIPE_", "PYTEST_"))
    }
    done = subprocess.run(words, cwd=folder, env=kept | state, capture_output=True, text=True, check=False)
    if before and "ermission denied" in done.stderr and str(Path(sys.prefix)) in done.stderr:
        pytest.skip("nobody else may run this Python")
    assert "2 passed, 3 errors" in done.stdout, done.stdout + done.stderr
    for message in ("link.sat.rate", "host nobody is unknown; allowed: ", "needs a mark with one scenario"):
        assert message in done.stdout, message
    assert "Traceback" not in done.stdout
    assert [file.name for file in (folder / "state").iterdir() if file.name != "lock"] == []
