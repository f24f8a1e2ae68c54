"""The variations of a campaign: grids, zipped lists, lists, samples, and their product."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import InputError
from bentpipe.scenario.scenarios import toml_value
from bentpipe.scenario.variation import Variation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_QUANTITY: Final = re.compile(r"\s*([-+0-9.eE]+)\s+(\S.*?)\s*")


def variations(
    campaign: Mapping[str, Any], labels: Mapping[str, Sequence[str]] | None = None
) -> list[Variation]:
    """Returns all variations of a campaign: the product of the parts of ``campaign``, a scenario's
    table of that name. The last part varies fastest. Without varied keys, returns one variation
    without values. ``labels`` are labels for the values of keys in ``vary``. Raises
    :class:`bentpipe.InputError`.

    Entries of ``list`` and tables of ``zip`` may have labels in the key ``label``. Such a part has
    one column, with the name of its key, or ``label`` if it has several keys.

    >>> of = variations({"vary": {"seed": [1, 2]}, "zip": [{"a.x": [1, 2], "a.y": ["p", "q"]}]})
    >>> [variation.label for variation in of]
    ['1 1 p', '1 2 q', '2 1 p', '2 2 q']
    """
    of_keys = {key: [{key: value} for value in values] for key, values in campaign.get("vary", {}).items()}
    for key, names in (labels or {}).items():
        if len(names) != len(of_keys.get(key, [])):
            raise InputError(
                f"campaign.vary.{key}: {len(names)} labels for {len(of_keys.get(key, []))} values; allowed: one label "
                "per value"
            )
        of_keys[key] = [point | {LABEL: name} for point, name in zip(of_keys[key], names, strict=True)]
    parts = [
        *(_part(f"vary.{key}", points) for key, points in of_keys.items()),
        *(_part(f"zip.{index}", in_step(lists)) for index, lists in enumerate(campaign.get("zip", []))),
        *([_part("list", campaign["list"])] if campaign.get("list") else []),
        *([_part("sample", drawn(campaign["sample"]))] if campaign.get("sample") else []),
    ]
    return [
        Variation(
            {key: value for point, _ in chosen for key, value in point.items()},
            {key: value for _, columns in chosen for key, value in columns.items()},
        )
        for chosen in itertools.product(*parts)
    ]


#: The key of the labels in lists and zipped lists, and the column of labels of several keys.
LABEL: Final = "label"


def _part(place: str, points: Sequence[Mapping[str, Any]]) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Returns the values of each point of a part, and the point's columns with values or a
    label."""
    values = [{key: toml_value(value) for key, value in point.items() if key != LABEL} for point in points]
    if not any(LABEL in point for point in points):
        return [(one, one) for one in values]
    keys = dict.fromkeys(key for one in values for key in one)
    column = next(iter(keys)) if len(keys) == 1 else LABEL
    names = [point.get(LABEL, Variation(one).label) for point, one in zip(points, values, strict=True)]
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"campaign.{place}: label = {toml_value(name)}; allowed: a text")
        if name in names[:index]:
            raise InputError(f'campaign.{place}: the label "{name}" is given twice; allowed: each label once')
    return [(one, {column: toml_value(name)}) for one, name in zip(values, names, strict=True)]


def number_of(campaign: Mapping[str, Any]) -> int:
    """Returns the number of variations that :func:`variations` would return, without creating them.

    >>> number_of({"vary": {"seed": [1, 2]}, "zip": [{"a.x": [1, 2, 3], "a.y": ["p", "q", "r"]}]}), number_of({})
    (6, 1)
    """
    sizes = [len(values) for values in campaign.get("vary", {}).values()]
    sizes += [len(next(iter(lists.values()), [])) for lists in campaign.get("zip", [])]
    sizes += [max(1, len(campaign.get("list") or [])), int((campaign.get("sample") or {}).get("count", 1))]
    return math.prod(sizes)


def in_step(lists: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Returns the points of lists of the same length, zipped."""
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def drawn(sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the points of a sample between the minimum and maximum values of its keys.

    >>> points = drawn({"count": 4, "between": {"x": [0, 3], "r": ["1 Mbit/s", "10 Mbit/s"]}, "logarithmic": ["r"]})
    >>> sorted(point["x"] for point in points), points[0].keys()
    ([0, 1, 2, 3], dict_keys(['x', 'r']))
    """
    columns = {
        key: _between(key, least, greatest, among, key in sample.get("logarithmic", ()))
        for (key, (least, greatest)), among in zip(sample["between"].items(), _uniform(sample).T, strict=True)
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _uniform(sample: Mapping[str, Any]) -> NDArray[np.float64]:
    """Returns points of the unit cube, one per row."""
    import numpy as np

    random = np.random.default_rng(sample.get("seed", 1))
    size = (int(sample["count"]), len(sample["between"]))
    if sample.get("method", "latin-hypercube") == "random":
        return random.random(size)
    from scipy.stats import qmc

    return np.asarray(qmc.LatinHypercube(size[1], rng=random).random(size[0]))


def _between(key: str, least: Any, greatest: Any, among: NDArray[np.float64], logarithmic: bool) -> list[Any]:
    import numpy as np

    (low, unit), (high, other) = _parted(key, least), _parted(key, greatest)
    if unit != other:
        raise _refuse(key, least, greatest, "allowed: both in the same unit")
    if not low < high:
        raise _refuse(key, least, greatest, "allowed: the least value first")
    if logarithmic and low <= 0:
        raise _refuse(key, least, greatest, "it is logarithmic; allowed: above zero")
    whole = isinstance(least, int) and isinstance(greatest, int)
    if whole:
        # Every integer has the same share of the range, including the minimum and the maximum.
        low, high = low - 0.5, high + 0.5
        if logarithmic:
            low = max(low, 0.5)
    values = low * (high / low) ** among if logarithmic else low + (high - low) * among
    if whole:
        return [int(value) for value in np.clip(np.rint(values), least, greatest)]
    # Six digits are precise enough and can be represented in units with integer base values.
    texts = [np.format_float_positional(value, 6, fractional=False, trim="-") for value in values]
    return [f"{text} {unit}" if unit else float(text) for text in texts]


def _parted(key: str, value: Any) -> tuple[float, str]:
    """Splits a value into its number and unit; the unit of a plain number is empty."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    try:
        if match is not None:
            return float(match[1]), match[2]
    except ValueError:
        pass
    raise InputError(
        f"campaign.sample.between.{key} = {toml_value(value)}: these have no values between them; allowed: numbers, "
        'or quantities such as "1 Mbit/s"'
    )


def _refuse(key: str, least: Any, greatest: Any, why: str) -> InputError:
    return InputError(f"campaign.sample.between.{key} = {toml_value([least, greatest])}: {why}")
