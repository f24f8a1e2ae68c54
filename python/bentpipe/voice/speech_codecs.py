"""Real speech through real codecs, for ``bentpipe voice listen``.

| codec | library |
| --- | --- |
| G.711 | :mod:`bentpipe.voice.g711` |
| GSM-FR | libgsm (Debian: libgsm1) |
| G.729A | bcg729 (Debian: libbcg729-0) |
| AMR-12.2, GSM-EFR (its 12.2 kbit/s mode), Opus, G.723.1 | FFmpeg, through PyAV |
| iLBC, frames of 20 and 30 ms | libilbc, WebRTC's codec as a library |

Debian has no libilbc, only the static library of libtgowt-dev, from which `scripts/ilbc` builds a
libilbc.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from bentpipe.errors import InputError

from . import g711

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Samples = NDArray[np.float64]

#: Number of samples per second.
RATE: Final = 8000


class SpeechDecoder(Protocol):
    """A recording in the frames of a codec, and its decoder, which receives the frames in order."""

    def decode(self, first: int, count: int) -> Samples:
        """Returns the samples of ``count`` frames from ``first`` on."""

    def lose(self, count: int) -> Samples | None:
        """Returns the output of the codec's own concealment for ``count`` lost frames; None if the
        codec has none."""


class MissingLibraryError(InputError):
    """A library of a speech codec is not installed."""


def missing(error: ImportError) -> MissingLibraryError:
    """Returns the error for a missing library of the extra `voice`."""
    return MissingLibraryError(
        f"listening needs a library that is missing ({error}): pip install 'bentpipe[voice]'"
    )


def whole(samples: Samples) -> NDArray[np.int16]:
    """Returns samples between -1 and 1 as samples of 16 bits, with clipping."""
    return (np.clip(samples, -1, 1) * 32767).astype(np.int16)


def blocks(speech: Samples, samples: int) -> NDArray[np.int16]:
    """Returns the whole frames of a recording, one in each row."""
    count = len(speech) // samples
    return whole(speech[: count * samples]).reshape(count, samples)


class _G711:
    def __init__(self, encoding: str, speech: Samples, samples: int) -> None:
        self.encoding, self.samples = encoding, samples
        self.bytes = g711.encode(encoding, whole(speech).astype(np.int32))

    def decode(self, first: int, count: int) -> Samples:
        payload = self.bytes[first * self.samples : (first + count) * self.samples]
        return g711.decode(self.encoding, payload) / 32768

    def lose(self, count: int) -> None:  # noqa: ARG002
        return None


def _library(name: str, number: int, package: str, codec: str) -> ctypes.CDLL:
    """Returns the shared library ``name``, from the system or from the folder ``lib`` of the Python
    environment.

    Raises :class:`MissingLibraryError`.
    """
    file = f"lib{name}.so.{number}"
    for place in (ctypes.util.find_library(name) or file, str(Path(sys.prefix) / "lib" / file)):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(place)
    others = ", ".join(known for known in CODECS if not known.startswith(codec))
    raise MissingLibraryError(
        f"{codec} needs the library lib{name}, which is not installed (Debian: {package}); without this "
        f"library, calls with these codecs can be heard: {others}"
    )


class _Gsm:
    """GSM-FR by libgsm: frames of 160 samples in 33 bytes."""

    def __init__(self, speech: Samples, samples: int) -> None:
        library = _library("gsm", 1, "libgsm1", "GSM-FR")
        library.gsm_create.restype = ctypes.c_void_p
        for function in (library.gsm_encode, library.gsm_decode):
            function.argtypes = [ctypes.c_void_p] * 3
        library.gsm_destroy.argtypes = [ctypes.c_void_p]
        self.library, self.samples = library, samples
        encoder = library.gsm_create()
        self.frames = []
        for block in blocks(speech, samples):
            frame = ctypes.create_string_buffer(33)
            library.gsm_encode(encoder, np.ascontiguousarray(block).ctypes.data, frame)
            self.frames.append(frame)
        library.gsm_destroy(encoder)
        self.decoder = library.gsm_create()

    def __del__(self) -> None:
        if hasattr(self, "decoder"):
            self.library.gsm_destroy(self.decoder)

    def decode(self, first: int, count: int) -> Samples:
        out = np.zeros((count, self.samples), np.int16)
        for row, frame in zip(out, self.frames[first : first + count], strict=False):
            self.library.gsm_decode(self.decoder, frame, row.ctypes.data)
        return out.ravel() / 32768

    def lose(self, count: int) -> None:  # noqa: ARG002
        return None


class _G729:
    """G.729A by bcg729: frames of 80 samples in 10 bytes, with the recommendation's own
    concealment."""

    def __init__(self, speech: Samples, samples: int) -> None:
        library = _library("bcg729", 0, "libbcg729-0", "G.729A")
        for function in (library.initBcg729EncoderChannel, library.initBcg729DecoderChannel):
            function.restype = ctypes.c_void_p
        library.bcg729Encoder.argtypes = [ctypes.c_void_p] * 4
        library.bcg729Decoder.argtypes = [
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint8),
            *(ctypes.c_uint8, ctypes.c_uint8, ctypes.c_uint8, ctypes.c_void_p),
        ]
        for function in (library.closeBcg729EncoderChannel, library.closeBcg729DecoderChannel):
            function.argtypes = [ctypes.c_void_p]
        self.library, self.samples = library, samples
        encoder = library.initBcg729EncoderChannel(0)
        self.frames = []
        for block in blocks(speech, samples):
            frame, length = ctypes.create_string_buffer(10), ctypes.c_uint8()
            library.bcg729Encoder(
                encoder, np.ascontiguousarray(block).ctypes.data, frame, ctypes.byref(length)
            )
            self.frames.append(frame)
        library.closeBcg729EncoderChannel(encoder)
        self.decoder = library.initBcg729DecoderChannel()

    def __del__(self) -> None:
        if hasattr(self, "decoder"):
            self.library.closeBcg729DecoderChannel(self.decoder)

    def _frames(self, frames: list[Any], count: int) -> Samples:
        out = np.zeros((count, self.samples), np.int16)
        for row, frame in zip(out, frames, strict=False):
            lost = frame is None
            self.library.bcg729Decoder(
                self.decoder, frame, 0 if lost else 10, int(lost), 0, 0, row.ctypes.data
            )
        return out.ravel() / 32768

    def decode(self, first: int, count: int) -> Samples:
        return self._frames(self.frames[first : first + count], count)

    def lose(self, count: int) -> Samples:
        return self._frames([None] * count, count)


class _Ilbc:
    """iLBC by libilbc: frames of 160 samples in 38 bytes or of 240 in 50, with the concealment of
    RFC 3951."""

    def __init__(self, speech: Samples, samples: int) -> None:
        library = _library("ilbc", 3, "libtgowt-dev, then scripts/ilbc", "iLBC")
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        library.WebRtcIlbcfix_Encode.argtypes = [pointer, pointer, size, pointer]
        library.WebRtcIlbcfix_Decode.argtypes = [pointer, pointer, size, pointer, pointer]
        library.WebRtcIlbcfix_DecodePlc.argtypes = [pointer, pointer, size]
        library.WebRtcIlbcfix_DecodePlc.restype = size
        self.library, self.samples = library, samples
        encoder, self.decoder = pointer(), pointer()
        for kind, instance in (("Encoder", encoder), ("Decoder", self.decoder)):
            getattr(library, f"WebRtcIlbcfix_{kind}Create")(ctypes.byref(instance))
            initialise = getattr(library, f"WebRtcIlbcfix_{kind}Init")
            initialise.argtypes = [pointer, ctypes.c_int16]
            initialise(instance, samples * 1000 // RATE)
            getattr(library, f"WebRtcIlbcfix_{kind}Free").argtypes = [pointer]
        self.frames = []
        for block in blocks(speech, samples):
            frame = ctypes.create_string_buffer(50)
            length = library.WebRtcIlbcfix_Encode(
                encoder, np.ascontiguousarray(block).ctypes.data, samples, frame
            )
            self.frames.append(frame.raw[:length])
        library.WebRtcIlbcfix_EncoderFree(encoder)

    def __del__(self) -> None:
        if hasattr(self, "decoder"):
            self.library.WebRtcIlbcfix_DecoderFree(self.decoder)

    def decode(self, first: int, count: int) -> Samples:
        out = np.zeros((count, self.samples), np.int16)
        kind = ctypes.c_int16()
        for row, frame in zip(out, self.frames[first : first + count], strict=False):
            self.library.WebRtcIlbcfix_Decode(
                self.decoder, frame, len(frame), row.ctypes.data, ctypes.byref(kind)
            )
        return out.ravel() / 32768

    def lose(self, count: int) -> Samples:
        out = np.zeros((count, self.samples), np.int16)
        for row in out:
            self.library.WebRtcIlbcfix_DecodePlc(self.decoder, row.ctypes.data, 1)
        return out.ravel() / 32768


class _Ffmpeg:
    """A codec of FFmpeg, through PyAV."""

    def __init__(self, names: tuple[str, str, int], speech: Samples, samples: int) -> None:
        self.av = av()
        encoder, decoder, bit_rate = names
        self.samples = samples
        context = self.av.CodecContext.create(encoder, "w")
        context.sample_rate = RATE
        context.layout = "mono"
        context.format = "s16"
        context.bit_rate = bit_rate
        if encoder == "libopus":
            context.options = {"application": "voip", "vbr": "off", "frame_duration": "20"}
        self.packets: list[bytes] = []
        for number, block in enumerate(blocks(speech, samples)):
            frame = self.av.AudioFrame.from_ndarray(
                np.ascontiguousarray(block[np.newaxis, :]), format="s16", layout="mono"
            )
            frame.sample_rate = RATE
            frame.pts = number * samples
            self.packets.extend(bytes(packet) for packet in context.encode(frame))
        self.packets.extend(bytes(packet) for packet in context.encode(None))
        self.decoder = self.av.CodecContext.create(decoder, "r")
        self.decoder.sample_rate = RATE
        self.decoder.layout = "mono"

    def decode(self, first: int, count: int) -> Samples:
        frames = [
            frame
            for packet in self.packets[first : first + count]
            for frame in self.decoder.decode(self.av.Packet(packet))
        ]
        decoded = resampled(self.av, frames, RATE) if frames else np.zeros(0)
        wanted = count * self.samples
        return np.pad(decoded, (0, max(0, wanted - len(decoded))))[:wanted]

    def lose(self, count: int) -> None:  # noqa: ARG002
        return None


def av() -> Any:
    """Returns the module PyAV. Raises :class:`MissingLibraryError` if it is not installed."""
    try:
        import av
    except ImportError as error:
        raise missing(error) from None
    return av


def resampled(av: Any, frames: Any, rate: int) -> Samples:
    """Returns the samples of PyAV frames with one channel, resampled to ``rate``."""
    resampler = av.AudioResampler(format="flt", layout="mono", rate=rate)
    parts = [part.to_ndarray()[0] for frame in (*frames, None) for part in resampler.resample(frame)]
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)


def _ffmpeg(encoder: str, decoder: str, bit_rate: int) -> Callable[[Samples, int], SpeechDecoder]:
    return lambda speech, samples: _Ffmpeg((encoder, decoder, bit_rate), speech, samples)


def _g711(encoding: str) -> Callable[[Samples, int], SpeechDecoder]:
    return lambda speech, samples: _G711(encoding, speech, samples)


#: The codecs with a library, by name. Each function encodes a recording in frames of the given
#: number of samples.
CODECS: Final[dict[str, Callable[[Samples, int], SpeechDecoder]]] = {
    "G.711u": _g711("PCMU"),
    "G.711a": _g711("PCMA"),
    "G.711u+PLC": _g711("PCMU"),
    "G.711a+PLC": _g711("PCMA"),
    "GSM-FR": _Gsm,
    "GSM-EFR": _ffmpeg("libopencore_amrnb", "libopencore_amrnb", 12200),
    "AMR-12.2": _ffmpeg("libopencore_amrnb", "libopencore_amrnb", 12200),
    "Opus-10": _ffmpeg("libopus", "libopus", 10000),
    "Opus-8": _ffmpeg("libopus", "libopus", 8000),
    "G.729A": _G729,
    "iLBC-20": _Ilbc,
    "iLBC-30": _Ilbc,
    "G.723.1": _ffmpeg("g723_1", "g723_1", 6300),
}


def codec_named(name: str) -> Any:
    """Returns the codec with a name. Raises :class:`bentpipe.InputError` for a codec without a
    library."""
    from bentpipe.voice import emodel

    codec = next(codec for codec in emodel.codecs().values() if codec.name.lower() == name.lower())
    if codec.name not in CODECS:
        raise InputError(
            f"no installed library encodes speech in {codec.name}; calls with these codecs can be heard: "
            f"{', '.join(CODECS)}"
        )
    return codec
