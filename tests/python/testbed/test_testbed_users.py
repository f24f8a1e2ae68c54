"""The test bed's two processes as different users, and the limits of a run by control groups."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import ROOT

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.testbed import control_groups, rules
from bentpipe.testbed.accounts import open_session, password_hash
from bentpipe.testbed.settings import Settings
from bentpipe.testbed.store import Store
from bentpipe.testbed.tables import User
from helpers.beds import Bed, _cheap_passwords, bed, launched
from httpx2 import Client, HTTPTransport
from rigs.networks import needs
from rigs.testbeds import BENTPIPE, SMALL, until

__all__ = ["_cheap_passwords", "bed"]

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
    """Returns a prefix of command lines that makes the interpreter reachable for every user: a
    mount namespace, if the interpreter is below a folder of root."""
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
    """Returns a part of the test bed that runs as a user, once it is ready."""
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
    """The processes share the data by a group; a run's files belong to the executor, and other
    users see nothing."""
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
            user = User(name="ada", password=password_hash("correct horse battery"), level="user")
            rows.add(user)
            rows.flush()
            secret = open_session(rows, user, "token", 3600.0)
        store.close()
        with Client(
            base_url="http://127.0.0.1",
            transport=HTTPTransport(uds=str(socket)),
            headers={"Authorization": f"Bearer {secret}"},
            timeout=60,
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
        # Other users can neither open the database nor wake the executor.
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


@pytest.fixture
def groups() -> Iterator[control_groups.Parent]:
    """The parent of the groups that this process creates."""
    try:
        parent = control_groups.parent()
    except OSError:
        parent = None
    if parent is None:
        pytest.skip("this process may not make control groups")
    yield parent
    control_groups.leave(parent)
    assert parent.unified or not any(path.exists() for path in parent.paths.values())


def test_a_group_bounds_memory_and_ends_everything_in_it(groups: control_groups.Parent) -> None:
    """The kernel kills a program that exceeds the limit, and no process of the run remains."""
    group = control_groups.Group(groups, "run-test", 50_000_000, 1)
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
    assert idle.wait(10) == -9 and not any(path.exists() for path in group.paths.values())
    assert time.monotonic() - began < control_groups.EMPTY_S


def test_a_group_bounds_the_processors(groups: control_groups.Parent) -> None:
    """Two busy processes together get a fifth of a processor."""
    if "cpu" not in groups.paths:
        pytest.skip("the controller of processors is not there")
    group = control_groups.Group(groups, "run-test", 50_000_000, 0.2)
    work = "input()\nwhile True: pass"
    busy = [subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE) for _ in range(2)]
    try:
        for process in busy:
            group.add(process.pid)
        before, began = sum(used_s(one.pid) for one in busy), time.monotonic()
        for process in busy:
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
        time.sleep(2)
        passed = time.monotonic() - began
        # At most two periods more than the quota: one at the beginning and one at the end.
        most = 0.2 * (passed + 2 * control_groups.PERIOD_US / 1e6)
        assert sum(used_s(one.pid) for one in busy) - before <= most + 2 / os.sysconf("SC_CLK_TCK")
    finally:
        group.end()
        for process in busy:
            process.communicate()


def used_s(process: int) -> float:
    """Returns the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


#: A source a million times faster than its link, so that its data waits.
GREEDY = """name = "Greedy"
duration = "2 s"

[[link]]
name = "slow"
from = "a"
to = "b"
rate = "1 kbit/s"
delay = "1 ms"
queue = { kind = "drop-tail", packets = 1000000000 }

[[flow]]
name = "flood"
from = "a"
to = "b"
app = { kind = "cbr", rate = "1 Gbit/s", datagram = "20 B" }
transport = "udp"
"""


@pytest.mark.parametrize(
    "grouped, memory", [(True, 400_000_000), (False, 1_500_000_000)], ids=["group", "address space"]
)
def test_18_a_run_that_needs_more_memory_ends_with_the_reason(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, grouped: bool, memory: int, request: pytest.FixtureRequest
) -> None:
    """With a control group, the kernel kills the run. Without one, the limit applies to the address
    space, of which libraries reserve much. The next run succeeds."""
    if grouped:
        request.getfixturevalue("groups")
    else:
        monkeypatch.setattr(control_groups, "parent", lambda: None)
    least = replace(rules.OF_LEVEL["user"], memory=memory)
    monkeypatch.setitem(rules.OF_LEVEL, "user", least)
    ada = bed.join("ada")
    launched(ada, text=GREEDY)
    launched(ada, text=SMALL.replace("20 s", "1 s"))
    bed.execute()
    until(lambda: {one["state"] for one in ada.get("/api/runs").json()} <= {"failed", "done"})
    after, greedy = ada.get("/api/runs").json()
    assert (after["state"], greedy["state"]) == ("done", "failed"), (after, greedy)
    told = "the run needed more than 400 MB of memory" if grouped else "probably out of memory"
    assert told in greedy["reason"]


#: The files of a version-2 group that was delegated to the executor.
DELEGATED = {
    "cgroup.controllers": "cpuset cpu io memory pids\n",
    "cgroup.procs": "4711\n",
    "cgroup.subtree_control": "",
}


def test_files_of_version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compares the written files with the kernel's documentation of cgroup v2, in ordinary folders,
    because the machines of the tests have version 1."""
    own = tmp_path / "system.slice/bentpipe.service"
    (own / "executor").mkdir(parents=True)
    for name, text in DELEGATED.items():
        (own / name).write_text(text)
    (own / "executor/cgroup.procs").touch()
    (tmp_path / "self").write_text("0::/system.slice/bentpipe.service\n")
    monkeypatch.setattr(control_groups, "MOUNT", tmp_path)
    monkeypatch.setattr(control_groups, "OWN", tmp_path / "self")
    parent = control_groups.parent()
    assert parent == control_groups.Parent(dict.fromkeys(("memory", "cpu", "pids"), own), unified=True)
    # A group with processes must not pass controllers on.
    assert (own / "executor/cgroup.procs").read_text() == "4711"
    assert (own / "cgroup.subtree_control").read_text() == "+memory +cpu +pids"
    files = ("memory.max", "memory.swap.max", "cpu.max", "pids.max", "cgroup.procs")
    run = own / "run-1"
    run.mkdir()
    for name in files:
        (run / name).touch()
    (run / "memory.events").write_text("low 0\nhigh 0\nmax 3\noom 1\noom_kill 0\noom_group_kill 0\n")
    group = control_groups.Group(parent, "run-1", 400_000_000, 1.5)
    group.add(815)
    assert [(run / name).read_text() for name in files] == ["400000000", "0", "150000 100000", "2000", "815"]
    assert not group.exceeded()
    (run / "memory.events").write_text("max 3\noom 1\noom_kill 1\n")
    assert group.exceeded()


@needs("systemd-analyze")
@pytest.mark.parametrize("unit", ["web", "executor"])
def test_the_units_are_valid(unit: str) -> None:
    file = ROOT / f"packaging/systemd/bentpipe-testbed-{unit}.service"
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", "--man=no", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"bentpipe-testbed-{unit}" not in done.stderr, done.stderr
