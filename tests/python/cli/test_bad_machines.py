"""Machines that lack a requirement: the command prints a remedy, ends with exit code 1, and leaves
nothing."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from parity.pieces import PAIR, flow
from rigs.networks import Bentpipe, Machine, needs, networks

pytestmark = [networks, needs("unshare")]

#: Commands that need a network: up, run, emulate.
WAYS = ("up", "run", "emulate")

SCENARIO = 'name = "s"\nduration = "1 s"\n[record]\ntraces = ["tcp"]\n' + PAIR + flow("f", "a", "b")


def words(way: str, folder: Path, congestion: str = "reno") -> list[str]:
    file = folder / "s.toml"
    file.write_text(SCENARIO.replace("reno", congestion), encoding="utf-8")
    return {
        "up": ["net", "up", str(file)],
        "run": ["run", str(file), "--", "true"],
        "emulate": ["emulate", str(file), "--out", str(folder / "run"), "--no-report"],
    }[way]


def refused(bentpipe: Bentpipe, way: str, folder: Path, before: list[str]) -> str:
    """Returns the message on a machine prepared by ``before``; checks that the attempt leaves
    nothing behind."""
    done = Bentpipe(bentpipe.state, before=before).done(*words(way, folder))
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert bentpipe.left() == [] and bentpipe.processes() == {}
    if way == "emulate":
        about = json.loads((folder / "run/provenance.json").read_text())
        assert about["status"] == "incomplete"
    return done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_no_tun(bentpipe: Bentpipe, tmp_path: Path, way: str) -> None:
    """A machine whose kernel has no tun."""
    hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh"]
    said = refused(bentpipe, way, tmp_path, hide)
    assert "TUN" in said and "modprobe tun" in said


@pytest.mark.parametrize("way", WAYS)
def test_no_more_namespaces(bentpipe: Bentpipe, tmp_path: Path, way: str) -> None:
    # A user namespace in which no network namespaces are allowed.
    none = ["unshare", "-U", "-r", "sh", "-c", 'echo 0 >/proc/sys/user/max_net_namespaces; exec "$@"', "sh"]
    assert "user.max_net_namespaces" in refused(bentpipe, way, tmp_path, none)


def test_no_bpf(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """The kernel's own congestion control replaces bentpipe's, and the run reports the missing
    feature."""
    within = Bentpipe(bentpipe.state, before=["unshare", "-U", "-r"])
    said = within(*words("emulate", tmp_path, "vegas"), code=1)
    if "bp_" not in said:
        assert "as the machine's root" in said and "modprobe tcp_vegas" in said
    within(*words("emulate", tmp_path))
    notes = json.loads((tmp_path / "run/provenance.json").read_text())["notes"]["emulation"]
    assert any("congestion control reno is the kernel's own" in note for note in notes), notes
    assert any("TCP_INFO" in note for note in notes), notes


def test_too_few_files(bentpipe: Bentpipe, tmp_path: Path) -> None:
    few = ["sh", "-c", 'ulimit -n 24; exec "$@"', "sh"]
    assert "ulimit -n" in refused(bentpipe, "emulate", tmp_path, few)


def test_a_port_that_is_in_use(bentpipe: Bentpipe) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("0.0.0.0", 0))
        port = other.getsockname()[1]
        said = bentpipe("net", "up", "geo", "--host-at", f"server=127.0.0.2:{port}", code=1)
    assert str(port) in said and "choose another port" in said
    assert bentpipe.left() == [] and bentpipe.processes() == {}


@needs("nft", "nsenter", "ip")
def test_addresses_that_the_machine_uses_itself(bentpipe: Bentpipe, machine: Machine) -> None:
    inside = Bentpipe(bentpipe.state, before=machine.inside)
    machine("ip", "route", "add", "198.18.0.0/19", "dev", "wire")
    machine("ip", "addr", "add", "198.18.32.7/32", "dev", "lo")
    machine("ip", "route", "add", "198.18.32.0/28", "dev", "wire")
    machine("ip", "tuntap", "add", "bentpipe0", "mode", "tun")
    before = machine.picture()
    said = json.loads(inside("net", "up", "geo", "--internet", "--json"))
    assert said["hosts"]["user"]["ipv4"].startswith("198.18.48.")
    assert "bentpipe1" in machine("ip", "link")
    inside("net", "down")
    assert machine.picture() == before
    machine("ip", "route", "add", "198.18.0.0/15", "dev", "wire")
    before = machine.picture()
    said = inside("run", "geo", "--internet", "--", "true", code=1)
    assert "198.18.0.0/15" in said and "ip route" in said
    # Without an outlet there are no rules to collide with.
    inside("run", "geo", "--no-internet", "--", "true")
    assert machine.picture() == before
    assert bentpipe.left() == []


def test_a_full_disk_for_what_lives(bentpipe: Bentpipe) -> None:
    script = (
        'mount -t tmpfs -o size=8k,mode=700 none "$BENTPIPE_STATE" && '
        '{ head -c 100000 /dev/zero >"$BENTPIPE_STATE/full"; "$@"; }'
    )
    bentpipe.state.mkdir(mode=0o700)
    before = Bentpipe(bentpipe.state, before=["unshare", "-m", "sh", "-c", script, "sh"])
    done = before.done("net", "up", "geo")
    assert done.returncode == 1 and "No space left" in done.stderr, done.stderr
    assert bentpipe.processes() == {}


@pytest.mark.parametrize("kilobytes", [8, 40])
def test_a_full_disk_for_results(bentpipe: Bentpipe, tmp_path: Path, kilobytes: int) -> None:
    out, saved = tmp_path / "disk", tmp_path / "saved"
    out.mkdir()
    script = f'mount -t tmpfs -o size={kilobytes}k none {out} && {{ "$@"; code=$?; cp -r {out} {saved}; exit $code; }}'
    full = Bentpipe(bentpipe.state, before=["unshare", "-m", "sh", "-c", script, "sh"])
    line = words("emulate", tmp_path)
    line[line.index("--out") + 1] = str(out / "run")
    done = full.done(*line, "--set", 'record.capture=["a", "b"]')
    assert done.returncode == 1 and "No space left" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "namespaces" not in done.stderr
    about = saved / "run/provenance.json"
    if about.exists() and about.stat().st_size:
        assert json.loads(about.read_text())["status"] != "complete"
    assert bentpipe.processes() == {}


def test_what_the_machine_lacks_is_what_doctor_says(bentpipe: Bentpipe) -> None:
    hide = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh"]
    done = Bentpipe(bentpipe.state, before=hide).done("machine", "doctor")
    assert done.returncode == 1 and "modprobe tun" in done.stdout
