"""The speech in calls between exchanges and in conferences, from the run's trace ``call_speech``.

Every party speaks a recording that begins at the start of the run and is repeated. If there are
fewer recordings than parties, parties that share a recording begin at different positions. A bridge
decodes each party's stream. For each party, it adds the speech of all other parties at their
playout times, and encodes the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bentpipe.errors import InputError
from bentpipe.voice.playout import Packets, PlayedSpeech, play, put
from bentpipe.voice.speech_codecs import RATE, codec_named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bentpipe.results.runs import Run

    Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Party:
    """A telephone: the end of a call of a flow."""

    flow: str
    #: Number of the call at the exchange that places it.
    number: int
    app: dict[str, Any] = field(compare=False)


def bridge_of(run: Run, flow: str) -> str | None:
    """Returns the name of the bridge that answers the calls of a flow; None without a bridge."""
    to = next(table["to"] for table in run.flow_tables if table["name"] == flow)
    for service in run.scenario.get("service", []):
        serves = service.get("flows") or [flow]
        if service["role"]["kind"] == "bridge" and service["node"] == to and flow in serves:
            return str(service["name"])
    return None


def parties(run: Run, bridge: str) -> list[Party]:
    """Returns the parties of a bridge, in the order of the flows and their calls."""
    found = []
    for table in run.flow_tables:
        if table["app"]["kind"] != "calls" or bridge_of(run, table["name"]) != bridge:
            continue
        numbers = run.trace("call_speech", f"{table['name']}.destination")["number"].unique().sort()
        found += [Party(table["name"], int(number), table["app"]) for number in numbers if number > 0]
    return found


def recording_of(place: int, count: int, recordings: Sequence[Samples]) -> Samples:
    """Returns the speech of the party at ``place`` of ``count``, from the start of the run."""
    import numpy as np

    speech = recordings[place % len(recordings)]
    turns = -(-count // len(recordings))
    return np.roll(speech, -(place // len(recordings)) * len(speech) // turns)


def hears(run: Run, party: Party, reverse: bool, recordings: Sequence[Samples], codec: Any) -> PlayedSpeech:
    """Returns the speech that the callee of a call or, with ``reverse``, the caller heard. In a
    conference, this is the mix of all other parties.

    Raises :class:`bentpipe.InputError`.
    """
    import numpy as np

    bridge = bridge_of(run, party.flow)
    if bridge is None:
        return _end(run, party, reverse, recordings[0], recordings[0], codec, repeated=True)
    everybody = parties(run, bridge)
    said = {one: recording_of(place, len(everybody), recordings) for place, one in enumerate(everybody)}
    if not reverse:
        return _end(run, party, False, said[party], said[party], codec, repeated=True)
    last = float(run.trace("call_speech")["heard"].max() or 0.0)  # type: ignore[arg-type]
    mixed, clean = np.zeros((2, int((last + 2) * RATE)))
    for one in everybody:
        if one == party:
            continue
        spoken = _end(run, one, False, said[one], said[one], codec_of(one), repeated=True)
        begin = round(spoken.begin * RATE)
        for total, part in ((mixed, spoken.heard), (clean, spoken.spoken)):
            place = np.zeros_like(total)
            put(place, begin, part)
            total += place
    return _end(run, party, True, mixed, clean, codec, repeated=False)


def codec_of(party: Party) -> Any:
    """Returns the codec of a party."""
    return codec_named(str(party.app["codec"]))


def frames_of(app: dict[str, Any], codec: Any) -> int:
    """Returns the number of codec frames in a packet, by default the smallest number that contains
    20 ms."""
    return int(app.get("frames") or -(-20 // codec.frame_ms))


def _end(
    run: Run, party: Party, reverse: bool, speech: Samples, clean: Samples, codec: Any, *, repeated: bool
) -> PlayedSpeech:
    """Returns the speech that one end of a call heard. ``speech`` begins at the start of the run
    and is repeated if ``repeated`` is true."""
    import numpy as np
    import polars as pl

    end = f"{party.flow}.{'source' if reverse else 'destination'}"
    rows = run.trace("call_speech", end).filter(
        (pl.col("number") == party.number) & pl.col("spoken").is_not_null()
    )
    rows = rows.sort("sequence")
    if rows.height == 0:
        raise InputError(f"no packet of call {party.number} arrived at {end} of {run.name}")
    frames = frames_of(party.app, codec)
    packet_s = frames * codec.frame_ms / 1e3
    packet = round(packet_s * RATE)
    spoken = rows["spoken"].to_list()
    # Packets begin at multiples of a packet's duration from here. This offset is less than a
    # packet's duration after the start of the run.
    origin = spoken[0] % packet_s
    positions = [round((at - origin) / packet_s) * packet for at in spoken]
    noise = [bool(value) for value in rows["noise"]]
    packets = Packets(rows["sequence"].to_list(), positions, rows["heard"].to_list(), noise)
    needed, skip = packets.end + 3 * packet, round(origin * RATE)
    parts = [np.resize(part, needed + skip)[skip:] if repeated else part[skip:] for part in (speech, clean)]
    found = play(packets, parts[0], parts[1], codec, frames)
    if found is None:
        raise InputError(f"every packet of call {party.number} arrived too late at {end} of {run.name}")
    return found
