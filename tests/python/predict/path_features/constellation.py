"""Keys of constellations and their links."""

from __future__ import annotations

from typing import Any, Final

from .base import FLOW, LINK, TCP, Row

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


def _sky(keys: str, values: str, word: str | None = None, base: dict[str, Any] = GEO) -> Row:
    own = " ".join(f"network.constellation.{key}" for key in keys.split())
    return Row(own, base, tuple(f"network.sky.{value}" for value in values.split(";")), word)


ROWS: Final[tuple[Row, ...]] = (
    _sky(
        "shell shell.geo shell.geo.longitudes sites sites.latitude sites.longitude gsl gsl.up",
        "gsl.up=2 Mbit/s",
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
