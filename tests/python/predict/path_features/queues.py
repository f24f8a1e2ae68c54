"""Queue disciplines, and their code points."""

from __future__ import annotations

from typing import Final

from .base import LINK, Row


def _queue(kind: str, keys: str, values: str, word: str | None) -> Row:
    own = " ".join(f"link.queue.{kind}.{key}" for key in keys.split())
    text = f'link.w.queue={{kind="{kind}"{", " if values else ""}{values}}}'
    return Row(f"link.queue.{kind} {own}", LINK, (text,), word)


CLASSES: Final = 'classes=[{name="x",dscp=["ef"],queue={kind="drop-tail",packets=50}},{name="y"}]'

WEIGHED: Final = 'classes=[{name="x",dscp=["ef"],weight=3},{name="y"}]'

ROWS: Final[tuple[Row, ...]] = (
    Row("link.queue link.queue.unlimited", LINK, ("link.w.queue=unlimited",)),
    _queue("drop-front", "packets bytes", 'packets=5,bytes="9 kB"', "drop-front"),
    _queue("drop-tail", "packets", "packets=5", "the queue holds"),
    _queue("drop-tail", "bytes", 'bytes="1 MB"', None),
    _queue("red", "packets min max probability", "packets=60,min=4,max=12,probability=0.2", "red"),
    _queue("red", "typical weight ecn", 'typical="500 B",weight=0.01,ecn=false', "red"),
    _queue(
        "red-bytes",
        "limit min max probability typical burst",
        'limit="75 kB",min="7500 B",max="22500 B",probability=0.1,typical="1500 B",burst=12',
        "red-bytes",
    ),
    _queue("red-bytes", "bandwidth ecn", 'bandwidth="10 Mbit/s",ecn=true', "red-bytes"),
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
    _queue("wred", "spacing spacing.uniform", 'spacing="uniform"', "wred"),
    _queue("wred", "spacing.geometric", 'spacing="geometric"', "wred"),
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
    _queue("fq-codel", "backlog backlog.line", 'backlog="line"', "fq-codel"),
    _queue("fq-codel", "backlog.all", 'backlog="all"', "fq-codel"),
    _queue("pie", "target update burst packets ecn", 'target="5 ms",packets=50', "pie"),
    _queue(
        "dualpi2",
        "target update alpha beta coupling packets min_th range th_len classic_protection",
        'target="5 ms",packets=50',
        "dualpi2",
    ),
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
)
