"""Interrupted measurements, kept so that the same command continues them.

The file `interrupted.npz` in the run folder holds the data of every probe and load. A continued
measurement sends the probes of the remaining time and runs the loads that had not ended. Its data
are appended to the earlier data.
"""

from __future__ import annotations

import io
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from bentpipe.errors import InputError

from .load import LEAD_S, Item, Load
from .load_client import Outcome
from .plan import Plan
from .probing import FIELDS, Measured

FILE: Final = "interrupted.npz"
#: Minimum duration of a continued measurement, in seconds.
MIN_DURATION_S: Final = 1.0
_ARRAYS: Final = ("counted", "tcp", "pattern", "sent", "arrived", "pages")
_FLAGS: Final = (
    "numbers_replies",
    "duplicates",
    "started",
    "clock_error_s",
    "reflector_error_s",
    "clock_moved_s",
    "no_echoes",
    "hardware_sent",
    "hardware_received",
    "no_hardware",
    "window_start",
)
_STAMPED: Final = ("kernel_sent", "kernel_received")


def keep(folder: Path, host: str, seed: int, seen: Measured) -> None:
    """Writes the data of an interrupted measurement for its continuation."""
    arrays: dict[str, Any] = {name: getattr(seen, name) for name in (*FIELDS, "echoes")}
    loads = []
    for number, one in enumerate(seen.outcomes):
        arrays |= {f"{number}-{name}": getattr(one, name) for name in _ARRAYS}
        loads.append(
            {"item": asdict(one.item), "begin": one.begin, "trouble": one.trouble, "handshake": one.handshake}
        )
    about = {
        "of": _of(host, seed, seen.plan),
        "loads": loads,
        "notes": seen.notes,
        **{name: getattr(seen, name) for name in (*_FLAGS, *_STAMPED)},
    }
    with (folder / FILE).open("wb") as file:
        np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)


def kept(folder: Path, host: str, seed: int, plan: Plan) -> Measured | None:
    """Returns the data of the interrupted measurement in a folder; ``None`` if there is none.

    Raises :class:`bentpipe.InputError` if it is of another host, plan or seed, or cannot be read.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        with np.load(io.BytesIO(file.read_bytes())) as found:
            arrays = dict(found)
        about = json.loads(str(arrays["about"]))
        if about["of"] != _of(host, seed, plan):
            raise InputError(
                f"{folder} contains an interrupted measurement with another host, plan or seed; repeat the "
                "command that started it, or choose another folder"
            )
        seen = Measured(plan, *(arrays[name] for name in FIELDS))
        seen.echoes, seen.notes = arrays["echoes"], list(about["notes"])
        for name in (*_FLAGS, *_STAMPED):
            setattr(seen, name, about[name])
        for number, load in enumerate(about["loads"]):
            item = load["item"] | {"load": _load(load["item"]["load"])}
            shaken = load["handshake"]
            outcome = Outcome(Item(**item), load["begin"], trouble=load["trouble"])
            outcome.handshake = None if shaken is None else tuple(shaken)
            for name in _ARRAYS:
                setattr(outcome, name, arrays[f"{number}-{name}"])
            seen.outcomes.append(outcome)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    return seen


def rest(plan: Plan, before: Measured) -> Plan:
    """Returns a plan of the remaining probes; its loads are those of the whole plan."""
    span = float(before.sent[-1] - before.sent[0]) / 1e9 if len(before.sent) > 1 else 0.0
    return replace(plan, duration=max(MIN_DURATION_S, plan.duration - span))


def left(items: list[Item], before: Measured) -> list[Item]:
    """Returns the loads that have not ended, in sequence."""
    done = {one.item.name for one in before.outcomes if one.trouble is None}
    again, at = [], LEAD_S
    for item in items:
        if item.name not in done:
            again.append(replace(item, start=at))
            at = again[-1].end
    return again


def joined(before: Measured, after: Measured) -> Measured:
    """Joins both parts of a measurement. The reflector numbered the replies of each part from 0."""
    own = np.flatnonzero(before.replied)
    # The direction of losses after the last reply cannot be determined.
    count = int(own[-1]) + 1 if len(own) else 0
    first = int(before.reply[:count].max(initial=-1)) + 1
    trains = int(before.train[:count].max(initial=-1)) + 1
    after.reply = after.reply + first
    after.train = np.where(after.train >= 0, after.train + trains, after.train)
    for name in FIELDS:
        setattr(after, name, np.concatenate([getattr(before, name)[:count], getattr(after, name)]))
    after.echoes = np.concatenate([before.echoes, after.echoes])
    names = {one.item.name for one in after.outcomes}
    after.outcomes = [one for one in before.outcomes if one.item.name not in names] + after.outcomes
    after.plan, after.started = before.plan, before.started
    after.duplicates += before.duplicates
    after.hardware_sent += before.hardware_sent
    after.hardware_received += before.hardware_received
    after.clock_moved_s = max(before.clock_moved_s, after.clock_moved_s, key=abs)
    for name in _STAMPED:
        setattr(after, name, getattr(before, name) and getattr(after, name))
    again = [note for note in before.notes if note not in after.notes]
    after.notes = [*again, *after.notes, "the measurement was interrupted and continued"]
    after.notes = list(dict.fromkeys(after.notes))
    return after


def _of(host: str, seed: int, plan: Plan) -> str:
    return f"{host} {seed} {plan!r}"


def _load(table: dict[str, Any]) -> Load:
    return Load(**(table | {"congestion": tuple(table["congestion"])}))
