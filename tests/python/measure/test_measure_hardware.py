"""Time stamps of network cards: messages and structures made by hand as the kernel's documentation
specifies them, so no card is needed; and the answers of devices without such stamps."""

from __future__ import annotations

import array
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bentpipe import measure
from bentpipe.measure import folder, hardware, probing, sockets
from bentpipe.measure.hardware import Ability, Card, Cards
from bentpipe.measure.plan import plan_of
from bentpipe.measure.summary import summarise
from helpers.measuring import KEY, reflecting
from rigs.networks import networks

#: A capable card: all flags of software and hardware, clock 0, departures off and on, arrivals none
#: or all.
ABLE = struct.pack("=11I", 0x41, 0x5F, 0, 0b11, 0, 0, 0, 0b11, 0, 0, 0)
#: SCM_TIMESTAMPING, SCM_TIMESTAMPING_PKTINFO and IP_RECVERR.
STAMPS, ABOUT, REPORT = 37, 58, 11
SOFT, HARD = 1_700_000_000_000_001_000, 1_700_000_037_000_000_500


def stamps(software: int, raw: int) -> tuple[int, int, bytes]:
    """Returns a message of struct scm_timestamping: three times, the second of which is no longer
    used."""
    times = (*divmod(software, 10**9), 0, 0, *divmod(raw, 10**9))
    return socket.SOL_SOCKET, STAMPS, struct.pack("=6q", *times)


def about(index: int) -> tuple[int, int, bytes]:
    """Returns a message of struct scm_ts_pktinfo."""
    return socket.SOL_SOCKET, ABOUT, struct.pack("=4I", index, 142, 0, 0)


def test_flags_equal_those_of_the_kernel() -> None:
    header = Path("/usr/include/linux/net_tstamp.h")
    if not header.is_file():
        pytest.skip("no headers of the kernel (linux-libc-dev)")
    bits = dict(re.findall(r"SOF_TIMESTAMPING_(\w+) = \(1 ?<< ?(\d+)\)", header.read_text()))
    names = ("TX_HARDWARE", "RX_HARDWARE", "RAW_HARDWARE", "OPT_PKTINFO")
    assert [getattr(sockets, f"_{name}") for name in names] == [1 << int(bits[name]) for name in names]


class Socket:
    """A socket whose kernel returns these messages, one packet after the other."""

    def __init__(self, *packets: list[tuple[int, int, bytes]]) -> None:
        self.packets = list(packets)

    def recvmsg(self, *_: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, tuple[str, int]]:
        if not self.packets:
            raise BlockingIOError
        return b"packet", self.packets.pop(0), 0, ("203.0.113.1", 862)


def test_an_arrival_has_the_time_of_the_card_that_received_it() -> None:
    card = Card(3, lambda: time.time_ns() + 37 * 10**9)
    own = Socket([stamps(SOFT, HARD), about(3)], [about(4), stamps(SOFT, HARD)], [stamps(SOFT, 0)], [])
    found = [sockets.received(own, card.arrived) for _ in range(4)]  # type: ignore[arg-type]
    times = [one.stamp for one in found if one is not None]
    # The card's clock is 37 s ahead of the host's, as TAI is of UTC; readings of both are
    # microseconds apart.
    assert times[0] == pytest.approx(HARD - 37 * 10**9, abs=100_000)
    # One stamp of another interface, one packet that the card has not stamped, and one without any
    # stamp.
    assert times[1:] == [SOFT, SOFT, None] and card.received == 1
    without = sockets.received(Socket([stamps(SOFT, HARD), about(3)]))  # type: ignore[arg-type]
    assert without is not None and without.stamp == SOFT


def test_a_departure_has_the_time_of_the_card_if_available() -> None:
    def number(of: int) -> tuple[int, int, bytes]:
        # struct sock_extended_err: ENOMSG, from time stamping, its identity in the last field.
        return socket.IPPROTO_IP, REPORT, struct.pack("=IBBBBII", 42, 4, 0, 0, 0, 0, of)

    card = Card(3, lambda: time.time_ns() + 37 * 10**9)
    own = Socket([stamps(0, HARD), number(0)], [stamps(SOFT, 0), number(1)])
    (first, second) = sockets.departures(own, card.left)  # type: ignore[arg-type]
    assert first[0] == 0 and first[1] == pytest.approx(HARD - 37 * 10**9, abs=100_000)
    assert second == (1, SOFT) and card.sent == 1


