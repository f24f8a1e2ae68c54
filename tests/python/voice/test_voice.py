"""Calls: their results in a run, and the audio that their listeners received."""

from __future__ import annotations

import math
import shutil
import subprocess
import tomllib
import wave
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bentpipe as bp
import pytest
from bentpipe import listening
from bentpipe.errors import InputError
from bentpipe.voice import emodel, speech_codecs

SCENARIO = """
name = "call"
duration = "{seconds} s"
[[link]]
name = "sat"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "250 ms"
error = {{ kind = "packet", probability = {loss} }}
[[flow]]
name = "call"
from = "a"
to = "b"
transport = "udp"
app = {{ kind = "voice", codec = "{codec}", talker = {talker} }}
"""


def call(
    folder: Path, codec: str = "G.711u", loss: float = 0.0, talker: str = '"always"', seconds: int = 20
) -> bp.Run:
    text = SCENARIO.format(codec=codec, loss=loss, talker=talker, seconds=seconds)
    return bp.simulate(tomllib.loads(text), out=folder)


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signal that a speech codec can encode: a tone of 200 Hz and its harmonics in syllables of
    200 ms."""
    path = tmp_path_factory.mktemp("speech") / "speech.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        for at in range(16000 * 5):
            loud = 0.5 - 0.5 * math.cos(2 * math.pi * at / 3200)
            value = sum(math.sin(2 * math.pi * 200 * k * at / 16000) / k for k in (1, 2, 3, 5))
            file.writeframesraw(int(8000 * loud * value).to_bytes(2, "little", signed=True))
    return path


def test_a_call_is_rated_in_both_directions_and_over_time(tmp_path: Path) -> None:
    run = call(tmp_path / "run", "G.729A", loss=0.02)
    flows = {row["flow"]: row for row in run.flows.iter_rows(named=True)}
    for name in ("call", "call.reverse"):
        row = flows[name]
        assert (
            0.335 < row["voice_delay"] < 0.337
        )  # 250 ms in flight, 60 ms in the buffer, 25 ms in the codec and for sending
        assert 0.5 < row["voice_loss"] < 5 and row["voice_late"] == 0
        delay = row["voice_delay"] * 1e3
        rated = emodel.rate(
            "G.729A", Ppl=row["voice_loss"], BurstR=row["voice_burst_ratio"], T=delay, Ta=delay, Tr=2 * delay
        )
        assert row["voice_mos"] == pytest.approx(rated.MOS, abs=1e-9)
    windows = run.table("call_window")
    assert windows.height == 4
    assert windows["expected"].sum() == sum(
        flows[name]["voice_expected"] for name in ("call", "call.reverse")
    )


def test_what_makes_no_call_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="G.712.*allowed: G.711u"):
        call(tmp_path / "a", "G.712")
    text = SCENARIO.format(codec="GSM-FR", loss=0, talker='"p59"', seconds=20).replace('"udp"', '"tcp"')
    with pytest.raises(ValueError, match="allowed: transport"):
        bp.simulate(tomllib.loads(text), out=tmp_path / "b")


def test_a_listener_hears_the_speech_with_its_losses(tmp_path: Path, speech: Path) -> None:
    np = pytest.importorskip("numpy")
    samples = listening.read_speech(speech)
    assert len(samples) == pytest.approx(5 * listening.RATE, abs=40)
    spoken, heard = listening.heard(call(tmp_path / "good"), "call", samples)
    # G.711 changes a sample by at most a few per cent of its value.
    assert len(spoken) == len(heard) and np.abs(spoken - heard).max() < 0.02
    distances = []
    for codec in ("G.711u", "G.711u+PLC"):
        run = call(tmp_path / codec, codec, loss=0.05)
        spoken, heard = listening.heard(run, "call", samples)
        distances.append(float(np.mean((spoken - heard) ** 2)))
        silent = np.mean(np.abs(heard[: 8000 * 19]) < 1e-3) - np.mean(np.abs(spoken[: 8000 * 19]) < 1e-3)
        assert 0.0 <= silent < 0.1
    assert 0 < distances[1] < distances[0]
    with pytest.raises(InputError, match="allowed: call, call.reverse"):
        listening.heard(run, "other", samples)


@pytest.mark.parametrize(
    ("codec", "least"),
    [
        ("GSM-FR", 0.98),
        ("G.729A", 0.9),
        ("G.711a", 0.999),
        ("iLBC-20", 0.98),
        ("iLBC-30", 0.98),
        ("AMR-12.2", 0.98),
        ("GSM-EFR", 0.98),
        ("Opus-10", 0.9),
        ("G.723.1", 0.9),
    ],
)
def test_speech_passes_each_codec(tmp_path: Path, speech: Path, codec: str, least: float) -> None:
    """The received audio is the speech within the limits of the codec, with gaps for lost
    packets."""
    np = pytest.importorskip("numpy")
    samples = listening.read_speech(speech)
    try:
        speech_codecs.CODECS[codec](samples, 240)
    except speech_codecs.MissingLibraryError as error:
        pytest.skip(str(error))
    good, bad = (
        listening.heard(call(tmp_path / str(loss), codec, loss=loss, seconds=8), "call", samples)
        for loss in (0.0, 0.1)
    )

    def levels(signal: Any) -> Any:
        """Returns the power of each 20 ms, which codecs keep, unlike phases."""
        return np.mean(signal[: len(signal) // 160 * 160].reshape(-1, 160) ** 2, axis=1)

    def alike(spoken: Any, heard: Any) -> float:
        """Returns the correlation of the levels. Decoded speech is delayed by the codec's
        look-ahead, up to 10 ms."""
        ends = len(spoken) - 80
        return max(
            float(np.corrcoef(levels(spoken[:ends]), levels(heard[late : late + ends]))[0, 1])
            for late in range(0, 81, 8)
        )

    likeness = [alike(*one) for one in (good, bad)]
    assert likeness[0] > least > 0 and likeness[1] < likeness[0], likeness


def test_talk_spurts_of_a_recording_make_a_talker(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    recording = np.zeros(5 * listening.RATE)
    for begin, end in ((0.5, 1.5), (1.6, 2.0), (3.0, 4.0)):
        recording[int(begin * listening.RATE) : int(end * listening.RATE)] = 0.3
    spurts = listening.activity(recording)
    assert spurts == [(0.5, 2.0), (3.0, 4.0)]
    talker = '{ kind = "recorded", caller = [["0.5 s", "2 s"], ["3 s", "4 s"]], length = "5 s" }'
    run = call(tmp_path / "run", talker=talker)
    # 50 packets per second in speech, and one of comfort noise after each talk spurt: four rounds
    # of 125 and 2.
    sent = next(row for row in run.flows.iter_rows(named=True) if row["flow"] == "call")["voice_expected"]
    assert sent == pytest.approx(4 * 127, abs=15)


CONFERENCE = """
name = "conference"
duration = "{seconds} s"
[[service]]
name = "bridge"
node = "gw"
role = "bridge"
"""
PARTY = """
[[link]]
name = "l-{name}"
from = "{name}"
to = "gw"
rate = "1 Mbit/s"
delay = "{delay} ms"
error = {{ kind = "packet", probability = {loss} }}
[[flow]]
name = "{name}"
from = "{name}"
to = "gw"
transport = "{transport}"
app = {{ kind = "calls", calls = 1, answer = "0 s", suppression = false }}
"""


def conference(folder: Path, loss: float = 0.0, seconds: int = 12) -> bp.Run:
    """Returns three parties at different distances from the bridge, one of them by IAX2."""
    parties = (("one", 250, "sip", loss), ("two", 20, "iax2", 0.0), ("three", 100, "sip", 0.0))
    text = CONFERENCE.format(seconds=seconds) + "".join(
        PARTY.format(name=name, delay=delay, transport=transport, loss=lost)
        for name, delay, transport, lost in parties
    )
    return bp.simulate(tomllib.loads(text), out=folder)


def tones(signal: Any, hertz: tuple[int, ...]) -> list[float]:
    """Returns the amplitude of each tone in a signal."""
    np = pytest.importorskip("numpy")
    time = np.arange(len(signal)) / listening.RATE
    return [2 * float(abs(np.mean(signal * np.exp(-2j * math.pi * tone * time)))) for tone in hertz]


def test_a_party_of_a_conference_hears_the_mix_of_all_others(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    time, hertz = np.arange(listening.RATE) / listening.RATE, (440, 700, 1000)
    recordings = [0.2 * np.sin(2 * math.pi * tone * time) for tone in hertz]
    good, bad = conference(tmp_path / "good"), conference(tmp_path / "bad", loss=0.05)
    for place, name in enumerate(("one", "two", "three")):
        spoken, heard = listening.heard(good, f"{name}.reverse", recordings)
        # From the time when all parties are in the conference, 1 s, until the last packets are in
        # flight.
        middle = slice(2 * listening.RATE, 10 * listening.RATE)
        expected = [0.0 if other == place else 0.2 for other in range(3)]
        assert tones(heard[middle], hertz) == pytest.approx(expected, abs=0.004), name
        # Mu-law twice, each of at most a few per cent of a sample's value.
        assert np.abs(spoken - heard)[middle].max() < 0.03
        # Each party speaks alone to the bridge.
        to_bridge = tones(listening.heard(good, name, recordings)[1][middle], hertz)
        assert to_bridge == pytest.approx([0.2 if other == place else 0.0 for other in range(3)], abs=0.004)
    # Packets lost between the first party and the bridge are missing for the others; those lost on
    # the way back only for itself.
    for name in ("one", "two", "three"):
        spoken, heard = listening.heard(bad, f"{name}.reverse", recordings)
        gaps = np.mean((spoken - heard)[middle] ** 2)
        assert gaps > 10 * np.mean(
            np.subtract(*listening.heard(good, f"{name}.reverse", recordings))[middle] ** 2
        )
    with pytest.raises(InputError, match="no packet of call 2 arrived at one.source"):
        listening.heard(good, "one.reverse/2", recordings)


def test_what_was_heard_is_scored_beside_the_e_model(tmp_path: Path) -> None:
    """PESQ falls with the loss of packets as the E-model does; both are in range, for a call and
    for a conference."""
    for library in ("pesq", "visqol"):
        pytest.importorskip(library)
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng, which speaks, is not installed")
    # A tone is unsuitable, because PESQ models the ear for speech. Harvard sentences, list 1 (IEEE
    # 1969).
    words = "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background."
    subprocess.run(["espeak-ng", "-w", str(tmp_path / "speech.wav"), words], check=True)
    samples = listening.read_speech(tmp_path / "speech.wav")
    runs = {
        "call": call(tmp_path / "call", seconds=6),
        "lossy": call(tmp_path / "lossy", loss=0.1, seconds=6),
    }
    rated = [listening.scores(run, "call", samples) for run in runs.values()]
    mixed = conference(tmp_path / "mix", loss=0.1, seconds=6)
    rated.append(listening.scores(mixed, "two.reverse", samples))
    for one in rated:
        assert one.pesq is not None and one.visqol is not None
        assert all(1 <= score <= 5 for score in (one.emodel, one.emodel_listening, one.pesq, one.visqol)), one
    assert rated[0].loss == 0 and rated[0].pesq is not None and rated[0].pesq > 3.5, rated[0]
    assert rated[1].pesq is not None and rated[1].pesq < rated[0].pesq - 0.5, rated[1]
    assert rated[1].emodel_listening < rated[0].emodel_listening - 0.5
    # The stream from the bridge is complete; speech lost on its way to the bridge is missing in the
    # mix.
    assert rated[2].loss == 0 and rated[2].pesq is not None and rated[2].pesq < rated[0].pesq - 0.5, rated[2]


def test_a_long_call_is_rated_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P.862 is for 8 to about 30 s, and its code fails over more than 50 utterances: 12 s have at
    most 40."""
    np, pesq = pytest.importorskip("numpy"), pytest.importorskip("pesq")
    visqol = pytest.importorskip("visqol")
    lengths = []

    def rated(_api: object, reference: Any, degraded: Any, rate: int) -> Any:
        assert len(reference) == len(degraded)
        lengths.append(len(reference) / rate)
        return SimpleNamespace(moslqo=4.0)

    # Without pieces, rating would take longer than the call.
    monkeypatch.setattr(visqol.VisqolApi, "create", lambda *_, **__: None)
    monkeypatch.setattr(visqol.VisqolApi, "measure_from_arrays", rated)
    # Spurts and pauses of 0.2 s for 36 s, the shortest that count as separate utterances, then
    # silence for 24 s.
    time = np.arange(60 * listening.RATE) / listening.RATE
    noise = np.random.default_rng(1).normal(0, 0.1, len(time))
    spoken = noise * ((time < 36) & (time % 0.4 < 0.2))
    run = call(tmp_path / "call", "G.711u", loss=0.03, seconds=120)
    done: list[float] = []
    scores = listening.scores(run, "call", spoken, done.append)
    # Two times 36 s of speech in ten pieces of 12 s.
    assert scores.pieces == len(lengths) == len(done) == 6 and done[-1] == 1
    assert all(11 < length <= 12 for length in lengths)
    assert scores.visqol == scores.visqol_least == 4.0
    reference, heard = listening.heard(run, "call", spoken)
    size = len(reference) / 10
    alone = [
        pesq.pesq(
            listening.RATE,
            *(speech_codecs.whole(one[int(k * size) : int((k + 1) * size)]) for one in (reference, heard)),
            "nb",
        )
        for k in (0, 1, 2, 5, 6, 7)
    ]
    assert scores.pesq == pytest.approx(sum(alone) / 6) and scores.pesq_least == pytest.approx(min(alone))
