"""Real telephones call the real exchange, over loopback and across an emulated satellite. Skipped
if not installed."""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import subprocess
import sys
import tempfile
import threading
import tty
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rigs.networks import Bentpipe, needs, networks, until

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
    """G.711: outputs of the decoder at the ends of segments, and decoding of coded samples."""
    from bentpipe.voice.g711 import ENCODINGS, TABLES, decode, encode

    mu, a = TABLES["PCMU"], TABLES["PCMA"]
    assert (mu[0x80], mu[0xFF], mu[0x00], mu[0x8F]) == (32124, 0, -32124, 16764)
    assert (a[0xD5], a[0x55], a[0xAA], a[0x2A]) == (8, -8, 32256, -32256)
    for encoding in ENCODINGS:
        table = TABLES[encoding]
        every = bytes(range(256))
        assert np.array_equal(decode(encoding, encode(encoding, table)), decode(encoding, every))


def phone(folder: Path, user: str, tone_hz: int) -> Path:
    """Returns a configuration of baresip that speaks a tone and records its received audio."""
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
@pytest.mark.quiet
def test_sipp_calls_the_exchange_across_a_satellite(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """Two calls by sipp: set up and ended, in the round trips of SIP."""
    (tmp_path / "calls.toml").write_text(SCENARIO)
    bentpipe("net", "up", str(tmp_path / "calls.toml"))
    words = bentpipe.words(
        *("net", "exec", "server", "--", PROGRAM, "voice", "pabx", "--address", "server", "--json")
    )
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
        done = bentpipe.done("net", "exec", "user", "--", *command, "-timeout", "30")
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        exchange.terminate()
        exchange.wait()
    events = lines_of(out.read_text())
    assert [event["event"] for event in events if event["event"] == "answered"] == ["answered"] * 2
    ended = [event for event in events if event["event"] == "ended"]
    assert len(ended) == 2
    for call in ended:
        # From the answer to BYE: the ACK's path, sipp's pause of 1 s, and back.
        assert call["seconds"] == pytest.approx(1 + 2 * DELAY_S, abs=0.4)
        assert call["sent"] == pytest.approx(call["seconds"] / 0.02, abs=15)


@contextlib.contextmanager
def exchange_at(
    bentpipe: Bentpipe, host: str, out: Path, *options: str, address: str | None = None
) -> Iterator[None]:
    """Runs the exchange in a host until the end of the block; its output is in the file ``out``."""
    listens = ("--address", address or host, "--json", *options)
    words = bentpipe.words("net", "exec", host, "--", PROGRAM, "voice", "pabx", *listens)
    with out.open("w") as file:
        exchange = subprocess.Popen(words, env=bentpipe.variables(), stdout=file, stderr=subprocess.STDOUT)
    try:
        until(lambda: "listening" in out.read_text() or exchange.poll() is not None)
        assert exchange.poll() is None, out.read_text()
        yield
    finally:
        exchange.terminate()
        exchange.wait()


def began(bentpipe: Bentpipe, host: str, *words: str) -> subprocess.Popen[str]:
    """Returns a program that was started in a host."""
    return subprocess.Popen(
        bentpipe.words("net", "exec", host, "--", *words),
        env=bentpipe.variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def address_of(bentpipe: Bentpipe, host: str) -> str:
    """Returns the IPv4 address of a host, because baresip resolves names only by name servers."""
    return bentpipe("net", "exec", "user", "--", "getent", "ahostsv4", host).split()[0]


def tone(path: Path, hertz: int, seconds: float = 1.0) -> Path:
    """Returns a recording of a tone."""
    samples = 8000 * np.sin(2 * math.pi * hertz * np.arange(int(8000 * seconds)) / 8000)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(samples.astype("<i2").tobytes())
    return path


def test_telephones_over_both_protocols_hear_each_other() -> None:
    """On loopback: a telephone over SIP and one over IAX2 in one conference, and one that finds no
    free line."""
    from bentpipe.voice.pabx import Pabx
    from bentpipe.voice.phone import CallResult, call

    events: list[dict[str, Any]] = []
    ended = threading.Event()
    exchange = Pabx("127.0.0.1", 0, 2, events.append, iax_port=0)
    serving = threading.Thread(target=exchange.run, args=(ended.is_set,))
    serving.start()
    said: dict[str, CallResult] = {}
    time = np.arange(8000) / 8000
    tones = {"sip": 440, "iax2": 700}
    ports = {"sip": exchange.port, "iax2": exchange.iax_port}

    def talk(protocol: str) -> None:
        speech = (8000 * np.sin(2 * math.pi * tones[protocol] * time)).astype(np.int32)
        said[protocol] = call(f"{protocol}:600@127.0.0.1:{ports[protocol]}", "127.0.0.1", speech, 2)

    talks = [threading.Thread(target=talk, args=(protocol,)) for protocol in tones]
    try:
        for one in talks:
            one.start()
        until(lambda: sum(event["event"] == "answered" for event in events) == 2)
        for protocol, status in (("sip", 486), ("iax2", 17)):
            refused = call(
                f"{protocol}:600@127.0.0.1:{ports[protocol]}", "127.0.0.1", np.zeros(0, np.int32), 1
            )
            assert (refused.answered, refused.status) == (False, status)
        for one in talks:
            one.join()
    finally:
        ended.set()
        serving.join()
        exchange.close()
    for protocol, own in tones.items():
        heard = said[protocol]
        assert heard.answered and heard.sent > 80 and heard.received > 80, heard
        other = next(tone for name, tone in tones.items() if name != protocol)
        strength = strengths(heard.heard.astype(float), 8000, (own, other))
        assert strength[other] > 10 * strength[own], (protocol, strength)
    assert [event["status"] for event in events if event["event"] == "refused"] == [486, 486]


@needs("baresip")
@networks
@pytest.mark.quiet
def test_real_telephones_and_a_simulated_one_hear_each_other_in_a_conference(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    """Each telephone speaks a tone and hears those of the others, across the satellite and back."""
    (tmp_path / "calls.toml").write_text(SCENARIO)
    bentpipe("net", "up", str(tmp_path / "calls.toml"))
    out = tmp_path / "exchange"
    address = address_of(bentpipe, "server")
    tones = {"one": 440, "two": 700, "three": 1000}
    phones = []
    with exchange_at(bentpipe, "server", out, "--iax-port", "4569"):
        for user in ("one", "two"):
            folder = phone(tmp_path / user, user, tones[user])
            dial = ("baresip", "-f", str(folder), "-e", f"d sip:600@{address}", "-t", "60")
            phones.append(began(bentpipe, "user" if user == "one" else "server", *dial))
        # On any slow machine, all three are in the conference while the third speaks.
        until(lambda: [e["event"] for e in lines_of(out.read_text())].count("answered") == 2)
        speech = tone(tmp_path / "three.wav", tones["three"])
        third = (
            "voice",
            "phone",
            "iax2:600@server",
            "--address",
            "user",
            "--speech",
            str(speech),
            "--duration",
            "4",
        )
        recorded = ("--out", str(tmp_path / "three-dec.wav"), "--json")
        simulated = bentpipe.done("net", "exec", "user", "--", PROGRAM, *third, *recorded)
        for process in phones:
            process.terminate()
        said = [process.communicate()[0] for process in phones]
    assert simulated.returncode == 0, simulated.stdout + simulated.stderr
    went = json.loads(simulated.stdout)
    # NEW and ANSWER take a round trip.
    assert went["after_s"] == pytest.approx(2 * DELAY_S, abs=0.25) and went["received"] > 100, went
    events = lines_of(out.read_text())
    ended = [event for event in events if event["event"] in ("ended", "closed")]
    assert len(ended) == 3, (events, said)
    for call in ended:
        assert call["received"] > 100 and call["sent"] > 100, call
    heard = {user: next((tmp_path / user).glob("*-dec.wav")) for user in ("one", "two")}
    heard["three"] = tmp_path / "three-dec.wav"
    for user, own in tones.items():
        strength = spectrum(heard[user], tuple(tones.values()))
        others = [strength[tone] for name, tone in tones.items() if name != user]
        assert min(others) > 5 * strength[own], (user, strength)


class Modem:
    """iaxmodem in a host: a software telephone line on libiax2, an independent implementation of
    IAX2."""

    def __init__(self, bentpipe: Bentpipe, host: str, server: str) -> None:
        # The name of a device has at most 63 characters.
        self.folder = tempfile.TemporaryDirectory()
        self.tty = Path(self.folder.name) / "tty"
        configuration = Path(self.folder.name) / "modem"
        values = {
            "device": self.tty, "owner": "root:root", "mode": 600, "port": 4569, "refresh": 60, "server": server,
            "peername": "modem", "secret": "none", "cidname": "Modem", "cidnumber": 55, "codec": "ulaw",
        }  # fmt: skip
        configuration.write_text("".join(f"{name} {value}\n" for name, value in values.items()))
        # iaxmodem reads configurations only from /etc/iaxmodem.
        self.process = began(bentpipe, host, "iaxmodem", f"../..{configuration}")
        try:
            until(lambda: self.tty.exists() or self.process.poll() is not None)
            self.line = os.open(self.tty, os.O_RDWR | os.O_NOCTTY)
        except BaseException:
            self.close()
            raise
        tty.setraw(self.line)
        self.said = ""

    def command(self, text: str, answer: str | None = "OK") -> None:
        """Gives the modem a command and waits for its answer."""
        os.write(self.line, text.encode() + b"\r")
        if answer is not None:
            self.expect(answer)

    def expect(self, answer: str) -> None:
        """Waits for this answer of the modem."""
        until(lambda: answer in self.read())
        self.said = ""

    def read(self) -> str:
        """Returns the modem's output since the last match."""
        while select.select([self.line], [], [], 0)[0]:
            self.said += os.read(self.line, 4096).decode("latin-1")
        return self.said

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate()
        if hasattr(self, "line"):
            os.close(self.line)
        self.folder.cleanup()


@needs("iaxmodem")
@networks
@pytest.mark.quiet
def test_an_iax2_peer_that_is_not_ours_registers_answers_and_calls(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    """A modem beyond the satellite registers, is called from a SIP telephone, answers with its
    tone, then calls."""
    (tmp_path / "calls.toml").write_text(SCENARIO)
    bentpipe("net", "up", str(tmp_path / "calls.toml"))
    out = tmp_path / "exchange"
    speech = tone(tmp_path / "speech.wav", 500)

    def dial(number: str) -> subprocess.Popen[str]:
        words = (
            "voice",
            "phone",
            f"sip:{number}@server",
            "--address",
            "server",
            "--speech",
            str(speech),
            "--json",
        )
        recorded = ("--duration", "3", "--out", str(tmp_path / f"{number}.wav"))
        return began(bentpipe, "server", PROGRAM, *words, *recorded)

    with exchange_at(bentpipe, "server", out, "--iax-port", "4569"):
        modem = Modem(bentpipe, "user", address_of(bentpipe, "server"))
        try:
            until(lambda: '"registers"' in out.read_text())
            modem.command("AT+FCLASS=1")
            calling = dial("modem")
            modem.expect("RING")
            modem.command("ATA", answer=None)
            called = json.loads(calling.communicate(timeout=60)[0])
            # The telephone hangs up, and so does the exchange.
            until(lambda: len([e for e in lines_of(out.read_text()) if e["event"] == "ended"]) == 2)
            # Its answering tone is endless: the modem is informed that the call is over.
            modem.command("", answer=None)
            modem.command("ATH")
            modem.command("ATDT600", answer=None)
            until(lambda: '"to": "600"' in out.read_text())
            conference = json.loads(dial("600").communicate(timeout=60)[0])
            events = lines_of(out.read_text())
        finally:
            modem.close()
    # The called modem sends the answering tone of ITU-T T.30 (CED, 2100 Hz), the calling modem the
    # calling tone (CNG).
    for went, file, expected in ((called, "modem.wav", 2100), (conference, "600.wav", 1100)):
        assert went["answered"] and went["received"] > 100, went
        strength = spectrum(tmp_path / file, (2100, 1100, 700))
        assert strength[expected] > 10 * max(
            value for tone_, value in strength.items() if tone_ != expected
        ), strength
    (offered,) = [event for event in events if event["event"] == "incoming" and event["line"] == "iax2"]
    assert (offered["from"], offered["to"]) == ("55", "600")
    ended = [event for event in events if event["event"] == "ended" and event["line"] == "iax2"]
    assert ended[0]["received"] > 50 and ended[0]["sent"] > 50, ended


@needs("kamailio")
@networks
@pytest.mark.quiet
def test_a_call_through_a_real_registrar_reaches_the_exchange(bentpipe: Bentpipe, tmp_path: Path) -> None:
    """The exchange registers at kamailio beyond the satellite, which passes a call on to it and
    stays on its path."""
    (tmp_path / "calls.toml").write_text(SCENARIO)
    bentpipe("net", "up", str(tmp_path / "calls.toml"))
    proxy = address_of(bentpipe, "server")
    configuration = tmp_path / "kamailio.cfg"
    configuration.write_text(KAMAILIO.format(address=proxy))
    registrar = began(
        bentpipe, "server", "kamailio", "-f", str(configuration), "-DD", "-E", "-w", str(tmp_path),
        "-Y", str(tmp_path), "-P", str(tmp_path / "kamailio.pid"), "-m", "16", "-M", "4", "-n", "1",
    )  # fmt: skip
    out = tmp_path / "exchange"
    try:
        options = ("--registrar", f"{proxy}:5060", "--port", "5070", "--user", "echo")
        with exchange_at(bentpipe, "user", out, *options):
            until(lambda: '"registered"' in out.read_text() or registrar.poll() is not None)
            assert registrar.poll() is None, registrar.stdout and registrar.stdout.read()
            assert '"status": 200' in out.read_text()
            speech = tone(tmp_path / "speech.wav", 500)
            words = ("voice", "phone", f"sip:echo@{proxy}", "--address", "server", "--speech", str(speech))
            recorded = ("--duration", "3", "--out", str(tmp_path / "heard.wav"), "--json")
            called = bentpipe.done("net", "exec", "server", "--", PROGRAM, *words, *recorded)
            assert called.returncode == 0, called.stdout + called.stderr + out.read_text()
            until(lambda: '"ended"' in out.read_text())
    finally:
        registrar.terminate()
        registrar.wait()
        assert registrar.stdout is not None
        registrar.stdout.close()
    went = json.loads(called.stdout)
    # kamailio is at the caller's side of the satellite: INVITE and 200 cross the satellite once
    # each.
    assert went["after_s"] == pytest.approx(2 * DELAY_S, abs=0.25), went
    assert went["received"] > 80 and went["lost"] == 0, went
    strength = spectrum(tmp_path / "heard.wav", (500, 900))
    assert strength[500] > 10 * strength[900]
    (ended,) = [event for event in lines_of(out.read_text()) if event["event"] == "ended"]
    # Its answer and the BYE take half a round trip each.
    assert ended["to"] == "echo" and ended["seconds"] == pytest.approx(3 + 2 * DELAY_S, abs=0.3)


#: A registrar and proxy: users are kept in memory, and requests inside a dialog pass it.
KAMAILIO = """
debug=1
log_stderror=yes
children=1
disable_tcp=yes
listen=udp:{address}:5060
mpath="/usr/lib/x86_64-linux-gnu/kamailio/modules/"
loadmodule "sl.so"
loadmodule "tm.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "siputils.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
request_route {{
    if (method == "REGISTER") {{
        save("location");
        exit;
    }}
    if (has_totag()) {{
        loose_route();
        t_relay();
        exit;
    }}
    if (method == "CANCEL") {{
        t_relay();
        exit;
    }}
    record_route();
    if (!lookup("location")) {{
        sl_send_reply("404", "Not Found");
        exit;
    }}
    t_relay();
}}
"""


@needs("tshark")
@networks
@pytest.mark.quiet
def test_a_call_through_bentpipe_run_has_the_quality_that_tshark_sees(
    bentpipe: Bentpipe, tmp_path: Path
) -> None:
    """A call by SIP with media in both directions, over a lossy link with competing traffic that
    causes jitter."""
    (tmp_path / "call.toml").write_text(LOADED)
    go, up, over, down = (tmp_path / name for name in ("go", "up", "over", "down"))
    speech = tone(tmp_path / "speech.wav", 500)
    call = f"{PROGRAM} voice phone sip:echo@server --address user --speech {speech} --duration 8 --json"
    pause = "do sleep 0.05; done"
    waiting = (
        f"touch {up}; while [ ! -e {go} ]; {pause}; {call}; touch {over}; while [ ! -e {down} ]; {pause}"
    )
    words = ("run", str(tmp_path / "call.toml"), "--tables", str(tmp_path / "report.json"))
    running = bentpipe.begin(
        *words, "--", "sh", "-c", waiting, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until(lambda: up.exists() or running.poll() is not None)
        sniffers = []
        for host in ("user", "server"):
            capture = ("tshark", "-q", "-i", "sat0", "-f", "udp", "-w", str(tmp_path / f"{host}.pcapng"))
            sniffers.append(began(bentpipe, host, *capture, "-a", "duration:60"))
        until(lambda: all((tmp_path / f"{host}.pcapng").exists() for host in ("user", "server")))
        with exchange_at(bentpipe, "server", tmp_path / "exchange"):
            go.touch()
            until(over.exists)
        for sniffer in sniffers:
            sniffer.terminate()
            sniffer.communicate()
        down.touch()
        out, errors = running.communicate(timeout=60)
    finally:
        go.touch()
        down.touch()
        if running.poll() is None:
            running.communicate(timeout=60)
    assert running.returncode == 0, out + errors
    went = json.loads(out)
    assert went["answered"] and went["received"] > 300 and went["sent"] > 350, went
    rows = json.loads((tmp_path / "report.json").read_text())["tables"]["rtp"]
    assert len(rows) == 2, rows
    addresses = {"user": "198.18.0.1", "server": "198.18.0.2"}
    for host, address in addresses.items():
        (row,) = [row for row in rows if f"-{address}:" in row["entity"]]
        shown = subprocess.run(
            [
                *("tshark", "-q", "-z", "rtp,streams", "--enable-heuristic", "rtp_udp"),
                *("-r", str(tmp_path / f"{host}.pcapng")),
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        ssrc = row["entity"].rsplit("-", 1)[1].upper()
        (line,) = [line for line in shown.splitlines() if ssrc in line]
        parts = line.split()
        at = next(place for place, word in enumerate(parts) if word.startswith("("))
        packets, lost, jitter, largest = (float(parts[at + step]) for step in (-2, -1, 5, 6))
        assert (row["packets"], row["expected"] - row["packets"]) == (packets, lost), (row, line)
        assert row["jitter"] * 1e3 == pytest.approx(jitter, rel=0.01, abs=0.005), (row, line)
        assert row["jitter_max"] * 1e3 == pytest.approx(largest, rel=0.01, abs=0.005), (row, line)
        assert row["mos"] > 1 and 0.09 < row["delay"] < 0.3, row


#: A link that is loaded in both directions.
LOADED = """
name = "call"
duration = "1 min"
[[link]]
name = "link"
from = "user"
to = "server"
rate = "400 kbit/s"
delay = "100 ms"
error = { kind = "packet", probability = 0.02 }
[[flow]]
name = "there"
from = "user"
to = "server"
transport = "udp"
app = { kind = "cbr", rate = "150 kbit/s", datagram = "1 kB", on = "0.2 s", off = "0.1 s" }
[[flow]]
name = "back"
from = "server"
to = "user"
transport = "udp"
app = { kind = "cbr", rate = "150 kbit/s", datagram = "1 kB", on = "0.2 s", off = "0.1 s" }
"""


def strengths(samples: Any, rate: int, tones_hz: tuple[int, ...]) -> dict[int, float]:
    """Returns the strength of each tone in samples."""
    time = np.arange(len(samples)) / rate
    return {tone: float(abs(np.mean(samples * np.exp(-2j * math.pi * tone * time)))) for tone in tones_hz}


def spectrum(file: Path, tones_hz: tuple[int, ...]) -> dict[int, float]:
    """Returns the strength of each tone in a recording."""
    with wave.open(str(file)) as recording:
        rate, frames = recording.getframerate(), recording.readframes(recording.getnframes())
    return strengths(np.frombuffer(frames, np.int16).astype(float), rate, tones_hz)
