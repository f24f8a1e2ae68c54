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
app = "bulk"
transport = {{ kind = "tcp", congestion = "reno" }}
"""

#: Ratios of signal to noise of a channel that fades while people walk about.
FADING = '{{ kind = "snr", snr_db = {snr_db}, fading = "rayleigh", speed = "0.5 m/s", mode = "ofdm-54" }}'


def both(folder: Path, adaptation: str, error: str = '"none"', seconds: int = 20) -> tuple[bp.Run, bp.Run]:
    """Runs a transfer over the model, and over the kernel's Wi-Fi in a guest."""
    file = folder / "wifi.toml"
    file.write_text(SCENARIO.format(seconds=seconds, adaptation=adaptation, error=error))
    return (
        bp.simulate(file, out=folder / "model"),
        bp.emulate(file, out=folder / "linux", clock="kernel"),
    )


def goodput(run: bp.Run) -> float:
    """Goodput of the transfer in bit/s."""
    return float(run.flows["goodput"][0])


@guests
def test_the_kernels_wifi_takes_the_airtime_of_the_model(tmp_path: Path) -> None:
    model, linux = both(tmp_path, '{ kind = "fixed", rate = "24 Mbit/s" }')
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.05)
    rates = linux.trace("wifi.rate", "wlan.ap")["rate"]
    # What is not data, such as address resolution, goes at the slowest.
    assert (rates == 24e6).mean() > 0.98


@guests
def test_frames_that_the_channel_loses_are_retransmitted_by_the_kernel(tmp_path: Path) -> None:
    error = '{ kind = "packet", probability = 0.2 }'
    model, linux = both(tmp_path, '{ kind = "fixed", rate = "24 Mbit/s" }', error)
    rows = [
        run.table("wifi").filter(pl.col("station") == "wlan.ap").row(0, named=True) for run in (model, linux)
    ]
    for row in rows:
        assert row["corrupted"] / row["frames"] == pytest.approx(0.2, abs=0.02)
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.1)


@guests
@pytest.mark.slow
@pytest.mark.parametrize("snr_db", [12, 18, 24, 30])
def test_minstrel_is_within_10_percent_of_the_kernels(tmp_path: Path, snr_db: int) -> None:
    model, linux = both(tmp_path, '"minstrel"', FADING.format(snr_db=snr_db), seconds=60)
    assert goodput(linux) == pytest.approx(goodput(model), rel=0.1)


@guests
def test_what_the_kernels_wifi_cannot_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match='"arf", which the kernel\'s Wi-Fi does not know; allowed: "minstrel"'
    ):
        both(tmp_path, '"arf"', seconds=1)
