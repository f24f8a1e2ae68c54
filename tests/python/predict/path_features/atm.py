"""Keys of ATM networks and their legs."""

from __future__ import annotations

from typing import Any, Final

from .base import LINK, Row

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


def _atm(keys: str, values: str, word: str | None = None) -> Row:
    own = " ".join(f"network.atm.{key}" for key in keys.split())
    return Row(own, ATM, tuple(f"network.wan.{value}" for value in values.split(";")), word)


ROWS: Final[tuple[Row, ...]] = (
    Row(
        "network.atm network.atm.ends network.atm.legs network.atm.access.rate network.atm.access.delay",
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
    _atm(
        "contract.category.abr contract.abr contract.abr.nrm",
        'contract={category="abr",peak="2 Mbit/s",abr={nrm=64}}',
        "flow control of ABR",
    ),
    _atm(
        "contract.abr.minimum contract.abr.initial contract.abr.rif contract.abr.rdf contract.abr.trm contract.abr.cdf"
        " contract.abr.crm contract.abr.adtf contract.abr.buffer access.marking access.marking.explicit-rate"
        " access.marking.explicit-rate.utilization access.marking.explicit-rate.interval",
        'contract={category="abr",peak="4 Mbit/s",abr={minimum="100 kbit/s",initial="1 Mbit/s",rif=0.1,rdf=0.1,'
        'trm="50 ms",cdf=0.5,crm=1000,adtf="1 s",buffer=5000}};'
        'legs=[{rate="4 Mbit/s",delay="50 ms",marking={kind="explicit-rate",utilization=0.9,interval="50 ms"}}]',
        "flow control of ABR",
    ),
    _atm(
        "access.marking.relative-rate access.marking.relative-rate.no_increase access.marking.relative-rate.decrease",
        'contract={category="abr",peak="4 Mbit/s",abr={rif=0.002,rdf=0.002}};'
        'legs=[{rate="4 Mbit/s",delay="50 ms",marking={kind="relative-rate",no_increase=200,decrease=400}}]',
        "flow control of ABR",
    ),
    _atm(
        "access.marking.efci access.marking.efci.threshold",
        'contract={category="abr",peak="4 Mbit/s",abr={rif=0.002,rdf=0.002}};'
        'legs=[{rate="4 Mbit/s",delay="50 ms",marking={kind="efci",threshold=300}}]',
        "flow control of ABR",
    ),
    _atm("contract.excess.tag", 'contract={category="cbr",peak="2 Mbit/s",excess="tag"}', "policer"),
)
