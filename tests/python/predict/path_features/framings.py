"""Keys of the framings of links."""

from __future__ import annotations

from typing import Final

from .base import LINK, Row
from .dvb_rcs import STAR

ROWS: Final[tuple[Row, ...]] = (
    Row("link.framing link.framing.none", LINK, ("link.w.framing=none",)),
    Row(
        "link.framing.atm link.framing.atm.encapsulation link.framing.atm.encapsulation.llc-snap",
        LINK,
        ('link.w.framing={kind="atm",encapsulation="llc-snap"}',),
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
)
