"""DiffServ edges and their meters."""

from __future__ import annotations

from typing import Final

from .base import LINK, Row


def _meter(kind: str, keys: str, values: str) -> Row:
    own = " ".join(f"edge.meter.{kind}.{key}" for key in keys.split())
    rule = f'edge.a=[{{meter={{kind="{kind}",{values}}},red="drop"}}]'
    return Row(f"edge.meter.{kind} {own}", LINK, (rule,), kind)


POLICER: Final = 'meter={kind="token-bucket",rate="1 Mbit/s",burst="15 kB"},red="drop"'

ROWS: Final[tuple[Row, ...]] = (
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
)
