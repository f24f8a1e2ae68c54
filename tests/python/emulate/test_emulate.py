"""``bentpipe emulate`` beyond the models: programs of the machine, captures, simulated crowds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import bentpipe as bp
import pytest
from parity.pieces import PAIR, flow
from rigs import commands
from rigs.networks import START, needs, networks

pytestmark = pytest.mark.quiet

LINK = (
    'name = "commands"\nduration = "{duration}"\n'
    + PAIR
    + 'queue = {{ kind = "drop-tail", bytes = "50 kB" }}\n'
)

FLOW = flow("{name}", "a", "b", "{app}", '{{ kind = "tcp", congestion = "{congestion}" }}')

IPERF = '{ kind = "command", run = "iperf3 -c {to} -p {port} -t 4 -J", serve = "iperf3 -s -1 -p {port}" }'


def _scenario(folder: Path, app: str, duration: str = "7 s", congestion: str = "reno") -> Path:
    file = folder / "commands.toml"
    flow = FLOW.format(name="up", app=app, congestion=congestion)
    file.write_text(LINK.format(duration=duration) + flow, encoding="utf-8")
    return file


_bentpipe = commands.run


def _processes(word: str) -> list[str]:
    """Returns the numbers of processes with this word in their command line."""

    def command_lines() -> Iterator[tuple[str, list[bytes]]]:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    yield entry.name, (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue

    return [number for number, words in command_lines() if word.encode() in words]


def test_commands_are_shown_and_refused(tmp_path: Path) -> None:
    file = _scenario(tmp_path, '{ kind = "command", run = "touch {to} \'a file\'" }')
    done = _bentpipe("emulate", file, "--out", tmp_path / "run")
    assert done.returncode == 2, done.stderr
    assert "--allow-commands" in done.stderr
    assert 'flow "up" at host "a": touch 198.18.' in done.stderr
    assert '"a file"' in done.stderr
    assert not (tmp_path / "run").exists()


def test_commands_and_the_kernels_congestion_controls_are_not_simulated(tmp_path: Path) -> None:
    file = _scenario(tmp_path, IPERF, congestion="linux-cubic")
    assert _bentpipe("check", file).returncode == 0
    done = _bentpipe("simulate", file, "--out", tmp_path / "run")
    assert done.returncode == 2, done.stderr
    for words in ("flow.up.app", "bentpipe emulate", "flow.up.transport.congestion", "linux-cubic"):
        assert words in done.stderr
    assert not (tmp_path / "run").exists()


@networks
def test_what_the_machine_cannot_hold_is_told_by_check_and_refused(tmp_path: Path) -> None:
    file = _scenario(tmp_path, '{ kind = "bulk" }', "3 s")
    far = ["--set", "link.l.rate=1000 Gbit/s", "--set", "link.l.delay=10000 s"]
    said = _bentpipe("check", file, *far).stdout
    assert "an emulation needs up to 1775000 GB (l: 1 Tbit/s for 10000 s)" in said
    done = _bentpipe("emulate", file, *far, "--out", tmp_path / "run", "--no-report")
    assert done.returncode == 1
    for words in ("full links hold 1775000.0 GB", "l: 1 Tbit/s for 10000 s", "choose lower rates"):
        assert words in done.stderr, done.stderr


@networks
def test_a_key_that_the_kernel_cannot_apply_degrades_the_verdict_and_is_printed(tmp_path: Path) -> None:
    file = _scenario(tmp_path, '{ kind = "bulk" }', "3 s", "linux-reno")
    overrides = ["--set", "flow.up.transport.initial_ssthresh=30", "--set", "flow.up.transport.undo=false"]
    done = _bentpipe("emulate", file, *overrides, "--out", tmp_path / "run", "--no-report")
    assert done.returncode == 0, done.stderr
    run = bp.Run(tmp_path / "run")
    unapplied = "flow up: undo is not applied: the kernel's is on"
    assert run.fidelity["verdict"] != "valid" and run.fidelity["unapplied"] == [unapplied]
    assert unapplied in done.stdout
    # The threshold is applied without a bentpipe program in the kernel.
    thresholds = run.trace("tcp")["ssthresh"]
    assert thresholds[0] == 30, thresholds


@networks
@needs("iperf3")
@pytest.mark.parametrize("congestion", ["linux-cubic", "reno"])
def test_iperf3_fills_the_tables(tmp_path: Path, congestion: str) -> None:
    file = _scenario(tmp_path, IPERF, congestion=congestion)
    done = _bentpipe("emulate", file, "--out", tmp_path / "run", "--allow-commands", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "command  " not in done.stdout
    run = bp.Run(tmp_path / "run")
    flow = run.flows.row(0, named=True)
    # 5 Mbit/s carry 4.87 Mbit/s of payload.
    assert 4.3e6 < flow["goodput"] < 4.88e6
    assert flow["rtt_min"] >= 0.02
    document = json.loads((run.path / "commands/up.stdout").read_text())
    if congestion != "reno":
        assert document["end"]["sender_tcp_congestion"] == congestion.removeprefix("linux-")


@networks
@needs("iperf3")
@pytest.mark.parametrize(
    ("options", "names", "loss"),
    [
        ("-R", ["up.reverse"], None),
        ("--bidir", ["up", "up.reverse"], None),
        ("-u -b 8M", ["up"], 0.37),
        ("-u -b 8M -R", ["up.reverse"], 0.37),
    ],
)
def test_iperf3_in_other_directions_and_with_datagrams(
    tmp_path: Path, options: str, names: list[str], loss: float | None
) -> None:
    file = _scenario(tmp_path, IPERF.replace("-t 4", f"-t 3 {options}"), "6 s")
    run = bp.emulate(file, out=tmp_path / "run", allow_commands=True)
    rows = {row["flow"]: row for row in run.flows.to_dicts()}
    assert set(rows) == {"up", *names}
    end = json.loads((run.path / "commands/up.stdout").read_text())["end"]
    for name in names:
        row = rows[name]
        assert (row["from"], row["to"]) == (("b", "a") if name == "up.reverse" else ("a", "b"))
        sums = end.get(f"sum_received{'_bidir_reverse' if len(names) > 1 and name != 'up' else ''}")
        assert row["delivered_bytes"] == sums["bytes"]
        # 5 Mbit/s carry 4.87 Mbit/s of payload; with traffic in both directions, acknowledgments
        # take a share.
        assert (3e6 if len(names) > 1 else 4.3e6) < row["goodput"] < 4.92e6
        assert row["goodput"] == pytest.approx(sums["bits_per_second"], rel=0.03)
        if loss is not None:
            # 8 Mbit/s of payload into 4.87.
            assert 1 - row["delivered_packets"] / row["sent_packets"] == pytest.approx(loss, abs=0.06)
    if "up" not in names:
        assert rows["up"]["goodput"] is None and rows["up"]["delivered_bytes"] is None


@networks
def test_a_command_that_fails_is_seen(tmp_path: Path) -> None:
    file = _scenario(tmp_path, """{ kind = "command", run = "sh -c 'echo why >&2; exit 5'" }""", "1 s")
    done = _bentpipe("emulate", file, "--out", tmp_path / "run", "--allow-commands", "--no-report")
    assert done.returncode == 0, done.stderr
    assert 'exit code 5: "up" at host "a", see ' in done.stdout
    assert (tmp_path / "run/commands/up.stderr").read_text() == "why\n"


@networks
@needs("setsid")
def test_killing_an_emulation_kills_its_commands(tmp_path: Path) -> None:
    word = f"86{os.getpid()}"
    app = f"""{{ kind = "command", run = "sh -c 'setsid sleep {word} & wait'" }}"""
    file = _scenario(tmp_path, app, "60 s")
    words = ["emulate", file, "--out", tmp_path / "run", "--allow-commands", "--no-report"]
    process = subprocess.Popen([*START, *map(str, words)], stderr=subprocess.DEVNULL)
    try:
        while not _processes(word):
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    while _processes(word):
        time.sleep(0.05)


@networks
@needs("tshark")
def test_a_capture_holds_the_real_packets(tmp_path: Path) -> None:
    record = '[record]\ncapture = ["b"]\ncapture_bytes = 2000\n'
    flow = FLOW.format(name="up", app='{ kind = "bulk", size = "200 kB" }', congestion="reno")
    file = tmp_path / "capture.toml"
    file.write_text(LINK.format(duration="3 s") + record + flow)
    run = bp.emulate(file, out=tmp_path / "run")
    fields = ["-T", "fields", "-e", "tcp.len", "-e", "ip.src", "-e", "tcp.checksum.status"]
    check = ["-o", "tcp.check_checksum:TRUE"]
    shown = subprocess.run(
        ["tshark", "-r", str(run.path / "packets.pcapng"), *check, *fields],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert sum(int(row[0]) for row in rows) == 200_000
    assert len({row[1] for row in rows}) == 2
    # 1 means "good": the packets of the kernel, with its own checksums.
    assert {row[2] for row in rows} == {"1"}


CROWD = """
name = "crowd"
duration = "20 s"
[network.sat]
kind = "dvb-rcs"
gateway = "gw"
terminals = ["st1", "st2"]
forward = { rate = "10 Mbit/s" }
return = { rate = "2048 kbit/s", dama = { scheme = "rbdc" } }
"""


@networks
def test_a_simulated_crowd_takes_its_share_from_a_real_flow(tmp_path: Path) -> None:
    real = """
