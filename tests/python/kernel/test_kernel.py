"""The clock `kernel`: real Linux kernels in virtual time."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import bentpipe as bp
import bentpipe.emulation
import pytest
from bentpipe.guest import current, store
from parity import pieces
from rigs.guests import guests

GEO = 'name = "geo"\nduration = "60 s"\n' + pieces.GEO + pieces.flow("upload", "user", "server")


@guests
def test_a_real_kernel_runs_a_scenario_in_virtual_time(tmp_path: Path) -> None:
    file = tmp_path / "geo.toml"
    file.write_text(GEO)
    run = bp.emulate(file, out=tmp_path / "guest", clock="kernel")
    model = bp.simulate(file, out=tmp_path / "model")
    assert run.complete and run.fidelity["verdict"] == "valid", run.fidelity["reasons"]
    assert run.fidelity["lost"] == 0
    # At any machine load, nothing in the guest is later than the duration of the kernel's own clock
    # reads.
    assert run.fidelity["lateness"]["max_s"] < 200e-6
    goodput, expected = (one.flows["goodput"][0] for one in (run, model))
    assert goodput == pytest.approx(expected, rel=0.05)

    note = run.provenance["notes"]["guest"]
    kernel = current()
    assert run.provenance["host"]["kernel"] == f"Linux {kernel.version}"
    assert (note["kernel"], note["configuration"]) == (kernel.version, kernel.configuration)
    assert note["adjustments"] == kernel.adjustments and "linux-source" in note["package"]

    trace = run.trace("tcp")
    acknowledged = trace["acknowledged"]
    assert (acknowledged.diff().drop_nulls() >= 0).all() and acknowledged[-1] >= 0.98 * 60 * goodput / 8 - 4e5
    # The samples behind the smoothed round-trip time: path and queue hold at least 500 ms and at
    # most 1000 ms.
    rtt = trace["rtt"].drop_nans()
    assert rtt.len() > 0.8 * trace.height
    # Round trips, data and acknowledgment on the wire: 500 ms, 3 ms and 0.08 ms; the kernel's clock
    # has microseconds.
    assert rtt.min() == pytest.approx(0.50308, abs=2e-4)
    assert rtt.max() == pytest.approx(1.0, abs=0.01)


@guests
def test_the_same_run_gives_the_same_numbers(tmp_path: Path) -> None:
    file = tmp_path / "geo.toml"
    file.write_text(GEO)
    for variant in ("reno", "cubic", "hybla"):
        folders = [tmp_path / f"{variant}{number}" for number in range(2)]
        for folder in folders:
            overrides = ["duration=10 s", f"flow.upload.transport.congestion={variant}"]
            bp.emulate(file, overrides=overrides, out=folder, clock="kernel")
        for name in ("flows.parquet", "traces/tcp.parquet"):
            first, second = ((folder / name).read_bytes() for folder in folders)
            assert first == second, (variant, name)


def guests_processors() -> list[set[int]]:
    """Returns the processors on which each process of a guest of this process may run."""
    kernel = current().binary.resolve()
    parents: dict[int, int] = {}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(") ")[2].split()[1])
            if (folder / "exe").resolve() == kernel:
                found.append((int(folder.name), os.sched_getaffinity(int(folder.name))))
        except OSError:
            continue

    def ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and ours(parents[process]))

    return [processors for process, processors in found if ours(process)]


# A guest that has ended has no processors, and a busy machine may delay this process beyond the
# guest's end.
@pytest.mark.alone
@guests
def test_a_campaign_runs_as_many_guests_at_a_time_as_it_has_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "geo.toml"
    file.write_text(GEO)
    plan = bp.campaign.plan(file, ["duration=60 s"], clock="kernel", replications=4)
    # Once a guest runs, it waits for another guest: alone it would wait until the barrier gives up
    # and fails the run.
    held: list[list[set[int]]] = []
    meeting = threading.Barrier(2, action=lambda: held.append(guests_processors()), timeout=600)
    emulate = bentpipe.emulation.emulate

    def meet(*arguments: Any, progress: Any, **more: Any) -> bp.Run:
        met: list[int] = []

        def tell(fraction: float) -> bool:
            if not met:
                met.append(meeting.wait())
            return progress(fraction) is not False

        return emulate(*arguments, progress=tell, **more)

    monkeypatch.setattr(bentpipe.emulation, "emulate", meet)
    done = bp.campaign.run(plan, tmp_path / "campaign", workers=2)
    assert done.index["status"].to_list() == ["complete"] * 4, done.index
    if len(os.sched_getaffinity(0)) > 1:
        # Each guest has one processor, different from the other's. One guest may end before the
        # other begins.
        assert all(len(processors) == 1 for processes in held for processors in processes), held
        assert max(len(set().union(*processes)) for processes in held) == 2, held
    # This scenario is deterministic, so all guests gave the same result under any load.
    assert done.table("flows")["delivered_bytes"].n_unique() == 1
    assert done.table("flows")["delivered_bytes"][0] > 0


def test_without_a_kernel_it_is_said_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing"))
    with pytest.raises(bp.InputError, match="bentpipe machine kernel build") as refused:
        bp.emulate(scenario, clock="kernel", out=tmp_path / "run")
    assert str(tmp_path / "nothing") in str(refused.value)
    with pytest.raises(bp.InputError, match='unknown clock "kernal", did you mean "kernel"'):
        bp.emulate(scenario, clock="kernal", out=tmp_path / "run")  # type: ignore[arg-type]


def test_a_kernel_of_another_recipe_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = store.place() / "6.1-other"
    folder.mkdir(parents=True)
    (folder / store.BINARY).write_bytes(b"")
    about = {
        "version": "6.1",
        "package": "p",
        "adjustments": [],
        "parameters": [],
        "built": "2026",
        "seconds": 1.0,
    }
    store.keep(folder, about | {"configuration": "other"})
    assert [kernel.version for kernel in store.kernels()] == ["6.1"]
    with pytest.raises(bp.InputError, match="another processor or by another version"):
        current()
    assert store.remove() == [folder] and list(store.place().iterdir()) == []


@guests
def test_parameters_are_those_of_the_guests_kernel(tmp_path: Path) -> None:
    file = tmp_path / "geo.toml"
    command = 'app = { kind = "command", run = "cat /sys/module/tcp_vegas/parameters/alpha" }'
    tcp = 'transport = { kind = "tcp", congestion = "vegas", parameters = { alpha = 20, beta = 40 } }'
    file.write_text(GEO + f'[[flow]]\nname = "what"\nfrom = "user"\nto = "server"\n{command}\n{tcp}\n')

    def run(name: str, *overrides: str) -> bp.Run:
        every = ["duration=20 s", "flow.upload.transport.congestion=vegas", *overrides]
        return bp.emulate(file, overrides=every, out=tmp_path / name, clock="kernel", allow_commands=True)

    done = run("set", "flow.upload.transport.parameters={ alpha = 20, beta = 40 }")
    (said,) = done.provenance["notes"]["commands"]
    assert (done.path / said["stdout"]).read_text() == "20\n"
    assert "the guest's kernel was started with tcp_vegas.alpha=20" in done.provenance["notes"]["emulation"]
    with pytest.raises(
        bp.InputError, match='flows "upload" and "what" want different parameters of .* vegas'
    ):
        run("different")
    upload = "flow.upload.transport"
    done = run("cannot", f"{upload}.congestion=cubic", f"{upload}.parameters={{ fast_reno = 1 }}")
    assert done.fidelity["verdict"] == "degraded"
    assert "flow upload: parameters.fast_reno is not applied" in done.fidelity["reasons"][0]


@guests
def test_a_guest_begins_with_the_threshold_of_the_scenario(tmp_path: Path) -> None:
    file = tmp_path / "geo.toml"
    file.write_text(GEO)
    overrides = ["duration=20 s", "flow.upload.transport.initial_ssthresh=20"]
    run = bp.emulate(file, overrides=overrides, out=tmp_path / "run", clock="kernel")
    assert run.fidelity["verdict"] == "valid", run.fidelity["reasons"]
    assert set(run.trace("tcp")["ssthresh"]) == {20.0}
    simulated = bp.simulate(file, overrides=overrides, out=tmp_path / "simulated")
    assert abs(run.flows["goodput"][0] / simulated.flows["goodput"][0] - 1) < 0.02


FAR = (
    "duration=2000 s",
    "link.sat.delay=200 s",
    "link.sat.rate=1 Mbit/s",
    'link.sat.queue={ kind = "drop-tail" }',
    'flow.upload.app={ kind = "bulk", size = "300 kB" }',
)
PATIENT = ("flow.upload.transport.syn_retries=30", "flow.upload.transport.retries=30")


@guests
def test_a_delay_of_200_s_needs_other_limits_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "geo.toml"
    file.write_text(GEO)
    given_up = bp.emulate(file, overrides=FAR, out=tmp_path / "default", clock="kernel")
    assert given_up.flows["delivered_bytes"][0] == 0
    assert "upload: Connection timed out (os error 110)" in given_up.provenance["notes"]["emulation"]
    run = bp.emulate(file, overrides=[*FAR, *PATIENT], out=tmp_path / "patient", clock="kernel")
    row = run.flows.row(0, named=True)
    # No data can arrive before the third crossing: SYN, SYN-ACK, first data.
    delivered = run.trace("delivered")
    assert delivered["time"][0] == pytest.approx(600, abs=1)
    assert row["delivered_bytes"] > 100_000 and row["rtt_min"] == pytest.approx(400, abs=0.1)


@guests
def test_packets_may_be_longer_than_any_ethernet_frame(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(GEO)
    overrides = ["duration=5 s", "flow.upload.transport.segment_size=20000"]
    run = bp.emulate(file, overrides=overrides, out=tmp_path / "guest", clock="kernel")
    delivered = run.flows["delivered_bytes"][0]
    assert run.fidelity["verdict"] == "valid" and delivered >= 10 * 20_000 and run.flows["timeouts"][0] == 0


@guests
def test_a_flow_may_use_every_variant_of_the_guest(tmp_path: Path) -> None:
    file = tmp_path / "geo.toml"
    file.write_text(GEO)
    # bentpipe's version cannot be loaded there, so the kernel's own of that name replaces it, and
    # the run reports this.
    names = ["bic", "highspeed", "htcp", "illinois", "lp", "scalable", "veno", "vegas", "westwood", "yeah"]
    names += ["linux-cdg", "linux-dctcp", "linux-nv"]
    # Each flow has its own link, and all share one guest.
    every = 'name = "every"\nduration = "6 s"\n'
    for name in names:
        ends = (f"{name}-user", f"{name}-server")
        every += pieces.GEO.replace("sat", name).replace("user", ends[0]).replace('"server"', f'"{ends[1]}"')
        every += pieces.flow(name, *ends, transport=f'{{ kind = "tcp", congestion = "{name}" }}')
    (tmp_path / "every.toml").write_text(every)
    done = bp.emulate(tmp_path / "every.toml", out=tmp_path / "every", clock="kernel")
    for row in done.flows.iter_rows(named=True):
        name = row["flow"]
        assert row["delivered_bytes"] > 100_000, name
        own = name.removeprefix("linux-")
        assert f"congestion control {name} is the kernel's own {own}" in done.provenance["notes"]["emulation"]
    assert sorted(done.flows["flow"]) == sorted(names)
    unknown = ["duration=6 s", "flow.upload.transport.congestion=vegas95"]
    with pytest.raises(OSError, match='"vegas95" cannot be loaded .* this kernel has none of that name'):
        bp.emulate(file, overrides=unknown, out=tmp_path / "unknown", clock="kernel")


@guests
@pytest.mark.skipif("BENTPIPE_LONG" not in os.environ, reason="takes minutes: make test-kernel")
@pytest.mark.parametrize("congestion", ["reno", "bbr"])
def test_real_time_agrees(tmp_path: Path, congestion: str) -> None:
    file = tmp_path / "geo.toml"
    file.write_text(GEO)
    overrides = ["duration=40 s", f"flow.upload.transport.congestion={congestion}"]
    try:
        real = bp.emulate(file, overrides=overrides, out=tmp_path / "real")
    except OSError as error:
        pytest.skip(f"no emulation in real time here: {error}")
    guest = bp.emulate(file, overrides=overrides, out=tmp_path / "guest", clock="kernel")
    goodput, expected = (run.flows["goodput"][0] for run in (guest, real))
    print(f"{congestion}: {goodput / 1e6:.3f} Mbit/s in virtual, {expected / 1e6:.3f} Mbit/s in real time")
    assert goodput == pytest.approx(expected, rel=0.10)
