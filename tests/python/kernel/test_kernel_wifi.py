"""The kernel's Wi-Fi in a guest, over bentpipe's medium, compared with bentpipe's model."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import bentpipe as bp
import polars as pl
import pytest
from bentpipe.errors import InputError
from bentpipe.guest import machine
from rigs.guests import guests

SCENARIO = """
name = "wifi"
duration = "{seconds} s"

[network.wlan]
kind = "wifi"
standard = "802.11a"
access_point = "ap"
stations = ["laptop"]
stack = "linux"
adaptation = {adaptation}
error = {error}

[record]
traces = ["wifi"]

[[flow]]
name = "down"
from = "ap"
to = "laptop"
app = {{ kind = "cbr", rate = "40 Mbit/s", datagram = "1400 B" }}
transport = "udp"
"""

FIXED = '{ kind = "fixed", rate = "24 Mbit/s" }'


def write(folder: Path, adaptation: str, error: str = '"none"', seconds: int = 4) -> Path:
    """Writes a scenario with one saturated sender."""
    file = folder / "wifi.toml"
    file.write_text(SCENARIO.format(seconds=seconds, adaptation=adaptation, error=error))
    return file


def both(folder: Path, adaptation: str, error: str = '"none"', seconds: int = 4) -> tuple[bp.Run, bp.Run]:
    """Runs the scenario over the model, and over the kernel's Wi-Fi in a guest."""
    file = write(folder, adaptation, error, seconds)
    return (
        bp.simulate(file, out=folder / "model"),
        bp.emulate(file, out=folder / "linux", clock="kernel"),
    )


def goodput(run: bp.Run) -> float:
    """Returns the goodput of the flow in bit/s."""
    return float(run.flows["goodput"][0])


def sender(run: bp.Run) -> dict[str, float]:
    """Returns the row of the access point in the table `wifi`."""
    return run.table("wifi").filter(pl.col("station") == "wlan.ap").row(0, named=True)


@guests
def test_the_kernels_wifi_takes_the_airtime_of_the_model(tmp_path: Path) -> None:
    model, linux = both(tmp_path, FIXED, seconds=2)
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.05)
    # The kernel's frames have an additional QoS field of 2 bytes; packets that it cannot send are
    # dropped by the same queue.
    assert sender(linux)["airtime"] == pytest.approx(sender(model)["airtime"], rel=0.05)
    assert sender(linux)["queue_drops"] == pytest.approx(sender(model)["queue_drops"], rel=0.05)
    rates = linux.trace("wifi.rate", "wlan.ap")["rate"]
    assert int((rates == 24e6).sum()) > 0.98 * len(rates)
    assert linux.fidelity["verdict"] == "valid"


@guests
def test_frames_that_the_channel_loses_are_retransmitted_by_the_kernel(tmp_path: Path) -> None:
    model, linux = both(tmp_path, FIXED, '{ kind = "packet", probability = 0.2 }', seconds=2)
    for run in (model, linux):
        row = sender(run)
        assert row["corrupted"] / row["frames"] == pytest.approx(0.2, abs=0.02)
        attempts = run.trace("wifi.attempt", "wlan.ap")["attempt"]
        # Each attempt is lost with the same probability, so a fifth of the frames has a second one.
        first, second, third = (int((attempts == number).sum()) for number in range(3))
        assert second / first == pytest.approx(0.2, abs=0.03)
        assert third / second == pytest.approx(0.2, abs=0.05)
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.05)


#: A channel that fades at walking speed, with a mean SNR in dB.
FADING = '{{ kind = "snr", snr_db = {snr}, fading = "rayleigh", speed = "0.5 m/s", wavelength = "0.058 m" }}'


