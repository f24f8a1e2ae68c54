"""Flows and their applications."""

from __future__ import annotations

from typing import Any, Final

from .base import FLOW, LINK, Row

#: A second flow on the same path.
SHARED: Final[dict[str, Any]] = {
    **LINK,
    "flow": [
        *LINK["flow"],
        {**FLOW, "name": "g", "app": {"kind": "cbr", "rate": "3 Mbit/s"}, "transport": {"kind": "udp"}},
    ],
}


def _voice(keys: str, values: str) -> Row:
    own = " ".join(("flow.app.voice", *(f"flow.app.voice.{key}" for key in keys.split())))
    return Row(own, SHARED, (f'flow.g.app={{kind="voice"{"," if values else ""}{values}}}',))


def _calls(keys: str, values: str, transport: str, of_transport: str) -> Row:
    own = " ".join(("flow.app.calls", *(f"flow.app.calls.{key}" for key in keys.split())))
    others = " ".join(f"flow.transport.{key}" for key in of_transport.split())
    sets = (f'flow.g.app={{kind="calls",{values}}}', f"flow.g.transport={transport}")
    return Row(f"{own} {others}", SHARED, sets)


ROWS: Final[tuple[Row, ...]] = (
    Row("flow.app.cbr flow.app.cbr.rate flow.transport.udp", SHARED, (), None),
    # A call takes 30 to 90 kbit/s of 4 Mbit/s, for any speech pattern of its sides.
    _voice("", ""),
    _voice(
        "codec frames silence_suppression skew rtcp advantage length window",
        'codec="G.711u",frames=2,silence_suppression=false,skew=20,rtcp="1 s",advantage=10,length="20 s",window="5 s"',
    ),
    _voice(
        "comfort_noise talker talker.p59 talker.p59.interruption",
        'comfort_noise=true,talker={kind="p59",interruption=0.3}',
    ),
    _voice(
        "talker.exponential talker.exponential.speech talker.exponential.pause",
        'talker={kind="exponential",speech="1 s",pause="1.5 s"}',
    ),
    _voice(
        "talker.recorded talker.recorded.caller talker.recorded.callee talker.recorded.length",
        'talker={kind="recorded",caller=[["0 s","1.2 s"]],callee=[["1.5 s","2.6 s"]],length="4 s"}',
    ),
    _voice("talker.always", 'talker="always"'),
    *(
        _voice(
            " ".join(("playout", f"playout.{kind}", *(f"playout.{kind}.{key}" for key in keys.split()))),
            f'playout={{kind="{kind}"{values}}}',
        )
        for kind, keys, values in (
            ("fixed", "delay", ',delay="100 ms"'),
            ("none", "", ""),
            ("ramjee-1", "weight initial", ',weight=0.99,initial="40 ms"'),
            ("ramjee-2", "weight growing initial", ',weight=0.99,growing=0.8,initial="40 ms"'),
            ("ramjee-3", "weight initial", ',weight=0.99,initial="40 ms"'),
            ("ramjee-4", "initial", ',initial="40 ms"'),
            ("moon", "percentile window head tail", ",percentile=95,window=500,head=3.0,tail=2.0"),
        )
    ),
    # Ten calls take 300 kbit/s, in either protocol.
    _calls("calls", "calls=10", '{kind="sip",over="udp"}', "sip.over.udp"),
    _calls(
        "calls codec frames suppression comfort_noise talker playout advantage load holding local lines answer "
        "patience",
        'calls=2,codec="GSM-FR",frames=2,suppression=true,comfort_noise=true,talker="p59",playout="fixed",advantage=10,'
        'load=1.5,holding="10 s",local=0.2,lines=10,answer="1 s",patience="20 s"',
        '{kind="sip",t1="1 s",over="tcp"}',
        "sip sip.t1 sip.over sip.over.tcp",
    ),
    _calls(
        "calls",
        "calls=10",
        '{kind="iax2",trunk="20 ms",timestamps=true,mtu="500 B"}',
        "iax2 iax2.trunk iax2.timestamps iax2.mtu",
    ),
    # Three motes with a sample per second send 600 bit/s against the flow's direction.
    Row(
        "flow.app.sensors flow.app.sensors.motes flow.app.sensors.query flow.app.sensors.period "
        "flow.app.sensors.placement flow.app.sensors.placement.nodes "
        "flow.app.sensors.parents flow.app.sensors.hears flow.app.sensors.error flow.app.sensors.wait "
        "flow.app.sensors.measure flow.app.sensors.acknowledged flow.app.sensors.retries "
        "flow.app.sensors.backoffs flow.app.sensors.min_be flow.app.sensors.max_be flow.app.sensors.queue",
        SHARED,
        (
            'flow.g.app={kind="sensors",motes=["m1","m2","m3"],query="SELECT * FROM motes",period="1 s",'
            'placement="nodes",parents={m2="m1"},hears={m3=["m1"]},error={kind="packet",probability=0.01},wait="1 s",'
            'measure="25 B",acknowledged=true,retries=3,backoffs=4,min_be=3,max_be=5,queue=10}',
        ),
    ),
    Row(
        "flow.app.sensors.placement.sink",
        SHARED,
        ('flow.g.app={kind="sensors",motes=["m1","m2","m3"],query="SELECT * FROM motes",placement="sink"}',),
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
        "flow.app.http.think flow.app.http.response_time flow.app.http.connections",
        LINK,
        ('flow.f.app={kind="http",object="30 kB"}',),
        "this flow is http",
    ),
    Row(
        "flow.app.dash flow.app.dash.adaptation flow.app.dash.adaptation.buffer flow.app.dash.adaptation.rate "
        "flow.app.dash.bitrates flow.app.dash.buffer flow.app.dash.length flow.app.dash.request "
        "flow.app.dash.segment flow.app.dash.startup",
        LINK,
        ('flow.f.app={kind="dash",length="20 s"}',),
        "this flow is dash",
    ),
)
