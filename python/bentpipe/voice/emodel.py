"""The E-model (ITU-T G.107, 06/2015): the transmission rating of a telephone call, and the
corresponding opinion score.

>>> from bentpipe.voice import emodel
>>> print(round(emodel.rate().R, 3))
93.206
>>> call = emodel.rate("G.729A", T=150, Ta=150, Tr=300, Ppl=2)
>>> print(round(call.R, 1), round(call.MOS, 2), call.category)
70.5 3.62 some users dissatisfied
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any

from bentpipe.errors import InputError, unknown


@dataclass(frozen=True)
class Symbol:
    """A parameter of the E-model."""

    #: Symbol in the recommendation.
    name: str
    #: Unit of its value; "1" if it has none.
    unit: str
    #: Default value of the recommendation.
    default: float
    #: Minimum and maximum value that the recommendation permits.
    permitted: tuple[float, float]
    #: Meaning of the parameter, in words.
    about: str


@dataclass(frozen=True)
class Codec:
    """A speech codec in one of its modes."""

    #: Name, as in G.113 or the standard that defines it.
    name: str
    #: Duration in milliseconds of the speech in a frame.
    frame_ms: float
    #: Number of bytes of a frame in an RTP payload.
    frame_bytes: int
    #: Equipment impairment factor.
    Ie: float
    #: Packet-loss robustness factor in per cent.
    Bpl: float
    #: Description of the values of Ie and Bpl that come from no standard, or None.
    assumed: str | None
    #: The documents from which the values are taken.
    source: str
    #: Duration of the speech in a usual packet in milliseconds, and the size of its RTP payload in
    #: bytes.
    packet_ms: float
    packet_bytes: int
    #: Duration in milliseconds of the speech after a packet that the coder needs (lookahead).
    lookahead_ms: float
    #: Payload type of RTP.
    payload_type: int
    #: Units of the RTP time stamp in a usual packet.
    units: int


@dataclass(frozen=True)
class Rating:
    """The rating of a call and its parts (G.107, equation 7-1): R = Ro - Is - Id - Ieeff + A.

    All but ``MOS`` are on the scale of R, from 0 to 100.
    """

    #: Basic signal-to-noise ratio.
    Ro: float
    #: Simultaneous impairments: loudness, sidetone, quantisation.
    Is: float
    #: Impairment by talker echo.
    Idte: float
    #: Impairment by listener echo.
    Idle: float
    #: Impairment by long absolute delay.
    Idd: float
    #: Sum of the delay impairments.
    Id: float
    #: Effective equipment impairment: the codec's under the loss of packets (Ie-eff).
    Ieeff: float
    #: Advantage factor.
    A: float
    #: Transmission rating.
    R: float
    #: Mean opinion score of a conversation, up to 4.5. For R below 6.5, the equation is slightly
    #: below 1.
    MOS: float
    #: R and MOS without the advantage factor.
    without_advantage: dict[str, float]
    #: Satisfaction of users with such connections (G.109).
    category: str
    #: Values outside the range for which the recommendation permits them, and assumed values, as
    #: sentences.
    notes: tuple[str, ...]


@functools.cache
def symbols() -> dict[str, Symbol]:
    """Returns the parameters of the E-model by their symbols, in the order of table 2 of the
    recommendation."""
    rows = _described()["symbols"]
    return {row["name"]: Symbol(**{**row, "permitted": tuple(row["permitted"])}) for row in rows}


@functools.cache
def codecs() -> dict[str, Codec]:
    """Returns all codecs by name."""
    return {row["name"]: Codec(**row) for row in _described()["codecs"]}


def rate(codec: str | None = None, /, **values: float) -> Rating:
    """Rates a call.

    Args:
        codec: A codec of :func:`codecs`, which sets Ie and Bpl unless ``values`` do; not case-sensitive.
        values: Parameters by their symbols, in the units of :func:`symbols`; the others have their default values. T,
            Ta and Tr are three delays: in a call without echo cancellers in between, Ta = T and Tr = 2 T.

    Raises:
        InputError: The codec or a symbol is unknown, or the equations are not defined for a value.

    """
    from bentpipe import _native

    notes = []
    if codec is not None:
        chosen = next((known for known in codecs().values() if known.name.lower() == codec.lower()), None)
        if chosen is None:
            raise unknown("codec", codec, codecs())
        if chosen.assumed and not {"Ie", "Bpl"} <= values.keys():
            notes.append(f"{chosen.name}: {chosen.assumed}")
        values = {"Ie": chosen.Ie, "Bpl": chosen.Bpl, **values}
    try:
        found = json.loads(_native.emodel([(name, float(value)) for name, value in values.items()]))
    except KeyError as error:
        raise unknown("symbol", error.args[0], symbols()) from None
    except ValueError as error:
        raise InputError(str(error)) from None
    notes += found.pop("beyond")
    return Rating(**found, notes=tuple(notes))


@functools.cache
def _described() -> dict[str, Any]:
    from bentpipe import _native

    described: dict[str, Any] = json.loads(_native.voice())
    return described
