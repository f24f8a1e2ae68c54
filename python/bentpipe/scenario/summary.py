"""The summary of a scenario that ``bentpipe check`` prints: its flows, its paths, and warnings
about unusual values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from bentpipe.errors import in_order
from bentpipe.quantities import base_value, listed, number, rate_text, size_text, span_text

from .facts import acm_of, carried_bytes, dama_of, orbit_of
from .handshakes import given_up
from .outages import outages_of
from .resumption import resumptions
from .topology import drawing, ranges

if TYPE_CHECKING:
    from .facts import Acm, Course, Facts, Flow, Hop, Queue
    from .scenarios import Scenario

#: Factor between a queue's size and a bandwidth-delay product that causes a warning.
WARNING_RATIO: Final = 4.0
#: Maximum fraction of the rate of every hop at which a network counts as unloaded.
MAX_UNLOADED: Final = 0.05


@dataclass
class Row:
    """A part of paths (one direction of a link or network) in numbers, for the largest packets that
    pass it. ``hops`` are the hops of such packets, and ``rtts_s`` the round-trip times of the flows
    over the part."""

    part: str
    hops: list[Hop]
    packet_bytes: int
    rtts_s: list[float] = field(default_factory=list)
    acms: list[Acm] = field(default_factory=list)

    @property
    def hop(self) -> Hop:
        """The first hop over this part."""
        return self.hops[0]

    @property
    def rtt_s(self) -> float:
        """The longest round-trip time over this part, without queueing."""
        return max(self.rtts_s)

    @property
    def product_bytes(self) -> float:
        """The bandwidth-delay product of the hop in bytes."""
        return self.hop["rate_bit_s"]["mean"] * self.rtt_s / 8

    @property
    def queue_bytes(self) -> float:
        """The size of the queue in bytes; infinite without a limit."""
        queue = self.hop["queue"]
        limits = [None if queue["packets"] is None else queue["packets"] * self.packet_bytes, queue["bytes"]]
        return min((limit for limit in limits if limit is not None), default=math.inf)

    def cells(self) -> list[str]:
        """Returns the part as cells of a table, without its name; the last one is empty without
        ACM."""
        rate = self.hop["rate_bit_s"]["mean"]
        held = self.queue_bytes
        full = math.isinf(held) or rate <= 0
        return [
            _course(_over([hop["rate_bit_s"] for hop in self.hops]), rate_text),
            _course(_over([hop["delay_s"] for hop in self.hops]), span_text),
            span_text(self.rtt_s),
            size_text(self.product_bytes),
            "no limit" if math.isinf(held) else size_text(held),
            "-" if full else span_text(8 * held / rate),
            _modcods(self.acms),
        ]


#: Assumed width of a terminal in characters.
_WIDTH: Final = 80

#: Maximum number of characters of a range in one line of a table. Longer ranges take two lines.
_NARROW: Final = 12

#: Headings of the name and of the cells of :meth:`Row.cells`.
COLUMNS: Final = ("part", "rate", "delay", "RTT", "BDP", "queue", "full\nqueue", "MODCOD,\nEs/N0")


def explain(scenario: Scenario, known: Facts) -> list[str]:
    """Returns the lines of a scenario's summary, without its table of parts."""
    data = scenario.data
    lines = [f"valid: {scenario.name or scenario.source}"]
    properties = {
        "duration": str(data.get("duration", "-")),
        "seed": str(data.get("seed", "-")),
        "nodes": f"{len(scenario.nodes)} ({ranges(in_order(scenario.nodes))})",
        "stages": str(scenario.stages),
        "networks": listed(
            [f"{name} ({network['kind']})" for name, network in data.get("network", {}).items()]
        )
        or "none",
    }
    if scenario.memory["bytes"]:
        properties["memory"] = _memory(scenario.memory)
    for name, text in properties.items():
        lines += _wrapped(name, text)
    for label, line in _first("topology", drawing(scenario)):
        lines += _wrapped(label, line, len(line) - len(line.lstrip(" |`-")))
    tables: dict[str, list[tuple[dict[str, Any], Flow]]] = {}
    for flow, paths in zip(scenario.flows, known["flows"], strict=True):
        tables.setdefault(flow.get("group") or flow["name"], []).append((flow, paths))
    for name, members in tables.items():
        (flow, paths), count = members[0], len(members)
        transport = flow["transport"]
        how = " ".join(filter(None, [transport["kind"], _short(transport.get("congestion"))]))
        ends = [ranges(list(dict.fromkeys(one[end] for one, _ in members)), 2) for end in ("from", "to")]
        about = f"{flow['app']['kind']} over {how}, {' -> '.join(ends)}"
        several = (
            f" (multicast to {count})" if "multicast" in flow else f" ({count} flows)" if count > 1 else ""
        )
        lines += _wrapped("flow", f"{name}{several}: {about}")
        for line in _paths(paths):
            lines += _wrapped("", line)
    rest = (*_proxies(scenario, known), *_outages(scenario, known), *_emulations(scenario))
    for label, line in rest:
        lines += _wrapped(label, line)
    return lines


