"""What an ear hears of a stream of packets: speech through its codec, with losses, late packets and concealment.

G.729A and iLBC conceal as their own standards have it. For the other codecs concealment repeats the last pitch period,
from 10 ms on with its amplitude reduced by a fifth every 10 ms until nothing is left after 60 ms, as Appendix I of
G.711 has it but without its overlap-add; G.711 without concealment plays silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .coded import CODECS, RATE, Coded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Packets:
    """The packets of a stream that have arrived, in the order of their sequence numbers, which tell what was lost."""

    sequence: Sequence[int]
    #: Position of the first sample of each packet in what was spoken.
    position: Sequence[int]
    #: Time in seconds at which that sample is played; None if the packet came too late or twice.
    heard: Sequence[float | None]
    #: Whether the packet holds comfort noise.
    noise: Sequence[bool]

    @property
    def end(self) -> int:
        """Number of samples of speech that the packets can hold: what is spoken needs as many."""
        return max(self.position, default=0)


@dataclass(frozen=True)
class Heard:
    """What was spoken and what was heard of it, of equal length, aligned at the first packet that was played."""

    #: Time in seconds at which position 0 of the speech is played.
    begin: float
    spoken: Samples
    heard: Samples


def play(packets: Packets, speech: Samples, clean: Samples, codec: Any, frames: int) -> Heard | None:
    """Plays a stream: ``speech`` is what the speaker's codec codes, ``clean`` what the listener ought to hear of it.

    A packet holds ``frames`` frames. Returns None if no packet was played.
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
        # Packets before this one that did not arrive; where the speaker was silent none are missing.
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
    return Heard(begin, spoken[: max(ends, 1)], out[: max(ends, 1)])


def put(out: Samples, at: int, samples: Samples) -> None:
    """Writes samples into ``out`` from position ``at`` on, as far as there is room."""
    begin, end = max(at, 0), min(at + len(samples), len(out))
    if begin < end:
        out[begin:end] = samples[begin - at : end - at]


def _concealed(speaks: Coded, history: Samples, size: tuple[int, int], conceals: bool) -> Samples:
    """Appends a concealed packet of so many samples and frames to what was heard."""
    import numpy as np

    packet, frames = size
    own = speaks.lose(frames)
    return _conceal(history, packet, conceals) if own is None else np.concatenate([history, own])


def _conceal(history: Samples, count: int, conceals: bool) -> Samples:
    """Appends so many concealed samples to what was heard."""
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
