"""NetPIPE: the simulation compared with the real program in the virtual-time kernel, and runs that
end badly."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import bentpipe as bp
import pytest
from bentpipe.cli import app
from bentpipe.results.flows import flow_results
from bentpipe.results.netpipe import Block, blocks, np_out, pending, read_np_out, read_screen
from helpers import ROOT
from rigs.guests import guests
from rigs.networks import Bentpipe, networks
from typer.testing import CliRunner

native = pytest.importorskip("bentpipe._native")
pytestmark = pytest.mark.skipif(not hasattr(native, "__file__"), reason="the engine is not built")
needs_nptcp = pytest.mark.skipif(shutil.which("NPtcp") is None, reason="NPtcp (netpipe-tcp) is not installed")

ISLANDS = ROOT / "studies" / "lan_islands" / "islands.toml"
REAL = ROOT / "studies" / "lan_islands" / "nptcp.toml"

#: Tolerance between simulated times of blocks and those of the real program.
NEAR = 0.05


def legs(rtt_ms: float) -> str:
    slow = f"{{ rate = '2048 kbit/s', delay = '{rtt_ms / 2:g} ms' }}"
    return f"network.wan.legs=[{{ rate = '149.76 Mbit/s' }}, {slow}, {{ rate = '149.76 Mbit/s' }}]"


@guests
@needs_nptcp
@pytest.mark.parametrize("rtt_ms", [1, 40, 400])
def test_every_block_takes_as_long_as_in_the_real_program(rtt_ms: int, tmp_path: Path) -> None:
    real = bp.emulate(
        REAL, overrides=[legs(rtt_ms)], out=tmp_path / "real", allow_commands=True, clock="kernel"
    )
    measured = read_screen(real.path / "commands" / "np.stderr")
    linux = "flow.np.transport={ kind = 'tcp', profile = 'linux', congestion = 'reno' }"
    run = bp.simulate(ISLANDS, overrides=[legs(rtt_ms), linux], out=tmp_path / "simulated")
    simulated = {block.size: block for block in blocks(run)}
    assert [block.size for block in measured] == list(simulated)
    assert len(measured) == 32 and measured[-1].size == 65_536
    apart = {
        block.size: simulated[block.size].time_s / block.time_s
        for block in measured
        if abs(simulated[block.size].time_s / block.time_s - 1) > NEAR
    }
    assert not apart


@guests
def test_the_application_runs_over_real_sockets(tmp_path: Path) -> None:
    short = [
        "flow.np.app.last=2 kB",
        "flow.np.transport={ kind = 'tcp', profile = 'linux' }",
        "duration=10 min",
    ]
    emulated, simulated = (
        blocks(bp.emulate(ISLANDS, overrides=short, out=tmp_path / "kernel", clock="kernel")),
        blocks(bp.simulate(ISLANDS, overrides=short, out=tmp_path / "virtual")),
    )
    assert [block.size for block in emulated] == [block.size for block in simulated]
    assert all(
        abs(one.time_s / other.time_s - 1) < NEAR for one, other in zip(emulated, simulated, strict=True)
    )


@pytest.mark.alone
@networks
@needs_nptcp
def test_the_real_program_through_run_takes_as_long_as_simulated(bentpipe: Bentpipe, tmp_path: Path) -> None:
    out = tmp_path / "np.out"
    script = ISLANDS.with_name("nptcp.sh")
    bentpipe.environment["BENTPIPE"] = str(Path(sys.executable).with_name("bentpipe"))
    short = ["-n", "1", "-p", "0", "-u", "2048", "-o", out]
    bentpipe("run", ISLANDS, "--set", legs(10), "--", "sh", script, *short)
    measured = read_np_out(out)
    linux = "flow.np.transport={ kind = 'tcp', profile = 'linux' }"
    run = bp.simulate(ISLANDS, overrides=[legs(10), linux], out=tmp_path / "simulated")
    simulated = {block.size: block.time_s for block in blocks(run)}
    assert [block.size for block in measured] == [size for size in simulated if size <= 2048]
    # A busy machine takes half a millisecond to wake the programs and the network.
    assert all(abs(block.time_s / simulated[block.size] - 1) < 0.2 for block in measured)


@pytest.mark.quiet
@networks
def test_delay_errors_and_contract_change_while_it_is_up(bentpipe: Bentpipe) -> None:
    bentpipe("net", "up", ISLANDS, "--set", legs(10))
    ping = ["net", "exec", "island-1", "--", "ping", "-c", "2", "-i", "0.2", "-W", "1", "-q", "island-2"]

    def least_ms() -> float:
        return float(bentpipe(*ping).split(" = ")[1].split("/")[0])

    assert 10 < least_ms() < 20
    bentpipe("net", "set", "network.wan.legs.1.delay=50 ms")
    assert 100 < least_ms() < 110
    bentpipe("net", "set", "network.wan.legs.1.error={ kind = 'packet', probability = 1.0 }")
    assert bentpipe.done(*ping).returncode == 1
    bentpipe("net", "set", "network.wan.legs.1.error=none")
    # One cell in 424 s conforms, so no packet of several cells conforms.
    bentpipe("net", "set", "network.wan.contract={ category = 'cbr', peak = '1 bit/s' }")
    assert bentpipe.done(*ping).returncode == 1
    assert "the number of legs cannot change" in bentpipe(
        "net", "set", "network.wan.legs=[{ rate = '2 Mbit/s' }]", code=2
    )


@pytest.mark.parametrize("mode", ["ping-pong", "one-way", "stream"])
def test_np_out_is_exported_in_the_programs_units(mode: str, tmp_path: Path) -> None:
    short = [f"flow.np.app.mode={mode}", "flow.np.app.last=4 B", "duration=10 min"]
    run = bp.simulate(ISLANDS, overrides=short, out=tmp_path / "run")
    result = CliRunner().invoke(app, ["export", str(run.path), str(tmp_path / "np.out"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"written": str(tmp_path / "np.out"), "pending_bytes": 0}
    for line, block in zip((tmp_path / "np.out").read_text().splitlines(), blocks(run), strict=True):
        size, program_mbps, time_s = map(float, line.split())
        assert size == block.size
        assert program_mbps == pytest.approx(8 * block.size / block.time_s / 2**20, abs=1e-6)
        assert time_s == pytest.approx(block.time_s, abs=1e-8)
    # A ping-pong of a byte takes half a round trip, a one-way block a whole one.
    expected = {"ping-pong": 0.2, "one-way": 0.4}.get(mode)
    assert expected is None or blocks(run)[0].time_s == pytest.approx(expected, abs=0.002)


def test_np_out_is_the_programs_file(tmp_path: Path) -> None:
    # Lines of the real program's np.out.
    text = "       1 0.852741   0.00000895\n    1021 553.919075   0.00001406\n"
    file = tmp_path / "np.out"
    file.write_text(text, encoding="utf-8")
    read = read_np_out(file)
    assert [(block.size, block.time_s) for block in read] == [(1, 8.95e-6), (1021, 14.06e-6)]
    ours = np_out(read).splitlines()
    # The program rounds the time only for output: the throughput is that of the exact time.
    for line, theirs in zip(ours, text.splitlines(), strict=True):
        assert line.split()[0::2] == theirs.split()[0::2] and len(line) == len(theirs)
        assert abs(float(line.split()[1]) / float(theirs.split()[1]) - 1) < 1e-3
    file.write_text("1 2\n", encoding="utf-8")
    with pytest.raises(bp.InputError, match=r"np\.out:1: '1 2' is not a block; allowed"):
        read_np_out(file)


def test_a_block_larger_than_the_run_is_named(tmp_path: Path) -> None:
    run = bp.simulate(
        ISLANDS,
        overrides=["duration=90 s", "flow.np.app.first=1 MB", "flow.np.app.last=8 MB"],
        out=tmp_path / "run",
    )
    assert blocks(run) == [] and pending(run) == 1_000_000
    result = CliRunner().invoke(app, ["export", str(run.path), str(tmp_path / "np.out")])
    assert result.exit_code == 1 and "the block of 1000000 bytes" in result.stderr
    assert (tmp_path / "np.out").read_text() == ""


def test_a_cell_loss_of_100_percent_ends_with_a_name(tmp_path: Path) -> None:
    lossy = "network.wan.legs=[{ rate = '2048 kbit/s', error = { kind = 'packet', probability = 1.0 } }]"
    run = bp.simulate(ISLANDS, overrides=[lossy], out=tmp_path / "run")
    assert blocks(run) == [] and pending(run) == 1
    (result,) = flow_results(run)
    assert result.failure == "no answer to the handshake"
    (forward,) = [row for row in run.table("atm").iter_rows(named=True) if row["connection"] == "wan.forward"]
    assert forward["lost"] == forward["frames"] > 0


def test_a_socket_buffer_of_nothing_is_refused() -> None:
    for key in ("receive_window", "send_buffer"):
        with pytest.raises(bp.ScenarioError, match=rf"{key} = 0 B: is out of range; allowed"):
            bp.load(ISLANDS, [f"flow.np.transport.{key}=0 B"])


def test_throughput_is_in_the_programs_megabits() -> None:
    # Table 1 of Yousef and Strange: 24576 bytes in 1.257 s are printed as 0.149190.
    assert abs(Block(24576, 3, 1.257).bit_s / (1 << 20) / 0.149190 - 1) < 2e-4
