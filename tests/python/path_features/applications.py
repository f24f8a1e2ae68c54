"""Flows and their applications."""

from __future__ import annotations

from typing import Any, Final

from .base import FLOW, LINK, Row

#: A second flow beside it.
SHARED: Final[dict[str, Any]] = {
    **LINK,
    "flow": [
        *LINK["flow"],
        {**FLOW, "name": "g", "app": {"kind": "cbr", "rate": "3 Mbit/s"}, "transport": {"kind": "udp"}},
    ],
}

ROWS: Final[tuple[Row, ...]] = (
    Row("flow.app.cbr flow.app.cbr.rate flow.transport.udp", SHARED, (), None),
    # A call takes 30 kbit/s of 4 Mbit/s, whatever its sides say and whenever they hear it.
    Row(
        "flow.app.voice flow.app.voice.codec flow.app.voice.frames flow.app.voice.talker "
        "flow.app.voice.silence_suppression flow.app.voice.comfort_noise flow.app.voice.playout "
        "flow.app.voice.skew flow.app.voice.rtcp flow.app.voice.advantage flow.app.voice.length "
        "flow.app.voice.window flow.app.voice.talker.p59 flow.app.voice.talker.p59.interruption "
        "flow.app.voice.talker.exponential flow.app.voice.talker.exponential.speech "
        "flow.app.voice.talker.exponential.pause flow.app.voice.talker.recorded "
        "flow.app.voice.talker.recorded.caller flow.app.voice.talker.recorded.callee "
        "flow.app.voice.talker.recorded.length flow.app.voice.talker.always "
        "flow.app.voice.playout.fixed flow.app.voice.playout.fixed.delay flow.app.voice.playout.none "
        "flow.app.voice.playout.ramjee-1 flow.app.voice.playout.ramjee-1.weight "
        "flow.app.voice.playout.ramjee-1.initial flow.app.voice.playout.ramjee-2 "
        "flow.app.voice.playout.ramjee-2.weight flow.app.voice.playout.ramjee-2.growing "
        "flow.app.voice.playout.ramjee-2.initial flow.app.voice.playout.ramjee-3 "
        "flow.app.voice.playout.ramjee-3.weight flow.app.voice.playout.ramjee-3.initial "
        "flow.app.voice.playout.ramjee-4 flow.app.voice.playout.ramjee-4.initial "
        "flow.app.voice.playout.moon flow.app.voice.playout.moon.percentile "
        "flow.app.voice.playout.moon.window flow.app.voice.playout.moon.head "
        "flow.app.voice.playout.moon.tail",
        SHARED,
        ('flow.g.app={kind="voice"}',),
        None,
    ),
    # Ten calls take 300 kbit/s, in either protocol.
    Row(
        "flow.app.calls flow.app.calls.codec flow.app.calls.frames flow.app.calls.suppression "
        "flow.app.calls.comfort_noise flow.app.calls.talker flow.app.calls.playout flow.app.calls.advantage "
        "flow.app.calls.calls flow.app.calls.load flow.app.calls.holding flow.app.calls.local flow.app.calls.lines "
        "flow.app.calls.answer flow.app.calls.patience "
        "flow.transport.sip flow.transport.sip.t1 flow.transport.sip.over flow.transport.sip.over.tcp "
        "flow.transport.sip.over.udp",
        SHARED,
        ('flow.g.app={kind="calls",calls=10}', 'flow.g.transport="sip"'),
        None,
    ),
    Row(
        "flow.transport.iax2 flow.transport.iax2.trunk flow.transport.iax2.timestamps flow.transport.iax2.mtu "
        "service.role.bridge",
        SHARED,
        ('flow.g.app={kind="calls",calls=10}', 'flow.g.transport={kind="iax2",trunk="20 ms",mtu="500 B"}'),
        None,
    ),
    # Three motes with a sample a second send 600 bit/s against the flow's direction.
    Row(
        "flow.app.sensors flow.app.sensors.motes flow.app.sensors.query flow.app.sensors.period "
        "flow.app.sensors.placement flow.app.sensors.placement.nodes flow.app.sensors.placement.sink "
        "flow.app.sensors.parents flow.app.sensors.hears flow.app.sensors.error flow.app.sensors.wait "
        "flow.app.sensors.measure flow.app.sensors.acknowledged flow.app.sensors.retries "
        "flow.app.sensors.backoffs flow.app.sensors.min_be flow.app.sensors.max_be flow.app.sensors.queue",
        SHARED,
        ('flow.g.app={kind="sensors",motes=["m1","m2","m3"],query="SELECT * FROM motes"}',),
        None,
    ),
    Row(
        "flow.app.cbr.on flow.app.cbr.off flow.app.cbr.distribution flow.app.cbr.distribution.constant",
        SHARED,
        ("flow.g.app.on=1 s", "flow.g.app.off=1 s"),
        "shared by 2 flows",
    ),
    Row(
        "flow.app.cbr.distribution.exponential flow.app.cbr.datagram flow.app.cbr.spacing",
        SHARED,
        (
            "flow.g.app.on=1 s",
            "flow.g.app.off=1 s",
            "flow.g.app.distribution=exponential",
            "flow.g.app.spacing=exponential",
            "flow.g.app.datagram=500 B",
        ),
        "shared by 2 flows",
    ),
    Row("flow flow.name flow.from flow.to flow.app flow.app.bulk flow.transport flow.transport.tcp", LINK),
    Row("flow.start", LINK, ("flow.f.start=5 s",)),
    Row("flow.app.bulk.size", LINK, ('flow.f.app={kind="bulk",size="4 MB"}',)),
    Row("flow.app.bulk.duration", LINK, ('flow.f.app={kind="bulk",duration="10 s"}',)),
    Row(
        "flow.app.email flow.app.email.size flow.app.email.distribution flow.app.email.distribution.constant "
        "flow.app.email.message flow.app.email.messages",
        LINK,
        ('flow.f.app={kind="email",size="1 MB"}',),
        "this flow is email",
    ),
    Row(
        "flow.app.email.every flow.app.email.mails flow.app.email.shape flow.app.email.distribution.exponential "
        "flow.app.email.distribution.pareto",
        LINK,
        ('flow.f.app={kind="email",size="1 MB",every="5 s",mails=3,distribution="pareto",shape=2.5}',),
        "this flow is email",
    ),
    Row(
        "flow.app.ftp flow.app.ftp.size flow.app.ftp.direction flow.app.ftp.direction.upload "
        "flow.app.ftp.direction.download flow.app.ftp.distribution flow.app.ftp.every flow.app.ftp.message "
        "flow.app.ftp.messages flow.app.ftp.sessions flow.app.ftp.shape",
        LINK,
        ('flow.f.app={kind="ftp",size="1 MB",direction="download"}',),
        "this flow is ftp",
    ),
    Row(
        "flow.app.netpipe flow.app.netpipe.mode flow.app.netpipe.mode.ping-pong flow.app.netpipe.mode.one-way "
        "flow.app.netpipe.mode.stream flow.app.netpipe.first flow.app.netpipe.last flow.app.netpipe.perturbation "
        "flow.app.netpipe.repeats flow.app.netpipe.stop",
        LINK,
        ('flow.f.app={kind="netpipe",last="4 kB"}',),
        "this flow is netpipe",
    ),
    Row(
        "flow.app.http flow.app.http.object flow.app.http.object_max flow.app.http.object_min flow.app.http.objects "
        "flow.app.http.objects_max flow.app.http.objects_min flow.app.http.pages flow.app.http.request "
        "flow.app.http.think flow.app.http.response_time",
        LINK,
        ('flow.f.app={kind="http",object="30 kB"}',),
        "this flow is http",
    ),
)
