"""The confinement of the process of a simulation in the test bed."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="bentpipe[testbed] is not installed")

from bentpipe.testbed import sandbox

#: Enters the confinement, and prints the results of attempts as JSON.
PROGRAM = """
import json, os, socket, subprocess, sys
from pathlib import Path
from bentpipe.testbed import sandbox

data = Path(sys.argv[1])
own = data / "runs" / "1"
entered = sandbox.enter(data, own)

def tried(action):
    try:
        action()
        return "done"
    except PermissionError:
        return "refused"

print(json.dumps({
    "entered": entered,
    "database": tried((data / "testbed.sqlite").read_bytes),
    "new file": tried(lambda: (data / "new").write_text("x")),
    "other user": tried((data / "runs" / "2" / "flows.parquet").read_bytes),
    "list": tried(lambda: os.listdir(data)),
    "own": tried(lambda: (own / "flows.parquet").write_text("x")),
    "beside": tried(lambda: (data.parent / "beside" / "file").write_text("x")),
    "library": tried(lambda: Path(json.__file__).read_bytes()),
    "program": tried(lambda: subprocess.run(["/bin/true"], check=True)),
    "socket": tried(socket.socket),
}))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    data = tmp_path / "bed" / "data"
    for owner in ("1", "2"):
        (data / "runs" / owner).mkdir(parents=True)
    (data.parent / "beside").mkdir()
    (data / "testbed.sqlite").write_text("secret")
    (data / "runs" / "2" / "flows.parquet").write_text("results")
    return data


def test_33_a_simulation_reaches_neither_the_database_nor_other_users(data: Path) -> None:
    if not sandbox.landlock_version():
        pytest.skip("this kernel has no Landlock")
    if platform.machine() not in sandbox._DENIED:
        pytest.skip(f"the filter of system calls does not know {platform.machine()}")
    program = [sys.executable, "-c", PROGRAM, str(data)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"landlock", "seccomp"} <= set(found.pop("entered"))
    assert found == {
        "database": "refused",
        "new file": "refused",
        "other user": "refused",
        "list": "refused",
        "own": "done",
        "beside": "done",
        "library": "done",
        "program": "refused",
        "socket": "refused",
    }
