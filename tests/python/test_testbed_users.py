"""The test bed's two processes as different users, and the bounds of a run by control groups."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.testbed import bounds
from bentpipe.testbed.accounts import hashed, open_session
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store
from bentpipe.testbed.tables import User
from httpx2 import Client, HTTPTransport
from networks import needs
from testbeds import BENTPIPE, SMALL, until

#: Users and groups that exist on no machine.
WEB, EXECUTOR, GROUP, STRANGER = 61_001, 61_002, 61_003, 61_004

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    made = Path(tempfile.mkdtemp(prefix="bentpipe-users-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def reachable(folder: Path) -> list[str]:
    """Returns the beginning of a command line in which the interpreter can be reached by every user: in a mount
    namespace, if it is below a folder of root's own."""
    prefix = Path(sys.base_prefix).resolve()
    closed = [above for above in prefix.parents if not above.stat().st_mode & 0o001]
    if not closed:
        return []
    copy = folder / "prefix"
    copy.mkdir(exist_ok=True)
    script = (
        f"mount --bind {prefix} {copy} && mount -t tmpfs -o mode=755 none {closed[-1]} && "
        f'mkdir -p {prefix} && mount --bind {copy} {prefix} && exec "$@"'
    )
    return ["unshare", "-m", "sh", "-c", script, "sh"]


def started(user: int, folder: Path, part: str, *more: str) -> subprocess.Popen[bytes]:
    """Returns a part of the test bed that runs as a user, when it is ready."""
    home = folder / f"home-{user}"
    home.mkdir()
    os.chown(home, user, GROUP)
    process = subprocess.Popen(
        [
            *reachable(folder),
            *("setpriv", f"--reuid={user}", f"--regid={GROUP}", "--clear-groups", "--no-new-privs"),
            *BENTPIPE,
            *("serve", "--part", part, "--data", str(folder / "data"), "--group", str(GROUP), *more),
        ],
        stdout=subprocess.PIPE,
        cwd="/",
        env={**os.environ, "HOME": str(home), "TMPDIR": str(home)},
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


@root
@needs("setpriv")
@needs("unshare")
def test_web_process_and_executor_are_different_users(folder: Path) -> None:
    """They share the data by a group; a run's files belong to the executor, and to others there is nothing to see."""
    data = folder / "data"
    data.mkdir()
    os.chown(data, WEB, GROUP)
    socket = folder / "data" / "web.socket"
    running = [started(WEB, folder, "web", "--socket", str(socket))]
    try:
        running.append(started(EXECUTOR, folder, "executor"))
        settings = Settings(data)
        store = Store(settings.url)
        with store.writing() as rows:
            user = User(name="ada", password=hashed("correct horse battery"), level="user")
            rows.add(user)
            rows.flush()
            secret = open_session(rows, user, "token", 3600.0)
        store.close()
        with Client(
            base_url="http://127.0.0.1",
            transport=HTTPTransport(uds=str(socket)),
            headers={"Authorization": f"Bearer {secret}"},
        ) as client:
            (run,) = client.post("/api/runs", json={"text": SMALL}).json()
            at = f"/api/runs/{run['id']}"
            ended = until(lambda: (one := client.get(at).json())["ended"] and one)
            assert (ended["state"], ended["reason"]) == ("done", "")
            written = settings.folder(1, run["id"]) / "flows.parquet"
            about = written.stat()
            assert (about.st_uid, about.st_gid) == (EXECUTOR, GROUP)
            assert not stat.S_IMODE(data.stat().st_mode) & 0o007 and not about.st_mode & 0o007
            assert client.get(f"{at}/results").json()["flows"]
            assert client.delete(at).status_code == 204
            assert not written.exists()
        # Nobody else reaches the database or wakes the executor.
        look = f"import socket; open({str(data / 'testbed.sqlite')!r})"
        stranger = [
            *reachable(folder),
            "setpriv",
            f"--reuid={STRANGER}",
            f"--regid={STRANGER}",
            "--clear-groups",
            sys.executable,
        ]
        assert (
            b"PermissionError"
            in subprocess.run([*stranger, "-c", look], capture_output=True, check=False).stderr
        )
    finally:
        for process in running:
            process.terminate()
            assert process.wait(30) == 0
            assert process.stdout is not None
            process.stdout.close()


def test_a_group_bounds_memory_and_ends_everything_in_it() -> None:
    """A program of a run that takes more is ended by the kernel, and nothing of the run stays."""
    try:
        parent = bounds.parent()
    except OSError:
        parent = None
    if parent is None:
        pytest.skip("this process may not make control groups")
    try:
        group = bounds.Group(parent, "run-test", 50_000_000)
        greedy = "input(); held = bytearray(200_000_000); print(sum(held[::4096]))"
        idle = subprocess.Popen(["sleep", "1000"])
        process = subprocess.Popen(
            [sys.executable, "-c", greedy], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        group.add(process.pid)
        group.add(idle.pid)
        assert not group.exceeded()
        process.communicate(b"go\n")
        assert process.returncode == -9 and group.exceeded()
        began = time.monotonic()
        group.end()
        assert idle.wait(10) == -9 and not group.path.exists()
        assert time.monotonic() - began < bounds.EMPTY_S
    finally:
        bounds.leave(parent)
    assert not parent.path.exists() or parent.unified


@needs("systemd-analyze")
@pytest.mark.parametrize("unit", ["web", "executor"])
def test_the_units_are_valid(unit: str) -> None:
    file = Path(__file__).resolve().parents[2] / f"packaging/systemd/bentpipe-testbed-{unit}.service"
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", "--man=no", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"bentpipe-testbed-{unit}" not in done.stderr, done.stderr
