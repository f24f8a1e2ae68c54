"""Keys of services and proxies."""

from __future__ import annotations

from typing import Any, Final

from .base import FLOW, LINK, Row

#: Two links in series, for proxies and edges.
LINKS: Final[dict[str, Any]] = {
    **LINK,
    "link": [
        {"name": "v", "from": "a", "to": "m", "rate": "8 Mbit/s", "delay": "10 ms"},
        {"name": "w", "from": "m", "to": "b", "rate": "4 Mbit/s", "delay": "50 ms"},
    ],
}

#: Two further participants of a conference.
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

ROWS: Final[tuple[Row, ...]] = (
    Row(
        "service service.name service.node service.flows service.role service.role.relay",
        RELAYED,
        (),
        "service r",
    ),
    Row(
        "service.role.bridge",
        RELAYED,
        (
            *(
                f"flow.{flow}.{key}"
                for flow in ("g", "h")
                for key in ('app={kind="calls",calls=1}', "transport=sip")
            ),
            "service.r.role=bridge",
        ),
        "service r",
    ),
    Row(
        "proxy proxy.name proxy.node proxy.enabled proxy.flows proxy.mechanism proxy.mechanism.split "
        "proxy.mechanism.split.accept proxy.mechanism.split.accept.early proxy.mechanism.split.buffer "
        "proxy.mechanism.split.sides",
        LINKS,
        (
            'proxy=[{name="p",node="m",enabled=true,flows=["f"],mechanism={kind="split",accept="early",buffer="30 kB",'
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
)