def install_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes guests start from files in ``folder``: a copy of this Python, and bentpipe's files for
    guests."""
    package = folder / "bentpipe"
    (package / "guest").mkdir(parents=True)
    installed = Path(machine.__file__)
    shutil.copy(installed.with_name("first_process.py"), package / "guest")
    (engine,) = installed.parent.parent.glob("_native*.so")
    (package / engine.name).symlink_to(engine)
    monkeypatch.setattr(machine, "__file__", str(package / "guest" / installed.name))
    python, library = folder / "bin" / "python3", Path(sysconfig.get_path("stdlib"))
    python.parent.mkdir()
    shutil.copy(Path(sys.executable).resolve(), python)
    (folder / library.relative_to(sys.base_prefix)).parent.mkdir()
    (folder / library.relative_to(sys.base_prefix)).symlink_to(library)
    monkeypatch.setattr(sys, "executable", str(python))


@guests
def test_two_runs_are_identical_wherever_bentpipe_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rate control is random, with a seed from the kernel's command line, and beacons of both
    # stations wait for random times.
    file = write(tmp_path, '"minstrel-ht"', FADING.format(snr=12), seconds=1)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        runs = [tmp_path / "one", Path(memory) / "two"]
        bp.emulate(file, out=runs[0], clock="kernel")
        install_elsewhere(tmp_path / 'deep/er/in a "folder"', monkeypatch)
        bp.emulate(file, out=runs[1], clock="kernel")
        for part in ("traces/wifi.parquet", "tables/wifi.parquet", "flows.parquet", "fidelity.json"):
            assert (runs[0] / part).read_bytes() == (runs[1] / part).read_bytes(), part


@guests
@pytest.mark.parametrize(
    ("snr", "seeds"),
    [(16, [1]), *(pytest.param(snr, range(1, 6), marks=pytest.mark.slow) for snr in (8, 12, 20, 24))],
)
def test_minstrel_ht_carries_what_linux_does_over_the_same_fading(
    tmp_path: Path, snr: int, seeds: Sequence[int]
) -> None:
    file = write(tmp_path, '"minstrel-ht"', FADING.format(snr=snr))
    # The kernel's rate control chooses the number of attempts of a frame, up to 20.
    more = ["network.wlan.short_retry_limit=20"]
    model = [bp.simulate(file, overrides=more, out=tmp_path / f"model-{seed}", seed=seed) for seed in seeds]
    linux = [bp.emulate(file, out=tmp_path / f"linux-{seed}", clock="kernel", seed=seed) for seed in seeds]
    assert fmean(map(goodput, linux)) == pytest.approx(fmean(map(goodput, model)), rel=0.1)


#: A saturated station of 802.11n with one stream.
HIGH_THROUGHPUT = (
    'network.wlan.standard="802.11n"',
    'flow.down.app={ kind = "cbr", rate = "70 Mbit/s", datagram = "1400 B" }',
)


@guests
def test_aggregates_of_the_kernels_wifi_carry_what_those_of_the_model_do(tmp_path: Path) -> None:
    file = write(tmp_path, '{ kind = "fixed", rate = "65 Mbit/s" }', seconds=1)
    frames, rates = {}, {}
    for name, size in (("together", "65535 B"), ("alone", "0 B")):
        changes = [*HIGH_THROUGHPUT, f'network.wlan.aggregate="{size}"']
        model = bp.simulate(file, overrides=changes, out=tmp_path / f"{name}-model")
        linux = bp.emulate(file, overrides=changes, out=tmp_path / f"{name}-linux", clock="kernel")
        # Of 1 s, a few milliseconds are the agreement on block acknowledgments, and the last
        # aggregate is in flight.
        assert goodput(linux) == pytest.approx(goodput(model), rel=0.03)
        assert sender(linux)["airtime"] == pytest.approx(sender(model)["airtime"], rel=0.03)
        sent = linux.trace("wifi.sent", "wlan.ap")["sent"]
        frames[name], rates[name] = max(sent.to_list()), goodput(linux)
        assert frames[name] == max(model.trace("wifi.sent", "wlan.ap")["sent"].to_list())
    # An aggregate is as long as its 5.484 ms on the air allow (aPPDUMaxTime).
    assert frames == {"together": 30, "alone": 1}
    assert rates["together"] > 1.9 * rates["alone"]


def acknowledged(run: bp.Run, begin: float) -> int:
    """Returns the access point's frames that were acknowledged from ``begin`` on."""
    rows = run.trace("wifi.acknowledged", "wlan.ap").filter(pl.col("time") >= begin)
    return int(rows["acknowledged"].sum())


