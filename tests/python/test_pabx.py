"""Real telephones call the real exchange, over loopback and across an emulated satellite. Skipped if not installed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks import Bentpipe, needs, networks, until

DELAY_S = 0.27
PROGRAM = str(Path(sys.executable).with_name("bentpipe"))

SCENARIO = f"""
name = "calls"
duration = "1 min"
link = [{{ name = "link", from = "user", to = "server", rate = "2 Mbit/s", delay = "{DELAY_S * 1e3:.0f} ms" }}]
"""


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_g711_is_the_standards() -> None:
    """G.711: outputs of the decoder at the ends of segments, and what is coded is decoded."""
    from bentpipe.voice.pabx import ENCODINGS, TABLES, decode, encode

    mu, a = TABLES["PCMU"], TABLES["PCMA"]
    assert (mu[0x80], mu[0xFF], mu[0x00], mu[0x8F]) == (32124, 0, -32124, 16764)
    assert (a[0xD5], a[0x55], a[0xAA], a[0x2A]) == (8, -8, 32256, -32256)
    for encoding in ENCODINGS:
        table = TABLES[encoding]
        every = bytes(range(256))
        assert np.array_equal(decode(encoding, encode(encoding, table)), decode(encoding, every))


def phone(folder: Path, user: str, tone_hz: int) -> Path:
    """A configuration of baresip that speaks a tone and records what it hears."""
    modules = "/usr/lib/baresip/modules"
    folder.mkdir()
    names = ("g711", "ausine", "aubridge", "sndfile", "account", "menu")
    (folder / "config").write_text(
        f"module_path {modules}\n"
        + "".join(f"module{'_app' if name in ('account', 'menu') else ''} {name}.so\n" for name in names)
        + f"audio_source ausine,{tone_hz}\naudio_player aubridge,none\nausrc_srate 48000\nausrc_channels 2\n"
        + f"auplay_srate 8000\njitter_buffer_type fixed\njitter_buffer_delay 2-10\nsnd_path {folder}\n"
    )
    (folder / "accounts").write_text(f"<sip:{user}@localhost>;regint=0;audio_codecs=pcmu\n")
    (folder / "contacts").write_text("")
    return folder


@needs("sipp")
@networks
def test_sipp_calls_the_exchange_across_a_satellite(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """Two calls by sipp: set up and ended, in the round trips of SIP."""
    (tmp_path / "calls.toml").write_text(SCENARIO)
    bentpipe("up", str(tmp_path / "calls.toml"))
    words = bentpipe.words(*("exec", "server", "--", PROGRAM, "pabx", "--address", "server", "--json"))
    out = tmp_path / "exchange"
    with out.open("w") as file:
        exchange = subprocess.Popen(words, env=bentpipe.variables(), stdout=file, stderr=subprocess.STDOUT)
    try:
        until(lambda: "listening" in out.read_text())
        command = (
            "sipp",
            "-sn",
            "uac",
            "server:5060",
            "-m",
            "2",
            "-r",
            "2",
            "-d",
            "1000",
            "-s",
            "echo",
            "-nostdin",
        )
        done = bentpipe.done("exec", "user", "--", *command, "-timeout", "30")
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        exchange.terminate()
        exchange.wait()
    events = lines_of(out.read_text())
    assert [event["event"] for event in events if event["event"] == "answered"] == ["answered"] * 2
    ended = [event for event in events if event["event"] == "ended"]
    assert len(ended) == 2
    for call in ended:
        # From the answer to BYE: the ACK's way, sipp's pause of 1 s, and back.
        assert call["seconds"] == pytest.approx(1 + 2 * DELAY_S, abs=0.4)
        assert call["sent"] == pytest.approx(call["seconds"] / 0.02, abs=15)


@needs("baresip")
@networks
def test_two_real_telephones_hear_each_other_in_a_conference(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """Each telephone speaks a tone and hears that of the other, across the satellite and back."""
    (tmp_path / "calls.toml").write_text(SCENARIO)
    bentpipe("up", str(tmp_path / "calls.toml"))
    out = tmp_path / "exchange"
    words = bentpipe.words(*("exec", "server", "--", PROGRAM, "pabx", "--address", "server", "--json"))
    with out.open("w") as file:
        exchange = subprocess.Popen(words, env=bentpipe.variables(), stdout=file, stderr=subprocess.STDOUT)
    # baresip asks name servers only.
    address = bentpipe("exec", "user", "--", "getent", "ahostsv4", "server").split()[0]
    tones = {"one": 440, "two": 700}
    phones = []
    try:
        until(lambda: "listening" in out.read_text())
        for user, tone in tones.items():
            folder = phone(tmp_path / user, user, tone)
            host = "user" if user == "one" else "server"
            dial = ("baresip", "-f", str(folder), "-e", f"d sip:600@{address}", "-t", "6")
            phones.append(
                subprocess.Popen(
                    bentpipe.words("exec", host, "--", *dial),
                    env=bentpipe.variables(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        said = [process.communicate()[0] for process in phones]
    finally:
        exchange.terminate()
        exchange.wait()
    events = lines_of(out.read_text())
    ended = [event for event in events if event["event"] in ("ended", "closed")]
    assert len(ended) == 2, (events, said)
    for call in ended:
        assert call["received"] > 100 and call["sent"] > 100, call
    for user, own in tones.items():
        other = next(tone for name, tone in tones.items() if name != user)
        (heard,) = (tmp_path / user).glob("*-dec.wav")
        strength = spectrum(heard, (own, other))
        assert strength[other] > 10 * strength[own], (user, strength)


def spectrum(file: Path, tones_hz: tuple[int, ...]) -> dict[int, float]:
    """How strong each tone is in a recording."""
    with wave.open(str(file)) as recording:
        rate, frames = recording.getframerate(), recording.readframes(recording.getnframes())
    samples = np.frombuffer(frames, np.int16).astype(float)
    time = np.arange(len(samples)) / rate
    return {tone: float(abs(np.mean(samples * np.exp(-2j * math.pi * tone * time)))) for tone in tones_hz}
