"""The speech that a listener hears of a stream of packets, through its codec, with losses, late
packets and concealment.

G.729A and iLBC conceal losses according to their standards. For the other codecs, concealment
repeats the last pitch period. After 10 ms, its amplitude decreases by a fifth every 10 ms, to zero
after 60 ms, as in Appendix I of G.711 but without overlap-add. G.711 without concealment plays
silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .speech_codecs import CODECS, RATE, SpeechDecoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Packets:
    """The received packets of a stream, in the order of their sequence numbers. Gaps in the numbers
    are losses."""

    sequence: Sequence[int]
    #: Position of the first sample of each packet in the spoken speech.
    position: Sequence[int]
    #: Time in seconds at which this sample is played; None if the packet was late or a duplicate.
    heard: Sequence[float | None]
    #: True if the packet contains comfort noise.
    noise: Sequence[bool]

    @property
    def end(self) -> int:
        """Number of samples that the packets cover, which is the required length of the spoken
        speech."""
        return max(self.position, default=0)


@dataclass(frozen=True)
class PlayedSpeech:
    """The spoken and the heard speech, with equal length, aligned at the first played packet."""

    #: Time in seconds at which position 0 of the speech is played.
    begin: float
    spoken: Samples
    heard: Samples


def play(packets: Packets, speech: Samples, clean: Samples, codec: Any, frames: int) -> PlayedSpeech | None:
    """Plays a stream. ``speech`` is the input of the speaker's codec, and ``clean`` the speech that
    the listener should hear.

    A packet contains ``frames`` frames. Returns None if no packet was played.
    """
    import numpy as np

    samples = int(codec.frame_ms * RATE / 1000)
    packet = frames * samples
    last = packets.end + 2 * packet
    lengthened = [
        np.pad(part[: last + packet], (0, max(0, last + packet - len(part)))) for part in (speech, clean)
    ]
    speaks = CODECS[codec.name](lengthened[0], samples)
    conceals = not (codec.name.startswith("G.711") and not codec.name.endswith("+PLC"))
    times = list(zip(packets.heard, packets.position, strict=True))
    first = next(((at, position) for at, position in times if at is not None), None)
    if first is None:
        return None
    begin = first[0] - first[1] / RATE
    out, spoken = np.zeros((2, last + packet + RATE))
    history = np.zeros(0)
    ends, expected, before = 0, None, 0
    for sequence, (at, position), noise in zip(packets.sequence, times, packets.noise, strict=True):
        missing = 0 if expected is None else sequence - expected
        if position - before == (missing + 1) * packet:
            put(spoken, before, lengthened[1][before:position])
        expected, before = sequence + 1, position
        start = ends if at is None else round((at - begin) * RATE)
        # The number of lost packets before this one. Silence of the speaker is not a loss.
        for index in range(max(missing, 0)):
            history = _concealed(speaks, history, (packet, frames), conceals)
            put(out, ends + index * packet, history[-packet:])
        if noise:
            continue
        put(spoken, position, lengthened[1][position : position + packet])
        if at is None:
            history = _concealed(speaks, history, (packet, frames), conceals)
        else:
            history = np.concatenate([history[-4 * packet :], speaks.decode(position // samples, frames)])
        put(out, start, history[-packet:])
        ends = start + packet
    return PlayedSpeech(begin, spoken[: max(ends, 1)], out[: max(ends, 1)])


def put(out: Samples, at: int, samples: Samples) -> None:
    """Writes samples into ``out`` from position ``at`` on, as far as they fit."""
    begin, end = max(at, 0), min(at + len(samples), len(out))
    if begin < end:
        out[begin:end] = samples[begin - at : end - at]


def _concealed(speaks: SpeechDecoder, history: Samples, size: tuple[int, int], conceals: bool) -> Samples:
    """Appends a concealed packet to the heard speech. ``size`` is its number of samples and of
    frames."""
    import numpy as np

    packet, frames = size
    own = speaks.lose(frames)
    return _conceal(history, packet, conceals) if own is None else np.concatenate([history, own])


def _conceal(history: Samples, count: int, conceals: bool) -> Samples:
    """Appends ``count`` concealed samples to the heard speech."""
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