@guests
@pytest.mark.parametrize(
    ("snr", "seeds"),
    [(30, [1]), *(pytest.param(snr, range(1, 6), marks=pytest.mark.slow) for snr in (18, 24))],
)
def test_minstrel_ht_carries_what_linux_does_in_aggregates(
    tmp_path: Path, snr: int, seeds: Sequence[int]
) -> None:
    """Without statuses of whole aggregates, the kernel stays at its first rates
    (docs/notes/linux-wifi.md)."""
    file = write(tmp_path, '"minstrel-ht"', FADING.format(snr=snr), seconds=3)
    # The kernel's limit of airtime in the driver makes long aggregates shorter than the model's.
    more = [*HIGH_THROUGHPUT, "network.wlan.short_retry_limit=20", "network.wlan.aggregate_frames=8"]
    model = [bp.simulate(file, overrides=more, out=tmp_path / f"model-{seed}", seed=seed) for seed in seeds]
    linux = [
        bp.emulate(file, overrides=more, out=tmp_path / f"linux-{seed}", clock="kernel", seed=seed)
        for seed in seeds
    ]
    # If a fade loses the agreement on block acknowledgments, the kernel repeats its request after a
    # second.
    kernel, ours = (fmean(acknowledged(run, 1.1) for run in runs) for runs in (linux, model))
    assert kernel == pytest.approx(ours, rel=0.1)
    for run in linux:
        # Most frames that the channel corrupts are retransmitted; acknowledged frames arrive.
        assert sender(run)["corrupted"] > 100
        assert run.flows["delivered_packets"][0] == pytest.approx(acknowledged(run, 0), rel=0.02)


@guests
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            ['network.wlan.adaptation="arf"'],
            '"arf", which the kernel\'s Wi-Fi does not know; allowed: "minstrel-ht"',
        ),
        (
            ['network.wlan.standard="802.11n"', 'network.wlan.width="40 MHz"'],
            'has channels of 40 MHz, .* allowed: width = "20 MHz"',
        ),
        (['flow.down.endpoints="model"'], "model endpoints, whose packets the kernel's Wi-Fi"),
    ],
)
def test_what_the_kernels_wifi_cannot_do_is_refused(tmp_path: Path, changes: list[str], words: str) -> None:
    file = write(tmp_path, '"minstrel-ht"', seconds=1)
    with pytest.raises(InputError, match=words):
        bp.emulate(file, overrides=changes, out=tmp_path / "linux", clock="kernel")
    assert not (tmp_path / "linux").exists()


