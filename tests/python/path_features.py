"""Every key of a scenario that can affect a path, with a small scenario that uses it.

A row has the keys that it covers, the settings over its base, and the word that the note must name. Without a word, the
prediction must be within 10 % of the simulation. Keys are paths in the schema, including the kinds of variants; a
part that is defined in one place and used in several is listed once, where the schema has it first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

FLOW: Final = {"name": "f", "from": "a", "to": "b", "app": "bulk"}
TCP: Final = {"kind": "tcp", "congestion": "reno", "initial_ssthresh": 40}
QUIET: Final[dict[str, Any]] = {"record": {"traces": []}}

#: A link that loses nothing during the run.
LINK: Final[dict[str, Any]] = {
    "name": "link",
    "duration": "30 s",
    **QUIET,
    "link": [{"name": "w", "from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "50 ms"}],
    "flow": [{**FLOW, "transport": TCP}],
}
#: Losses by states of a signal, and by its ratio to the noise.
STATES: Final = (
    'kind="snr-states",step="5 ms",rates=["1 Mbit/s","11 Mbit/s"],rate="1 Mbit/s",'
    "loss=[[0,0.1],[0.1,1]],transitions=[[0.99,0.01],[0.5,0.5]]"
)
FADING: Final = (
    'kind="snr",snr_db=20,fading={kind="rice",k_factor=2},shadowing={deviation_db=3,distance="2 m"},'
    'speed="2 m/s",wavelength="0.12 m",mode="ofdm-12"'
)
#: Two links in series, for proxies and edges.
LINKS: Final[dict[str, Any]] = {
    **LINK,
    "link": [
        {"name": "v", "from": "a", "to": "m", "rate": "8 Mbit/s", "delay": "10 ms"},
        {"name": "w", "from": "m", "to": "b", "rate": "4 Mbit/s", "delay": "50 ms"},
    ],
}
#: Two links, one of which is active.
ACCESS: Final[dict[str, Any]] = {
    **LINK,
    "link": [
        {"name": "v", "from": "a", "to": "b", "rate": "2 Mbit/s", "delay": "30 ms"},
        {"name": "w", "from": "a", "to": "b", "rate": "4 Mbit/s", "delay": "50 ms"},
    ],
    "access": [{"name": "both", "links": ["w", "v"]}],
}
#: A second flow beside it.
SHARED: Final[dict[str, Any]] = {
    **LINK,
    "flow": [
        *LINK["flow"],
        {**FLOW, "name": "g", "app": {"kind": "cbr", "rate": "3 Mbit/s"}, "transport": {"kind": "udp"}},
    ],
}
#: Two participants of a conference beside it.
RELAYED: Final[dict[str, Any]] = {
    **LINK,
    "link": [
        *LINK["link"],
        {"name": "x", "from": "c", "to": "b", "rate": "4 Mbit/s", "delay": "20 ms"},
    ],
    "flow": [
        *LINK["flow"],
        *(
            {
                **FLOW,
                "name": name,
                "from": node,
                "app": {"kind": "cbr", "rate": "64 kbit/s"},
                "transport": "udp",
            }
            for name, node in (("g", "a"), ("h", "c"))
        ),
    ],
    "service": [{"name": "r", "node": "b", "flows": ["g", "h"], "role": "relay"}],
}
UPLOAD: Final = {**FLOW, "from": "st", "to": "gw", "transport": {**TCP, "initial_ssthresh": 300}}
#: An upload over a star whose slots are constant.
STAR: Final[dict[str, Any]] = {
    "name": "star",
    "duration": "60 s",
    **QUIET,
    "network": {
        "sat": {
            "kind": "dvb-rcs",
            "propagation": "125 ms",
            "forward": {"rate": "10 Mbit/s"},
            "return": {"rate": "2048 kbit/s", "frame": "23.5 ms"},
            "terminals": ["st"],
            "gateway": "gw",
        }
    },
    "flow": [UPLOAD],
}
#: The same with a frame that follows from the bytes of a slot.
SLOTS: Final[dict[str, Any]] = {
    **STAR,
    "network": {"sat": {**STAR["network"]["sat"], "return": {"rate": "2048 kbit/s", "slot_bytes": 212}}},
}
ROME: Final = {"latitude": "41.9 deg", "longitude": "12.5 deg"}
#: The same with positions.
PLACES: Final[dict[str, Any]] = {
    **STAR,
    "network": {
        "sat": {
            **STAR["network"]["sat"],
            "propagation": {
                "satellite": "13 deg",
                "gateway": {**ROME, "altitude": "100 m"},
                "terminals": ROME,
            },
        }
    },
}
SKYPLEX: Final[dict[str, Any]] = {
    **STAR,
    "duration": "120 s",
    "network": {
        "sat": {"kind": "skyplex", "forward": {"rate": "10 Mbit/s"}, "terminals": ["st"], "gateway": "gw"}
    },
}
#: Three legs of an ATM connection.
ATM: Final[dict[str, Any]] = {
    **LINK,
    "link": [],
    "network": {
        "wan": {
            "kind": "atm",
            "ends": ["a", "b"],
            "legs": [
                {"rate": "25600 kbit/s"},
                {"rate": "4 Mbit/s", "delay": "50 ms"},
                {"rate": "25600 kbit/s"},
            ],
        }
    },
}
#: Wi-Fi behind a link that is slower.
WIFI: Final[dict[str, Any]] = {
    **LINK,
    "link": [{"name": "w", "from": "a", "to": "m", "rate": "4 Mbit/s", "delay": "50 ms"}],
    "network": {
        "wlan": {
            "kind": "wifi",
            "standard": "802.11g",
            "access_point": "m",
            "stations": ["b"],
            "adaptation": {"kind": "fixed"},
        }
    },
}
#: A geostationary satellite as a constellation.
GEO: Final[dict[str, Any]] = {
    **LINK,
    "duration": "60 s",
    "network": {
        "sky": {
            "kind": "constellation",
            "shell": [{"kind": "geo", "longitudes": ["10 deg"]}],
            "gsl": {"up": "4 Mbit/s", "down": "4 Mbit/s"},
            "sites": {
                "a": {"latitude": "45 deg", "longitude": "5 deg"},
                "b": {"latitude": "40 deg", "longitude": "15 deg"},
            },
        }
    },
    "link": [],
    "flow": [{**FLOW, "transport": {**TCP, "initial_ssthresh": 250}}],
}
WALKER: Final = {
    "kind": "walker-star",
    "altitude": "780 km",
    "inclination": "86.4 deg",
    "planes": 6,
    "satellites": 11,
    "phasing": 0.5,
}
#: Moving satellites with links between them.
LEO: Final[dict[str, Any]] = {
    **GEO,
    "duration": "400 s",
    "network": {
        "sky": {
            **GEO["network"]["sky"],
            "shell": [WALKER],
            "isl": {"kind": "grid", "rate": "25 Mbit/s"},
            "gsl": {"up": "2 Mbit/s", "down": "2 Mbit/s", "mask": "8 deg"},
        }
    },
    "flow": [{**FLOW, "transport": {**TCP, "initial_ssthresh": 20}}],
}


@dataclass(frozen=True)
class Row:
    """Keys, the scenario that uses them, and the word by which a note names them if the numbers omit them."""

    keys: str
    base: dict[str, Any]
    sets: tuple[str, ...] = ()
    word: str | None = None


def _queue(kind: str, keys: str, values: str, word: str | None) -> Row:
    own = " ".join(f"link.queue.{kind}.{key}" for key in keys.split())
    text = f'link.w.queue={{kind="{kind}"{", " if values else ""}{values}}}'
    return Row(f"link.queue.{kind} {own}", LINK, (text,), word)


def _tcp(keys: str, values: str, word: str | None = None, base: dict[str, Any] = LINK) -> Row:
    own = " ".join(f"flow.transport.tcp.{key}" for key in keys.split())
    return Row(own, base, tuple(f"flow.f.transport.{value}" for value in values.split(";")), word)


def _meter(kind: str, keys: str, values: str) -> Row:
    own = " ".join(f"edge.meter.{kind}.{key}" for key in keys.split())
    rule = f'edge.a=[{{meter={{kind="{kind}",{values}}},red="drop"}}]'
    return Row(f"edge.meter.{kind} {own}", LINK, (rule,), kind)


def _dama(keys: str, values: str, word: str | None = None) -> Row:
    prefix = "network.dvb-rcs.return.dama"
    own = " ".join(f"{prefix}.{key}" for key in keys.split())
    return Row(own, STAR, tuple(f"network.sat.return.dama.{value}" for value in values.split(";")), word)


def _star(keys: str, values: str, word: str | None = None) -> Row:
    own = " ".join(f"network.dvb-rcs.{key}" for key in keys.split())
    return Row(own, STAR, tuple(f"network.sat.{value}" for value in values.split(";")), word)


def _places(keys: str, values: str) -> Row:
    return Row(
        f"network.dvb-rcs.{keys}", PLACES, tuple(f"network.sat.{value}" for value in values.split(";"))
    )


def _sky(keys: str, values: str, word: str | None = None, base: dict[str, Any] = GEO) -> Row:
    own = " ".join(f"network.constellation.{key}" for key in keys.split())
    return Row(own, base, tuple(f"network.sky.{value}" for value in values.split(";")), word)


def _skyplex(keys: str, values: str, word: str | None = None) -> Row:
    own = " ".join(f"network.skyplex.{key}" for key in keys.split())
    return Row(own, SKYPLEX, tuple(f"network.sat.{value}" for value in values.split(";") if value), word)


def _atm(keys: str, values: str, word: str | None = None) -> Row:
    own = " ".join(f"network.atm.{key}" for key in keys.split())
    return Row(own, ATM, tuple(f"network.wan.{value}" for value in values.split(";")), word)


def _wifi(keys: str, values: str, word: str | None = None) -> Row:
    own = " ".join(f"network.wifi.{key}" for key in keys.split())
    return Row(own, WIFI, tuple(f"network.wlan.{value}" for value in values.split(";")), word)


POLICER: Final = 'meter={kind="token-bucket",rate="1 Mbit/s",burst="15 kB"},red="drop"'
CLASSES: Final = 'classes=[{name="x",dscp=["ef"],queue={kind="drop-tail",packets=50}},{name="y"}]'
WEIGHED: Final = 'classes=[{name="x",dscp=["ef"],weight=3},{name="y"}]'

ROWS: Final[tuple[Row, ...]] = (
    # Examples of earlier faults, for which prediction and simulation were far apart.
    Row(
        "link.return.trace link.return.trace.samples link.trace",
        LINK,
        ('link.w.trace.samples="time,rate\\n0,1000000"',),
    ),
    Row(
        "change change.at change.set",
        LINK,
        ('change=[{at="1 s",set.link.w.rate="1 Mbit/s"}]',),
        "w changes at 1 s",
    ),
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
        "flow.transport.iax2 flow.transport.iax2.trunk flow.transport.iax2.timestamps service.role.bridge",
        SHARED,
        ('flow.g.app={kind="calls",calls=10}', 'flow.g.transport={kind="iax2",trunk="20 ms"}'),
        None,
    ),
    Row(
        "flow.app.cbr.on flow.app.cbr.off flow.app.cbr.distribution flow.app.cbr.distribution.constant",
        SHARED,
        ("flow.g.app.on=1 s", "flow.g.app.off=1 s"),
        "shared by 2 flows",
    ),
    Row(
        "flow.app.cbr.distribution.exponential flow.app.cbr.datagram",
        SHARED,
        (
            "flow.g.app.on=1 s",
            "flow.g.app.off=1 s",
            "flow.g.app.distribution=exponential",
            "flow.g.app.datagram=500 B",
        ),
        "shared by 2 flows",
    ),
    # Links.
    Row("link link.name link.from link.to link.rate", LINK, ("link.w.rate=2 Mbit/s",)),
    Row("link.delay", LINK, ("link.w.delay=20 ms",)),
    Row(
        "link.return.trace.repeat",
        LINK,
        ('link.w.trace={samples="time,rate\\n0,1000000\\n5,3000000",repeat="10 s"}',),
        "trace varies the rate",
    ),
    Row(
        "link.return.trace link.return.rate link.return.delay link.return",
        LINK,
        ('link.w.return={rate="2 Mbit/s",delay="80 ms"}',),
    ),
    Row(
        "link.return.framing",
        LINK,
        ('link.w.return={rate="40 kbit/s",delay="80 ms",framing="atm"}',),
        "carries acknowledgments for",
    ),
    Row(
        "link.return.queue",
        LINK,
        ('link.w.return={rate="2 Mbit/s",delay="80 ms",queue={kind="shaper",rate="20 kbit/s"}}',),
        "carries acknowledgments for",
    ),
    Row(
        "link.return.error",
        LINK,
        ('link.w.return={rate="2 Mbit/s",delay="80 ms",error={kind="packet",probability=0.01}}',),
    ),
    Row(
        "link.return.quick_start link.quick_start flow.transport.tcp.quick_start",
        LINK,
        ("link.w.quick_start=0.5", "flow.f.transport.quick_start=1 Mbit/s"),
        "quick_start",
    ),
    # Errors: response functions hold within a factor, so a note names the losses.
    Row("link.jitter link.jitter.none link.return.jitter", LINK, ("link.w.jitter=none",)),
    *(
        Row(
            f"link.jitter.{kind} " + " ".join(f"link.jitter.{kind}.{key}" for key in keys.split()),
            LINK,
            (f'link.w.jitter={{kind="{kind}",{values}}}',),
            "jitter",
        )
        for kind, keys, values in (
            ("uniform", "most", 'most="5 ms"'),
            ("normal", "mean deviation", 'mean="5 ms",deviation="1 ms"'),
            ("exponential", "mean", 'mean="5 ms"'),
            ("quantiles", "values", 'values=["0 s","5 ms"]'),
            ("late", "probability extra", 'probability=0.1,extra="50 ms"'),
            ("levels", "every offset of", 'every="3 s",offset="1 s",of={kind="uniform",most="5 ms"}'),
            (
                "series",
                "samples samples.file repeat",
                'samples="time,extra\\n0,0.01\\n",repeat="5 s"',
            ),
            ("sum", "parts", 'parts=[{kind="exponential",mean="5 ms"}]'),
        )
    ),
    Row(
        "link.reorder link.return.reorder",
        LINK,
        ('link.w.jitter={kind="uniform",most="5 ms"}', "link.w.reorder=true"),
        "reorders",
    ),
    Row("link.error link.error.none", LINK, ("link.w.error=none",)),
    Row(
        "link.error.packet link.error.packet.probability",
        LINK,
        ('link.w.error={kind="packet",probability=0.01}',),
        "loss",
    ),
    Row(
        "link.error.packet.effect link.error.packet.effect.drop link.error.packet.effect.stale-checksum",
        LINK,
        ('link.w.error={kind="packet",probability=0.01,effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.packet.effect.valid-checksum",
        LINK,
        ('link.w.error={kind="packet",probability=0.01,effect="valid-checksum"}',),
        "effect",
    ),
    Row("link.error.bit link.error.bit.rate", LINK, ('link.w.error={kind="bit",rate=1e-6}',), "loss"),
    Row(
        "link.error.bit.effect",
        LINK,
        ('link.w.error={kind="bit",rate=1e-6,effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.gilbert link.error.gilbert.burst link.error.gilbert.probability",
        LINK,
        ('link.w.error={kind="gilbert",probability=0.01,burst=8.0}',),
        "gilbert",
    ),
    Row(
        "link.error.gilbert.effect",
        LINK,
        ('link.w.error={kind="gilbert",probability=0.01,burst=8.0,effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.list link.error.list.packets",
        LINK,
        ('link.w.error={kind="list",packets=[100,200]}',),
        "list",
    ),
    Row(
        "link.error.list.effect",
        LINK,
        ('link.w.error={kind="list",packets=[100],effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.gilbert-elliott link.error.gilbert-elliott.good_to_bad "
        "link.error.gilbert-elliott.bad_to_good link.error.gilbert-elliott.loss_good "
        "link.error.gilbert-elliott.loss_bad",
        LINK,
        (
            'link.w.error={kind="gilbert-elliott",good_to_bad=0.01,bad_to_good=0.1,loss_good=0.001,loss_bad=0.3}',
        ),
        "gilbert-elliott",
    ),
    Row(
        "link.error.gilbert-elliott.effect",
        LINK,
        (
            'link.w.error={kind="gilbert-elliott",good_to_bad=0.01,bad_to_good=0.1,loss_good=0.001,loss_bad=0.3,effect="stale-checksum"}',
        ),
        "effect",
    ),
    Row(
        "link.error.markov link.error.markov.loss link.error.markov.transitions",
        LINK,
        ('link.w.error={kind="markov",loss=[0,1],transitions=[[0.99,0.01],[0.5,0.5]]}',),
        "markov",
    ),
    Row(
        "link.error.markov.effect",
        LINK,
        (
            'link.w.error={kind="markov",loss=[0,1],transitions=[[0.99,0.01],[0.5,0.5]],effect="stale-checksum"}',
        ),
        "effect",
    ),
    Row(
        "link.error.snr-states link.error.snr-states.loss link.error.snr-states.rates "
        "link.error.snr-states.rate link.error.snr-states.transitions link.error.snr-states.step",
        LINK,
        (f"link.w.error={{{STATES}}}",),
        "snr-states",
    ),
    Row(
        "link.error.snr-states.effect",
        LINK,
        (f'link.w.error={{{STATES},effect="stale-checksum"}}',),
        "effect",
    ),
    Row(
        "link.error.snr link.error.snr.snr_db link.error.snr.fading link.error.snr.fading.none "
        "link.error.snr.fading.rayleigh link.error.snr.fading.rice link.error.snr.fading.rice.k_factor "
        "link.error.snr.shadowing link.error.snr.shadowing.deviation_db "
        "link.error.snr.shadowing.distance link.error.snr.speed link.error.snr.wavelength "
        "link.error.snr.mode link.error.snr.mode.dsss-1 link.error.snr.mode.dsss-2 "
        "link.error.snr.mode.cck-5.5 link.error.snr.mode.cck-11 link.error.snr.mode.ofdm-6 "
        "link.error.snr.mode.ofdm-9 link.error.snr.mode.ofdm-12 link.error.snr.mode.ofdm-18 "
        "link.error.snr.mode.ofdm-24 link.error.snr.mode.ofdm-36 link.error.snr.mode.ofdm-48 "
        "link.error.snr.mode.ofdm-54",
        LINK,
        (f"link.w.error={{{FADING}}}",),
        "snr",
    ),
    Row(
        "link.error.snr.effect",
        LINK,
        (f'link.w.error={{{FADING},effect="stale-checksum"}}',),
        "effect",
    ),
    Row(
        "link.error.trace link.error.trace.outcomes link.error.trace.start link.error.trace.interval",
        LINK,
        ('link.w.error={kind="trace",outcomes="lost,frames\\n0,100\\n1,1\\n",start=3,interval="5 ms"}',),
        "trace",
    ),
    Row(
        "link.error.trace.effect",
        LINK,
        (
            'link.w.error={kind="trace",outcomes="lost,frames\\n0,100\\n1,1\\n",start=3,effect="stale-checksum"}',
        ),
        "effect",
    ),
    # Framings.
    Row("link.framing link.framing.none", LINK, ("link.w.framing=none",)),
    Row(
        "link.framing.atm link.framing.atm.encapsulation link.framing.atm.encapsulation.llc-snap",
        LINK,
        ("link.w.framing=atm",),
    ),
    Row("link.framing.atm.encapsulation.vc", LINK, ('link.w.framing={kind="atm",encapsulation="vc"}',)),
    Row(
        "link.framing.atm.encapsulation.bridged",
        LINK,
        ('link.w.framing={kind="atm",encapsulation="bridged"}',),
    ),
    Row("link.framing.atm.encapsulation.lane", LINK, ('link.w.framing={kind="atm",encapsulation="lane"}',)),
    Row("link.framing.atm.encapsulation.ppp", LINK, ('link.w.framing={kind="atm",encapsulation="ppp"}',)),
    Row("link.framing.mpe link.framing.mpe.llc_snap", LINK, ('link.w.framing={kind="mpe",llc_snap=true}',)),
    Row("link.framing.mpe.packing", LINK, ('link.w.framing={kind="mpe",packing=false}',)),
    Row("link.framing.ule link.framing.ule.address", LINK, ('link.w.framing={kind="ule",address=false}',)),
    Row("link.framing.ule.packing", LINK, ('link.w.framing={kind="ule",packing=false}',)),
    Row("link.framing.gse link.framing.gse.frame", LINK, ('link.w.framing={kind="gse",frame=300}',)),
    Row("link.framing.gse.label", LINK, ('link.w.framing={kind="gse",frame=100,label=6}',)),
    Row(
        "link.framing.rle link.framing.rle.protocol link.framing.rle.protocol.full network.dvb-rcs.return.framing",
        STAR,
        ('network.sat.return.framing={kind="rle",protocol="full"}',),
    ),
    Row(
        "link.framing.rle.protocol.suppressed link.framing.rle.trailer link.framing.rle.trailer.crc",
        STAR,
        ('network.sat.return.framing={kind="rle",protocol="suppressed",trailer="crc"}',),
    ),
    Row(
        "link.framing.rle.protocol.compressed link.framing.rle.trailer.sequence",
        STAR,
        ('network.sat.return.framing={kind="rle",protocol="compressed",trailer="sequence"}',),
    ),
    # Queues.
    Row("link.queue link.queue.unlimited", LINK, ("link.w.queue=unlimited",)),
    _queue("drop-front", "packets bytes", 'packets=5,bytes="9 kB"', "drop-front"),
    _queue("drop-tail", "packets", "packets=5", "its queue holds"),
    _queue("drop-tail", "bytes", 'bytes="1 MB"', None),
    _queue("red", "packets min max probability", "packets=60,min=4,max=12,probability=0.2", "red"),
    _queue("red", "typical weight ecn", 'typical="500 B",weight=0.01,ecn=false', "red"),
    _queue(
        "gentle-red", "packets min max probability", "packets=60,min=4,max=12,probability=0.2", "gentle-red"
    ),
    _queue("gentle-red", "typical weight ecn", 'typical="500 B",weight=0.01,ecn=false', "gentle-red"),
    _queue(
        "ared", "target packets typical ecn", 'target="20 ms",packets=50,typical="500 B",ecn=false', "ared"
    ),
    _queue(
        "wred",
        "packets weight typical ecn gentle",
        'packets=60,weight=0.01,typical="500 B",ecn=false,gentle=true',
        "wred",
    ),
    _queue(
        "wred", "green green.min green.max green.probability", "green={min=3,max=9,probability=0.3}", "wred"
    ),
    _queue("wred", "yellow red average average.all", 'average="all"', "wred"),
    _queue("wred", "average.coupled", 'average="coupled"', "wred"),
    _queue("wred", "average.own", 'average="own"', "wred"),
    _queue(
        "codel",
        "target interval packets ecn largest",
        'target="2 ms",interval="50 ms",packets=100,ecn=false',
        "codel",
    ),
    _queue(
        "fq-codel",
        "target interval packets ecn flows quantum",
        'target="2 ms",interval="50 ms",flows=16',
        "fq-codel",
    ),
    _queue("pie", "target update burst packets ecn", 'target="5 ms",packets=50', "pie"),
    _queue(
        "priority",
        "classes classes.dscp classes.name classes.queue classes.weight",
        CLASSES,
        "priority serves",
    ),
    _queue("wrr", "classes", WEIGHED, "wrr serves"),
    _queue("drr", "classes quantum", WEIGHED, "drr serves"),
    _queue("wfq", "classes", WEIGHED, "wfq serves"),
    _queue("shaper", "rate burst", 'rate="1 Mbit/s",burst="6 kB"', None),
    _queue("shaper", "queue", 'rate="1 Mbit/s",queue={kind="red",min=4,max=12}', "red"),
    _queue("diffserv", "packets ef", "packets=50,ef=0.2", "diffserv"),
    Row(
        "flow.dscp",
        LINK,
        ("flow.f.dscp=ef", f'link.w.queue={{kind="priority",{CLASSES}}}'),
        'which this is "x"',
    ),
    # Accesses and handovers.
    Row("access access.name access.links access.policy access.policy.schedule", ACCESS),
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
    # Edges.
    Row(
        "edge edge.flow edge.from edge.to edge.each edge.each.rule edge.red edge.green edge.yellow edge.meter",
        LINK,
        (
            'edge.a=[{flow=["f"],from=["a"],to=["b"],each="rule",meter={kind="token-bucket",rate="1 Mbit/s",'
            'burst="15 kB"},red="drop"}]',
        ),
        "edge",
    ),
    Row(
        "edge.protocol edge.protocol.tcp edge.each.flow",
        LINK,
        (f'edge.a=[{{protocol="tcp",each="flow",{POLICER}}}]',),
        "edge",
    ),
    Row(
        "edge.dscp edge.each.connection",
        LINK,
        (f'edge.a=[{{dscp=[0],each="connection",{POLICER}}}]',),
        "edge",
    ),
    Row("edge.protocol.udp", LINK, ('edge.a=[{protocol="udp",green="drop"}]',)),
    _meter("token-bucket", "rate burst", 'rate="1 Mbit/s",burst="15 kB"'),
    _meter(
        "srtcm",
        "committed burst excess colour_aware",
        'committed="1 Mbit/s",burst="15 kB",excess="15 kB",colour_aware=true',
    ),
    _meter(
        "trtcm",
        "committed burst peak peak_burst colour_aware",
        'committed="1 Mbit/s",burst="15 kB",peak="2 Mbit/s",peak_burst="15 kB",colour_aware=true',
    ),
    _meter("tsw2cm", "committed window", 'committed="1 Mbit/s",window="1 s"'),
    _meter("tsw3cm", "committed peak window", 'committed="1 Mbit/s",peak="2 Mbit/s",window="1 s"'),
    # Flows.
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
        "flow.app.http.think",
        LINK,
        ('flow.f.app={kind="http",object="30 kB"}',),
        "this flow is http",
    ),
    Row(
        "flow.transport.tfrc flow.transport.tfrc.damped flow.transport.tfrc.quick_start "
        "flow.transport.tfrc.segment_size flow.transport.tfrc.small_packets",
        LINK,
        ('flow.f.transport={kind="tfrc"}',),
        "this flow uses tfrc",
    ),
    # TCP: keys that affect the steady state.
    _tcp("congestion", "congestion=vegas", "vegas is not predicted"),
    _tcp("congestion", "congestion=cubic"),
    _tcp("parameters", "congestion=vegas;parameters={alpha=1}", "parameters"),
    _tcp("segment_size", "segment_size=536"),
    _tcp("timestamps", "timestamps=false"),
    _tcp("receive_window", "receive_window=20 kB"),
    _tcp("receive_window_start", "receive_window=100 kB;receive_window_start=30 kB"),
    _tcp("send_buffer", "send_buffer=20 kB"),
    _tcp("window_scaling", "window_scaling=false"),
    _tcp("segmentation_offload", "segmentation_offload=true", "segmentation_offload"),
    _tcp(
        "freeze freeze.at freeze.until freeze_warning",
        'freeze=[{at="2 s",until="15 s"}];freeze_warning=1 s',
        "freeze",
    ),
    _tcp(
        "adapt adapt.at adapt.rate adapt.round_trip",
        'adapt=[{at="2 s",rate="1 Mbit/s",round_trip="50 ms"}]',
        "adapt",
    ),
    Row(
        "flow.transport.tcp.on_handover flow.transport.tcp.on_handover.freeze flow.transport.tcp.on_handover.adapt",
        ACCESS,
        (
            'handover=[{at="2 s",to="v",interruption="1 s"}]',
            'flow.f.transport.on_handover=["freeze","adapt"]',
        ),
        "on_handover",
    ),
    # TCP: keys that do not, as the simulation shows.
    *(
        _tcp(value.split("=")[0], value)
        for value in (
            "bursts=false",
            "initial_window=1",
            "initial_ssthresh=60",
            "delayed_ack=false",
            "delayed_ack_min=10 ms",
            "delayed_ack_timeout=100 ms",
            "dsack=false",
            "ecn=true",
            "frto=false",
            "initial_sequence=7",
            "nagle=true",
            "pacing=true",
            "quick_acks=0",
            "quick_window=64 kB",
            "restart_after_idle=false",
            "retries=5",
            "retries_as_time=true",
            "rto_initial=3 s",
            "rto_max=60 s",
            "rto_min=1 s",
            "rto_variance_min=100 ms",
            "syn_linear_timeouts=0",
            "syn_retries=3",
            "tail_loss_probe=false",
            "undo=false",
            "window_validation=false",
            "proportional_reduction=false",
        )
    ),
    _tcp("ack_compression", "ack_compression=500 us"),
    _tcp("ack_every", "ack_every=4"),
    _tcp("pacing_ca_ratio pacing_ss_ratio", "pacing=true;pacing_ca_ratio=150;pacing_ss_ratio=250"),
    _tcp("profile profile.linux", "profile=linux"),
    _tcp("profile.linux-6.12", "profile=linux-6.12"),
    _tcp("profile.linux-6.1", "profile=linux-6.1"),
    _tcp("profile.nineties", "profile=nineties;receive_window=65000 B;send_buffer=65000 B"),
    _tcp("profile.classic recovery recovery.sack", "profile=classic;recovery=sack"),
    _tcp("profile.freebsd", "profile=freebsd"),
    _tcp("profile.scps recovery.snack", "profile=scps"),
    _tcp("recovery.tahoe", "profile=classic;recovery=tahoe"),
    _tcp("recovery.reno", "profile=classic;recovery=reno"),
    _tcp("recovery.newreno sack", "profile=classic;recovery=newreno;sack=false"),
    _tcp("recovery.rack", "recovery=rack"),
    _tcp(
        "rto_estimator rto_estimator.rfc6298 timer_tick",
        "profile=classic;rto_estimator=rfc6298;timer_tick=100 ms",
    ),
    _tcp("rto_estimator.linux", "rto_estimator=linux"),
    # Services and proxies.
    Row(
        "service service.name service.node service.flows service.role service.role.relay",
        RELAYED,
        (),
        "service r",
    ),
    Row(
        "proxy proxy.name proxy.node proxy.flows proxy.mechanism proxy.mechanism.split proxy.mechanism.split.accept "
        "proxy.mechanism.split.accept.early proxy.mechanism.split.buffer proxy.mechanism.split.sides",
        LINKS,
        (
            'proxy=[{name="p",node="m",flows=["f"],mechanism={kind="split",accept="early",buffer="30 kB",'
            'sides.w={congestion="reno"}}}]',
        ),
        "split in 2 legs",
    ),
    Row(
        "proxy.mechanism.split.accept.late proxy.mechanism.split.transport",
        LINKS,
        ('proxy=[{name="p",node="m",mechanism={kind="split",accept="late",transport={congestion="reno"}}}]',),
    ),
    *(
        Row(
            f"proxy.mechanism.{kind} " + " ".join(f"proxy.mechanism.{kind}.{key}" for key in keys.split()),
            LINKS,
            (f'proxy=[{{name="p",node="m",mechanism={{kind="{kind}",over="{over}"{more}}}}}]',),
            kind,
        )
        for kind, keys, over, more in (
            ("ack-filter", "over rate queue", "v", ',rate="1 Mbit/s"'),
            ("ack-decimation", "over rate queue keep", "v", ',rate="1 Mbit/s"'),
            ("ack-reconstruction", "over every longest", "v", ""),
            ("snoop", "over cache shortest", "w", ""),
        )
    ),
    # DVB-RCS.
    Row(
        "network network.dvb-rcs network.dvb-rcs.gateway network.dvb-rcs.terminals network.dvb-rcs.return "
        "network.dvb-rcs.forward network.dvb-rcs.return.dama network.dvb-rcs.return.dama.scheme "
        "network.dvb-rcs.return.dama.scheme.cra network.dvb-rcs.terminals.name",
        STAR,
    ),
    _star(
        "return.rate return.slots_per_frame return.frame", 'return={rate="1024 kbit/s",slots_per_frame=16}'
    ),
    Row("network.dvb-rcs.return.slot_bytes", SLOTS),
    _star("return.frames_per_superframe", "return.frames_per_superframe=8"),
    _star(
        "return.carriers return.carriers.rate return.carriers.count",
        'return.carriers=[{rate="1024 kbit/s",count=2}]',
    ),
    _star(
        "return.acm forward.acm.burst forward.acm.esn0_db forward.acm.margin_db",
        "return.acm={burst=536,esn0_db=12.0,margin_db=1.0}",
    ),
    _star(
        "forward.acm.hysteresis_db forward.acm.delay forward.acm.feeder_esn0_db",
        'return.acm={burst=536,esn0_db=12.0,hysteresis_db=2.0,delay="2 s",feeder_esn0_db=15.0}',
    ),
    _star(
        "forward.acm.fade forward.acm.fade.samples forward.acm.fade.samples.file forward.acm.fade.quantity "
        "forward.acm.fade.quantity.attenuation forward.acm.fade.quantity.esn0 forward.acm.fade.repeat",
        'return.acm={burst=536,esn0_db=12.0,fade={samples="time,st\\n0,12\\n20,3\\n",quantity="esn0",repeat="60 s"}}',
        "fade",
    ),
    _star(
        "forward.acm.budget forward.acm.budget.file forward.acm.budget.symbol_rate forward.acm.budget.up "
        "forward.acm.budget.down forward.acm.budget.interference_db forward.acm.budget.implementation_db "
        "forward.acm.budget.required_esn0_db forward.acm.budget.down.frequency forward.acm.budget.down.distance "
        "forward.acm.budget.down.eirp_dbw forward.acm.budget.down.power_dbw forward.acm.budget.down.gt_db_k "
        "forward.acm.budget.down.noise_k forward.acm.budget.down.losses_db forward.acm.budget.down.transmit "
        "forward.acm.budget.down.receive forward.acm.budget.down.receive.gain_dbi "
        "forward.acm.budget.down.receive.diameter forward.acm.budget.down.receive.efficiency "
        "forward.acm.budget.down.receive.pointing_error",
        'return.acm={burst=536,budget={symbol_rate="1 MBd",implementation_db=1.0,up={frequency="29.5 GHz",'
        'distance="37500 km",power_dbw=3.0,transmit={diameter="0.75 m"},gt_db_k=12.0,losses_db={atmosphere=0.5}},'
        "interference_db={adjacent=25.0}}}",
    ),
    _star("forward.acm forward.acm.modcods", "forward.acm={esn0_db=10.0}"),
    _star("forward.acm.modcods.dvb-s2", 'forward.acm={esn0_db=10.0,modcods="dvb-s2"}'),
    _star("forward.acm.modcods.dvb-s2x", 'forward.acm={esn0_db=10.0,modcods="dvb-s2x"}'),
    _star(
        "terminals.forward_esn0_db", 'forward.acm={esn0_db=10.0};terminals=[{name="st",forward_esn0_db=5.0}]'
    ),
    _star(
        "terminals.esn0_db",
        'return.acm={burst=536,esn0_db=12.0,margin_db=1.0};terminals=[{name="st",esn0_db=5.0}]',
    ),
    _star(
        "return.classes return.classes.name return.classes.dscp return.classes.queue return.classes.asks "
        "return.classes.asks.nothing return.classes.asks.rate return.classes.asks.volume",
        'return.dama.scheme=rbdc;return.dama.cra=64 kbit/s;return.classes=[{name="ef",dscp=["ef"],asks="rate"},'
        '{name="rest",asks="nothing",queue={kind="drop-tail",packets=30}}]',
        "class",
    ),
    _star("return.queue", 'return.queue={kind="red",min=4,max=12}', "red"),
    _star("return.error", 'return.error={kind="packet",probability=0.01}', "loss"),
    _star("forward.rate", "forward.rate=256 kbit/s"),
    _star("forward.error", 'forward.error={kind="packet",probability=0.01}'),
    _star("forward.framing", "forward.framing=atm"),
    Row(
        "network.dvb-rcs.forward.queue",
        STAR,
        ("flow.f.from=gw", "flow.f.to=st", 'network.sat.forward.queue={kind="red",min=4,max=12}'),
        "red",
    ),
    _star("quick_start", "quick_start=0.5"),
    _star("propagation", "propagation=250 ms"),
    Row(
        "network.dvb-rcs.propagation.satellite network.dvb-rcs.propagation.gateway "
        "network.dvb-rcs.propagation.gateway.latitude network.dvb-rcs.propagation.gateway.longitude "
        "network.dvb-rcs.propagation.gateway.altitude network.dvb-rcs.propagation.terminals",
        PLACES,
    ),
    _places("terminals.site", 'terminals=[{name="st",site={latitude="60 deg",longitude="20 deg"}}]'),
    _star(
        "terminals.cra terminals.name terminals.count",
        'terminals=[{name="st",cra="512 kbit/s"},{name="x",count=3}]',
    ),
    _star(
        "terminals.logon terminals.logoff terminals.period",
        'terminals=[{name="st",logon="1 s",logoff="20 s",period="30 s"}]',
        "logs on or off",
    ),
    _star(
        "terminals.max terminals.min terminals.weight",
        'return.dama.scheme=rbdc;terminals=[{name="st",max="512 kbit/s",min="64 kbit/s",weight=2}];'
        "return.dama.allocator=max-min",
    ),
    _dama("cra", "cra=512 kbit/s"),
    _dama("scheme.rbdc", "scheme=rbdc"),
    _dama("scheme.rbdc.gamma scheme.rbdc.timeout", 'scheme={kind="rbdc",gamma=0.1,timeout=4}', "gamma"),
    _dama(
        "scheme.rbdc.estimator scheme.rbdc.estimator.queue scheme.rbdc.estimator.arrival",
        'scheme={kind="rbdc",estimator="arrival"}',
        "estimator",
    ),
    _dama(
        "scheme.rbdc.estimator.predictive scheme.rbdc.estimator.predictive.trend",
        'scheme={kind="rbdc",estimator={kind="predictive",trend=0.2}}',
        "estimator",
    ),
    _dama("scheme.rbdc.max", 'scheme={kind="rbdc",max="512 kbit/s"}'),
    _dama("scheme.vbdc", "scheme=vbdc"),
    _dama("scheme.vbdc.max", 'scheme={kind="vbdc",max="512 kbit/s"}'),
    _dama("scheme.vbdc.timeout", 'scheme={kind="vbdc",timeout=4}', "timeout"),
    _dama("scheme.avbdc scheme.avbdc.max", 'scheme={kind="avbdc",max="512 kbit/s"}', "avbdc"),
    _dama("scheme.fca", "scheme=fca", "fca"),
    _dama(
        "scheme.mix scheme.mix.rbdc scheme.mix.vbdc scheme.mix.avbdc scheme.mix.fca",
        'scheme={kind="mix",rbdc={max="512 kbit/s"},vbdc={max="512 kbit/s"},fca=true}',
        "mix",
    ),
    _dama("response", "scheme=vbdc;response=11"),
    _dama("processing", "scheme=vbdc;processing=300 ms"),
    _dama("planning planning.boundary", "scheme=vbdc;planning=boundary"),
    _dama("planning.just-in-time", "scheme=vbdc;planning=just-in-time"),
    _dama("request_error", 'scheme=rbdc;request_error={kind="packet",probability=0.5}', "request_error"),
    _dama("plan_error", 'scheme=rbdc;plan_error={kind="packet",probability=0.5}', "plan_error"),
    _dama(
        "requests requests.dedicated requests.dedicated.every",
        'scheme=rbdc;requests={kind="dedicated",every=8}',
        "requests",
    ),
    _dama("requests.piggyback", "scheme=rbdc;requests=piggyback", "piggyback"),
    _dama(
        "requests.aloha requests.aloha.slots requests.aloha.backoff", "scheme=rbdc;requests=aloha", "aloha"
    ),
    _dama(
        "requests.crdsa requests.crdsa.slots requests.crdsa.backoff requests.crdsa.data requests.crdsa.replicas",
        "scheme=rbdc;requests=crdsa",
        "crdsa",
    ),
    *(
        _dama(f"allocator allocator.{kind}", f"scheme=rbdc;allocator={kind}")
        for kind in ("proportional", "round-robin", "max-min", "priority")
    ),
    # Skyplex.
    _skyplex(
        "forward gateway terminals planning assignment assignment.bod access access.tdma channel channel.low-rate",
        "",
    ),
    Row("network.skyplex", SKYPLEX),
    _skyplex("assignment.cir cir", 'assignment="cir";cir=440 kbit/s'),
    _skyplex("assignment.mixed", 'assignment="mixed";cir=440 kbit/s'),
    _skyplex("access.scpc", "access=scpc"),
    _skyplex("channel.high-rate", "channel=high-rate;assignment=cir;cir=6226 kbit/s"),
    _skyplex("carriers", "carriers=2"),
    _skyplex("slots cells frames", "slots=4;cells=10;frames=4"),
    _skyplex("framing", "framing=mpe"),
    _skyplex("processing", "processing=500 ms"),
    _skyplex("propagation", "propagation=130 ms"),
    _skyplex("quick_start", "quick_start=0.5"),
    _skyplex("return return.queue", 'return.queue={kind="red",min=4,max=12}', "red"),
    _skyplex("return.error", 'return.error={kind="packet",probability=0.01}', "loss"),
    # Constellations.
    _sky(
        "shell shell.geo shell.geo.longitudes sites sites.latitude sites.longitude gsl gsl.up",
        "gsl.up=2 Mbit/s",
    ),
    Row(
        "network.atm network.atm.ends network.atm.legs network.atm.access.rate network.atm.access.delay "
        "network.atm.encapsulation",
        ATM,
    ),
    # A leg and an access line have the same keys, which the schema contains once.
    _atm("encapsulation", "encapsulation=vc"),
    _atm("encapsulation", "encapsulation=bridged"),
    _atm("encapsulation", "encapsulation=lane"),
    _atm("encapsulation", "encapsulation=ppp"),
    _atm("lan", "lan=10 Mbit/s"),
    _atm("access", 'access={rate="25600 kbit/s",delay="3 ms"}'),
    _atm(
        "others others.ends others.contract",
        'access={rate="25600 kbit/s"};others=[{ends=["c","d"],contract={category="ubr"}}]',
    ),
    _atm(
        "access.error",
        'legs=[{rate="4 Mbit/s",delay="50 ms",error={kind="packet",probability=0.001}}]',
        "loss",
    ),
    _atm("access.buffer", 'legs=[{rate="4 Mbit/s",delay="50 ms",buffer=5000}]'),
    _atm(
        "access.early access.low_priority access.partial",
        'legs=[{rate="4 Mbit/s",delay="50 ms",early=900,partial=true,low_priority=800}]',
        "before a buffer is full",
    ),
    _atm(
        "access.tdma access.tdma.frame access.tdma.carrier",
        'legs=[{rate="4 Mbit/s",delay="50 ms",tdma={frame="20 ms",carrier="16 Mbit/s"}}]',
        "time-division",
    ),
    _atm(
        "contract contract.category contract.category.cbr contract.peak contract.shaping",
        'contract={category="cbr",peak="2 Mbit/s",shaping=true}',
        "policer",
    ),
    _atm(
        "contract.category.vbr contract.sustainable contract.burst contract.tolerance",
        'contract={category="vbr",peak="4 Mbit/s",sustainable="2 Mbit/s",burst=50,tolerance="1 ms",shaping=true}',
        "policer",
    ),
    _atm(
        "contract.category.ubr contract.excess contract.excess.discard",
        'contract={category="ubr",peak="2 Mbit/s",excess="discard"}',
        "policer",
    ),
    _atm("contract.excess.tag", 'contract={category="cbr",peak="2 Mbit/s",excess="tag"}', "policer"),
    # Wi-Fi.
    Row(
        "network.wifi network.wifi.standard network.wifi.standard.802.11g network.wifi.access_point "
        "network.wifi.stations network.wifi.adaptation network.wifi.adaptation.fixed "
        "network.wifi.adaptation.fixed.rate",
        WIFI,
        ("network.wlan.adaptation.rate=24 Mbit/s",),
    ),
    _wifi("delay", "delay=3 us"),
    _wifi("standard.802.11a eifs", "standard=802.11a;eifs=false"),
    _wifi(
        "standard.802.11b preamble adaptation.fixed.mcs",
        'standard=802.11b;preamble=short;adaptation={kind="fixed",mcs=3}',
    ),
    _wifi("protection", "protection=true"),
    _wifi(
        "standard.802.11n band width guard guard.long guard.short streams aggregate aggregate_frames",
        "standard=802.11n;band=2.4 GHz;width=40 MHz;guard=short;streams=2;aggregate=30 kB;aggregate_frames=20;"
        "adaptation=fixed",
    ),
    _wifi("edca", "edca=true", "EDCA"),
    _wifi("queue rts_threshold", 'queue={kind="drop-tail",packets=100};rts_threshold=500 B'),
    _wifi(
        "error control_errors long_retry_limit short_retry_limit",
        'error={kind="packet",probability=0.1};control_errors=true;long_retry_limit=6;short_retry_limit=6',
        "retransmitted",
    ),
    _wifi(
        "stations.name stations.prefix stations.count stations.adaptation stations.error",
        'stations=[{name="b",error={kind="packet",probability=0.1}},{prefix="c",count=2,adaptation="arf"}]',
        "retransmitted",
    ),
    _wifi("hears", 'stations=["b","c"];hears={b=["m"],c=["m"]}', "hidden"),
    _wifi(
        "adaptation.arf adaptation.arf.successes adaptation.arf.timer adaptation.arf.failures",
        'adaptation={kind="arf",successes=8,timer=12,failures=3}',
        "adapts",
    ),
    _wifi(
        "adaptation.aarf adaptation.aarf.successes adaptation.aarf.most_successes adaptation.aarf.factor "
        "adaptation.aarf.timer adaptation.aarf.failures",
        'adaptation={kind="aarf",successes=8,most_successes=50,factor=3,timer=12,failures=3}',
        "adapts",
    ),
    _wifi(
        "adaptation.ld-arf adaptation.ld-arf.successes adaptation.ld-arf.timer adaptation.ld-arf.failures",
        'adaptation={kind="ld-arf",successes=8,timer=12,failures=3}',
        "adapts",
    ),
    _wifi(
        "adaptation.onoe adaptation.onoe.period adaptation.onoe.credits adaptation.onoe.retries",
        'adaptation={kind="onoe",period="500 ms",credits=5,retries=0.2}',
        "adapts",
    ),
    _wifi(
        "adaptation.cara adaptation.cara.probe adaptation.cara.failures adaptation.cara.successes "
        "adaptation.cara.timer",
        'adaptation={kind="cara",probe=2,failures=3,successes=8,timer=12}',
        "adapts",
    ),
    _wifi(
        "adaptation.minstrel adaptation.minstrel.interval adaptation.minstrel.ewma "
        "adaptation.minstrel.look_around",
        'adaptation={kind="minstrel",interval="50 ms",ewma=0.8,look_around=0.2}',
        "adapts",
    ),
    Row("network.constellation", GEO),
    _sky("gsl.down", "gsl.down=2 Mbit/s"),
    _sky("sites.altitude sites.mask gsl.mask", "sites.a.altitude=3 km;sites.a.mask=5 deg;gsl.mask=2 deg"),
    _sky("gsl.antennas sites.antennas", "gsl.antennas=2;sites.a.antennas=1"),
    _sky("gsl.error", 'gsl.error={kind="packet",probability=0.01}', "loss"),
    _sky("gsl.queue", 'gsl.queue={kind="red",min=4,max=12}', "red"),
    _sky(
        "gsl.choice gsl.choice.highest-elevation gsl.choice.highest-elevation.margin",
        'gsl.choice={kind="highest-elevation",margin="5 deg"}',
        "path changes",
        LEO,
    ),
    _sky("gsl.choice.longest-visibility", "gsl.choice=longest-visibility", "path changes", LEO),
    _sky("gsl.choice.least-handovers", "gsl.choice=least-handovers", "path changes", LEO),
    _sky(
        "gsl.choice.schedule gsl.choice.schedule.slot gsl.choice.schedule.offset",
        "gsl.choice=schedule",
        "path changes",
        LEO,
    ),
    _sky("epoch", 'epoch="2024-06-01T00:00:00Z"', "path changes", LEO),
    _sky(
        "handover handover.interruption handover.overlap handover.packets",
        'handover={interruption="1 s",packets="lose"}',
        "path changes",
        LEO,
    ),
    _sky(
        "isl isl.grid isl.grid.rate isl.grid.clearance isl.grid.cross_seam isl.grid.max_latitude isl.grid.max_range",
        'isl={kind="grid",rate="1 Mbit/s",max_latitude="70 deg"}',
        "path changes",
        LEO,
    ),
    _sky(
        "isl.grid.error",
        'isl={kind="grid",rate="25 Mbit/s",error={kind="packet",probability=0.01}}',
        "path changes",
        LEO,
    ),
    _sky("isl.grid.queue", 'isl={kind="grid",rate="25 Mbit/s",queue={kind="red"}}', "path changes", LEO),
    _sky("isl.none", "isl=none"),
    _sky(
        "routing routing.metric routing.metric.delay routing.metric.hops routing.refresh routing.vanished",
        'routing={metric="hops",refresh="5 s"}',
        "path changes",
        LEO,
    ),
    _sky(
        "routing.balance routing.balance.paths routing.balance.max_delay routing.balance.max_load",
        "gsl.antennas=2;routing.balance={paths=2}",
        "balance",
        LEO,
    ),
    _sky(
        "shell.walker-star shell.walker-star.altitude shell.walker-star.inclination shell.walker-star.phasing "
        "shell.walker-star.planes shell.walker-star.raan_spread shell.walker-star.satellites",
        "gsl.up=1 Mbit/s",
        "path changes",
        LEO,
    ),
    _sky(
        "shell.walker-delta shell.walker-delta.altitude shell.walker-delta.inclination shell.walker-delta.phasing "
        "shell.walker-delta.planes shell.walker-delta.raan_spread shell.walker-delta.satellites",
        'shell=[{kind="walker-delta",altitude="1200 km",inclination="55 deg",planes=12,satellites=12,phasing=1}]',
        "path changes",
        LEO,
    ),
)

#: Keys of groups.
_GROUPS: Final = (
    "flow.count",
    "flow.group",
    "flow.starts",
    *(
        f"flow.starts.{name}"
        for name in ("even", "even.over", "uniform", "uniform.over", "poisson", "poisson.mean")
    ),
    "link.count",
    "network.constellation.sites.count",
    "network.constellation.sites.spread",
)

#: Keys that cannot change a path's goodput, or that no small scenario can have, each with the reason.
ELSEWHERE: Final[dict[str, str]] = {
    **dict.fromkeys(
        _GROUPS, "a group is expanded into members before anything reads its path (test_groups.py)"
    ),
    "flow.app.command": "a program of the machine's, which is not simulated",
    "flow.app.command.run": "a program of the machine's, which is not simulated",
    "flow.app.command.serve": "a program of the machine's, which is not simulated",
    "flow.endpoints": "who stands at the ends of an emulation",
    "flow.endpoints.kernel": "who stands at the ends of an emulation",
    "flow.endpoints.model": "who stands at the ends of an emulation",
    "link.return.trace.samples.file": "the same samples in a file",
    "link.error.trace.outcomes.file": "the same outcomes in a file",
    "access.policy.signal.samples.file": "the same samples in a file",
    "network.constellation.routing.forwarding": "the paths of a file, which facts follow as a run does (View)",
    "network.constellation.routing.forwarding.file": "the paths of a file, which facts follow as a run does (View)",
    "network.constellation.shell.elements": "satellites of a file, which move as those of the other shells",
    "network.constellation.shell.elements.elements": "satellites of a file, which move as those of the other shells",
    "network.constellation.shell.elements.elements.file": "satellites of a file",
}
#: Parts of a scenario that do not describe its network.
NOT_NETWORK: Final = {"name", "description", "duration", "seed", "preset", "record", "fidelity", "campaign"}
