"""Prediction errors: models fitted to one measurement predict the loads of another measurement.

The predicted loads were not used in the fit: another congestion control, pages, calls. Each error
is reported with the differences between repeated measurements of the same loads on the same path,
because no path repeats exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bentpipe.errors import InputError
from bentpipe.quantities import base_value

from . import models

if TYPE_CHECKING:
    from pathlib import Path

    from bentpipe.results.runs import Run

#: Number of simulations per prediction. The prediction is their median.
RUNS: Final = 5
#: Maximum median of the jitter that is attributed to the hosts, in seconds.
HOST_S: Final = 0.2e-3
#: Units of quantities other than times, for texts.
UNITS: Final = {"goodput": (1e3, "kbit/s"), "delivered": (1e3, "kB")}
#: Compared quantiles of delays, in per cent.
QUANTILES: Final = (50, 95, 99)


@dataclass(frozen=True)
class Error:
    """The values of a quantity of a load: measured, predicted, and from repeated measurements.
    Rates are in bit/s, and times in seconds."""

    flow: str
    quantity: str
    measured: float
    predicted: float
    repeated: tuple[float, ...] = ()

    @property
    def relative(self) -> float:
        """Error of the prediction divided by the measured value."""
        return (self.predicted - self.measured) / self.measured

    @property
    def noise(self) -> tuple[float, ...]:
        """Difference of each repeated measurement, divided by the measured value."""
        return tuple((value - self.measured) / self.measured for value in self.repeated)

    def text(self) -> str:
        """The error as one line of text."""
        size, unit = UNITS.get(self.quantity, (1e-3, "ms"))
        again = ", ".join(f"{100 * one:+.1f} %" for one in self.noise)
        again = again and f"; measured again {again}"
        return (
            f"{self.flow}: {self.quantity} measured {self.measured / size:.4g}, predicted "
            f"{self.predicted / size:.4g} {unit} ({100 * self.relative:+.1f} %{again})"
        )


def quantities(run: Run) -> dict[tuple[str, str], float]:
    """Returns goodput, quantiles of the delay and completion time of each load, by flow and
    quantity.

    Datagrams have the delivered bytes instead: their goodput is averaged until the run's end, which
    depends on the order of the loads. The delay of TCP is the round-trip time of its
    acknowledgments; the delay of datagrams is one-way.
    """
    found: dict[tuple[str, str], float] = {}
    for row in run.flows.to_dicts():
        name = row["flow"]
        if name.split(".")[0] == "probes":
            continue
        transport = row.get("transport")
        if row.get("goodput") and row.get("transactions") is None:
            what = "goodput" if transport == "tcp" else "delivered"
            value = row.get("goodput" if what == "goodput" else "delivered_bytes")
            if value is not None:
                found[name, what] = float(value)
        if len(delay := _delays(run, name)):
            for quantile in QUANTILES:
                found[name, f"delay p{quantile}"] = float(np.nanquantile(delay, quantile / 100))
        elif row.get("delay_p95") is not None and transport == "udp":
            # Simulations have no trace of the return direction of a call.
            found[name, "delay p95"] = float(row["delay_p95"])
        if row.get("transaction_p50") is not None:
            found[name, "completion time"] = float(row["transaction_p50"])
    return found


def _delays(run: Run, flow: str) -> Any:
    for trace, column in (("tcp", "rtt"), ("datagram", "delay")):
        if run.has_trace(trace) and len(values := run.trace(trace, flow)[column].drop_nulls()):
            return values.to_numpy()
    return np.empty(0)


def scenario(fit: Run, other: Run) -> tuple[dict[str, Any], list[str]]:
    """Returns the models fitted to one measurement with the loads of another, and notes on the fit.

    Raises :class:`bentpipe.InputError` if one of them was not measured or had no reply.
    """
    for run in (fit, other):
        models.is_measured(run)
    document, notes = models.scenario(fit)
    return document | {"duration": other.scenario["duration"], "flow": other.scenario["flow"]}, notes


def errors(measured: Run, predicted: Sequence[Run], repeated: Sequence[Run] = ()) -> list[Error]:
    """Returns the errors of the median of predicted runs, with repeated measurements of the same
    plan. Flows are matched by name.

    Raises :class:`bentpipe.InputError` if the runs have no flow in common.
    """
    here, all_runs = quantities(measured), [quantities(run) for run in predicted]
    there = {
        key: float(np.median([own[key] for own in all_runs if key in own])) for own in all_runs for key in own
    }
    again = [quantities(run) for run in repeated]
    found = [
        Error(*key, value, there[key], tuple(own[key] for own in again if key in own))
        for key, value in here.items()
        if value and key in there
    ]
    if not found:
        raise InputError(f"{measured.path} and {predicted[0].path} have no load in common")
    return found


def verdict(found: Sequence[Error]) -> list[str]:
    """Returns sentences on the size of the errors, and on the uses for which the fit must not be
    trusted."""
    sizes = np.abs([one.relative for one in found])
    said = f"Errors of the prediction: median {100 * np.median(sizes):.1f} %, 95th percentile "
    said += f"{100 * np.quantile(sizes, 0.95):.1f} %"
    noise = np.abs([other for one in found for other in one.noise])
    if len(noise):
        said += f"; further measurements differ by {100 * np.median(noise):.1f} % (median)"
    wrong = [one for one in found if abs(one.relative) > max([models.MAX_RESIDUAL, *np.abs(one.noise)])]
    uses = dict.fromkeys(f"{one.quantity} of {one.flow}" for one in wrong)
    if not uses:
        return [f"{said}.", "The prediction can be trusted for these loads."]
    return [f"{said}.", f"Do not trust it for: {'; '.join(uses)}."]


def predicted(document: dict[str, Any], folder: Path, *, emulate: bool = False) -> list[Run]:
    """Runs a scenario of :func:`scenario` and returns the runs; their files are in ``folder``.

    The scenario is simulated :data:`RUNS` times, because a load may take one of several courses by
    chance, such as one more loss in slow start. With ``emulate`` it is emulated once, which takes
    as long as the loads.
    """
    import bentpipe

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "predicted.toml"
    if emulate:
        document = _without_hosts(document)
    file.write_text(models.text_of(document), encoding="utf-8")
    if emulate:
        return [bentpipe.emulate(file, out=folder / "emulated")]
    return [bentpipe.simulate(file, out=folder / f"simulated-{run}", run=run) for run in range(RUNS)]


def _without_hosts(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a scenario without the small jitter of hosts, which an emulation adds by itself."""
    if "link" not in document:
        return document
    ((link),) = document["link"]

    def side(table: dict[str, Any]) -> dict[str, Any]:
        values = table.get("jitter", {}).get("values", ["0 s"])
        small = base_value(values[len(values) // 2]) < HOST_S
        return {key: value for key, value in table.items() if key != "jitter" or not small}

    return document | {"link": [side(link) | {"return": side(link["return"])}]}
