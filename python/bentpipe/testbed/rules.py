"""Rules for scenarios from the web, by the level of their owner: allowed contents, and the allowed
cost of a run. All such rules are in this module.

The web process checks a scenario before it stores the run. The run's process checks it again before
the start.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bentpipe.quantities import base_value
from bentpipe.scenario.facts import Facts
from bentpipe.scenario.scenarios import Override, Scenario, ScenarioText, load

from .refused import Refused

#: Instruments of a run, in the order of the page.
INSTRUMENTS: Final = ("simulate", "kernel", "emulate")

MEGA: Final = 1_000_000

#: Name of a scenario's text in messages.
NAME: Final = "scenario"


@dataclass(frozen=True)
class Limits:
    """The limits of a level. ``events`` limits the predicted number of events of a run. A run is
    ended if it exceeds ``seconds`` of real time, the size ``bytes`` of its folder, or the
    ``memory`` of its process, in bytes."""

    instruments: tuple[str, ...]
    events: float
    seconds: float
    bytes: int
    memory: int
    nodes: int
    #: Length of a scenario's text in bytes.
    text: int
    #: Maximum numbers of queued runs, stored runs and stored configurations.
    queued: int
    runs: int
    configurations: int
    #: Size of the files of all stored runs in bytes, above which no further run may be launched.
    stored: int


OF_LEVEL: Final = {
    "guest": Limits((), 0, 0, 0, 0, 2_000, 256_000, 0, 0, 0, 0),
    "user": Limits(
        INSTRUMENTS,
        200 * MEGA,
        900,
        2_000 * MEGA,
        3_000 * MEGA,
        2_000,
        256_000,
        200,
        20_000,
        500,
        100_000 * MEGA,
    ),
    "administrator": Limits(
        INSTRUMENTS,
        2_000 * MEGA,
        7_200,
        20_000 * MEGA,
        6_000 * MEGA,
        20_000,
        1_000_000,
        2_000,
        200_000,
        5_000,
        1_000_000 * MEGA,
    ),
}

#: Key that names a file, at any depth. The loader replaces a table with this key by the contents of
#: the file.
FILE: Final = "file"
#: The application that starts a program of the machine, and its keys.
PROGRAM: Final = "command"
PROGRAM_KEYS: Final = ("run", "serve")

#: Maximum nesting depth, and maximum number of values, of a text.
MAX_DEPTH: Final = 24
MAX_VALUES: Final = 50_000
#: Maximum duration, in seconds of the scenario.
MAX_DURATION_S: Final = 30 * 86_400.0


def check_text(text: str, level: str) -> dict[str, Any]:
    """Checks a scenario's text before the engine reads it, and returns its tables. Raises
    :class:`Refused` for contents that are not allowed from the web. The result is empty if the text
    is not TOML, because the engine reports such errors with their position."""
    limits = OF_LEVEL[level]
    if len(text.encode("utf-8", "surrogatepass")) > limits.text:
        raise Refused(413, f"the scenario is longer than {limits.text} bytes")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    except RecursionError:
        raise Refused(422, f"the scenario is nested deeper than {MAX_DEPTH} tables") from None
    except ValueError:
        # Python's limit on the digits of a number, sys.get_int_max_str_digits.
        raise Refused(422, "the scenario has a number with thousands of digits") from None
    counted = 0
    for values, (depth, key, value) in enumerate(walk(tables)):
        if values > MAX_VALUES:
            raise Refused(422, f"the scenario has more than {MAX_VALUES} values")
        if depth > MAX_DEPTH:
            raise Refused(422, f"the scenario is nested deeper than {MAX_DEPTH} tables")
        parts = key.split(".")
        if FILE in parts:
            raise Refused(422, f'the key "{key}" reads a file of the server; the test bed does not allow it')
        if PROGRAM in (value, *parts) or (parts[-1] in PROGRAM_KEYS and isinstance(value, str)):
            raise Refused(422, f'"{key}" starts a program on the server; the test bed does not allow it')
        if key == "count" and isinstance(value, int):
            counted += value
    if counted > limits.nodes:
        raise Refused(
            422, f"{counted} terminals are more than the {limits.nodes} nodes that your level allows"
        )
    return tables


def walk(value: Any, depth: int = 0) -> Iterator[tuple[int, str, Any]]:
    """Yields depth, key and value of every part of a scenario; elements of a list have the list's
    key."""
    stack: list[tuple[int, str, Any]] = [(depth, "", value)]
    while stack:
        depth, key, value = stack.pop()
        if key:
            yield depth, key, value
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, Mapping):
            stack += [(depth + 1, str(name), one) for name, one in value.items()]
        elif isinstance(value, list):
            stack += [(depth + 1, key or "-", one) for one in value]


def read(text: str, level: str, overrides: Sequence[Override] = ()) -> Scenario:
    """Returns a scenario from the web, resolved and checked by all rules except those on cost.
    Raises :class:`Refused` and :class:`bentpipe.ScenarioError`."""
    check_text(text, level)
    try:
        loaded = load(ScenarioText(text, NAME), overrides)
    except TypeError as error:
        raise Refused(422, f"the scenario cannot be read: {error}") from error
    check_resolved(loaded.data, len(loaded.nodes), level)
    return loaded


def check_resolved(scenario: Mapping[str, Any], nodes: int, level: str) -> None:
    """Checks a resolved scenario, including one from a campaign. Raises :class:`Refused`."""
    limits = OF_LEVEL[level]
    if nodes > limits.nodes:
        raise Refused(422, f"{nodes} nodes are more than the {limits.nodes} that your level allows")
    if base_value(scenario["duration"]) > MAX_DURATION_S:
        raise Refused(
            422, f"a duration of {scenario['duration']} is longer than the 30 days that the test bed allows"
        )
    for flow in scenario.get("flow", []):
        if flow["app"]["kind"] == PROGRAM:
            raise Refused(
                422, f"flow {flow['name']} starts a program on the server; the test bed does not allow it"
            )


@dataclass(frozen=True)
class Cost:
    """The expected cost of a run: events of the engine, and seconds on the scenario's clock."""

    events: float
    seconds: float


