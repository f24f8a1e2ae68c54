"""Keys of Skyplex networks."""

from __future__ import annotations

from typing import Any, Final

from .base import Row
from .dvb_rcs import STAR

SKYPLEX: Final[dict[str, Any]] = {
    **STAR,
    "duration": "120 s",
    "network": {
        "sat": {"kind": "skyplex", "forward": {"rate": "10 Mbit/s"}, "terminals": ["st"], "gateway": "gw"}
    },
}


def _skyplex(keys: str, values: str, word: str | None = None) -> Row:
    own = " ".join(f"network.skyplex.{key}" for key in keys.split())
    return Row(own, SKYPLEX, tuple(f"network.sat.{value}" for value in values.split(";") if value), word)


ROWS: Final[tuple[Row, ...]] = (
    _skyplex(
        "forward gateway terminals planning assignment assignment.bod access access.tdma channel channel.low-rate",
        "planning=just-in-time;assignment=bod;access=tdma;channel=low-rate",
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
)
