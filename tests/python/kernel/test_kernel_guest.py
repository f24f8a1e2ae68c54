"""Isolation of guests: a guest can change nothing on its machine except its run folder, and leaves
nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe.errors import InputError
from bentpipe.guest import current
from parity.pieces import GEO, PAIR, flow
from rigs.guests import guests
from rigs.networks import START, needs, until

COMMAND = '{{ kind = "command", run = "{run}" }}'
LINK = (
    'name = "guest"\nduration = "{duration}"\n'
    + PAIR
    + flow("up", "a", "b", COMMAND, '{{ kind = "tcp", congestion = "reno" }}')
)


def emulated(folder: Path, run: str, duration: str = "3 s") -> bp.Run:
    """Runs one command in a guest."""
    file = folder / "guest.toml"
    file.write_text(LINK.format(run=run, duration=duration))
    return bp.emulate(file, out=folder / "run", clock="kernel", allow_commands=True)


def outcome(run: bp.Run) -> tuple[int, str]:
    """Returns a command's exit code and its output on both streams."""
    (command,) = run.provenance["notes"]["commands"]
    said = "".join(
        (run.path / command[stream]).read_text() for stream in ("stdout", "stderr") if command[stream]
    )
    return command["exit_code"], said


@guests
def test_root_in_a_guest_cannot_write_to_the_machine_nor_reach_it(tmp_path: Path) -> None:
    script = tmp_path / "attempts.sh"
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    script.write_text(
        f"""
        id -u
        echo touched > {outside} && echo wrote
        chmod 777 {outside} && echo changed
        mount -o remount,rw / && echo remounted
        echo touched > {outside} && echo wrote
        mkdir /dev/shm/m && mount -t hostfs none /dev/shm/m -o / && echo mounted
        echo touched > /dev/shm/m{outside} && echo wrote
        chmod 777 /dev/shm/m{outside} && echo changed
        touch $TMPDIR/scratch && echo scratch
        ip -o link | wc -l
        """
    )
    before = outside.stat()
    _, said = outcome(emulated(tmp_path, f"sh {script}"))
    lines = said.splitlines()
    # Root in the guest may even remount the folder; the machine's kernel refuses all other changes.
    assert lines[0] == "0" and "scratch" in lines and "mounted" in lines, said
    assert "wrote" not in lines and "changed" not in lines, said
    # The loopback interface, the host's interface, and the tunnel that IPv6 in IPv4 creates in
    # every namespace.
    assert int(lines[lines.index("scratch") + 1]) <= 3, said
    after = outside.stat()
    assert outside.read_text() == "untouched"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


#: Threads and a child with their own rounding modes, which are state of the floating-point unit,
#: exchange bytes and get a signal from each write to a pipe without a reader. Prints the number of
#: lost modes.
ROUNDING = """
import ctypes, os, signal, threading
math = ctypes.CDLL("libm.so.6")
lost, caught = [], []
signal.signal(signal.SIGPIPE, lambda *_: caught.append(1))
nobody, broken = os.pipe()
os.close(nobody)
def ping(mode, own, other):
    math.fesetround(mode)
    for _ in range(300):
        os.write(other, b"x")
        os.read(own, 1)
        try:
            os.write(broken, b"x")
        except BrokenPipeError:
            pass
        if math.fegetround() != mode:
            lost.append(mode)
(a, b), (c, d) = os.pipe(), os.pipe()
thread = threading.Thread(target=ping, args=(0x400, a, d))
thread.start()
ping(0xC00, c, b)
thread.join()
(a, b), (c, d) = os.pipe(), os.pipe()
child = os.fork()
ping(0x400 if child else 0xC00, *((a, d) if child else (c, b)))
if not child:
    os._exit(len(lost))
lost += [0] * os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(len(lost), len(caught) >= 300)
"""


@guests
def test_programs_keep_the_state_of_the_floating_point_unit(tmp_path: Path) -> None:
    script = tmp_path / "rounding.py"
    script.write_text(ROUNDING)
    assert outcome(emulated(tmp_path, f"{sys.executable} -I {script}")) == (0, "0 True\n")


