"""Stars of DVB-RCS: the return link and its demand assignment, ACM, the forward link, terminals."""

from __future__ import annotations

from typing import Any, Final

from .base import FLOW, QUIET, TCP, Row

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

#: The same star with a frame that follows from the bytes of a slot.
SLOTS: Final[dict[str, Any]] = {
    **STAR,
    "network": {"sat": {**STAR["network"]["sat"], "return": {"rate": "2048 kbit/s", "slot_bytes": 212}}},
}

ROME: Final = {"latitude": "41.9 deg", "longitude": "12.5 deg"}

#: The same star with positions.
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


#: The same over eight satellites above the equator.
ORBIT: Final[dict[str, Any]] = {
    **STAR,
    "network": {
        "sat": {
            **STAR["network"]["sat"],
            "propagation": {
                "gateway": ROME,
                "terminals": ROME,
                "orbit": {
                    "epoch": "2000-01-01T14:02:00Z",
                    "shell": [
                        {
                            "kind": "walker-delta",
                            "altitude": "8062 km",
                            "inclination": "0 deg",
                            "planes": 1,
                            "satellites": 8,
                        }
                    ],
                    "mask": "5 deg",
                    "choice": "least-handovers",
                    "interruption": "100 ms",
                },
            },
        }
    },
}


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


ROWS: Final[tuple[Row, ...]] = (
    Row(
        "network network.dvb-rcs network.dvb-rcs.gateway network.dvb-rcs.terminals network.dvb-rcs.return "
        "network.dvb-rcs.forward network.dvb-rcs.return.dama network.dvb-rcs.return.dama.scheme "
        "network.dvb-rcs.return.dama.scheme.cra network.dvb-rcs.terminals.name",
        STAR,
        ("network.sat.return.dama.scheme=cra", 'network.sat.terminals=[{name="st"}]'),
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
    Row(
        "network.dvb-rcs.return.acm link.acm.burst",
        STAR,
        ("network.sat.return.acm={burst=536,esn0_db=12.0,margin_db=1.0}",),
    ),
    _star(
        "return.acm",
        'return.acm={burst=536,esn0_db=12.0,hysteresis_db=2.0,delay="2 s",feeder_esn0_db=15.0}',
    ),
    _star(
        "return.acm",
        'return.acm={burst=536,esn0_db=12.0,fade={samples="time,st\\n0,12\\n20,3\\n",quantity="esn0",repeat="60 s"}}',
        "fade",
    ),
    _star(
        "return.acm",
        'return.acm={burst=536,budget={symbol_rate="1 MBd",implementation_db=1.0,up={frequency="29.5 GHz",'
        'distance="37500 km",power_dbw=3.0,transmit={diameter="0.75 m"},gt_db_k=12.0,losses_db={atmosphere=0.5}},'
        "interference_db={adjacent=25.0}}}",
    ),
    _star("forward.acm", "forward.acm={esn0_db=10.0}"),
    _star("forward.acm", "forward.acm={esn0_db=10.0};forward.framing=gse"),
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
    Row(
        "network.dvb-rcs.propagation.orbit network.dvb-rcs.propagation.orbit.epoch "
        "network.dvb-rcs.propagation.orbit.shell network.dvb-rcs.propagation.orbit.mask "
        "network.dvb-rcs.propagation.orbit.choice network.dvb-rcs.propagation.orbit.interruption",
        ORBIT,
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
    _dama("access access.immediate", "scheme=cra;access=immediate"),
    _dama("access.superframe", "scheme=cra;access=superframe"),
    _star("terminals.scheme", 'terminals=[{name="st",scheme="rbdc"},{name="b"}];return.dama.scheme=cra'),
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
)
