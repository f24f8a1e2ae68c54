"""Accesses of several links, and handovers between them."""

from __future__ import annotations

from typing import Any, Final

from .base import LINK, Row

#: Two links, one of which is active.
ACCESS: Final[dict[str, Any]] = {
    **LINK,
    "link": [
        {"name": "v", "from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "30 ms"},
        {"name": "w", "from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "50 ms"},
    ],
    "access": [{"name": "both", "links": ["w", "v"]}],
}

ROWS: Final[tuple[Row, ...]] = (
    Row(
        "access access.name access.links access.policy access.policy.schedule",
        ACCESS,
        ("access.both.policy=schedule",),
    ),
    Row("access.return", ACCESS, ('access.both.return="v"',)),
    Row(
        "handover handover.at handover.to handover.access handover.direction handover.direction.both",
        ACCESS,
        ('handover=[{access="both",at="2 s",to="v"}]',),
        "handover to v",
    ),
    Row(
        "access.handover access.handover.interruption handover.interruption handover.packets "
        "access.handover.packets access.handover.packets.lose",
        ACCESS,
        (
            'handover=[{at="2 s",to="v",interruption="8 s",packets="lose"}]',
            'access.both.handover.packets="lose"',
        ),
        "handover to v",
    ),
    Row(
        "access.handover.overlap access.handover.packets.forward handover.overlap handover.direction.forward",
        ACCESS,
        ('handover=[{at="2 s",to="v",direction="forward",overlap="1 s"}]',),
        "handover to v",
    ),
    Row(
        "handover.direction.return",
        ACCESS,
        ('handover=[{at="2 s",to="v",direction="return"}]', "link.v.rate=40 kbit/s"),
        "handover to v",
    ),
    Row(
        "access.policy.random access.policy.random.stay",
        ACCESS,
        ('access.both.policy={kind="random",stay=["5 s","5 s"]}',),
        "random may hand over",
    ),
    Row(
        "access.policy.signal access.policy.signal.samples access.policy.signal.hysteresis "
        "access.policy.signal.time_to_trigger",
        ACCESS,
        (
            'access.both.policy={kind="signal",samples="time,w,v\\n0,-50,-90\\n5,-90,-50",hysteresis=2.0,'
            'time_to_trigger="1 s"}',
        ),
        "signal may hand over",
    ),
    Row(
        "access.policy.load access.policy.load.high access.policy.load.low access.policy.load.period",
        ACCESS,
        ('access.both.policy={kind="load",high=0.5,low=0.1,period="1 s"}',),
        "load may hand over",
    ),
)
