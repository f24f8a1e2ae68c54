"""Differences between two runs: their scenarios key by key, and their flows number by number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bentpipe.quantities import display_unit

from .flows import FlowResult, flow_results
from .runs import Run

#: Units of the quantities of flows, by the prefix of their names. Other quantities are plain
#: numbers.
_BASES = {
    "goodput": "bit/s",
    **dict.fromkeys(("rtt", "delay", "transaction", "completed", "transfer", "voice_delay"), "s"),
}


@dataclass(frozen=True)
class KeyDifference:
    """A scenario key whose values differ; ``None`` where the key is missing."""

    key: str
    a: Any
    b: Any


@dataclass(frozen=True)
class NumberDifference:
    """A number of a flow in both runs. ``relative`` is (b - a) / a; ``None`` if either is missing
    or a is zero."""

    flow: str
    quantity: str
    a: float | None
    b: float | None

    @property
    def unit(self) -> tuple[str, float]:
        """The display unit of the quantity ("1" for a number), and the size of this unit in the
        unit of the values."""
        bare = self.quantity.removeprefix("predicted_")
        base = next((unit for start, unit in _BASES.items() if bare.startswith(start)), "1")
        return display_unit(self.quantity, base)

    @property
    def relative(self) -> float | None:
        """The relative difference, (b - a) / a."""
        return (self.b - self.a) / self.a if self.a and self.b is not None else None


@dataclass(frozen=True)
class Comparison:
    """A comparison of two runs. ``flows`` contains the flows in both runs, and ``missing`` the
    names of the other flows."""

    a: Run
    b: Run
    scenario: list[KeyDifference]
    flows: list[NumberDifference]
    missing: list[str]

    @property
    def equal(self) -> bool:
        """True if both runs have the same flows with the same numbers."""
        return not self.missing and all(one.a == one.b for one in self.flows)

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "a": str(self.a.path),
            "b": str(self.b.path),
            "equal": self.equal,
            "scenario": [vars(one) for one in self.scenario],
            "flows": [
                vars(one) | {"relative": one.relative, "unit": one.unit[0], "size": one.unit[1]}
                for one in self.flows
            ],
            "missing": self.missing,
        }


def compare(a: Run | str | Path, b: Run | str | Path) -> Comparison:
    """Compares two runs, or the runs in two folders. Raises :class:`bentpipe.InputError`.

    >>> import bentpipe as bp
    >>> scenario = bp.load("examples/dvb-rcs-upload.toml", ["duration=20 s"])
    >>> both = compare(bp.simulate(scenario), bp.simulate(scenario, seed=2))
    >>> both.equal, [difference.key for difference in both.scenario]
    (True, ['seed'])
    """
    first, second = (run if isinstance(run, Run) else Run(run) for run in (a, b))
    flows = [{flow.flow: flow for flow in flow_results(run)} for run in (first, second)]
    shared = [name for name in flows[0] if name in flows[1]]
    return Comparison(
        first,
        second,
        list(scenario_differences(first.scenario, second.scenario)),
        [one for name in shared for one in _numbers(flows[0][name], flows[1][name])],
        sorted(set(flows[0]) ^ set(flows[1])),
    )


def scenario_differences(a: Any, b: Any, path: str = "") -> Iterator[KeyDifference]:
    """Yields the keys whose values differ. Tables in lists are matched by their names.

    >>> [vars(d) for d in scenario_differences({"x": {"y": 1}}, {"x": {"y": 2}})]
    [{'key': 'x.y', 'a': 1, 'b': 2}]
    """
    a, b = _by_name(a), _by_name(b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in [*a, *(key for key in b if key not in a)]:
            yield from scenario_differences(a.get(key), b.get(key), f"{path}.{key}" if path else str(key))
    elif a != b:
        yield KeyDifference(path, a, b)


def _by_name(value: Any) -> Any:
    if isinstance(value, Sequence) and not isinstance(value, str):
        names = [item.get("name") for item in value if isinstance(item, Mapping)]
        if value and len(names) == len(value) and None not in names:
            return dict(zip(names, value, strict=True))
    return value


def _numbers(a: FlowResult, b: FlowResult) -> Iterator[NumberDifference]:
    for field in fields(FlowResult):
        # The code point and the position on the path belong to the scenario and are not results.
        if field.name in ("dscp", "leg"):
            continue
        values = getattr(a, field.name), getattr(b, field.name)
        # Differences of predictions within rounding errors are irrelevant.
        if field.name.startswith("predicted_") and None not in values and math.isclose(*values, rel_tol=1e-3):
            continue
        if not any(isinstance(value, str) for value in values) and values != (None, None):
            yield NumberDifference(a.flow, field.name, *values)
