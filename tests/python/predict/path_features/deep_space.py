"""Contacts of links, frames and codes of space links, and networks of bundle agents."""

from __future__ import annotations

from typing import Any, Final

from .applications import SHARED
from .base import LINK, Row

#: Packets that cross as bundles.
BUNDLES: Final[dict[str, Any]] = {
    **LINK,
    "link": [],
    "network": {
        "space": {
            "kind": "bundles",
            "plan": "src,dst,start,end,rate_bps,owlt_s\na,b,0,20,4000000,0.05\nb,a,0,20,4000000,0.05",
        }
    },
}


#: A pair of proxies at the ends of a network of bundle agents.
PROXIES: Final[dict[str, Any]] = {
    **LINK,
    "link": [
        {"name": "v", "from": "a", "to": "m", "rate": "8 Mbit/s", "delay": "10 ms"},
        {"name": "w", "from": "n", "to": "b", "rate": "8 Mbit/s", "delay": "10 ms"},
    ],
    "network": {
        "space": {
            "kind": "bundles",
            "plan": "src,dst,start,end,rate_bps,owlt_s\nm,n,0,20,4000000,0.05\nn,m,0,20,4000000,0.05",
        }
    },
}

#: Codes, with their keys and a bit error rate at which they leave next to no errors.
CODES: Final = (
    ("none", "", "", 1e-9),
    ("reed-solomon", "correctable interleave", ",correctable=16,interleave=4", 1e-3),
    ("bch", "", "", 1e-6),
    ("convolutional", "", "", 1e-3),
    ("concatenated", "correctable interleave", ",correctable=16,interleave=4", 1e-2),
    ("turbo", "information rate loss_db", ",information=1784,rate=0.5,loss_db=1.0", 1e-3),
    ("ldpc", "information rate loss_db", ",information=1024,rate=0.5,loss_db=1.0", 1e-3),
)


def _coded(kind: str, keys: str, values: str, ber: float) -> Row:
    own = " ".join(f"link.error.coded.code.{kind}.{key}" for key in keys.split())
    code = f'code={{kind="{kind}"{values}}}'
    # Frames fill the codewords of Reed-Solomon codes.
    length = "length=892," if "interleave" in keys else ""
    return Row(
        f"link.error.coded link.error.coded.ber link.error.coded.code link.error.coded.code.{kind} {own}",
        LINK,
        (
            f'link.w.framing={{kind="space",{length}{code}}}',
            f'link.w.error={{kind="coded",ber={ber},{code}}}',
        ),
    )


def _bundles(keys: str, values: str) -> Row:
    own = " ".join(f"network.bundles.{key}" for key in keys.split())
    sets = tuple(f"network.space.{value}" for value in values.split(";"))
    return Row(own, BUNDLES, sets, "bundles are stored and forwarded")