def test_conversion_follows_the_clock_of_the_card() -> None:
    """A clock that runs 1 % fast is read every 10 ms, in which it gains 0.1 ms."""
    begin = time.time_ns()
    card = Card(1, lambda: (now := time.time_ns()) + (now - begin) // 100)
    errors = []
    while time.time_ns() < begin + 200_000_000:
        now = time.time_ns()
        errors.append(abs(card.wall(now + (now - begin) // 100) - now))
    # 2 ms would be gained in total.
    assert sorted(errors)[len(errors) // 2] < 150_000


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (1, 0x1A, "no hardware time stamps"),
        (2, -1, "cannot be read"),
        (3, 0b01, "only PTP packets"),
        # HWTSTAMP_FILTER_PTP_V2_EVENT and no other.
        (7, 1 << 12 | 1, "only PTP packets"),
    ],
)
def test_missing_features_of_a_card_are_reported(place: int, value: int, said: str) -> None:
    assert Ability.read(ABLE).lack is None
    words = list(struct.unpack("=11i", ABLE))
    words[place] = value
    lack = Ability.read(struct.pack("=11i", *words)).lack
    assert lack is not None and said in lack


class Driver:
    """The ioctls of a capable card: its current settings, and the permission to change them."""

    def __init__(self, config: tuple[int, int, int], allowed: bool = True) -> None:
        self.config, self.allowed = config, allowed

    def request(self, number: int, _: str, data: array.array[int]) -> None:
        if number == 0x8946:
            data[:] = array.array("B", ABLE)
        elif number == 0x89B1:
            data[:] = array.array("B", struct.pack("=3i", *self.config))
        elif not self.allowed:
            raise PermissionError(1, "Operation not permitted")
        else:
            self.config = struct.unpack("=3i", data.tobytes())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file in place of /dev/ptp0, and the host's own clock for its clock."""
    (tmp_path / "ptp0").touch()
    opening, reading = os.open, time.clock_gettime_ns
    monkeypatch.setattr(
        os, "open", lambda name, flags: opening(str(name).replace("/dev", str(tmp_path)), flags)
    )
    monkeypatch.setattr(time, "clock_gettime_ns", lambda number: reading(number if number >= 0 else 0))


@pytest.mark.usefixtures("clock")
def test_stamps_are_enabled_if_permitted_and_restored_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for before in ((0, 0, 0), (0, 1, 1)):
        driver = Driver(before)
        monkeypatch.setattr(hardware, "_request", driver.request)
        found = hardware.card("lo")
        assert isinstance(found, Card) and driver.config == (0, 1, 1)
        assert abs(found.wall(time.time_ns()) - time.time_ns()) < 10_000_000
        found.close()
        assert driver.config == before
    # Enabled stamps may be used without the privilege to enable them.
    monkeypatch.setattr(hardware, "_request", Driver((0, 1, 1), allowed=False).request)
    found = hardware.card("lo")
    assert isinstance(found, Card)
    found.close()
    monkeypatch.setattr(hardware, "_request", Driver((0, 0, 0), allowed=False).request)
    said = hardware.card("lo")
    assert isinstance(said, str) and "hwstamp_ctl -i lo -t 1 -r 1" in said


def test_a_card_without_a_readable_clock_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver((0, 0, 0))
    monkeypatch.setattr(hardware, "_request", driver.request)
    monkeypatch.setattr(
        os, "open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    assert hardware.card("lo") == "its clock /dev/ptp0 cannot be read: Permission denied"
    assert driver.config == (0, 0, 0)


def test_a_run_reports_why_no_card_has_stamped(tmp_path: Path) -> None:
    plan = plan_of({"duration": "0.5 s", "rate": 100, "train": 0}, "plan.toml")
    with reflecting(KEY) as (port, _):
        seen = measure.probe("127.0.0.1", port, plan, KEY)
    folder.free(tmp_path / "run")
    folder.write(tmp_path / "run", "127.0.0.1", 1, seen, summarise(seen))
    fidelity = json.loads((tmp_path / "run" / "fidelity.json").read_text())
    why = "interface lo: it has no hardware time stamps"
    assert fidelity["hardware_timestamps"] == {"sent": 0, "received": 0, "reason": why}
    assert fidelity["kernel_timestamps"]


def test_missing_stamps_of_departures_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "departures", lambda *_: [])
    plan = plan_of({"duration": "0.2 s", "rate": 100, "train": 0}, "plan.toml")
    with reflecting(KEY) as (port, _):
        seen = measure.probe("127.0.0.1", port, plan, KEY)
    assert not seen.kernel_sent and seen.kernel_received
    assert any("the times of this program are used" in note for note in summarise(seen).notes)


INSIDE = """
import json, select, socket, subprocess
from bentpipe.measure import hardware, sockets
subprocess.run(["ip", "link", "add", "near", "type", "veth", "peer", "name", "far"], check=True)
subprocess.run(["ip", "address", "add", "192.0.2.1/24", "dev", "near"], check=True)
for name in ("near", "far", "lo"):
    subprocess.run(["ip", "link", "set", name, "up"], check=True)
index = hardware.leaving(socket.AF_INET, "192.0.2.7")
with sockets.opened(2, departing=True, hardware=True) as one, sockets.opened(2, hardware=True) as other:
    other.bind(("127.0.0.1", 0))
    one.sendto(b"x", other.getsockname())
    select.select([other], [], [], 5)
    got = sockets.received(other)
    left = sockets.departures(one)
try:
    hardware.leaving(socket.AF_INET, "198.51.100.1")
    none = ""
except OSError as error:
    none = error.strerror
print(json.dumps([socket.if_indextoname(index), hardware.card("near"), got.stamp, left[-1], none]))
"""


@networks
def test_devices_without_hardware_stamps_are_reported_and_use_stamps_of_the_kernel() -> None:
    words = ["unshare", "-n", sys.executable, "-c", INSIDE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    name, why, arrived, (number, left), none = json.loads(done.stdout)
    assert name == "near" and "hardware" in why and none
    # From the first packet on.
    assert number == 0 and 0 <= arrived - left < 10**9


def test_cards_are_identified_by_their_interface() -> None:
    one, other = Card(2, time.time_ns), Card(5, lambda: time.time_ns() - 10**9)
    cards = Cards([one, other])
    now = time.time_ns()
    assert cards.arrived(2, now) == pytest.approx(now, abs=10**8)
    assert cards.arrived(5, now) == pytest.approx(now + 10**9, abs=10**8)
    assert cards.arrived(7, now) is None and (one.received, other.received) == (1, 1)
    assert cards and not Cards([])
