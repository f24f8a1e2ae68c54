"""Results of a campaign: its tables with the varied values, and means with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.errors import InputError, unknown
from bentpipe.quantities import display_unit
from bentpipe.results.runs import Run
from bentpipe.scenario.variation import short_names, value_labels
from bentpipe.statistics import mean_of

from .metrics import Metric, check_metric, entity_column, groups_of, members
from .source import Source
from .store import Store

if TYPE_CHECKING:
    import polars as pl


class Campaign:
    """The results of a campaign, complete or in progress.

    ``store`` is the campaign's folder, or another source of results. Raises
    :class:`bentpipe.InputError` if the folder holds no campaign.
    """

    def __init__(self, store: Source | str | Path) -> None:
        self.store = Store(store) if isinstance(store, str | Path) else store
        if isinstance(self.store, Store) and not (self.store.path / "index.parquet").is_file():
            raise InputError(
                f"{self.store.path} is not the folder of a campaign; allowed: a folder written "
                "by `bentpipe campaign run`"
            )

    def __repr__(self) -> str:
        return f"Campaign({str(self.store.path)!r}, {self.index.height} runs)"

    @property
    def name(self) -> str:
        """The name of its scenario."""
        return str(self.store.about["name"])

    @property
    def settings(self) -> Mapping[str, Any]:
        """The scenario's table ``campaign`` with all defaults."""
        settings: Mapping[str, Any] = self.store.about["campaign"]
        return settings

    @property
    def varied(self) -> list[str]:
        """The varied key paths, each a column of the tables."""
        return list(self.store.about["varied"])

    def key(self, name: str) -> str:
        """Returns the varied key with this path or ending. Raises :class:`bentpipe.InputError`."""
        found = [key for key in self.varied if key == name or key.endswith(f".{name}")]
        if len(found) != 1:
            raise unknown("varied key", name, short_names(self.varied).values(), str(self.store.path))
        return found[0]

    @cached_property
    def index(self) -> pl.DataFrame:
        """One row per run; see :func:`bentpipe.campaign.store.index_of`."""
        return self.store.read_index()

    @property
    def tables(self) -> list[str]:
        """Names of the tables, ``flows`` and the reports."""
        return self.store.tables

    @cached_property
    def flows(self) -> pl.DataFrame:
        """The flows of all complete runs."""
        return self.table("flows")

    def table(self, name: str) -> pl.DataFrame:
        """Returns a table of all complete runs: the varied keys, ``run``, ``variant``,
        ``replication``, and the table's columns in a run. Raises :class:`bentpipe.InputError`."""
        rows = self.store.read_table(name, self.index.filter(status="complete"))
        known = ["run", "variant", *self.varied]
        return self.index.select(known).join(rows, on="run", how="inner", maintain_order="left")

    def run(self, key: str) -> Run:
        """Returns one run, if the campaign keeps their folders. Raises
        :class:`bentpipe.InputError`."""
        if key not in set(self.index["run"]):
            raise unknown("run", key, self.index["run"], str(self.store.path))
        return Run(self.store.folder(key))

    def values(self, metric: str, of: str | None = None) -> pl.DataFrame:
        """Returns a metric of every run: the varied keys, ``run``, ``variant``, ``replication``,
        ``entity`` and ``value``. A metric is a column of the flows, or TABLE.COLUMN of a report.
        ``of`` selects an entity, a group of flows, or a pattern such as ``st*``. For several
        entities, the value of the run is their mean. Runs without a value, such as a run that
        completed no file, are omitted. Raises :class:`bentpipe.InputError`.

        For a share, such as ``share(goodput < 2 Mbit/s)``, the entities are the groups of flows. A
        flow without a value, such as a flow that completed no file, counts in the size of its group
        but never satisfies the condition."""
        import polars as pl

        wanted = Metric(metric)
        rows = self.table(wanted.table)
        of_runs = rows.drop("variant", *self.varied)
        check_metric(of_runs, wanted, of)
        who = entity_column(of_runs)
        run = [*self.varied, "run", "variant", "replication"]
        if wanted.is_share:
            parts = [
                rows.filter(pl.col(who).cast(pl.String).is_in(list(entities)))
                .group_by(run, maintain_order=True)
                .agg(
                    pl.col(wanted.column)
                    .map_elements(wanted.holds, return_dtype=pl.Boolean, skip_nulls=False)
                    .mean()
                )
                .select(*run, pl.lit(name).alias("entity"), pl.col(wanted.column).alias("value"))
                for name, entities in (groups_of(of_runs, wanted, of) if rows.height else {}).items()
            ]
            if parts:
                return pl.concat(parts)
        frame = rows.select(
            *self.varied,
            "run",
            "variant",
            "replication",
            pl.col(who).cast(pl.String).alias("entity"),
            pl.col(wanted.column).cast(pl.Float64).alias("value"),
        )
        frame = frame.filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
        if of is None or not frame.height:
            return frame
        selected = members(of_runs, wanted, of)
        frame = frame.filter(pl.col("entity").is_in(list(selected)))
        if of in selected:
            return frame
        mean = frame.group_by(run, maintain_order=True).agg(pl.col("value").mean())
        return mean.select(*run, pl.lit(of).alias("entity"), "value")

    def unit(self, metric: str) -> str:
        """Returns the unit of a metric, ``"1"`` for a number without one."""
        wanted = Metric(metric)
        return "1" if wanted.is_share else self.store.units(wanted.table).get(wanted.column, "1")

    def shown_unit(self, metric: str) -> tuple[str, float]:
        """Returns the unit in which tables, figures and exports show a metric, and its size in the
        unit of the values. Quantities of flows have the same unit in all tables. Other quantities
        have the most readable unit for the greatest value of the campaign."""
        if Metric(metric).is_share:
            return "%", 0.01
        values = self.values(metric)["value"].drop_nulls().drop_nans()
        greatest = float(values.abs().max() or 0.0)  # type: ignore[arg-type]
        return display_unit(Metric(metric).column, self.unit(metric), greatest)

    def means(self, metric: str, of: str | None = None, by: Sequence[str] | None = None) -> pl.DataFrame:
        """Returns means over replications: the varied keys (or only ``by``), ``entity``, ``count``
        (of replications), ``mean``, and ``half_width`` of the confidence interval, which is NaN for
        a single replication.

        The interval is Student's, for independent values that are about normal. With ``by``, the
        values of a replication in all variants of a row are averaged into one value.
        """
        keys = [*(self.varied if by is None else by), "entity"]
        return self._means(self._together(metric, of, keys), keys)

    def differences(
        self, metric: str, against: str, of: str | None = None, by: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Returns differences of a metric from the variant ``against``, which is a value or label
        of a varied key (``"KEY=VALUE"`` if several keys have this value). The columns are those of
        :meth:`means` for the differences, and ``base``, the mean of the subtracted variant.

        Each variant is compared, replication by replication, with the variant that has the same
        values of the other keys. With common random numbers, replications of the same number use
        the same random numbers, so the interval is that of the paired differences (Law and Kelton,
        "Simulation Modeling and Analysis", 10.2.1). A replication counts if both variants have a
        value. Raises :class:`bentpipe.InputError`.
        """
        import polars as pl

        key, value = self._base(against)
        keys = [*(self.varied if by is None else by), "entity"]
        if key not in keys:
            raise InputError(
                f'--against {against}: the table averages over "{key}"; add --by {key}, or choose a value '
                "of a key of --by"
            )
        together = self._together(metric, of, keys)
        rest = [one for one in keys if one != key]
        base = together.filter(pl.col(key) == value).select(
            *rest, "replication", pl.col("value").alias("base")
        )
        paired = together.filter(pl.col(key).ne_missing(value)).join(
            base, on=[*rest, "replication"], how="inner", nulls_equal=True, maintain_order="left"
        )
        found = self._means(paired.with_columns(pl.col("value") - pl.col("base")), keys)
        bases = paired.group_by(keys, maintain_order=True).agg(pl.col("base").mean())
        return found.with_columns(bases["base"])

    def _base(self, against: str) -> tuple[str, Any]:
        """Returns the varied key and the value to which ``against`` refers."""
        name, equals, text = against.rpartition("=")
        keys = [self.key(name.strip())] if equals else self.varied
        known: dict[str, list[tuple[str, Any]]] = {}
        for key in keys:
            values = self.index[key].drop_nulls().unique(maintain_order=True).to_list()
            labels = value_labels(values)
            for value in values:
                for word in {labels[str(value)], str(value)}:
                    known.setdefault(word, []).append((key, value))
        found = known.get((text if equals else against).strip(), [])
        if not found:
            raise unknown("variant", against, [name for name in known if "\n" not in name], "--against")
        if len(found) > 1:
            several = ", ".join(f"{key}={against}" for key, _ in found)
            raise InputError(f"--against {against}: several keys have this value; write one of {several}")
        return found[0]

    def _together(self, metric: str, of: str | None, keys: Sequence[str]) -> pl.DataFrame:
        """Returns one value per replication for each combination of these keys."""
        import polars as pl

        values = self.values(metric, of)
        return values.group_by(*keys, "replication", maintain_order=True).agg(pl.col("value").mean())

    def _means(self, together: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
        """Returns means over replications with their intervals."""
        import polars as pl

        confidence = float(self.settings["confidence"])
        rows = []
        for group, part in together.group_by(keys, maintain_order=True):
            rows.append([*group, part.height, *mean_of(part["value"].to_list(), confidence)])
        schema: dict[str, Any] = {key: together.schema[key] for key in keys} | {
            "count": pl.Int64,
            "mean": pl.Float64,
            "half_width": pl.Float64,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")


def open_campaign(folder: str | Path) -> Campaign:
    """Returns the campaign in a folder, finished or still running. Raises
    :class:`bentpipe.InputError`."""
    return Campaign(folder)
