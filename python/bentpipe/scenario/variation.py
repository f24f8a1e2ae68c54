"""Variations of a scenario's values: combinations of values, their labels, and the names of their
folders."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bentpipe.errors import InputError, unknown

from .scenarios import slug


@dataclass(frozen=True)
class Variation:
    """One combination: ``values`` by key path, as text, in the order of the keys. ``named`` has the
    values or labels by column, and replaces ``values`` in tables if the combination or its values
    have labels."""

    values: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, str]:
        """The columns of tables, with the combination's values or labels."""
        return self.named or self.values

    @property
    def overrides(self) -> list[str]:
        """The overrides for :func:`bentpipe.simulate`."""
        return [f"{key}={value}" for key, value in self.values.items()]

    @property
    def label(self) -> str:
        """The values or labels without their keys; for a table, its first value."""
        return " ".join(map(short_value, self.columns.values()))


def combinations(varied: Sequence[str], labels: Sequence[str] = ()) -> list[Variation]:
    """Returns all combinations of ``"key.path=value,value,..."``; the last key varies fastest.
    ``labels``, in the notation of ``varied``, replace the values of a key in tables and names.
    Without keys, returns one empty variation. Raises the errors of :func:`given_lists` and
    :func:`given_labels`.

    >>> [v.label for v in combinations(["flow.up.transport.congestion=reno,vegas", "seed=1,2"])]
    ['reno 1', 'reno 2', 'vegas 1', 'vegas 2']
    """
    keys = given_lists(varied)
    named = given_labels(labels, keys)
    found = []
    for values in itertools.product(*keys.values()):
        chosen = dict(zip(keys, values, strict=True))
        columns = {key: named.get(key, {}).get(value, value) for key, value in chosen.items()}
        found.append(Variation(chosen, columns if named else {}))
    return found


def given_labels(labels: Sequence[str], keys: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """Parses ``"key.path=label,label,..."`` into key path -> value -> label for the values of
    varied keys. Raises :class:`bentpipe.InputError` for unknown keys and wrong numbers of labels.

    >>> given_labels(["seed=one,two"], {"seed": ["1", "2"]})
    {'seed': {'1': 'one', '2': 'two'}}
    """
    found = {}
    for key, names in given_lists(labels).items():
        if key not in keys:
            raise unknown("varied key", key, keys, "--label")
        if len(names) != len(keys[key]) or len(set(names)) < len(names):
            raise InputError(
                f"--label {key} = {', '.join(names)}; allowed: {len(keys[key])} different labels, one for each "
                "value of --vary"
            )
        found[key] = dict(zip(keys[key], names, strict=True))
    return found


def labels_of(variations: Sequence[Variation]) -> list[dict[str, str]]:
    """Returns the columns of each variation, with labels that distinguish the values; see
    :func:`value_labels`."""
    keys = dict.fromkeys(key for one in variations for key in one.columns)
    named = {key: value_labels(one.columns[key] for one in variations if key in one.columns) for key in keys}
    return [{key: named[key][value] for key, value in one.columns.items()} for one in variations]


def given_lists(varied: Sequence[str]) -> dict[str, list[str]]:
    """Parses ``"key.path=value,value,..."`` into key path -> values of overrides. Commas within
    quotes or brackets belong to the value. Raises :class:`bentpipe.InputError`."""
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
    """Returns a value as a label: a text without quotes, the first value of a table (usually its
    kind), or the name of C source.

    >>> short_value("'reno'"), short_value('{scheme = "cra", cra = "2048 kbit/s"}'), short_value("12 MB")
    ('reno', 'cra', '12 MB')
    >>> short_value("[]")
    'none'
    """
    return next((leaf for _, leaf in _leaves(parsed_value(text))), "none")


def value_labels(values: Iterable[Any]) -> dict[str, str]:
    """Maps values of overrides to distinct labels. A table's label is its first value. If several
    tables have the same first value, the distinguishing values or a number are added.

    >>> value_labels(['{kind = "none"}', '{kind = "packet", probability = 0.1}', "2"])
    {'{kind = "none"}': 'none', '{kind = "packet", probability = 0.1}': 'packet', '2': '2'}
    >>> list(value_labels(['{kind = "packet", probability = 0.1}', '{kind = "packet", probability = 0.2}']).values())
    ['packet, 0.1', 'packet, 0.2']
    """
    texts = list(dict.fromkeys(map(str, values)))
    by_short: dict[str, list[str]] = {}
    for text in texts:
        by_short.setdefault(short_value(text), []).append(text)
    labels: dict[str, str] = {}
    for short, same in by_short.items():
        labels |= {same[0]: short} if len(same) == 1 else _distinguished(short, same)
    return {text: labels[text] for text in texts}


#: Maximum number of characters of a label that names what distinguishes a table.
_MAX_LENGTH: Final = 40


def _distinguished(short: str, texts: Sequence[str]) -> dict[str, str]:
    """Returns distinct labels of values with equal short labels."""
    leaves = [dict(_leaves(parsed_value(text))) for text in texts]
    paths = dict.fromkeys(path for one in leaves for path in one)
    differing = [path for path in paths if len({one.get(path) for one in leaves}) > 1]
    labels = [", ".join([short, *(one[path] for path in differing if path in one)]) for one in leaves]
    if len(set(labels)) < len(labels) or max(map(len, labels)) > _MAX_LENGTH:
        labels = [f"{short} ({number})" for number in range(1, len(texts) + 1)]
    return dict(zip(texts, labels, strict=True))


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields the values within a value, each with its path, as labels."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, f"{path}.{key}")
    elif isinstance(value, bool):
        yield path, str(value).lower()
    else:
        yield path, source_name(str(value))


def source_name(text: str) -> str:
    r"""Returns a text of one line unchanged, and the name of a congestion control instead of its
    source.

    >>> source_name("reno"), source_name('#include "x.h"\nBP_VARIANT(mine, 1)\n')
    ('reno', 'C source: mine')
    """
    if "\n" not in text:
        return text
    named = re.findall(r"^BP_VARIANT\((\w+)", text, re.MULTILINE)
    return f"C source: {named[-1]}" if named else f"{text.strip().splitlines()[0][:_MAX_LENGTH]} ..."


def parsed_value(text: str) -> Any:
    """Parses the right side of an override as a TOML value, or else as text.

    >>> parsed_value("12"), parsed_value("'reno'"), parsed_value("12 MB")
    (12, 'reno', '12 MB')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def folder_names(variations: Sequence[Variation]) -> list[str]:
    """Returns the name of each variation's folder.

    >>> folder_names(combinations(["flow.a.app.size=12 MB", "seed=1"]))
    ['12-mb-1']
    """
    names = [slug(" ".join(labels.values())) for labels in labels_of(variations)]
    again = {name for name in names if names.count(name) > 1}
    return [f"{name}-{index}" if name in again else name for index, name in enumerate(names, start=1)]


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
