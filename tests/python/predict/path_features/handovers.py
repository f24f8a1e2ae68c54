"""Multilinks of several links, and handovers between them."""

from __future__ import annotations

from typing import Any, Final

from .base import LINK, Row

#: Two links, one of which is active.
MULTILINK: Final[dict[str, Any]] = {
    **LINK,
    "link": [
        {"name": "v", "from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "30 ms"},
        {"name": "w", "from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "50 ms"},
    ],
    "multilink": [{"name": "both", "links": ["w", "v"]}],
}

ROWS: Final[tuple[Row, ...]] = (
    Row(
        "multilink multilink.name multilink.links multilink.policy multilink.policy.schedule",
        MULTILINK,
        ("multilink.both.policy=schedule",),
    ),
    Row("multilink.return", MULTILINK, ('multilink.both.return="v"',)),
    Row(
        "handover handover.at handover.to handover.multilink handover.direction handover.direction.both",
        MULTILINK,
        ('handover=[{multilink="both",at="2 s",to="v"}]',),
        "handover to v",
    ),
    Row(
        "multilink.handover multilink.handover.interruption handover.interruption handover.packets "
        "multilink.handover.packets handover.packets.lose",
        MULTILINK,
        (
            'handover=[{at="2 s",to="v",interruption="8 s",packets="lose"}]',
            'multilink.both.handover.packets="lose"',
        ),
        "handover to v",
    ),
    Row(
        "multilink.handover.overlap handover.packets.forward handover.overlap handover.direction.forward",
        MULTILINK,
        ('handover=[{at="2 s",to="v",direction="forward",overlap="1 s"}]',),
        "handover to v",
    ),
    Row(
        "handover.direction.return",
        MULTILINK,
        ('handover=[{at="2 s",to="v",direction="return"}]', "link.v.rate=40 kbit/s"),
        "handover to v",
    ),
    Row(
        "multilink.policy.random multilink.policy.random.stay",
        MULTILINK,
        ('multilink.both.policy={kind="random",stay=["5 s","5 s"]}',),
        "random may hand over",
    ),
    Row(
        "multilink.policy.signal multilink.policy.signal.samples multilink.policy.signal.hysteresis "
        "multilink.policy.signal.time_to_trigger",
        MULTILINK,
        (
            'multilink.both.policy={kind="signal",samples="time,w,v\\n0,-50,-90\\n5,-90,-50",hysteresis=2.0,'
            'time_to_trigger="1 s"}',
        ),
        "signal may hand over",
    ),
    Row(
        "multilink.policy.load multilink.policy.load.high multilink.policy.load.low multilink.policy.load.period",
        MULTILINK,
        ('multilink.both.policy={kind="load",high=0.5,low=0.1,period="1 s"}',),
        "load may hand over",
    ),
)
