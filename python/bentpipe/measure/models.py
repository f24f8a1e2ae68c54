"""Fits models to a measurement: link, queue, error process and access scheduler. The result is a
scenario with residuals.

The scenario has the flows of the measurement. It is simulated once. The differences from the
measurement are written into the file as comments, with the uses for which the fit can be trusted.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bentpipe import ScenarioError
from bentpipe.errors import InputError
from bentpipe.quantities import base_value

from .fitting import division
from .slots import evened

if TYPE_CHECKING:
    from bentpipe.results.runs import Run

#: Compared quantities of flows, each with the factor and the name of its unit in texts.
COMPARED: Final = {
    "goodput": (1e3, "kbit/s"),
    "rtt_p50": (1e-3, "ms"),
    "rtt_p95": (1e-3, "ms"),
    "delay_mean": (1e-3, "ms"),
    "delay_p95": (1e-3, "ms"),
    "retransmissions": (1, ""),
}
#: Relative difference above which the fit must not be trusted for a quantity.
MAX_RESIDUAL: Final = 0.15
#: Minimum number of losses for fitting more than a probability.
MIN_LOSSES: Final = 10
#: Minimum number of probes without load for estimating jitter.
MIN_PROBES: Final = 40
#: Number of quantiles that describe the jitter.
QUANTILES: Final = 51
#: Highest of these quantiles. Longer delays are ignored: a busy host causes them, and they affect
#: several packets together.
HIGHEST: Final = 0.99
#: Minimum number of datagrams of a load for estimating its losses.
MIN_DATAGRAMS: Final = 200
#: Kinds of loads whose datagrams are used to fit the error process.
KINDS_FOR_LOSSES: Final = ("udp", "burst", "impulses", "call")
#: Maximum number of slots of a frame of a scenario.
MAX_SLOTS: Final = 4096
#: Number of slots of the smallest assignment of the constant rate in a fitted access network.
SLOTS: Final = 4


@dataclass(frozen=True)
class Residual:
    """A quantity of a flow, measured and fitted. ``relative`` is the difference divided by the
    measured value."""

    flow: str
    quantity: str
    measured: float
    fitted: float

    @property
    def relative(self) -> float | None:
        """Relative difference; None if the measured value is missing or zero."""
        return (self.fitted - self.measured) / self.measured if self.measured else None

    def text(self) -> str:
        """The residual as one line of text."""
        size, unit = COMPARED[self.quantity]
        part = "" if self.relative is None else f" ({100 * self.relative:+.1f} %)"
        values = f"measured {self.measured / size:.4g}, fitted {self.fitted / size:.4g} {unit}".rstrip()
        return f"{self.flow}: {self.quantity} {values}{part}"


@dataclass(frozen=True)
class Fitted:
    """A scenario fitted to a measurement, its simulation, and the residuals."""

    #: Notes on the fit, and the scenario.
    lines: list[str]
    body: str
    document: dict[str, Any]
    run: Run
    residuals: list[Residual]

    @property
    def text(self) -> str:
        """The scenario, with the notes as comments."""
        return "".join(f"# {line}".rstrip() + "\n" for line in self.lines) + self.body


def fitted(run: Run, folder: Path) -> Fitted:
    """Fits models to a measured run and simulates them in ``folder``. Returns the fit.

    Raises :class:`bentpipe.InputError` if the run was not measured or had no reply.
    """
    import bentpipe

    is_measured(run)
    document, notes = scenario(run)
    body = text_of(document)
    sent, parts = _as_sent(document, run)
    simulated = bentpipe.simulate(_kept(text_of(sent), folder), out=folder / "simulated")
    residuals = compared(run, simulated, parts)
    doubtful = [one for one in residuals if one.relative is None or abs(one.relative) > MAX_RESIDUAL]
    lines = [f"Models fitted to the measured run {run.path.name}.", *notes]
    lines += ["", "Residuals, of one simulation:", *(f"  {one.text()}" for one in residuals), ""]
    lines.append(
        "Do not trust it for: " + "; ".join(f"{one.quantity} of {one.flow}" for one in doubtful) + "."
        if doubtful
        else f"All of these agree within {100 * MAX_RESIDUAL:.0f} %. Other workloads may differ more."
    )
    return Fitted(lines, body, document, simulated, residuals)


def is_measured(run: Run) -> None:
    """Raises :class:`bentpipe.InputError` unless a run was measured and had replies."""
    if run.provenance.get("instrument") != "measure" or "direction" not in run.tables:
        raise InputError(f"{run.path} was not measured or had no reply; allowed: a run of `bentpipe measure`")


def text_of(document: dict[str, Any]) -> str:
    """Returns a fitted scenario as TOML."""
    from bentpipe.scenario.scenarios import toml_text

    document = dict(document)
    link, network = document.pop("link", None), document.pop("network", None)
    flows = document.pop("flow")
    parts: list[tuple[str, dict[str, Any]]] = [("", document)]
    if link is not None:
        (whole,) = link
        side = {key: value for key, value in whole.items() if key != "return"}
        back = whole["return"]
        parts += [("[[link]]\n", side), ("[link.return]\n", back)]
    else:
        parts += [(f"[network.{name}]\n", table) for name, table in network.items()]
    parts += [("[[flow]]\n", flow) for flow in flows]
    return "\n".join(f"{head}{toml_text(table).rstrip()}\n" for head, table in parts)


def _kept(body: str, folder: Path) -> Path:
    file = folder / "fitted.toml"
    file.write_text(body, encoding="utf-8")
    return file


def scenario(run: Run) -> tuple[dict[str, Any], list[str]]:
    """Returns the fitted scenario, and notes for the user."""
    document = {key: run.scenario[key] for key in ("name", "duration", "link", "flow")}
    (link,) = document["link"]
    notes = [f"{division(run)}."]
    for direction, side in (("up", link), ("down", link["return"])):
        error, said = _error(run, direction)
        if error is not None:
            side["error"] = error
        notes += [said, *_queue(run, direction)]
    network, said_of = _network(run, link)
    if network is None and (handovers := _handovers(run, link)) is not None:
        notes.append(handovers)
    elif network is None:
        notes += _jitter(run, link)
    notes += said_of
    if network is not None:
        del document["link"]
        document["network"] = {"access": network}
    return document, notes


def _queue(run: Run, direction: str) -> list[str]:
    """Returns notes on the fitted queue of a direction if it differs from the measured queue."""
    rows = run.table("bottleneck").to_dicts() if "bottleneck" in run.tables else []
    own = [row for row in rows if row["direction"] == direction and row["overflowed"]]
    policies = {row.get("policy") for row in own}
    stands = "it is replaced by a drop-tail queue of the measured depth"
    if policies & {"aqm", "fair-queuing"}:
        kind = "fair queuing" if "fair-queuing" in policies else "active queue management"
        return [
            f"Queue {direction}: {kind} was found, but its parameters cannot be determined; {stands}.",
            f"Do not trust it for: delay and losses {direction} of other loads that fill the queue.",
        ]
    if own and policies == {None}:
        return [f"Queue {direction}: its policy cannot be determined; {stands}."]
    return []


def _error(run: Run, direction: str) -> tuple[dict[str, Any] | None, str]:
    """Returns the error process of a direction, fitted to the datagrams of loads that did not
    overflow the queue. Otherwise it is a loss probability from the probes."""
    from bentpipe.frames import fit_all
    from bentpipe.frames.outcomes import Outcomes

    overflowed = set()
    if "bottleneck" in run.tables:
        table = run.table("bottleneck")
        overflowed = set(table.filter(table["overflowed"])["load"].to_list())
    if run.has_trace("load"):
        rows = run.trace("load")
        for (name,), part in rows.group_by(["flow"], maintain_order=True):
            lost = ~part.sort("sequence")["arrived"].to_numpy()
            if not str(name).startswith(KINDS_FOR_LOSSES) or f"-{direction}-" not in str(name):
                continue
            if name in overflowed or len(lost) < MIN_DATAGRAMS:
                continue
            said = f"{lost.sum()} of {len(lost)} datagrams of {name}"
            if lost.sum() < MIN_LOSSES:
                error = (
                    {"kind": "packet", "probability": float(lost.mean())} if lost.any() else {"kind": "none"}
                )
                return error, f"Losses {direction}: a probability, of {said}; too few for another process."
            best = min(fit_all(Outcomes.of(lost.astype(np.uint8))), key=lambda fit: fit.bic)
            return best.error, (
                f"Losses {direction}: {best.process}, of {said}, mean burst {best.mean_burst:.2f}."
            )
    return None, f"Losses {direction}: a probability, from the probes without load."


def _jitter(run: Run, link: dict[str, Any]) -> list[str]:
    """Adds the jitter of the probes without load to both directions of a link. Returns notes for
    the user."""
    rows = run.trace("probe")
    rest = ((rows["train"] < 0) & rows["quiet"] & rows["replied"]).to_numpy()
    sent, size = rows["time"].to_numpy(), rows["size"].to_numpy()
    echoes = run.trace("icmp")["time"].to_numpy() if run.has_trace("icmp") else np.empty(0)
    middle = {
        name: ((rows[f"{name}_low"] + rows[f"{name}_high"]) / 2).to_numpy()
        for name in ("forward", "backward")
    }
    usual = float(np.median(middle["forward"][rest])) if rest.any() else 0.0
    found = []
    for direction, name, side in (("up", "forward", link), ("down", "backward", link["return"])):
        # Arrival of each packet at the link; packets without a reply may also have reached the
        # return link.
        came = sent if direction == "up" else sent + np.nan_to_num(middle["forward"], nan=usual)
        pings = echoes if direction == "up" else echoes + usual
        own = rest & _unhindered(came, size, pings, base_value(side["rate"]))
        if own.sum() < MIN_PROBES:
            return []
        delay = evened(middle[name][own], size[own])
        found.append((direction, side, np.quantile(delay - delay.min(), np.linspace(0, HIGHEST, QUANTILES))))
    said = []
    for direction, side, values in found:
        side["jitter"] = {"kind": "quantiles", "values": [f"{1e6 * value:.1f} us" for value in values]}
        said.append(f"{direction} {1e3 * values[QUANTILES // 2]:.2f} and {1e3 * values[-1]:.2f} ms")
    return [f"Jitter at rest, median and 99th percentile: {', '.join(said)}; each packet draws its own."]


def _unhindered(came: Any, size: Any, pings: Any, rate: float) -> Any:
    """Returns true for each probe that did not wait behind other probes or echo requests. Such
    waits are queueing, not jitter.

    A queue that serves ``rate`` bit/s holds the packets that arrived before and have not been sent
    (D. V. Lindley, "The theory of queues with a single server", 1952). Echo requests have the size
    of the smallest probe.

    >>> _unhindered(np.array([0.0, 0.5, 3.0]), np.array([125, 125, 125]), np.array([2.9]), 1e3).tolist()
    [True, False, False]
    """
    at = np.concatenate([came, pings])
    sending = 8 * np.concatenate([size, np.full(len(pings), size.min(initial=1 << 30))]) / rate
    free, alone = -np.inf, np.zeros(len(at), dtype=bool)
    for place in np.argsort(at, kind="stable"):
        alone[place] = at[place] >= free
        free = max(free, at[place]) + sending[place]
    return alone[: len(came)]


def _handovers(run: Run, link: dict[str, Any]) -> str | None:
    """Adds the delay levels of the measured slots to both directions of a link, repeated after the
    last one. Returns a note for the user, if there are slots."""
    if "slots" not in run.tables:
        return None
    rows = run.table("slots").to_dicts()
    least, period = min(row["round_trip"] for row in rows), rows[0]["period"]
    levels = [(row["begin"], base_value(link["delay"]) + (row["round_trip"] - least) / 2) for row in rows]
    repeat: dict[str, Any] = {}
    if period is not None:
        # The first slot began before the measurement. Its first part follows the last slot, so that
        # the levels repeat in the same grid.
        first = levels[1][0] % period or period
        levels.append((levels[-1][0] + period, levels[0][1]))
        repeat = {"repeat": f"{levels[-1][0] - first + period:.4f} s"}
    samples = "".join(f"{begin:.4f},{delay:.6f}\n" for begin, delay in levels)
    trace = {"samples": f"time,delay\n{samples}"} | repeat
    link["trace"], link["return"]["trace"] = trace, dict(trace)
    if period is None:
        return f"Handovers: {len(rows)} levels of delay, without a regular grid; the last level is kept."
    return f"Handovers: slots of {period:.3f} s, {len(rows)} levels of delay, repeated."


def _network(run: Run, link: dict[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """Returns the access network estimated from the impulses of a run, and notes. The notes name
    the uses for which it must not be trusted for any residuals."""
    import bentpipe

    if "scheduler" not in run.tables:
        return None, []
    rows = [row for row in run.table("scheduler").to_dicts() if row["direction"] == "up"]
    if not rows or rows[0]["scheme"] in (None, "CRA") or rows[0]["superframe"] is None:
        return None, []
    (row, *_) = rows
    superframe, rate = row["superframe"], base_value(link["rate"])
    doubtful = ["queues of the return link that overflow", "other terminals on the same return link"]
    filled = "bottleneck" in run.tables and "up" in run.table("bottleneck")["direction"].to_list()
    if not filled and row.get("rate"):
        # No load has filled the return link: its rate is at least the rate granted to an impulse.
        rate = row["rate"]
        doubtful.append(
            f"rates above {rate / 1e3:.0f} kbit/s on the return link, the highest rate granted to an impulse"
        )
    # Slots of whole bytes; the constant rate uses whole slots.
    smallest = row["cra"] or rate / 32
    slot = max(16, round(smallest * superframe / 8 / SLOTS), int(rate * superframe / 8 / MAX_SLOTS) + 1)
    slots = max(SLOTS, round(rate * superframe / (8 * slot)))
    slot_rate = round(8 * slot / superframe)
    constant = SLOTS if row["cra"] else 0
    dama: dict[str, Any] = {
        "scheme": row["scheme"].rpartition(" ")[2].lower(),
        "cra": f"{constant * slot_rate} bit/s",
    }
    if row["response"]:
        dama["response"] = row["response"]
    else:
        doubtful.append("the time from a request to its capacity, which the impulses did not determine")
    network = {
        "kind": "dvb-rcs",
        "propagation": link["delay"],
        "terminals": ["here"],
        "gateway": "there",
        "forward": {key: link["return"][key] for key in ("rate", "queue", "error") if key in link["return"]},
        "return": {
            "rate": f"{slots * slot_rate} bit/s",
            "frames_per_superframe": 1,
            "slots_per_frame": slots,
            "slot_bytes": slot,
            **({"error": link["error"]} if "error" in link else {}),
            "dama": dama,
        },
    }
    try:
        with tempfile.TemporaryDirectory() as folder:
            from bentpipe.scenario.scenarios import toml_text

            text = f'name = "n"\nduration = "1 s"\n[network.access]\n{toml_text(network)}\n'
            bentpipe.load(_kept(text, Path(folder)))
    except ScenarioError as error:
        problem = str(error).splitlines()[0]
        return None, [
            f"An access network with {row['scheme']} was found, but no scenario can represent it: {problem}",
            f"Do not trust it for: the wait for capacity of {row['scheme']}.",
        ]
    return network, [
        f"Access by {row['scheme']}, superframe {1e3 * superframe:.3f} ms, from impulses; the number of slots is "
        "a guess.",
        f"Do not trust it for: {'; '.join(doubtful)}.",
    ]


def _as_sent(document: dict[str, Any], run: Run) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Returns a scenario in which each impulse of a measured run is a flow that starts at the time
    of the impulse, and the names of these flows by load. The delay of an impulse depends on the
    time since the previous impulse, which the regular source in the written scenario does not
    reproduce."""
    flows: list[dict[str, Any]] = []
    parts: dict[str, list[str]] = {}
    for flow in document["flow"]:
        name = flow["name"]
        if not name.startswith("impulses-") or not run.has_trace("load"):
            flows.append(flow)
            continue
        app = {key: base_value(flow["app"][key]) for key in ("on", "rate", "datagram")}
        packets = max(1, round(app["on"] * app["rate"] / (8 * app["datagram"])))
        rows = run.trace("load", name).sort("sequence")
        _, first = np.unique(rows["sequence"].to_numpy() // packets, return_index=True)
        begins = rows["time"].to_numpy()[first]
        parts[name] = [f"{name}-{number}" for number in range(1, len(begins) + 1)]
        once = flow["app"] | {"off": "7 d"}
        flows += [
            flow | {"name": part, "start": f"{1e9 * max(0.0, begin):.0f} ns", "app": once}
            for part, begin in zip(parts[name], begins, strict=True)
        ]
    return document | {"flow": flows}, parts


def _together(simulated: Run, parts: list[str], measured: dict[str, Any]) -> dict[str, Any]:
    """Returns the row of a load of impulses, which are separate flows in the simulation. The
    goodput is averaged over the duration of the measured load."""
    rows = simulated.trace("datagram")
    delay = rows.filter(rows["flow"].is_in(parts))["delay"].to_numpy()
    flows = simulated.flows
    delivered = flows.filter(flows["flow"].is_in(parts))["delivered_bytes"].sum()
    found = {"goodput": measured["goodput"] * delivered / max(1, measured["delivered_bytes"])}
    if len(delay):
        found |= {"delay_mean": float(delay.mean()), "delay_p95": float(np.quantile(delay, 0.95))}
    return found


def compared(run: Run, simulated: Run, parts: dict[str, list[str]] | None = None) -> list[Residual]:
    """Returns the residuals of the flows that both runs have. ``parts`` are loads that consist of
    several flows in the simulation."""
    rows = [{row["flow"]: row for row in one.flows.to_dicts()} for one in (run, simulated)]
    for name, own in (parts or {}).items():
        rows[1][name] = _together(simulated, own, rows[0][name])
    found = []
    for name, measured in rows[0].items():
        other = rows[1].get(name, {})
        for quantity in COMPARED:
            a, b = measured.get(quantity), other.get(quantity)
            if isinstance(a, int | float) and isinstance(b, int | float) and np.isfinite([a, b]).all():
                found.append(Residual(name, quantity, float(a), float(b)))
    return found
