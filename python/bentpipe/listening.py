"""What the callee of a call heard: real speech through the real codec, with losses, late packets and concealment.

The run's trace ``speech`` says when each packet was played and which ones were not. The speech is encoded frame by
frame from the beginning of the call (and again from its beginning when it ends), the frames that were played are
decoded and put where they were heard, and those that were lost or late are concealed. Where nothing was sent, there
is silence.

The codecs are those of :mod:`bentpipe.voice.coded`. G.729A conceals as its recommendation has it. For the others,
concealment repeats the last pitch period, from 10 ms on with its amplitude reduced by a fifth every 10 ms until
nothing is left after 60 ms, as Appendix I of G.711 has it but without its overlap-add; G.711 without concealment plays
silence.

PyAV, PESQ (ITU-T P.862) and ViSQOL are no part of the installation: ``pip install 'bentpipe[voice]'``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError
from bentpipe.voice import coded
from bentpipe.voice.coded import RATE as RATE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.runs import Run

    Samples = NDArray[np.float64]

#: The sampling rate at which ViSQOL rates speech.
VISQOL_RATE: Final = 16000


@dataclass(frozen=True)
class Scores:
    """Scores of a call by the three methods, from 1 (bad) to 5 (excellent)."""

    #: The call: flow, or flow.reverse for what the caller heard.
    call: str
    #: Name of the codec in which the stream is coded.
    codec: str
    #: Lost and late packets in per cent.
    loss: float
    #: Mean opinion score of the E-model, which counts the delay too.
    emodel: float
    #: The same without the delay, as the other two hear it.
    emodel_listening: float
    #: PESQ, narrow band (P.862 mapped by P.862.1), or None if the library cannot rate the file.
    pesq: float | None
    #: ViSQOL in speech mode, or None if the library cannot rate the file.
    visqol: float | None


def calls(run: Run) -> list[str]:
    """The calls of a run: its voice flows, and NAME.reverse for what each caller heard."""
    flows = [flow["name"] for flow in run.flow_tables if flow["app"]["kind"] == "voice"]
    return [name for flow in flows for name in (flow, f"{flow}.reverse")]


def read_speech(path: Path) -> Samples:
    """Reads a recording as samples from -1 to 1, with one channel and 8000 samples a second.

    Raises :class:`bentpipe.InputError`.
    """
    import wave

    import numpy as np
    from scipy.signal import resample_poly

    try:
        with wave.open(str(path)) as recording:
            channels, width, rate, count, *_ = recording.getparams()
            if width == 2 and rate > 0:
                samples = np.frombuffer(recording.readframes(count), "<i2").reshape(-1, channels)
                common = math.gcd(rate, RATE)
                return np.asarray(resample_poly(samples.mean(axis=1) / 32768, RATE // common, rate // common))
    except FileNotFoundError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (OSError, EOFError, ValueError, wave.Error):
        # Another format: FFmpeg may know it.
        pass
    av = coded.av()
    try:
        with av.open(str(path)) as file:
            return coded.resampled(av, file.decode(audio=0), RATE)
    except (av.error.FFmpegError, IndexError) as error:
        raise InputError(f"{path}: not a recording that can be read ({error}); allowed: a WAV file") from None


def heard(run: Run, call: str | None, speech: Samples) -> tuple[Samples, Samples]:
    """What was spoken in a call and what its listener heard, of equal length, aligned at the first played packet.

    Raises :class:`bentpipe.InputError`.
    """
    import numpy as np

    name, app = _call(run, call)
    codec = _codec(str(app["codec"]))
    rows = run.trace("speech", name).sort("sequence")
    if rows.height == 0:
        raise InputError(
            f"nothing arrived of the call {name} of {run.name}, or its trace speech was not recorded"
        )
    frames = int(app.get("frames") or -(-20 // codec.frame_ms))
    samples = int(codec.frame_ms * RATE / 1000)
    packet = frames * samples
    positions = [round(position * RATE) for position in rows["position"]]
    last = max(positions) + 2 * packet
    looped = np.resize(speech, last + packet)
    speaks = coded.CODECS[codec.name](looped, samples)
    conceals = not (codec.name.startswith("G.711") and not codec.name.endswith("+PLC"))
    times = rows["heard"].to_list()
    first = next(
        ((at, position) for at, position in zip(times, positions, strict=True) if at is not None), None
    )
    if first is None:
        raise InputError(
            f"every packet of the call {name} of {run.name} came too late: there is nothing to hear"
        )
    begin = first[0] - first[1] / RATE
    out, spoken = np.zeros((2, last + packet + RATE))
    history = np.zeros(0)
    ends, expected, before = 0, None, 0
    for sequence, position, at, noise in zip(rows["sequence"], positions, times, rows["noise"], strict=True):
        missing = 0 if expected is None else sequence - expected
        if position - before == (missing + 1) * packet:
            _put(spoken, before, looped[before:position])
        expected, before = sequence + 1, position
        start = ends if at is None else round((at - begin) * RATE)
        # Packets before this one that did not arrive; where the speaker was silent none are missing.
        for index in range(max(missing, 0)):
            history = _concealed(speaks, history, (packet, frames), conceals)
            _put(out, ends + index * packet, history[-packet:])
        if noise:
            continue
        _put(spoken, position, looped[position : position + packet])
        if at is None:
            history = _concealed(speaks, history, (packet, frames), conceals)
        else:
            history = np.concatenate([history[-4 * packet :], speaks.decode(position // samples, frames)])
        _put(out, start, history[-packet:])
        ends = start + packet
    return spoken[: max(ends, 1)], out[: max(ends, 1)]


def write_wav(path: Path, samples: Samples, rate: int = RATE) -> None:
    """Writes samples from -1 to 1 as a WAV file with 16 bits a sample."""
    import wave

    import numpy as np

    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def scores(run: Run, call: str | None, speech: Samples) -> Scores:
    """Rates what was heard by PESQ and ViSQOL, beside the E-model's scores of the run.

    Raises :class:`bentpipe.InputError`.
    """
    from scipy.signal import resample_poly

    from bentpipe.voice import emodel

    try:
        import pesq
        import visqol
    except ImportError as error:
        raise coded.missing(error) from None
    name, app = _call(run, call)
    reference, degraded = heard(run, name, speech)
    flow = next(row for row in run.flows.iter_rows(named=True) if row["flow"] == name)
    loss = float(flow["voice_loss"])
    rated: list[float | None] = []
    api = visqol.VisqolApi()
    api.create(mode="speech")
    wide = [resample_poly(signal, VISQOL_RATE // RATE, 1) for signal in (reference, degraded)]

    def by_pesq() -> float:
        return float(pesq.pesq(RATE, coded.whole(reference), coded.whole(degraded), "nb"))

    def by_visqol() -> float:
        return float(api.measure_from_arrays(*wide, VISQOL_RATE).moslqo)

    for rate in (by_pesq, by_visqol):
        try:
            rated.append(rate())
        except (pesq.PesqError, ValueError, RuntimeError):
            rated.append(None)
    still = emodel.rate(str(app["codec"]), Ppl=loss, BurstR=float(flow["voice_burst_ratio"]))
    return Scores(name, str(app["codec"]), loss, float(flow["voice_mos"]), still.MOS, rated[0], rated[1])


def activity(speech: Samples) -> list[tuple[float, float]]:
    """Talk spurts of a recording in seconds, for ``talker = { kind = "recorded", ... }``.

    A frame of 10 ms is speech if its power is within 30 dB of the 95th percentile of all frames' (but not below -60 dB
    of full scale). Pauses up to 200 ms are part of a talk spurt, the hangover of usual detectors.
    """
    import numpy as np

    frame, hangover = RATE // 100, 20
    count = len(speech) // frame
    power = np.mean(speech[: count * frame].reshape(count, frame) ** 2, axis=1)
    if count == 0:
        return []
    speaks = power > max(np.quantile(power, 0.95) * 1e-3, 1e-6)
    spurts: list[tuple[int, int]] = []
    for at in np.flatnonzero(speaks):
        if spurts and at - spurts[-1][1] <= hangover:
            spurts[-1] = (spurts[-1][0], int(at) + 1)
        else:
            spurts.append((int(at), int(at) + 1))
    return [(begin / 100, end / 100) for begin, end in spurts]


def _call(run: Run, call: str | None) -> tuple[str, dict[str, Any]]:
    known = calls(run)
    if not known:
        raise InputError(f'no flow of {run.name} is a call: allowed is app = {{ kind = "voice" }}')
    name = call or known[0]
    if call is None and len(known) > 2:
        raise InputError(f"several flows are calls: choose one of {', '.join(known)} with --call")
    if name not in known:
        raise InputError(f'"{name}" is no call of {run.name}; allowed: {", ".join(known)}')
    flow = name.removesuffix(".reverse")
    app = next(flow_["app"] for flow_ in run.flow_tables if flow_["name"] == flow)
    return name, app


def _codec(name: str) -> Any:
    from bentpipe.voice import emodel

    codec = next(codec for codec in emodel.codecs().values() if codec.name.lower() == name.lower())
    if codec.name not in coded.CODECS:
        raise InputError(
            f"no library codes speech in {codec.name} here: FFmpeg as it is packaged, Debian and PyPI have no encoder; "
            f"a call can be heard with {', '.join(coded.CODECS)}"
        )
    return codec


def _concealed(speaks: coded.Coded, history: Samples, size: tuple[int, int], conceals: bool) -> Samples:
    """What was heard, and a concealed packet of so many samples and frames."""
    import numpy as np

    packet, frames = size
    own = speaks.lose(frames)
    return _conceal(history, packet, conceals) if own is None else np.concatenate([history, own])


def _conceal(history: Samples, count: int, conceals: bool) -> Samples:
    """What was heard, and so many concealed samples."""
    import numpy as np

    if not conceals or len(history) < 240:
        return np.concatenate([history, np.zeros(count)])
    recent = history[-240:]
    lags = range(40, 121)
    products = [float(np.dot(recent[lag:], recent[:-lag])) / np.sqrt(240 - lag) for lag in lags]
    lag = lags[int(np.argmax(products))]
    repeated = np.resize(recent[-lag:], count)
    since = np.arange(count) / (RATE / 100)
    gain = np.clip(1 - 0.2 * np.floor(since), 0, 1)
    gain[: RATE // 100] = 1
    return np.concatenate([history, repeated * np.where(since >= 6, 0, gain)])


def _put(out: Samples, at: int, samples: Samples) -> None:
    begin, end = max(at, 0), min(at + len(samples), len(out))
    if begin < end:
        out[begin:end] = samples[begin - at : end - at]
