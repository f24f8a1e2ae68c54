"""Variations of a scenario's values with a folder per combination, without the replications, statistics and store of
:mod:`bentpipe.campaign`."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import InputError
from .parallel import Progress, Tell, in_threads
from .runs import Run
from .scenarios import Override, Overrides, Scenario, ScenarioLike, load, override_texts
from .simulation import seeded, simulate, slug


@dataclass(frozen=True)
class Variation:
    """One combination: ``values`` by key path, as text, in the order in which the keys were given."""

    values: dict[str, str] = field(default_factory=dict)

    @property
    def overrides(self) -> list[str]:
        """The overrides for :func:`bentpipe.simulate`."""
        return [f"{key}={value}" for key, value in self.values.items()]

    @property
    def label(self) -> str:
        """The values without their keys; for a table, its first value."""
        return " ".join(map(short_value, self.values.values()))


def combinations(varied: Sequence[str]) -> list[Variation]:
    """Returns all combinations of ``"key.path=value,value,..."``; the last key varies fastest. Without keys, returns
    one empty variation. Raises what :func:`given_lists` raises.

    >>> [v.label for v in combinations(["flow.up.transport.congestion=reno,vegas", "seed=1,2"])]
    ['reno 1', 'reno 2', 'vegas 1', 'vegas 2']
    """
    keys = given_lists(varied)
    return [Variation(dict(zip(keys, values, strict=True))) for values in itertools.product(*keys.values())]


def given_lists(varied: Sequence[str]) -> dict[str, list[str]]:
    """Parses ``"key.path=value,value,..."`` into key path -> values of overrides. Commas within quotes or brackets
    belong to the value. Raises :class:`bentpipe.InputError`."""
    keys: dict[str, list[str]] = {}
    for text in varied:
        key, equals, values = text.partition("=")
        chosen = [value.strip() for value in _split(values)]
        if not equals or not key.strip() or not all(chosen):
            raise InputError(f'"{text}" is not a list of values; allowed: KEY.PATH=VALUE,VALUE,...')
        if key.strip() in keys:
            raise InputError(f'"{key.strip()}" is varied twice; give all its values in one list')
        keys[key.strip()] = chosen
    return keys


def short_names(varied: Iterable[str]) -> dict[str, str]:
    """Maps each key path to the shortest ending that distinguishes the varied keys.

    >>> short_names(["flow.a.transport.congestion", "network.sat.return.dama.scheme"])
    {'flow.a.transport.congestion': 'congestion', 'network.sat.return.dama.scheme': 'scheme'}
    >>> short_names(["flow.a.start", "flow.b.start"])
    {'flow.a.start': 'a.start', 'flow.b.start': 'b.start'}
    """
    keys = list(varied)
    for parts in range(1, 1 + max((key.count(".") + 1 for key in keys), default=0)):
        names = [".".join(key.split(".")[-parts:]) for key in keys]
        if len(set(names)) == len(names):
            return dict(zip(keys, names, strict=True))
    return {key: key for key in keys}


def short_value(text: str) -> str:
    """Returns a value as a label: a text without quotes; for a table its first value, which should be its kind.

    >>> short_value("'reno'"), short_value('{scheme = "cra", cra = "2048 kbit/s"}'), short_value("12 MB")
    ('reno', 'cra', '12 MB')
    """
    value = parsed_value(text)
    while isinstance(value, dict | list) and value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_labels(values: Iterable[Any]) -> dict[str, str]:
    """Maps values of overrides to labels: for tables the first value, if it distinguishes them.

    >>> value_labels(['{kind = "none"}', '{kind = "packet", probability = 0.1}', "2"])
    {'{kind = "none"}': 'none', '{kind = "packet", probability = 0.1}': 'packet', '2': '2'}
    """
    texts = list(dict.fromkeys(map(str, values)))
    short = [short_value(text) for text in texts]
    return dict(zip(texts, short if len(set(short)) == len(short) else texts, strict=True))


def parsed_value(text: str) -> Any:
    """Parses the right side of an override: a TOML value, or else text.

    >>> parsed_value("12"), parsed_value("'reno'"), parsed_value("12 MB")
    (12, 'reno', '12 MB')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def simulate_all(
    scenario: ScenarioLike,
    variations: Sequence[Variation],
    *,
    out: Path,
    seed: int | None = None,
    overrides: Overrides = (),
    jobs: int = 2,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> list[Run]:
    """Simulate each variation into its own folder below ``out``; returns the runs in the order of the variations.

    Every variation is validated before the first one starts. ``progress`` is called with the fraction of the whole,
    from several threads, and stops everything by returning False: variations that had not begun are then missing from
    the result. Raises what :func:`bentpipe.simulate` raises.
    """
    given = [*override_texts(overrides), *seeded(seed)]
    resolved = [(one, load(scenario, [*given, *_named(one)])) for one in variations]

    def one(planned: tuple[Variation, Scenario], tell: Tell) -> Run:
        variation, valid = planned
        return simulate(valid, out=out / folder_name(variation), progress=tell, command=command)

    runs = in_threads(one, resolved, jobs, progress)
    return [run for run in runs if run is not None]


def _named(variation: Variation) -> list[Override]:
    return [("--vary", text) for text in variation.overrides]


def folder_name(variation: Variation) -> str:
    """Returns the name of a variation's folder.

    >>> folder_name(combinations(["flow.a.app.size=12 MB", "seed=1"])[0])
    '12-mb-1'
    """
    return slug(variation.label)


def _split(values: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for character in values:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += character
    return parts