ROWS: Final[tuple[Row, ...]] = (
    Row(
        "link.contacts link.contacts.when link.contacts.when.windows link.contacts.when.windows.windows "
        "link.contacts.when.windows.repeat link.contacts.outages link.contacts.outages.start "
        "link.contacts.outages.end link.contacts.outages.announced",
        LINK,
        (
            'link.w.contacts.when={kind="windows",windows=[["0 s","9 s"]],repeat="10 s"}',
            'link.w.contacts.outages=[{start="1 s",end="2 s",announced=true}]',
        ),
        "open in its contacts",
    ),
    Row(
        "link.contacts.when.random link.contacts.when.random.open link.contacts.when.random.closed",
        LINK,
        ('link.w.contacts.when={kind="random",open="5 s",closed="1 s"}',),
        "open in its contacts",
    ),
    Row(
        "link.contacts.when.plan link.contacts.when.plan.plan",
        LINK,
        (
            'link.w.contacts.when={kind="plan",plan="src,dst,start,end,rate_bps,owlt_s'
            '\\na,b,0,20,4000000,0.05\\nb,a,0,20,4000000,0.05"}',
        ),
        "open in its contacts",
    ),
    Row(
        "link.arq link.arq.window link.arq.timer",
        LINK,
        ('link.w.arq={window=60,timer="1 s"}',),
        "acknowledged (ARQ)",
    ),
    Row(
        "flow.app.bundles.series",
        LINK,
        ('flow.f.app={kind="bundles",series="time,payload\\n0,1000\\n0.01,900"}', "flow.f.transport=udp"),
        "this flow uses udp",
    ),
    Row("link.holds link.return.holds", LINK, ("link.w.holds=40",), "it holds at most 40 packets"),
    Row(
        "link.framing.space link.framing.space.frame link.framing.space.frame.aos link.framing.space.length "
        "link.framing.space.control_field link.framing.space.packets link.framing.space.packets.space-packet "
        "link.framing.space.code",
        LINK,
        (
            'link.w.framing={kind="space",frame="aos",length=892,control_field=true,packets="space-packet",'
            'code={kind="concatenated",correctable=16,interleave=4}}',
        ),
    ),
    *(
        Row(
            f"link.framing.space.frame.{frame} link.framing.space.packets.encapsulation",
            LINK,
            (f'link.w.framing={{kind="space",frame="{frame}",packets="encapsulation"}}',),
        )
        for frame in ("tm", "uslp", "proximity-1")
    ),
    Row(
        "link.framing.space.idle_frames",
        LINK,
        ('link.w.framing={kind="space",idle_frames=true}',),
        "idle frame",
    ),
    *(_coded(*code) for code in CODES),
    Row(
        "link.error.coded.eb_n0_db",
        LINK,
        (
            'link.w.framing={kind="space",code={kind="convolutional"}}',
            'link.w.error={kind="coded",eb_n0_db=7.0,code={kind="convolutional"}}',
        ),
    ),
    Row(
        "network.bundles network.bundles.plan network.bundles.convergence network.bundles.convergence.udp "
        "network.bundles.lifetime",
        BUNDLES,
        ("network.space.lifetime=2 h",),
        "bundles are stored and forwarded",
    ),
    _bundles(
        "convergence.ltp segment margin storage discard discard.oldest routing routing.contact-graph",
        'convergence="ltp";segment="1 kB";margin="2 s";storage="1 MB";discard="oldest"',
    ),
    _bundles(
        "routing.spray-and-wait copies discard.lowest-priority error",
        'routing="spray-and-wait";copies=4;discard="lowest-priority";error={kind="packet",probability=0.01}',
    ),
    _bundles(
        "routing.epidemic routing.prophet discard.newest outages outages.from outages.to outages.start "
        "outages.end outages.announced",
        'routing="epidemic";outages=[{from="a",to="b",start="2 s",end="3 s",announced=true}]',
    ),
    Row(
        "proxy.mechanism.dtn proxy.mechanism.dtn.over proxy.mechanism.dtn.block proxy.mechanism.dtn.flush "
        "proxy.mechanism.dtn.transport",
        PROXIES,
        (
            "proxy=["
            + ",".join(
                f'{{name="{node}-proxy",node="{node}",mechanism={{kind="dtn",over="space",block="5 kB",flush="50 ms",'
                'transport={congestion="reno"}}}'
                for node in ("m", "n")
            )
            + "]",
        ),
        "carry this flow as bundles",
    ),
    Row(
        "flow.app.bundles flow.app.bundles.rate flow.app.bundles.payload flow.app.bundles.report "
        "flow.app.bundles.bundles flow.app.bundles.timeout",
        SHARED,
        ('flow.g.app={kind="bundles",rate="1 Mbit/s",payload="1 kB",report="40 B",timeout="10 s"}',),
    ),
    Row(
        "flow.app.bundles.window",
        LINK,
        ('flow.f.app={kind="bundles",window=1,payload="1 kB",timeout="10 s"}', "flow.f.transport=udp"),
        "this flow uses udp",
    ),
)