def _emulations(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yields the parts that the clocks real and kernel do not apply."""
    flows, refused, modelled = scenario.simulated_only
    if refused:
        yield "emulation", f"clocks real and kernel refuse {', '.join(refused)}"
        return
    groups = {flow["name"]: flow.get("group") or flow["name"] for flow in scenario.flows}
    lacking: dict[tuple[str, ...], dict[str, None]] = {}
    for name, keys in flows:
        lacking.setdefault(tuple(keys), {})[groups.get(name, name)] = None
    for unapplied, names in lacking.items():
        lost = ", ".join(unapplied)
        yield "emulation", f"clocks real and kernel do not apply {lost} of {listed(list(names))}"
    if modelled:
        names = dict.fromkeys(groups.get(name, name) for name in modelled)
        yield "emulation", f"clocks real and kernel use models at the ends of {listed(list(names))}"


def _proxies(scenario: Scenario, known: Facts) -> Iterator[tuple[str, str]]:
    """Yields a description of each proxy: the mechanism, the flows and, for a split, the congestion
    control of each side."""
    for proxy in scenario.data.get("proxy", []):
        mechanism = proxy["mechanism"]
        name = f"{proxy['name']}: {mechanism['kind']} at {proxy['node']}"
        if not proxy.get("enabled", True):
            yield "proxy", f"{name}, switched off (enabled = false)"
            continue
        served = [
            (flow, paths)
            for flow, paths in zip(scenario.flows, known["flows"], strict=True)
            if any(one["name"] == proxy["name"] for one in paths["proxies"])
        ]
        names = list(dict.fromkeys(flow.get("group") or flow["name"] for flow, _ in served))
        yield "proxy", f"{name}, serves {listed(names) or 'no flow'}"
        if mechanism["kind"] in ("dtn", "split"):
            sides = dict.fromkeys(
                f"over {part}: {_side(mechanism, part, flow)}"
                for flow, paths in served
                for hops in (paths["there"], paths["back"])
                for part in (hop["network"] for hop in hops or [] if hop["from"] == proxy["node"])
            )
            yield from (("", side) for side in sides)


def _side(mechanism: Mapping[str, Any], part: str, flow: Mapping[str, Any]) -> str:
    """Returns the congestion control that a proxy uses over a part of the network, or the size of
    its bundles."""
    if part == mechanism.get("over"):
        return f"bundles of at most {mechanism['block']}"
    own = mechanism.get("sides", {}).get(part, mechanism["transport"]).get("congestion")
    return f"{_short(own or flow['transport']['congestion'])}{'' if own else ' (of the flow)'}"


def _outages(scenario: Scenario, known: Facts) -> Iterator[tuple[str, str]]:
    """Yields the outages: the parts, the times, and the flows over them, groups by name."""
    groups = {flow["name"]: flow.get("group") or flow["name"] for flow in scenario.flows}
    for outage in outages_of(scenario, known["flows"]):
        names = list(dict.fromkeys(groups[name] for name in outage.flows))
        of = f" (flows: {ranges(names)})" if names else " (no flow)"
        yield "outage", f"{ranges(list(outage.parts))}: {outage.when}{of}"


def _wrapped(label: str, text: str, more: int = 2) -> list[str]:
    r"""Returns a text after its label, in lines that fit into a terminal. All lines but the first
    are indented by ``more``.

    >>> print(*_wrapped("flow", "up: bulk over tcp cubic, " + "a long way, " * 5), sep="\n")
      flow      up: bulk over tcp cubic, a long way, a long way, a long way, a long
                  way, a long way,
    """
    return wrap(
        text,
        _WIDTH,
        initial_indent=f"  {label:<10}",
        subsequent_indent=" " * (12 + more),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _first(label: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for index, line in enumerate(lines):
        yield ("" if index else label), line


def _short(congestion: str | None) -> str | None:
    """Returns the name of a congestion control; None for source code."""
    return "of its own" if congestion is not None and "\n" in congestion else congestion


def parts(known: Facts) -> list[Row]:
    """Returns the parts of all paths of data and answers, in the order of the flows. Directions
    without packets are omitted."""
    rows: dict[str, Row] = {}
    for flow in known["flows"]:
        there, back = flow["there"] or [], flow["back"] or []
        rtt = sum(hop["delay_s"]["mean"] for hop in (*there, *back))
        sizes = ((hop, flow["packet_bytes"]) for hop in there), ((hop, flow["answer_bytes"]) for hop in back)
        for hop, size in (pair for direction in sizes for pair in direction):
            if size == 0:
                continue
            row = rows.setdefault(hop["part"], Row(hop["part"], [], size))
            if size > row.packet_bytes:
                row.hops, row.packet_bytes = [], size
            if size == row.packet_bytes:
                row.hops.append(hop)
            row.rtts_s.append(rtt)
            if acm := acm_of(hop):
                row.acms.append(acm)
    return list(rows.values())


def table(known: Facts) -> tuple[list[str], list[list[str]]]:
    """Returns headings and rows of the table of parts. Consecutive parts that differ only in their
    names share a row. The column of MODCODs exists only with ACM; then the two columns of the queue
    are merged, to fit into a terminal."""
    rows = [
        [ranges([member.part for member in members]), *cells]
        for cells, members in groupby(parts(known), key=Row.cells)
    ]
    if not any(row[-1] for row in rows):
        return list(COLUMNS[:-1]), [row[:-1] for row in rows]
    *numbers, queue, _, modcods = COLUMNS
    return (
        [*numbers, f"{queue},\nfull", modcods],
        [[*row[:-3], "\n".join(row[-3:-1]), row[-1] or "-"] for row in rows],
    )


def cautions(scenario: Scenario, known: Facts) -> list[str]:
    """Returns warnings about probably unintended settings: a path that is too long for a handshake,
    a start that the path does not permit, a queue far from a bandwidth-delay product, a window that
    cannot fill its path, or a network without load."""
    return [
        *_connections(scenario, known),
        *_quick_starts(scenario, known),
        *resumptions(scenario, known),
        *_queues(known),
        *_loads(scenario, known),
    ]


#: Kinds of networks with the key ``quick_start``.
_WITH_QUICK_START: Final = ("dvb-rcs", "dvb-rcs2", "skyplex")


def _quick_starts(scenario: Scenario, known: Facts) -> Iterator[str]:
    """Yields warnings about flows that request a rate by Quick-Start over a path with a part that
    does not support it, so that the request fails (RFC 4782, section 3.3)."""
    links = {link["name"]: link for link in scenario.links}
    networks = scenario.data.get("network", {})

    def supports(hop: Hop) -> bool:
        link = links.get(hop["network"])
        if link is None:
            # Kinds of networks without the key ignore requests.
            network = networks.get(hop["network"], {})
            return "quick_start" in network or network.get("kind") not in _WITH_QUICK_START
        return "quick_start" in (link if link["from"] == hop["from"] else link.get("return", link))

    found: dict[tuple[str, ...], dict[str, None]] = {}
    for flow, paths in zip(scenario.flows, known["flows"], strict=True):
        if not flow["transport"].get("quick_start") or not paths["there"]:
            continue
        lacking = [hop["network"] for hop in paths["there"] if not supports(hop)]
        if lacking:
            found.setdefault(tuple(dict.fromkeys(lacking)), {})[flow.get("group") or flow["name"]] = None
    for parts_, names in found.items():
        yield (
            f"{ranges(list(names))}: quick_start has no effect, because {listed(list(parts_))} "
            f"{'does' if len(parts_) == 1 else 'do'} not support it (no key quick_start)"
        )


def _loaded(flow: Flow) -> Sequence[Hop]:
    """Returns the hops of the direction with most of a flow's data; empty if there is no path."""
    back = flow["answers"] == "stream" or flow["demand_bit_s"] == 0
    return (flow["back"] if back else flow["there"]) or ()


def _queues(known: Facts) -> Iterator[str]:
    """Yields warnings about queues at the slowest hop of flows with loss-based congestion
    control."""
    slowest: dict[str, None] = {}
    for flow in known["flows"]:
        if flow["responsive"] and (hops := _loaded(flow)):
            slowest[min(hops, key=lambda hop: hop["rate_bit_s"]["mean"])["part"]] = None
    for about, members in groupby(
        (row for row in parts(known) if row.part in slowest), key=lambda row: _about_queue(row)
    ):
        if about:
            yield f"{ranges([member.part for member in members])}: {about}"


def _about_queue(row: Row) -> str:
    held, product = row.queue_bytes, row.product_bytes
    if product <= row.packet_bytes or row.hop["queue"]["kind"] not in ("drop-tail", "unlimited"):
        return ""
    if held < product / WARNING_RATIO:
        return (
            f"the queue of {size_text(held)} is {number(held / product, 2)} of a bandwidth-delay product "
            f"({size_text(product)}): the link may be idle after losses"
        )
    if held > WARNING_RATIO * product and math.isfinite(held):
        wait = span_text(8 * held / row.hop["rate_bit_s"]["mean"])
        return (
            f"the queue of {size_text(held)} is {number(held / product, 2)} times a bandwidth-delay product "
            f"({size_text(product)}): packets may wait up to {wait}"
        )
    return ""


def _connections(scenario: Scenario, known: Facts) -> Iterator[str]:
    """Yields warnings about TCP handshakes that end before an answer can arrive, and about windows
    smaller than the bandwidth-delay product of their path."""
    found: dict[str, list[str]] = {}
    for flow, paths in zip(scenario.flows, known["flows"], strict=True):
        transport = flow["transport"]
        if transport["kind"] != "tcp" or not paths["there"] or not paths["back"]:
            continue
        rtt = sum(hop["delay_s"]["mean"] for hop in (*paths["there"], *paths["back"]))
        if reason := given_up(transport, rtt):
            found.setdefault(reason, []).append(flow.get("group") or flow["name"])
            continue
        window, key = _window(transport)
        rate = min(hop["rate_bit_s"]["mean"] for hop in _loaded(paths))
        if rtt > 0 and window < rate * rtt / 8:
            limit = rate_text(8 * window / rtt)
            found.setdefault(
                f"{key} of {size_text(window)} limits the flow to {limit} over a round trip of "
                f"{span_text(rtt)}",
                [],
            ).append(flow.get("group") or flow["name"])
    for about, names in found.items():
        yield f"{listed(list(dict.fromkeys(names)))}: {about}"


def _window(transport: Mapping[str, Any]) -> tuple[float, str]:
    given = [
        (base_value(transport[key]), key) for key in ("receive_window", "send_buffer") if transport.get(key)
    ]
    if transport.get("send_memory"):
        given.append((carried_bytes(transport), "send_memory with room"))
    if not transport.get("window_scaling", True):
        given.append((65_535.0, "window_scaling = false with a window"))
    return min(given, default=(math.inf, ""))


@dataclass
class _Load:
    """The demand of flows on a part of a network, or on a medium that parts share: the sum of the
    known demands, and the sum of their fractions of the rate."""

    network: str
    asked: float = 0.0
    share: float = 0.0
    flows: list[str] = field(default_factory=list)
    #: True if a flow has an unlimited or unknown demand.
    open: bool = False
    #: Flows over a part whose rate is always 0.
    stuck: list[str] = field(default_factory=list)


def _loads(scenario: Scenario, known: Facts) -> Iterator[str]:
    """Yields warnings about networks and links with little load and about overloaded parts, if the
    demands of the flows are known."""
    if not known["flows"]:
        return
    loads: dict[str, _Load] = {}
    used: set[str] = set()
    # The parts that carry the packets of a multicast group already.
    copied: set[tuple[str, str]] = set()
    for table, flow in zip(scenario.flows, known["flows"], strict=True):
        name = table.get("group") or flow["name"]
        there = [(hop, flow["demand_bit_s"]) for hop in flow["there"] or []]
        used |= {hop["network"] for hop, _ in there}
        back: list[tuple[Hop, float | None]] = []
        if flow["answers"] != "nothing" or flow["answer_bytes"]:
            used |= {hop["network"] for hop in flow["back"] or []}
        if flow["answers"] != "nothing" and not flow["demand_bit_s"]:
            # The long-term demand is unknown.
            back = [(hop, None) for hop in flow["back"] or []]
        # Count each part once, since bundles pass the same part in several contacts.
        for key, (network, rate, wanted) in {
            key: (hop["network"], rate, wanted)
            for hop, wanted in (*there, *back)
            for key, rate in {hop["part"]: hop["rate_bit_s"]["mean"], **dict(hop["shared"])}.items()
        }.items():
            if "multicast" in table:
                if (table["multicast"], key) in copied:
                    continue
                copied.add((table["multicast"], key))
            load = loads.setdefault(key, _Load(network))
            if rate <= 0:
                load.open = True
                load.stuck.append(name)
            elif wanted is None:
                load.open = True
            elif wanted:
                load.asked += wanted
                load.share += wanted / rate
                load.flows.append(name)
    present = [*(link["name"] for link in scenario.links), *scenario.attached]
    multilinks = {name for multilink in scenario.data.get("multilink", []) for name in multilink["links"]}
    idle = [name for name in present if name not in used and name not in multilinks]
    if idle:
        yield f"{ranges(idle)}: no flow uses this part of the network"
    stuck: dict[str, list[str]] = {}
    for part, load in loads.items():
        if load.stuck:
            stuck.setdefault(ranges(list(dict.fromkeys(load.stuck))), []).append(part)
    for names, these in stuck.items():
        whose = "its rate is" if len(these) == 1 else "their rates are"
        yield f"{ranges(in_order(these))}: {whose} 0 bit/s, so no packet of {names} passes"
    yield from _overloaded(loads)
    for network in dict.fromkeys(load.network for load in loads.values()):
        of_it = {part: load for part, load in loads.items() if load.network == network}
        part, most = max(of_it.items(), key=lambda one: one[1].share)
        if scenario.data.get("network", {}).get(network, {}).get("kind") == "bundles":
            # Its rates apply only during contacts, which take a small part of the time.
            continue
        if most.share < MAX_UNLOADED and not any(load.open for load in of_it.values()):
            where = "it" if part == network else part
            asked, share = rate_text(most.asked), number(100 * most.share, 2)
            yield f"{network}: all flows over {where} together send {asked}, only {share} % of its rate"


def _overloaded(loads: Mapping[str, _Load]) -> Iterator[str]:
    """Yields warnings about overloaded parts. Among parts with the same flows, only the one with
    the lowest rate is named."""
    worst: dict[tuple[str, ...], tuple[str, _Load]] = {}
    for part, load in loads.items():
        # Tolerate rounding errors.
        if load.share > 1 + 1e-6:
            _, before = worst.get(flows := tuple(load.flows), (part, None))
            if before is None or load.share > before.share:
                worst[flows] = part, load
    for flows, (part, load) in worst.items():
        names = ranges(list(dict.fromkeys(flows)))
        carried = rate_text(load.asked / load.share)
        yield (
            f"{part}: overloaded: flows send {rate_text(load.asked)} ({names}), more than its capacity of "
            f"{carried}"
        )


def _memory(need: dict[str, Any]) -> str:
    """Returns a sentence about the memory that an emulation needs while all links are full.

    >>> _memory({"bytes": 17_750_000_000, "largest": "sat: 10 Gbit/s for 10 s"})
    'an emulation needs up to 17.8 GB (sat: 10 Gbit/s for 10 s)'
    """
    most = f" ({need['largest']})" if need["largest"] else ""
    return f"an emulation needs up to {size_text(need['bytes'])}{most}"


def _paths(flow: Flow) -> Iterator[str]:
    """Yields the hops of a flow's packets and of its destination's packets."""
    for label, hops in (("there", flow["there"]), ("back", flow["back"])):
        if hops is None:
            yield f"{label}: no path"
        elif label == "there" or flow["answer_bytes"]:
            yield from (f"{label}: {_hop(hop)}" for hop in hops)


def _hop(hop: Hop) -> str:
    """Yields the properties of a hop that are not in the table of parts."""
    parts = [f"{hop['from']} -> {hop['to']} over {hop['network']}", queue_text(hop["queue"])]
    if hop["loss"]:
        parts.append(f"loss {number(hop['loss'])}")
    if dama := dama_of(hop):
        response = f"L = {dama['response_superframes']} superframes of {span_text(dama['superframe_s'])}"
        parts.append(f"{dama['scheme']}, {response}")
        if wait := dama["access_wait_s"]:
            parts.append(f"packets wait {span_text(wait)} on average for the next superframe")
    if orbit := orbit_of(hop):
        parts.append(f"handovers between moving satellites: {orbit['handovers']}")
    if hop["flows"] > 1:
        parts.append(f"shared by {hop['flows']} flows")
    changes = [f"{change['what']} at {span_text(change['at_s'])}" for change in hop["changes"]]
    return ", ".join([*parts, *hop["notes"], *hop["queue"]["notes"], *changes])


def _over(courses: Sequence[Course]) -> Course:
    """Returns the first course, with the range of all courses."""
    least, greatest = min(one["least"] for one in courses), max(one["greatest"] for one in courses)
    return {**courses[0], "least": least, "greatest": greatest}


def _course(course: Course, shown: Callable[[float], str]) -> str:
    least, greatest = shown(course["least"]), shown(course["greatest"])
    if least == greatest:
        return shown(course["mean"])
    # Write the unit once if both values have the same unit.
    text = f"{least.split()[0] if least.split()[-1] == greatest.split()[-1] else least}-{greatest}"
    return text if len(text) <= _NARROW else text.replace("-", "-\n", 1)


def _modcods(acms: Sequence[Acm]) -> str:
    r"""Returns the MODCODs of all paths over a part, from the least to the most efficient, with
    their Es/N0; empty without ACM.

    >>> esn0 = {"start": 12.0, "mean": 9.0, "least": -3.0, "greatest": 12.0}
    >>> bits = {"start": 2.967, "mean": 2.0, "least": 0.0, "greatest": 2.967}
    >>> names = {"modcod": "16APSK 3/4", "least": None, "greatest": "16APSK 3/4"}
    >>> _modcods([{**names, "efficiency": bits, "esn0_db": esn0}])
    'outage-\n16APSK 3/4\n-3 to 12 dB'
    """
    if not acms:
        return ""
    worst = min(acms, key=lambda acm: acm["efficiency"]["least"])
    best = max(acms, key=lambda acm: acm["efficiency"]["greatest"])
    names = [name or "outage" for name in dict.fromkeys((worst["least"], best["greatest"]))]
    least = number(min(acm["esn0_db"]["least"] for acm in acms))
    greatest = number(max(acm["esn0_db"]["greatest"] for acm in acms))
    return "-\n".join(names) + f"\n{least}{'' if least == greatest else f' to {greatest}'} dB"


def queue_text(queue: Queue) -> str:
    """Returns a description of a queue with its limits.

    >>> queue_text({"kind": "drop-tail", "packets": 1000, "bytes": None, "rate": None, "notes": []})
    'drop-tail queue of 1000 packets'
    """
    limits = [
        *([] if queue["packets"] is None else [f"{queue['packets']} packets"]),
        *([] if queue["bytes"] is None else [size_text(queue["bytes"])]),
    ]
    if not limits:
        return f"{queue['kind']} queue" + ("" if queue["kind"] == "unlimited" else " without a limit")
    return f"{queue['kind']} queue of {' and '.join(limits)}"
