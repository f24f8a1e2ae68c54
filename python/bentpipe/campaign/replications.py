"""The number of replications of a variant: fixed, or the number that gives a mean the requested
precision.

The rule is sequential. n is the smallest number of at least ``replications`` for which the half
width of the confidence interval of the mean of the first n replications is at most the given
fraction of the mean. n does not depend on the order in which runs end, so a campaign gives the same
result on any number of workers. Runs beyond n that had already begun stay in the store and do not
count. Stopping at the first sufficient n makes the coverage of the interval slightly lower than
stated. The effect shrinks with the requested width (Chow and Robbins 1965) and is small if
``replications`` is ten or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bentpipe.statistics import mean_of

from .metrics import Metric, values_by_entity
from .plan import Plan, PlannedRun, Variant

if TYPE_CHECKING:
    from .store import Store


class Replications:
    """The replications of every variant of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._precision: Mapping[str, Any] | None = plan.settings.get("precision")
        self._least = max(2, plan.replications) if self._precision else plan.replications
        self._asked = dict.fromkeys((variant.id for variant in plan.variants), self._least)
        self._known: dict[str, dict[int, Mapping[str, float]]] = {one.id: {} for one in plan.variants}
        self._metric = Metric(self._precision["metric"]) if self._precision else None

    def first(self) -> list[PlannedRun]:
        """Returns the runs that every plan needs, with the first replication of all variants before
        the second."""
        return [
            self._plan.run(variant, number)
            for number in range(self._least)
            for variant in self._plan.variants
        ]

    def add(self, run: PlannedRun, store: Store | None) -> None:
        """Adds the result of a run. ``store`` is None for a failed run."""
        if self._precision is None or self._metric is None:
            return
        values: Mapping[str, float] = {}
        if store is not None:
            frame = store.table(self._metric.table, run)
            values = values_by_entity(frame, self._metric, self._precision.get("of"))
        self._known[run.variant.id][run.replication] = values

    def more(self, at_once: int) -> list[PlannedRun]:
        """Returns about ``at_once`` further runs to do, once all earlier results are known."""
        if self._precision is None:
            return []
        open_ = [variant for variant in self._plan.variants if self._needs_more(variant)]
        runs = []
        for variant in open_:
            asked = self._asked[variant.id]
            further = min(asked + max(1, at_once // len(open_)), self._precision["at_most"])
            runs += [self._plan.run(variant, number) for number in range(asked, further)]
            self._asked[variant.id] = further
        return runs

    def runs(self) -> list[PlannedRun]:
        """Returns all runs that count, variant by variant."""
        return [
            self._plan.run(variant, number)
            for variant in self._plan.variants
            for number in range(self._number(variant) or self._asked[variant.id])
        ]

    def _needs_more(self, variant: Variant) -> bool:
        asked, known = self._asked[variant.id], self._known[variant.id]
        # Wait for the runs in progress. A variant whose runs have all failed gets no further run.
        if self._precision is None or len(known) < asked or asked >= self._precision["at_most"]:
            return False
        return any(known.values()) and self._number(variant) is None

    def _number(self, variant: Variant) -> int | None:
        """Returns the smallest sufficient number of replications; None if more results are needed
        to decide."""
        if self._precision is None:
            return None
        known = self._known[variant.id]
        first_missing = next(number for number in range(len(known) + 1) if number not in known)
        firsts = (
            number
            for number in range(self._least, first_missing + 1)
            if self._precise([known[replication] for replication in range(number)])
        )
        return next(firsts, None)

    def _precise(self, replications: Sequence[Mapping[str, float]]) -> bool:
        assert self._precision is not None
        entities = {entity for values in replications for entity in values}
        for entity in entities:
            values = [of[entity] for of in replications if entity in of]
            mean = mean_of(values, self._plan.settings["confidence"])
            # The comparison is negated because the width of a single value is NaN.
            if not mean.relative <= self._precision["relative_half_width"]:
                return False
        return bool(entities)
