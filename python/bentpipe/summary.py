"""A scenario and its paths in a few lines of text, as ``bentpipe check`` prints them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .facts import Course, Facts, Flow, Hop, Queue
    from .scenarios import Scenario


def explain(scenario: Scenario, known: Facts) -> list[str]:
    """Returns the lines of a scenario's summary."""
    data = scenario.data
    lines = [f"valid: {scenario.name or scenario.source}"]
    properties = {
        "duration": str(data.get("duration", "-")),
        "seed": str(data.get("seed", "-")),
        "nodes": f"{len(scenario.nodes)} ({_listed(scenario.nodes)})",
        "stages": str(scenario.stages),
        "networks": _listed(
            [f"{name} ({network['kind']})" for name, network in data.get("network", {}).items()]
        ),
        "memory": _memory(scenario.memory),
    }
    lines += [f"  {name:<10}{text}" for name, text in properties.items()]
    for flow, paths in zip(data.get("flow", []), known["flows"], strict=True):
        transport = flow["transport"]
        how = " ".join(filter(None, [transport["kind"], transport.get("congestion")]))
        lines.append(
            f"  {'flow':<10}{flow['name']}: {flow['app']['kind']} over {how}, {flow['from']} -> {flow['to']}"
        )
        lines += [f"  {'':<10}{line}" for line in _paths(paths)]
    lines += [f"  {'queue':<10}{line}" for line in _queues(known)]
    return lines


def _memory(need: dict[str, Any]) -> str:
    """What an emulation holds in memory while all links are full.

    >>> _memory({"bytes": 17_750_000_000, "largest": "sat: 10 Gbit/s for 10 s"})
    'an emulation holds up to 17.8 GB (sat: 10 Gbit/s for 10 s)'
    """
    from .quantities import size_text

    most = f" ({need['largest']})" if need["largest"] else ""
    return f"an emulation holds up to {size_text(need['bytes'])}{most}"


def _paths(flow: Flow) -> Iterator[str]:
    """Returns the hops of a flow's packets and of their acknowledgments or feedback."""
    for label, hops in (("there", flow["there"]), ("back", flow["back"])):
        if hops is None:
            yield f"{label}: no path"
        elif label == "there" or flow["answer_bytes"]:
            yield from (f"{label}: {_hop(hop)}" for hop in hops)


def _hop(hop: Hop) -> str:
    from .quantities import number, rate_text, span_text

    parts = [
        f"{hop['from']} -> {hop['to']} over {hop['network']}",
        _course(hop["rate_bit_s"], rate_text),
        _course(hop["delay_s"], span_text),
        queue_text(hop["queue"]),
    ]
    if hop["loss"]:
        parts.append(f"loss {number(hop['loss'])}")
    if hop["dama"] is not None:
        dama = hop["dama"]
        response = f"L = {dama['response_superframes']} superframes of {span_text(dama['superframe_s'])}"
        parts.append(f"{dama['scheme']}, {response}")
    if hop["flows"] > 1:
        parts.append(f"shared by {hop['flows']} flows")
    changes = [f"{change['what']} at {span_text(change['at_s'])}" for change in hop["changes"]]
    return ", ".join([*parts, *hop["notes"], *hop["queue"]["notes"], *changes])


def _course(course: Course, text: Callable[[float], str]) -> str:
    if course["least"] == course["greatest"]:
        return text(course["mean"])
    return f"{text(course['least'])} to {text(course['greatest'])} (mean {text(course['mean'])})"


def queue_text(queue: Queue) -> str:
    """Returns a queue with its limits.

    >>> queue_text({"kind": "drop-tail", "packets": 1000, "bytes": None, "rate": None, "notes": []})
    'drop-tail queue of 1000 packets'
    """
    from .quantities import size_text

    limits = [
        *([] if queue["packets"] is None else [f"{queue['packets']} packets"]),
        *([] if queue["bytes"] is None else [size_text(queue["bytes"])]),
    ]
    if not limits:
        return f"{queue['kind']} queue" + ("" if queue["kind"] == "unlimited" else " without a limit")
    return f"{queue['kind']} queue of {' and '.join(limits)}"


def _queues(known: Facts) -> Iterator[str]:
    """Returns each queue with its drain time when full; consecutive identical parts share a line."""
    from itertools import groupby

    from .quantities import rate_text, span_text

    lines = []
    for queue in known["queues"]:
        drains = queue["drains_in_s"]
        time = "" if drains is None else f", {span_text(drains)} at {rate_text(queue['rate_bit_s'])}"
        lines.append((queue["part"], queue_text(queue["queue"]) + time))
    for text, parts in groupby(lines, key=lambda line: line[1]):
        yield f"{_listed([part for part, _ in parts])}: {text}"


def _listed(names: list[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return f"{shown}, ..." if len(names) > most else shown or "none"
