"""The speech that the listener of a call heard: real speech through the real codec, with losses,
late packets and concealment.

The run's traces ``speech`` (of flows with the app `voice`) and ``call_speech`` (of the app `calls`)
contain the playout time of each packet, if it was played. The speech is encoded frame by frame from
the beginning of the call, and repeated when it ends. Played frames are decoded and placed at their
playout times. Lost and late frames are concealed (:mod:`bentpipe.voice.playout`). Periods without
packets are silent. A party of a conference hears the mix of all other parties
(:mod:`bentpipe.listening.conference`). :mod:`bentpipe.voice.speech_codecs` has the codecs.

PyAV, PESQ (ITU-T P.862) and ViSQOL are optional: ``pip install 'bentpipe[voice]'``.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError
from bentpipe.voice import playout, speech_codecs
from bentpipe.voice.speech_codecs import RATE as RATE

from . import conference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.results.runs import Run

    Samples = NDArray[np.float64]

#: The sampling rate at which ViSQOL rates speech.
VISQOL_RATE: Final = 16000
#: Calls are rated in equal pieces of at most this number of samples, 12 s. P.862 is intended for
#: recordings of 8 to about 30 s. Its code has space for 50 utterances without a check. An utterance
#: with its pause takes at least 300 ms, so a piece has at most 40.
PIECE: Final = 12 * RATE
#: Pieces with fewer samples of speech (0.5 s) are omitted, and recordings with fewer are refused.
MIN_SPEECH: Final = RATE // 2


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
    #: The E-model's score without the effect of delay, comparable with PESQ and ViSQOL. At least 1,
    #: although the equation falls slightly below.
    emodel_listening: float
    #: PESQ, narrow band (P.862 mapped by P.862.1): mean over the pieces, or None if the library can
    #: rate none.
    pesq: float | None
    #: Lowest score of a piece.
    pesq_least: float | None
    #: ViSQOL in speech mode: mean over the pieces, or None if the library can rate none.
    visqol: float | None
    #: Lowest score of a piece.
    visqol_least: float | None
    #: Number of pieces with speech.
    pieces: int


def calls(run: Run) -> list[str]:
    """Returns the names of the calls of a run: NAME is the call of a flow as the callee heard it,
    NAME.reverse as the caller heard it, and NAME/2 is the second call of the flow."""
    flows = [flow["name"] for flow in run.flow_tables if flow["app"]["kind"] in ("voice", "calls")]
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
        # Not a WAV file: FFmpeg may support the format.
        pass
    av = speech_codecs.av()
    try:
        with av.open(str(path)) as file:
            return speech_codecs.resampled(av, file.decode(audio=0), RATE)
    except (av.error.FFmpegError, IndexError) as error:
        # The exception's text contains an error number of FFmpeg.
        why = getattr(error, "strerror", None) or "it has no sound"
        raise InputError(
            f"{path}: not a recording that can be read ({why[:1].lower()}{why[1:]}); allowed: a WAV file"
        ) from None


def heard(
    run: Run, call: str | None, speech: Samples | Sequence[Samples], limit_s: float = math.inf
) -> tuple[Samples, Samples]:
    """Returns the spoken and the heard speech of a call, with equal length, aligned at the first
    played packet.

    In a conference, ``speech`` may contain a recording for each party. Of a flow with the app
    `voice`, only the first ``limit_s`` seconds of the speech are played. Raises
    :class:`bentpipe.InputError`.
    """
    import numpy as np
    import polars as pl

    recordings = [speech] if isinstance(speech, np.ndarray) else list(speech)
    name, app = _call(run, call)
    codec = speech_codecs.codec_named(str(app["codec"]))
    if app["kind"] == "calls":
        party, reverse = _party(run, name, app)
        found: playout.PlayedSpeech | None = conference.hears(run, party, reverse, recordings, codec)
    else:
        rows = run.trace("speech", name).sort("sequence")
        rows = rows.filter(pl.col("position") < pl.col("position").min() + limit_s)
        if rows.height == 0:
            raise InputError(
                f"no packet of the call {name} of {run.name} arrived, or the trace speech was not recorded"
            )
        positions = [round(position * RATE) for position in rows["position"]]
        noise = [bool(value) for value in rows["noise"]]
        packets = playout.Packets(rows["sequence"].to_list(), positions, rows["heard"].to_list(), noise)
        spoken = np.resize(recordings[0], packets.end + RATE)
        found = playout.play(packets, spoken, spoken, codec, conference.frames_of(app, codec))
    if found is None:
        raise InputError(
            f"every packet of the call {name} of {run.name} arrived too late, so no speech can be played"
        )
    return found.spoken, found.heard


def write_wav(path: Path, samples: Samples, rate: int = RATE) -> None:
    """Writes samples from -1 to 1 as a WAV file with 16 bits a sample."""
    import wave

    import numpy as np

    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def scores(
    run: Run,
    call: str | None,
    speech: Samples | Sequence[Samples],
    progress: Callable[[float], object] | None = None,
) -> Scores:
    """Rates the heard speech by PESQ and ViSQOL, piece by piece, and adds the E-model's scores of
    the run.

    A piece with less than 0.5 s of speech is omitted. A piece of which nothing was heard has the
    score 1. ``progress`` is called with the completed fraction. Raises
    :class:`bentpipe.InputError`.
    """
    from bentpipe.voice import emodel

    rates = _listeners()
    name, app = _call(run, call)
    spoken = _with_speech(*heard(run, name, speech))
    loss, burst_ratio, conversation = quality(run, name)
    rated: list[list[float]] = [[] for _ in rates]
    for done, (reference, degraded) in enumerate(spoken, 1):
        for rate, found in zip(rates, rated, strict=True):
            score = rate(reference, degraded) if degraded.any() else 1.0
            if score is not None:
                found.append(score)
        if progress is not None:
            progress(done / len(spoken))
    still = emodel.rate(str(app["codec"]), Ppl=loss, BurstR=burst_ratio)
    means = [sum(found) / len(found) if found else None for found in rated]
    lowest = [min(found, default=None) for found in rated]
    return Scores(
        name,
        str(app["codec"]),
        loss,
        conversation,
        max(1.0, still.MOS),
        means[0],
        lowest[0],
        means[1],
        lowest[1],
        len(spoken),
    )


def _with_speech(reference: Samples, degraded: Samples) -> list[tuple[Samples, Samples]]:
    """Returns the pieces of a call that contain speech, each as spoken and as heard."""
    import numpy as np

    spoken = np.zeros(len(reference), bool)
    for begin, end in activity(reference):
        spoken[round(begin * RATE) : round(end * RATE)] = True
    bounds = np.linspace(0, len(reference), math.ceil(len(reference) / PIECE) + 1).astype(int)
    return [
        (reference[begin:end], degraded[begin:end])
        for begin, end in itertools.pairwise(bounds)
        if spoken[begin:end].sum() >= MIN_SPEECH
    ]


def _listeners() -> tuple[Callable[[Samples, Samples], float | None], ...]:
    """Returns the functions for PESQ and ViSQOL. They take the spoken and the heard speech, and
    return None if they cannot rate it."""
    from scipy.signal import resample_poly

    try:
        import pesq
        import visqol
    except ImportError as error:
        raise speech_codecs.missing(error) from None
    api = visqol.VisqolApi()
    # Suppress messages of the model's runtime about the processor.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    try:
        # Without the lattice's runtime, the package would silently use the older mapping, with
        # different scores.
        api.create(mode="speech", use_lattice_model=True)
    except ImportError as error:
        raise speech_codecs.missing(error) from None

    def by_pesq(reference: Samples, degraded: Samples) -> float | None:
        try:
            return float(pesq.pesq(RATE, speech_codecs.whole(reference), speech_codecs.whole(degraded), "nb"))
        except (pesq.PesqError, ValueError):
            return None

    def by_visqol(reference: Samples, degraded: Samples) -> float | None:
        wide = [resample_poly(signal, VISQOL_RATE // RATE, 1) for signal in (reference, degraded)]
        try:
            return float(api.measure_from_arrays(*wide, VISQOL_RATE).moslqo)
        except (ValueError, RuntimeError):
            return None

    return by_pesq, by_visqol


def quality(run: Run, name: str) -> tuple[float, float, float]:
    """Returns the lost and late packets of a call in percent, their burst ratio, and the call's
    mean opinion score by the E-model.

    In a conference, these values are for the stream from the bridge. The burst ratio of the app
    `calls` is assumed to be 1. Raises :class:`bentpipe.InputError`.
    """
    import polars as pl

    name, app = _call(run, name)
    if app["kind"] == "voice":
        flow = next(row for row in run.flows.iter_rows(named=True) if row["flow"] == name)
        return float(flow["voice_loss"]), float(flow["voice_burst_ratio"]), float(flow["voice_mos"])
    party, reverse = _party(run, name, app)
    end = f"{party.flow}.{'source' if reverse else 'destination'}"
    row = run.trace("call", end).filter(pl.col("number") == party.number).row(0, named=True)
    return 100 * (row["lost"] + row["late"]) / row["expected"], 1.0, float(row["mos"])


def activity(speech: Samples) -> list[tuple[float, float]]:
    """Returns the talk spurts of a recording in seconds, for ``talker = { kind = "recorded", ...
    }``.

    A frame of 10 ms is speech if its power is within 30 dB of the 95th percentile of all frames and
    at least -60 dB of full scale. Pauses of up to 200 ms belong to a talk spurt, like the hangover
    of usual detectors.
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
        raise InputError(
            f'no flow of {run.name} is a call; allowed: a flow with app = {{ kind = "voice" }} or "calls"'
        )
    name = call or known[0]
    if call is None and len(known) > 2:
        raise InputError(f"several flows are calls: choose one of {', '.join(known)} with --call")
    flow = name.partition("/")[0].removesuffix(".reverse")
    app = next((table["app"] for table in run.flow_tables if table["name"] == flow), None)
    if name.partition("/")[0] not in known or app is None or ("/" in name and app["kind"] != "calls"):
        raise InputError(f'"{name}" is not a call of {run.name}; allowed: {", ".join(known)}')
    return name, app


def _party(run: Run, name: str, app: dict[str, Any]) -> tuple[conference.Party, bool]:
    """Returns the call with this name, and true if its caller is the listener."""
    direction, _, number = name.partition("/")
    if not (number or "1").isdigit():
        raise InputError(f'"{name}" is not a call of {run.name}; allowed: {direction}/NUMBER')
    if not run.has_trace("call_speech"):
        raise InputError(
            f"{run.path} has no trace call_speech with the times of played speech; add call_speech to "
            "record.traces, and repeat the run"
        )
    flow = direction.removesuffix(".reverse")
    return conference.Party(flow, int(number or 1), app), direction != flow
