"""The calls of a run: their quality, and the speech that their listeners heard.

The spoken sentences are in ``speech.wav``, repeated for the length of a call. They are two of the
Harvard sentences (IEEE Recommended Practice for Speech Quality Measurements, 1969), spoken by
eSpeak NG.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bentpipe import listening
from bentpipe.results.runs import Run

from .refused import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Maximum length of rendered speech, in seconds.
MAX_SPEECH_S: Final = 60.0
#: Maximum simulated time of a run with calls between exchanges, which are mixed as a whole.
MAX_RUN_S: Final = 600.0
#: Maximum number of listed calls.
MAX_CALLS: Final = 40
#: Number of rendered calls in memory, of at most 1 MB each.
CACHED: Final = 16

#: The recording of the sentences, with 8000 samples per second.
SPEECH: Final = Path(__file__).with_name("speech.wav")


@dataclass(frozen=True)
class Call:
    """A call as one party heard it: the codec, lost and late packets in percent, and the mean
    opinion score of the E-model. The last two are None without results."""

    name: str
    codec: str
    loss: float | None
    mos: float | None


def calls_of(run: Run) -> list[Call]:
    """Returns the calls of a run, up to :data:`MAX_CALLS`."""
    if not (run.has_trace("speech") or run.has_trace("call_speech")):
        return []
    codecs = {flow["name"]: str(flow["app"].get("codec", "")) for flow in run.flow_tables}
    found = []
    for name in listening.calls(run)[:MAX_CALLS]:
        try:
            loss, _, mos = listening.quality(run, name)
        except (ValueError, LookupError, TypeError):
            # Nothing of this call arrived.
            loss = mos = math.nan
        found.append(Call(name, codecs[name.removesuffix(".reverse")], _number(loss), _number(mos)))
    return found


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


@cache
def _sentences() -> NDArray[np.float64]:
    return listening.read_speech(SPEECH)


@lru_cache(maxsize=CACHED)
def speech_of(folder: Path, call: str, *, spoken: bool) -> bytes:
    """Returns the heard or the spoken speech of a call as a WAV file, up to :data:`MAX_SPEECH_S`.
    Raises :class:`bentpipe.InputError` and :class:`Refused`."""
    run = Run(folder)
    exchanges = any(flow["app"]["kind"] == "calls" for flow in run.flow_tables)
    if exchanges and float(run.provenance.get("simulated_seconds") or 0.0) > MAX_RUN_S:
        raise Refused(
            422,
            f"calls of runs of more than {MAX_RUN_S:g} s cannot be heard here; use `bentpipe voice listen`",
        )
    pair = listening.heard(run, call, _sentences(), MAX_SPEECH_S)
    samples = pair[0 if spoken else 1][: round(MAX_SPEECH_S * listening.RATE)]
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        listening.write_wav(Path(file.name), samples)
        return Path(file.name).read_bytes()