def cost(scenario: Mapping[str, Any], known: Facts) -> Cost:
    """Estimates a run's cost from the packets that its flows can send: one event per packet,
    direction and hop."""
    duration = base_value(scenario["duration"])
    events = 0.0
    for flow in known["flows"]:
        there, back = flow["there"] or [], flow["back"] or []
        per_s = (flow["share_bit_s"] or 0.0) / 8 / max(1, flow["packet_bytes"])
        if flow["answers_mean_bit_s"] is not None:
            answered = [flow["answers_mean_bit_s"], *(hop["rate_bit_s"]["mean"] for hop in back)]
            per_s += min(answered) / 8 / max(1, flow["answer_bytes"])
        packets = per_s * max(0.0, duration - flow["start_s"])
        events += packets * (len(there) + len(back) + 1)
    return Cost(events, duration)


def check_cost(wanted: Cost, instrument: str, level: str, pace: float | None = None) -> None:
    """Checks the cost of a run against the limits of a level. Raises :class:`Refused`."""
    limits = OF_LEVEL[level]
    if instrument not in limits.instruments:
        raise Refused(403, f"your level does not allow the instrument {instrument}")
    if wanted.events > limits.events:
        raise Refused(
            422,
            f"the run would take about {wanted.events:.2g} events; your level allows {limits.events:.2g}:"
            " shorten its duration, lower its rates, or ask an administrator for another level",
        )
    if instrument == "emulate":
        pace = 1.0
    if pace is not None and wanted.seconds / pace > limits.seconds:
        raise Refused(
            422,
            f"the run takes {wanted.seconds / pace:g} s in real time; your level allows {limits.seconds:g} s:"
            " shorten its duration, or ask an administrator for another level",
        )


#: Pattern of key paths that may change during a run. The engine checks the individual keys.
CHANGED: Final = re.compile(r"(link|network)(\.[\w -]{1,64}){2,12}")


def check_change(key: str, value: str) -> None:
    """Checks a change of a run in progress, before the engine reads it. Raises :class:`Refused`."""
    if not CHANGED.fullmatch(key):
        raise Refused(422, "only keys of links and networks can change while a run is in progress")
    if "\\" in value or not value.isprintable():
        raise Refused(422, "a value must not contain backslashes or control characters")
    for word in re.findall(r"\w+", f"{key} {value}"):
        if word == FILE:
            raise Refused(422, f'"{word}" reads a file of the server; the test bed does not allow it')
