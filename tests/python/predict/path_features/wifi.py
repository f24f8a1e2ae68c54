"""Keys of Wi-Fi networks."""

from __future__ import annotations

from typing import Any, Final

from .base import LINK, Row

#: Wi-Fi behind a slower link.
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


def _wifi(keys: str, values: str, word: str | None = None) -> Row:
    own = " ".join(f"network.wifi.{key}" for key in keys.split())
    return Row(own, WIFI, tuple(f"network.wlan.{value}" for value in values.split(";")), word)


ROWS: Final[tuple[Row, ...]] = (
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
        "standard.802.11n band width guard guard.short streams aggregate aggregate_frames",
        "standard=802.11n;band=2.4 GHz;width=40 MHz;guard=short;streams=2;aggregate=30 kB;aggregate_frames=20;"
        "adaptation=fixed",
    ),
    _wifi("guard.long", "standard=802.11n;guard=long;adaptation=fixed"),
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
    _wifi(
        "adaptation.minstrel-ht adaptation.minstrel-ht.interval adaptation.minstrel-ht.sampling",
        'adaptation={kind="minstrel-ht",interval="100 ms",sampling="10 ms"}',
        "adapts",
    ),
)