def test_the_real_clock_refuses_where_the_kernel_has_no_radios(tmp_path: Path) -> None:
    if Path("/sys/module/mac80211_hwsim").exists():
        pytest.skip("this machine's kernel has simulated radios")
    file = write(tmp_path, '"minstrel-ht"', seconds=1)
    with pytest.raises(
        InputError, match=r"has no simulated radios \(mac80211_hwsim\); allowed: a kernel with them"
    ):
        bp.emulate(file, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


#: Prints files of the kernel's debugfs, with their lines, after a delay.
LOOK = """
import ctypes, glob, json, sys, time
ctypes.CDLL(None).mount(b"none", b"/sys/kernel/debug", b"debugfs", 0, None)
time.sleep(float(sys.argv[1]))
files = [file for pattern in sys.argv[2:] for file in glob.glob("/sys/kernel/debug/ieee80211/" + pattern)]
print(json.dumps({file[len("/sys/kernel/debug/ieee80211/"):]: open(file).read().splitlines() for file in files}))
"""


def look(folder: Path, file: Path, wait: float, *patterns: str) -> dict[str, list[str]]:
    """Emulates a scenario with a program that reads files of the kernel's Wi-Fi after this many
    seconds."""
    script = folder / "look.py"
    script.write_text(LOOK)
    command = shlex.join([sys.executable, str(script), str(wait), *patterns])
    more = {
        "name": "look",
        "from": "ap",
        "to": "laptop",
        "app": {"kind": "command", "run": command},
        "transport": {"kind": "udp"},
    }
    flows = [*tomllib.loads(file.read_text())["flow"], more]
    run = bp.emulate(
        file, overrides={"flow": flows}, out=folder / "looked", clock="kernel", allow_commands=True
    )
    found: dict[str, list[str]] = json.loads((run.path / "commands" / "look.stdout").read_text())
    return found


#: Airtime in microseconds that mac80211 lets a driver hold for one station (AQL's high limit of
#: Linux 6.12).
AIRTIME_LIMIT = 12_000


def queued(folder: Path, file: Path) -> tuple[dict[str, str], int]:
    """Returns the row of best effort in the access point's table of queues, and the airtime in us
    in its driver."""
    found = look(folder, file, 1.5, "phy0/netdev:wlan0/stations/*/aqm", "phy0/aql_pending")
    (lines,) = (lines for name, lines in found.items() if name.endswith("/aqm"))
    header = lines[0].split()
    # The last column, the flags, can have several words.
    best_effort = lines[1].split(maxsplit=len(header) - 1)
    total, airtime, _ = found["phy0/aql_pending"][-1].split()
    assert total == "total"
    return dict(zip(header, best_effort, strict=True)), int(airtime)


@guests
def test_no_packet_waits_in_the_queues_of_the_kernels_wifi(tmp_path: Path) -> None:
    """The driver takes all packets of mac80211's queues, so those of a saturated station are empty.

    See docs/notes/linux-wifi.md.
    """
    file = write(tmp_path, '{ kind = "fixed", rate = "6 Mbit/s" }', seconds=2)
    row, airtime = queued(tmp_path, file)
    packets = int(row["tx-packets"])
    assert packets > 500
    assert (int(row["backlog-packets"]), int(row["drops"])) == (0, 0)
    # Each packet found an empty queue, so it began a flow of its own.
    assert int(row["new-flows"]) == packets
    assert 0 < airtime < AIRTIME_LIMIT


@guests
def test_packets_of_802_11n_wait_in_the_queues_of_the_kernels_wifi(tmp_path: Path) -> None:
    """In 802.11n, mac80211 has more packets than the driver's airtime allows
    (docs/notes/linux-wifi.md)."""
    file = write(tmp_path, '{ kind = "fixed", rate = "6.5 Mbit/s" }', seconds=2)
    file.write_text(file.read_text().replace("802.11a", "802.11n"))
    row, airtime = queued(tmp_path, file)
    assert int(row["backlog-packets"]) > 50
    assert int(row["new-flows"]) < 10
    # The last frame may exceed the limit.
    assert AIRTIME_LIMIT / 2 < airtime < AIRTIME_LIMIT + 2_500


@guests
def test_a_station_is_associated_with_the_access_point(tmp_path: Path) -> None:
    file = write(tmp_path, FIXED, seconds=1)
    found = look(tmp_path, file, 0.5, "phy*/netdev:wlan0/stations/*/flags", "phy1/netdev:wlan0/*id")
    # The radio of each station; the access point is the first.
    for name in (
        "phy0/netdev:wlan0/stations/02:00:00:00:00:01",
        "phy1/netdev:wlan0/stations/02:00:00:00:00:00",
    ):
        assert {"AUTH", "ASSOC", "AUTHORIZED"} <= set(found[f"{name}/flags"])
    assert found["phy1/netdev:wlan0/bssid"] == ["02:00:00:00:00:00"]
    # The association identifier of the station.
    assert found["phy1/netdev:wlan0/aid"] == ["1"]


@guests
def test_a_station_that_has_lost_its_access_point_comes_back(tmp_path: Path) -> None:
    # Each row is 10 ms: no frame passes from 2 s to 6 s.
    (tmp_path / "outage.csv").write_text("lost,frames\n0,200\n1,400\n0,1000\n")
    error = '{ kind = "trace", outcomes = { file = "outage.csv" }, start = 1, interval = "10 ms" }'
    file = write(tmp_path, FIXED, error, seconds=10)
    run = bp.emulate(
        file, overrides={"flow.down.app.rate": "2 Mbit/s"}, out=tmp_path / "linux", clock="kernel"
    )
    acknowledged = run.trace("wifi.acknowledged", "wlan.ap").filter(pl.col("acknowledged") > 0)

    def frames(begin: float, end: float) -> int:
        return acknowledged.filter(pl.col("time").is_between(begin, end)).height

    assert frames(2.1, 5.9) == 0
    assert frames(8, 10) == pytest.approx(frames(0, 2), rel=0.05)


@guests
def test_stations_without_an_access_point_form_an_ad_hoc_network(tmp_path: Path) -> None:
    file = write(tmp_path, FIXED, seconds=2)
    alone = file.read_text().replace(
        'access_point = "ap"\nstations = ["laptop"]', 'stations = ["ap", "laptop"]'
    )
    file.write_text(alone)
    model = bp.simulate(file, out=tmp_path / "model")
    linux = bp.emulate(file, out=tmp_path / "linux", clock="kernel")
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.05)
    # Stations that only receive send beacons, too.
    laptop = linux.table("wifi").filter(pl.col("station") == "wlan.laptop")["transmissions"][0]
    assert laptop > 5
