"""The order and the groups of keys in the forms of the page.

Each table of the scenario has one line per group of keys; a table with variants has the name
``Definition.kind``. The first group, without a name, contains the common keys, which forms show
first. Forms fold the other groups. A required key is always common. A key that is not listed
belongs to the group "More". All keys of a table that is not listed are common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_TCP: Final = {
    "": "congestion profile initial_window",
    "Sender": "ecn pacing pacing_ss_ratio pacing_ca_ratio initial_ssthresh segment_size nagle minshall send_buffer "
    "send_memory segmentation_offload bursts byte_counting window_validation restart_after_idle parameters "
    "quick_start careful_resume initial_sequence",
    "Loss recovery": "recovery sack dsack frto undo tail_loss_probe rate_halving proportional_reduction retries "
    "retries_as_time syn_retries syn_undo syn_linear_timeouts",
    "Timers": "rto_initial rto_min rto_max rto_estimator rto_variance_min jiffy timer_tick timestamps",
    "Receiver": "delayed_ack delayed_ack_timeout delayed_ack_min ack_every ack_pushed ack_compression quick_acks "
    "quick_window receive_window receive_window_start window_scaling",
    "Handovers": "on_handover freeze freeze_warning adapt",
}
_RED: Final = {"": "min max probability packets", "Average": "weight typical", "Marking": "ecn"}
#: The groups of each table: for each group, its keys in their order.
GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Scenario": {"": "name duration seed"},
    "LinkPair": {
        "": "from to rate delay queue error return",
        "Fade and adaptive coding": "acm framing arq",
        "Contacts and variation": "contacts trace jitter reorder holds",
        "Copies and signalling": "count quick_start",
    },
    "LinkReturn": {
        "": "rate delay queue error",
        "Fade and adaptive coding": "acm framing",
        "Variation": "trace jitter reorder holds",
        "Signalling": "quick_start",
    },
    "Acm": {
        "": "esn0_db fade modcods budget",
        "Control loop": "delay margin_db hysteresis_db burst feeder_esn0_db",
    },
    "Fade": {"": "samples quantity repeat"},
    "Contacts": {"": "when outages"},
    "Flow": {
        "": "from to app transport start",
        "Group of flows": "count starts group multicast",
        "Marking and instrument": "dscp endpoints",
    },
    "Tcp": _TCP,
    "Transport.tcp": _TCP,
    "App.bulk": {"": "size duration"},
    "App.cbr": {"": "rate datagram on off", "Distribution": "distribution spacing"},
    "App.http": {"": "object objects pages think request", "Distribution": "response_time"},
    "App.voice": {
        "": "codec frames playout talker",
        "Sound": "silence_suppression comfort_noise advantage skew rtcp window length",
    },
    "App.calls": {
        "": "codec load lines holding calls frames playout talker",
        "Sound": "suppression comfort_noise advantage local patience answer",
    },
    "App.bundles": {"": "bundles payload rate report", "Delivery": "timeout window series"},
    "Queue.drop-tail": {"": "packets bytes"},
    "Queue.drop-front": {"": "packets bytes"},
    "Queue.red": _RED,
    "Queue.gentle-red": _RED,
    "Queue.red-bytes": {"": "limit min max probability typical burst bandwidth", "Marking": "ecn"},
    "Queue.ared": {"": "target packets", "Marking": "ecn typical"},
    "Queue.wred": {
        "": "green yellow red packets",
        "Average": "average weight typical spacing gentle",
        "Marking": "ecn",
    },
    "Queue.codel": {"": "target interval packets", "Marking": "ecn largest"},
    "Queue.fq-codel": {"": "target interval packets flows", "Marking": "ecn quantum backlog"},
    "Queue.pie": {"": "target update burst packets", "Marking": "ecn"},
    "Queue.dualpi2": {"": "target packets coupling", "Control": "alpha beta update min_th th_len range"},
    "Queue.shaper": {"": "rate burst queue"},
    "Error.coded": {"": "eb_n0_db code ber"},
    "Proxy": {"": "enabled node mechanism flows"},
    "Mechanism.split": {"": "sides transport buffer accept"},
    "Mechanism.dtn": {"": "over transport block flush"},
    "Service": {"": "node role flows"},
    "Change": {"": "at set"},
    "Handover": {"": "at to multilink interruption", "Packets": "packets overlap direction"},
    "Multilink": {"": "links policy handover return"},
    "Record": {"": "traces capture", "Details": "capture_bytes details"},
    "NetworkKind.dvb-rcs": {"": "gateway terminals propagation forward return", "Signalling": "quick_start"},
    "NetworkKind.skyplex": {
        "": "gateway terminals channel forward return assignment access cir",
        "Frame": "slots frames cells carriers planning processing framing propagation",
    },
    "NetworkKind.constellation": {"": "sites shell isl gsl routing handover epoch"},
    "NetworkKind.atm": {"": "ends legs contract access", "Local network": "lan encapsulation others"},
    "NetworkKind.wifi": {
        "": "standard stations access_point adaptation error queue",
        "Channel": "band width streams guard preamble delay hears",
        "Medium access": "rts_threshold protection edca aggregate aggregate_frames short_retry_limit "
        "long_retry_limit eifs control_errors stack",
    },
    "NetworkKind.bundles": {
        "": "plan routing convergence storage lifetime error",
        "Custody and copies": "copies discard margin segment outages skip_impossible",
    },
    "Forward": {"": "rate queue error acm framing"},
    "Return": {
        "": "rate dama queue error acm",
        "Frame": "frame frames_per_superframe slots_per_frame slot_bytes carriers",
        "Classes": "classes framing",
    },
    "Dama": {"": "scheme response allocator cra", "Requests": "access requests planning processing"},
    "Gsl": {"": "up down mask queue error"},
    "Isl.grid": {"": "rate queue error", "Geometry": "max_range max_latitude clearance cross_seam"},
}


def group_keys(schema: dict[str, Any]) -> None:
    """Adds ``order``, ``group`` and ``common`` to each key of each table of a schema."""
    for name, table in tables(schema):
        rank: dict[str, tuple[int, str]] = {}
        for group, keys in GROUPS.get(name, {}).items():
            rank |= {key: (len(rank) + place, group) for place, key in enumerate(keys.split())}
        required = table.get("required", ())
        for key, one in table["properties"].items():
            order, group = rank.get(key, (len(rank), "" if key in required or name not in GROUPS else "More"))
            one["order"] = order
            one["common"] = group == "" or key in required
            if not one["common"]:
                one["group"] = group


def tables(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the tables of a schema with the names that they have in ``GROUPS``."""
    yield "Scenario", schema
    for name, definition in schema["$defs"].items():
        if "properties" in definition:
            yield name, definition
        for part in definition.get("oneOf", ()):
            if "properties" in part:
                yield f"{name}.{part['properties']['kind']['const']}", part
