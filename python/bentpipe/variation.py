"""Some values of a scenario varied, and a folder for each combination: what :mod:`bentpipe.campaign` does for
replications, statistics and a store, without those."""

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
from .scenarios import Override, ScenarioLike, load
from .simulation import simulate, slug


@dataclass(frozen=True)
class Variation:
    """One combination: ``values`` by key path, as text, in the order in which the keys were given."""

    values: dict[str, str] = field(default_factory=dict)

    @property
    def overrides(self) -> list[str]:
        """As :func:`bentpipe.simulate` wants them."""
        return [f"{key}={value}" for key, value in self.values.items()]

    @property
    def label(self) -> str:
        """The values alone; of a table, its first value."""
        return " ".join(map(short_value, self.values.values()))


def combinations(varied: Sequence[str]) -> list[Variation]:
    """All combinations of ``"key.path=value,value,..."``; the last key varies fastest, one empty variation without
    any. Raises as :func:`given_lists`.

    >>> [v.label for v in combinations(["flow.up.transport.congestion=reno,vegas", "seed=1,2"])]
    ['reno 1', 'reno 2', 'vegas 1', 'vegas 2']
    """
    keys = given_lists(varied)
    return [Variation(dict(zip(keys, values, strict=True))) for values in itertools.product(*keys.values())]


def given_lists(varied: Sequence[str]) -> dict[str, list[str]]:
    """Key path -> values, as overrides have them, of ``"key.path=value,value,..."``. Commas within quotes or brackets
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
    """Key path -> the fewest last parts of it that tell the varied keys apart.

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
    """A value as a label: a text without its quotes, and of a table its first value, which should be its kind.

    >>> short_value("'reno'"), short_value('{scheme = "cra", cra = "2048 kbit/s"}'), short_value("12 MB")
    ('reno', 'cra', '12 MB')
    """
    value = parsed_value(text)
    while isinstance(value, dict | list) and value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_labels(values: Iterable[Any]) -> dict[str, str]:
    """Values as overrides have them -> what to call them: of tables the first value, where that tells them apart.

    >>> value_labels(['{kind = "none"}', '{kind = "packet", probability = 0.1}', "2"])
    {'{kind = "none"}': 'none', '{kind = "packet", probability = 0.1}': 'packet', '2': '2'}
    """
    texts = list(dict.fromkeys(map(str, values)))
    short = [short_value(text) for text in texts]
    return dict(zip(texts, short if len(set(short)) == len(short) else texts, strict=True))


def parsed_value(text: str) -> Any:
    """What an override's right side says: a value of TOML, or text when it is none.

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
    overrides: Sequence[Override] = (),
    jobs: int = 2,
    progress: Progress | None = None,
    command: Sequence[str] = (),
) -> list[Run]:
    """Simulate each variation into a folder of its own below ``out``; the runs are in the order of the variations.

    Every variation is validated before the first one starts. ``progress`` is told the fraction of the whole from
    several threads, and stops everything by returning False: variations that had not begun are then missing from the
    result. Raises what :func:`bentpipe.simulate` raises.
    """
    for variation in variations:
        load(scenario, [*overrides, *_named(variation)])

    def one(variation: Variation, tell: Tell) -> Run:
        return simulate(
            scenario,
            seed=seed,
            overrides=[*overrides, *_named(variation)],
            out=out / folder_name(variation),
            progress=tell,
            command=command,
        )

    runs = in_threads(one, variations, jobs, progress)
    return [run for run in runs if run is not None]


def _named(variation: Variation) -> list[Override]:
    return [("--vary", text) for text in variation.overrides]


def folder_name(variation: Variation) -> str:
    """The folder of a variation within the folder of all.

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