[[flow]]
name = "real"
from = "st1"
to = "gw"
app = "bulk"
transport = "tcp"
"""
    crowd = "".join(
        real.replace('"real"', f'"model{number}"').replace('"st1"', '"st2"') + 'endpoints = "model"\n'
        for number in range(30)
    )
    runs = {
        name: bp.emulate(_file(tmp_path, name, text), out=tmp_path / name)
        for name, text in {"alone": CROWD + real, "beside": CROWD + real + crowd}.items()
    }
    goodput = {
        name: dict(zip(run.flows["flow"], run.flows["goodput"], strict=True)) for name, run in runs.items()
    }
    total = sum(value for value in goodput["beside"].values() if value == value)
    assert goodput["beside"]["real"] < 0.7 * goodput["alone"]["real"]
    assert goodput["beside"]["real"] > 0
    assert total < 2.048e6


def _file(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


@networks
def test_nothing_is_sent_before_time_zero(tmp_path: Path) -> None:
    """A SYN that left too early would wait for time zero, and its round trip would be longer than
    the path."""
    flows = "".join(FLOW.format(name=name, app='"bulk"', congestion="reno") for name in "efgh")
    file = tmp_path / "zero.toml"
    file.write_text(LINK.format(duration="1 s") + flows, encoding="utf-8")
    rows = bp.emulate(file, out=tmp_path / "run").trace("tcp")
    handshakes: dict[str, float] = {}
    for row in rows.to_dicts():
        # Before the first sample, if any, the smoothed time is the handshake's (RFC 6298, 2.2 and
        # 2.3).
        before = row["srtt"] if row["rtt"] is None else (8 * row["srtt"] - row["rtt"]) / 7
        handshakes.setdefault(row["flow"], before)
    assert len(handshakes) == 4
    assert 0.020 < min(handshakes.values()) < 0.022, handshakes


def test_a_rate_that_the_scenario_changes_is_no_fault_of_the_machine(tmp_path: Path) -> None:
    file = _scenario(tmp_path, '{ kind = "bulk" }', duration="2 s")
    changed = ["record.traces=[]", 'change=[{at="1 s",set={link={l={rate="100 kbit/s"}}}}]']
    plain = bp.emulate(file, overrides=changed[:1], out=tmp_path / "plain", in_memory=True)
    run = bp.emulate(file, overrides=changed, out=tmp_path / "changed", in_memory=True)
    assert plain.fidelity["links"][0]["achieved_rate"] == pytest.approx(
        plain.fidelity["links"][0]["rate"], rel=0.01
    )
    assert [link["achieved_rate"] for link in run.fidelity["links"]] == [None, None]
    assert not [reason for reason in run.fidelity["reasons"] if "the rate of" in reason]


@networks
@pytest.mark.skipif(os.geteuid() != 0, reason="only emulations by root are followed")
def test_a_rate_that_is_changed_by_hand_is_no_fault_of_the_machine_either(tmp_path: Path) -> None:
    file = _scenario(tmp_path, '{ kind = "bulk" }', duration="2 s")
    looks = 0

    def watch(_: object) -> list[tuple[str, str]]:
        nonlocal looks
        looks += 1
        return [("link.l.rate", "100 kbit/s")] if looks == 5 else []

    run = bp.emulate(file, out=tmp_path / "run", watch=watch)
    (made,) = run.provenance["notes"]["changes"]
    assert made["key"] == "link.l.rate" and 0 < made["at"] < 2
    assert [link["achieved_rate"] for link in run.fidelity["links"]] == [None, None]
    assert not [reason for reason in run.fidelity["reasons"] if "the rate of" in reason]


@networks
def test_small_segments_wait_in_the_model_as_in_the_kernel(tmp_path: Path) -> None:
    """Objects end with small segments. With RFC 896 alone, each end waits a round trip for the
    preceding full segments."""
    app = '{ kind = "http", object = "5 kB", object_max = "5001 B", objects = 7, objects_max = 8, pages = 3 }'
    transport = '{ kind = "tcp", congestion = "reno", nagle = true }'
    file = tmp_path / "nagle.toml"
    text = PAIR.replace("10 ms", "50 ms") + flow("f", "a", "b", app, transport)
    file.write_text(f'name = "nagle"\nduration = "6 s"\n{text}', encoding="utf-8")

    def page_s(run: bp.Run) -> float:
        return float(run.flows["transaction_mean"][0])

    model = page_s(bp.simulate(file, out=tmp_path / "model"))
    without = ["flow.f.transport.minshall=false"]
    strict = page_s(bp.simulate(file, overrides=without, out=tmp_path / "strict"))
    kernel = bp.emulate(file, out=tmp_path / "kernel")
    assert page_s(kernel) == pytest.approx(model, rel=0.15) and strict > 1.5 * model
    assert not [reason for reason in kernel.fidelity["reasons"] if "minshall" in reason]
    degraded = bp.emulate(file, overrides=[*without, "duration=1 s"], out=tmp_path / "degraded").fidelity
    assert [reason for reason in degraded["reasons"] if "minshall is not applied" in reason]
