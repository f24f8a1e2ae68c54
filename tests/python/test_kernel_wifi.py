"""The kernel's own Wi-Fi in a guest, over our medium, beside our model of it."""

from __future__ import annotations

from pathlib import Path

import bentpipe as bp
import polars as pl
import pytest
from bentpipe.errors import InputError
from guests import guests

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
    """Runs it over the model, and over the kernel's Wi-Fi in a guest."""
    file = write(folder, adaptation, error, seconds)
    return (
        bp.simulate(file, out=folder / "model"),
        bp.emulate(file, out=folder / "linux", clock="kernel"),
    )


def goodput(run: bp.Run) -> float:
    """Goodput of the flow in bit/s."""
    return float(run.flows["goodput"][0])


def sender(run: bp.Run) -> dict[str, float]:
    """The row of the access point in the table `wifi`."""
    return run.table("wifi").filter(pl.col("station") == "wlan.ap").row(0, named=True)


@guests
def test_the_kernels_wifi_takes_the_airtime_of_the_model(tmp_path: Path) -> None:
    model, linux = both(tmp_path, FIXED)
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.05)
    # The kernel's frames have a field for QoS of 2 bytes more; what it cannot send is dropped by the same queue.
    assert sender(linux)["airtime"] == pytest.approx(sender(model)["airtime"], rel=0.05)
    assert sender(linux)["queue_drops"] == pytest.approx(sender(model)["queue_drops"], rel=0.05)
    rates = linux.trace("wifi.rate", "wlan.ap")["rate"]
    assert int((rates == 24e6).sum()) > 0.98 * len(rates)
    assert linux.fidelity["verdict"] == "valid"


@guests
def test_frames_that_the_channel_loses_are_retransmitted_by_the_kernel(tmp_path: Path) -> None:
    model, linux = both(tmp_path, FIXED, '{ kind = "packet", probability = 0.2 }')
    for run in (model, linux):
        row = sender(run)
        assert row["corrupted"] / row["frames"] == pytest.approx(0.2, abs=0.02)
        attempts = run.trace("wifi.attempt", "wlan.ap")["attempt"]
        # Each attempt is lost with the same probability, so a fifth of the frames has a second one.
        first, second, third = (int((attempts == number).sum()) for number in range(3))
        assert second / first == pytest.approx(0.2, abs=0.03)
        assert third / second == pytest.approx(0.2, abs=0.05)
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.05)


#: A channel that fades as somebody walks, of a mean SNR in dB.
FADING = '{{ kind = "snr", snr_db = {snr}, fading = "rayleigh", speed = "0.5 m/s", wavelength = "0.058 m" }}'


@guests
def test_two_runs_are_identical(tmp_path: Path) -> None:
    # Rate control draws lots, and beacons of both stations wait for random times.
    file = write(tmp_path, '"minstrel-ht"', FADING.format(snr=12), seconds=1)
    for name in ("one", "two"):
        bp.emulate(file, out=tmp_path / name, clock="kernel")
    for part in ("traces/wifi.parquet", "tables/wifi.parquet", "flows.parquet", "fidelity.json"):
        one, two = (tmp_path / name / part for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes(), part


@guests
@pytest.mark.parametrize("snr", [16, *(pytest.param(snr, marks=pytest.mark.slow) for snr in (12, 20, 24))])
def test_minstrel_ht_carries_what_linux_does_over_the_same_fading(tmp_path: Path, snr: int) -> None:
    file = write(tmp_path, '"minstrel-ht"', FADING.format(snr=snr))
    # The kernel tries a frame as often as its rate control says, up to 20 times.
    model = bp.simulate(file, overrides=["network.wlan.short_retry_limit=20"], out=tmp_path / "model")
    linux = bp.emulate(file, out=tmp_path / "linux", clock="kernel")
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.1)


@guests
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            'network.wlan.adaptation="arf"',
            '"arf", which the kernel\'s Wi-Fi does not know; allowed: "minstrel-ht"',
        ),
        ('network.wlan.standard="802.11n"', "is of 802.11n, whose aggregates"),
        ('flow.down.endpoints="model"', "model endpoints, whose packets the kernel's Wi-Fi"),
    ],
)
def test_what_the_kernels_wifi_cannot_do_is_refused(tmp_path: Path, change: str, words: str) -> None:
    file = write(tmp_path, '"minstrel-ht"', seconds=1)
    with pytest.raises(InputError, match=words):
        bp.emulate(file, overrides=[change], out=tmp_path / "linux", clock="kernel")
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