def kernels() -> set[int]:
    """Returns the processes that run a guest's kernel, or a program in it."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            exe = str((entry / "exe").readlink())
            # Since Linux 6.16, programs have their own executable in memory.
            if "/bentpipe/kernels/" in exe or exe.startswith("/memfd:uml-userspace"):
                found.add(int(entry.name))
        except OSError:
            continue
    return found


@guests
@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_guest_ends_with_whoever_started_it(tmp_path: Path, number: signal.Signals) -> None:
    file = tmp_path / "guest.toml"
    # A day of virtual time takes some minutes, so the interruption always comes before its end.
    text = LINK.format(run="sleep 1", duration="100000 s").replace(
        '{ kind = "command", run = "sleep 1" }', '{ kind = "cbr", rate = "80 kbit/s", datagram = "500 B" }'
    )
    file.write_text(text.replace('{ kind = "tcp", congestion = "reno" }', '"udp"'))
    before, shared = kernels(), set(Path("/dev/shm").iterdir())
    words = ["emulate", file, "--clock", "kernel", "--out", tmp_path / "run", "--no-report"]
    process = subprocess.Popen(
        [*START, *map(str, words)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    until(lambda: len(kernels() - before) >= 2 and (tmp_path / "run" / "scenario.toml").is_file())
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    until(lambda: not kernels() - before)
    assert set(Path("/dev/shm").iterdir()) <= shared
    run = bp.open_run(tmp_path / "run")
    assert not run.complete
    if number == signal.SIGINT:
        assert process.returncode == 130 and "marked incomplete" in said, said
        assert run.provenance["status"] == "incomplete"


@guests
def test_a_program_that_never_waits_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="time stands still in the guest because of .*while true"):
        emulated(tmp_path, "sh -c 'while true; do true; done'", "20 s")


@guests
@needs("iperf3")
def test_iperf3_measures_over_a_satellite_and_twice_the_same(tmp_path: Path) -> None:
    """iperf3 polls for its server in a loop without a pause, here for a second; virtual time must
    advance meanwhile."""
    text = 'name = "iperf3"\nduration = "20 s"\n' + GEO
    programs = 'run = "iperf3 -c {to} -p {port} -t 8 -J", serve = "iperf3 -s -1 -p {port}"'
    text += flow("up", "user", "server", f'{{ kind = "command", {programs} }}')
    (tmp_path / "iperf3.toml").write_text(text)
    runs = [
        bp.emulate(tmp_path / "iperf3.toml", out=tmp_path / name, clock="kernel", allow_commands=True)
        for name in ("one", "two")
    ]
    (row,) = runs[0].flows.to_dicts()
    measured = [json.loads((run.path / "commands/up.stdout").read_text()) for run in runs]
    received, sent = measured[0]["end"]["sum_received"], measured[0]["end"]["sum_sent"]
    assert measured[0]["start"]["tcp_mss_default"] == 1460
    # 4 Mbit/s carry 1448 bytes of each packet of 1500, less the start-up time.
    assert 2.0e6 < received["bits_per_second"] < 4e6 * 1448 / 1500
    assert row["retransmissions"] == sent["retransmits"]
    assert row["delivered_bytes"] == received["bytes"]
    ends = [[(one["start"], one["bytes"]) for one in each["intervals"][0]["streams"]] for each in measured]
    assert ends[0] == ends[1]


@guests
def test_a_program_that_the_scenario_names_needs_leave(tmp_path: Path) -> None:
    file = tmp_path / "guest.toml"
    file.write_text(LINK.format(run="true", duration="1 s"))
    with pytest.raises(InputError, match="--allow-commands"):
        bp.emulate(file, out=tmp_path / "run", clock="kernel")


@guests
@needs("setpriv", "unshare")
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, as root")
def test_it_needs_no_root() -> None:
    nobody = 65534
    home = Path(tempfile.mkdtemp(prefix="bentpipe-nobody-"))
    python = Path(sys.base_prefix)
    # Other users cannot read root's home, but Python may be installed there. An otherwise empty
    # home is mounted with Python visible in it.
    there = (
        f"mkdir {home}/python && mount --bind {python} {home}/python && mount -t tmpfs -o mode=755 none /root && "
        f"mkdir -p {python} && mount --bind {home}/python {python} && "
    )
    steps = (there if python.is_relative_to("/root") else "") + 'exec "$@"'
    as_nobody = ["unshare", "--mount", "sh", "-c", steps, "sh"]
    as_nobody += ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups"]
    try:
        shutil.copytree(current().folder, home / "bentpipe" / "kernels" / "one")
        (home / "guest.toml").write_text(LINK.format(run="id -u", duration="1 s"))
        for path in (home, *home.rglob("*")):
            os.chown(path, nobody, nobody)
        environment = os.environ | {"XDG_CACHE_HOME": str(home), "HOME": str(home)}
        words = [
            "emulate",
            "guest.toml",
            "--clock",
            "kernel",
            "--out",
            "run",
            "--no-report",
            "--allow-commands",
        ]
        command = [*as_nobody, *START, *words]
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
        if "ermission denied" in done.stderr and str(Path(sys.prefix)) in done.stderr:
            pytest.skip("nobody else may run this Python")
        assert done.returncode == 0, done.stderr
        run = bp.open_run(home / "run")
        assert run.complete and (home / "run").stat().st_uid == nobody
        assert outcome(run) == (0, "0\n")
    finally:
        shutil.rmtree(home)
