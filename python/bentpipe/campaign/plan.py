"""The plan of a campaign: its runs, each resolved, validated and with its key, before any of them
starts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from bentpipe import _native
from bentpipe.errors import InputError
from bentpipe.guest import Kernel, current
from bentpipe.scenario.scenarios import (
    Overrides,
    Scenario,
    ScenarioLike,
    ScenarioText,
    load,
    override_texts,
    toml_value,
)
from bentpipe.scenario.variation import Variation

from .keys import run_key
from .variants import variations

#: Overrides that disable traces and captures, for runs whose folders are not kept.
_NOTHING_BUT_REPORTS = ("record.traces=[]", "record.capture=[]")

#: Name of a varied value during validation; its key follows.
_VARIED = "campaign: "


@dataclass(frozen=True)
class Variant:
    """One combination of varied values. ``id`` identifies its resolved scenario and does not depend
    on the rest of the campaign."""

    id: str
    variation: Variation
    scenario: ScenarioText
    seed: int


@dataclass(frozen=True)
class PlannedRun:
    """One run: a variant and a replication number. ``key`` differs whenever results may differ."""

    key: str
    variant: Variant
    replication: int


@dataclass(frozen=True)
class Plan:
    """A campaign before it runs. ``settings`` is the scenario's table ``campaign`` with all
    defaults."""

    name: str
    settings: Mapping[str, Any]
    variants: list[Variant]
    base: Scenario

    @property
    def replications(self) -> int:
        """The number of runs of each variant, or the minimum number if a precision is requested."""
        return int(self.settings["replications"])

    @property
    def size(self) -> str:
        """The number of runs in words."""
        variants, each = len(self.variants), self.replications
        least = "at least " if self.settings.get("precision") else ""
        return (
            f"{least}{variants * each} run{'s' * (variants * each != 1)}: {variants} variant{'s' * (variants != 1)} "
            f"x {each} replication{'s' * (each != 1)}"
        )

    @cached_property
    def varied(self) -> list[str]:
        """The columns of the varied values: key paths, or ``label`` for keys that vary together
        under labels."""
        return list(dict.fromkeys(key for variant in self.variants for key in variant.variation.columns))

    @cached_property
    def kernel(self) -> Kernel | None:
        """The kernel in which all runs are emulated, even if the user selects another kernel
        meanwhile. None on other clocks."""
        return current() if self.settings["clock"] == "kernel" else None

    @cached_property
    def _clock(self) -> str:
        clock = str(self.settings["clock"])
        return f"{clock} {self.kernel.folder.name}" if self.kernel else clock

    def run(self, variant: Variant, replication: int) -> PlannedRun:
        """Returns a replication of a variant. Replications use different random numbers of the same
        seed."""
        key = run_key(variant.scenario.toml, replication, self._clock)
        return PlannedRun(key, variant, replication)


def plan(
    scenario: ScenarioLike,
    overrides: Overrides = (),
    labels: Mapping[str, Sequence[str]] | None = None,
    **campaign: Any,
) -> Plan:
    """Returns the campaign that a scenario describes. ``campaign`` overrides its table of that
    name: ``vary``, ``zip``, ``list``, ``sample``, ``replications``, ``precision`` and so on, see
    docs/reference/scenario.md. ``labels`` name the values of keys in ``vary`` in tables and
    figures, in their order.

    All variants are resolved and validated. Raises :class:`bentpipe.ScenarioError`, which names the
    wrong value, and :class:`bentpipe.InputError`.

    >>> lists = {"flow.download.transport.congestion": ["reno", "cubic"]}
    >>> of = plan("examples/geo-bulk.toml", vary=lists, replications=3)
    >>> [variant.variation.label for variant in of.variants], of.replications
    (['reno', 'cubic'], 3)
    """
    if isinstance(scenario, Scenario) and scenario.campaign is not None:
        overrides = [f"campaign={toml_value(scenario.campaign)}", *override_texts(overrides)]
    overrides = [
        *override_texts(overrides),
        *((f"argument {key}", f"campaign.{key}={toml_value(value)}") for key, value in campaign.items()),
    ]
    base = load(scenario, overrides)
    if base.campaign is None:
        raise InputError(
            f'{base.source or "the scenario"} has no campaign: add [campaign] with vary."KEY.PATH" = [VALUE, VALUE] or '
            "replications = N, or give --vary KEY.PATH=VALUE,VALUE or --replications N"
        )
    settings = base.campaign
    recorded = () if settings["keep_runs"] else _NOTHING_BUT_REPORTS
    of = [_variant(scenario, overrides, one, recorded, settings) for one in variations(settings, labels)]
    doubled = {variant.id: variant for variant in of}
    if len(doubled) < len(of):
        label = next(one.variation.label for one in of if doubled[one.id] is not one)
        raise InputError(f"campaign: two variants are the same scenario, {label}; allowed: each value once")
    return Plan(base.name, settings, of, base)


def _variant(
    scenario: ScenarioLike,
    overrides: Overrides,
    variation: Variation,
    recorded: Sequence[str],
    settings: Mapping[str, Any],
) -> Variant:
    values = variation.values.items()
    given = [*override_texts(overrides), *((_VARIED + key, f"{key}={value}") for key, value in values)]
    try:
        resolved = load(scenario, [*given, *recorded])
    except _native.ScenarioError as error:
        _refuse(scenario, overrides, variation, error)
    identity = hashlib.sha256(resolved.toml.encode()).hexdigest()[:12]
    seed = int(resolved.data["seed"])
    if not settings["common_random_numbers"]:
        # Seeds below 2^52 are allowed and exact in every format.
        seed = int(hashlib.sha256(f"{seed} {identity}".encode()).hexdigest()[:13], 16)
        resolved = load(scenario, [*given, *recorded, f"seed={seed}"])
    name = f"{resolved.name}: {variation.label}" if variation.values else resolved.name
    return Variant(identity, variation, ScenarioText(resolved.toml, name), seed)


def _refuse(
    scenario: ScenarioLike, overrides: Overrides, variation: Variation, error: _native.ScenarioError
) -> NoReturn:
    """Raises the error of a refused variant with the wrong value of the campaign and its
    position."""
    for problem in error.problems:
        key = problem["file"].removeprefix(_VARIED)
        if problem["file"].startswith(_VARIED) and key in variation.values:
            base = load(scenario, overrides)
            place = _place(base.campaign or {}, key)
            value = f"{variation.values[key]}: {problem['path']}: {problem['message']}"
            meant = f', did you mean "{problem["nearest"]}"?' if problem["nearest"] else ""
            allowed = f"; allowed: {', '.join(problem['allowed'])}" if problem["allowed"] else ""
            base.native.refuse(["campaign", *place], value + meant + allowed)
    values = ", ".join(f"{key} = {value}" for key, value in variation.values.items())
    raise InputError(f"campaign: with {values}:\n{error}") from error


def _place(campaign: Mapping[str, Any], key: str) -> list[str]:
    """Returns the position in the campaign's table at which a key is varied."""
    if key in campaign.get("vary", {}):
        return ["vary", key]
    for part in ("zip", "list"):
        for number, table in enumerate(campaign.get(part, [])):
            if key in table:
                return [part, str(number), key]
    return ["sample", "between", key]
