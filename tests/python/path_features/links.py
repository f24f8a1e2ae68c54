"""Links, what changes them, and jitter."""

from __future__ import annotations

from typing import Final

from .base import LINK, Row

ROWS: Final[tuple[Row, ...]] = (
    Row(
        "link.return.trace link.return.trace.samples link.trace",
        LINK,
        ('link.w.trace.samples="time,rate\\n0,1000000"',),
    ),
    Row(
        "change change.at change.set",
        LINK,
        ('change=[{at="1 s",set.link.w.rate="1 Mbit/s"}]',),
        "w changes at 1 s",
    ),
    Row("link link.name link.from link.to link.rate", LINK, ("link.w.rate=2 Mbit/s",)),
    Row("link.delay", LINK, ("link.w.delay=20 ms",)),
    Row(
        "link.return.trace.repeat",
        LINK,
        ('link.w.trace={samples="time,rate\\n0,1000000\\n5,3000000",repeat="10 s"}',),
        "trace varies the rate",
    ),
    Row(
        "link.return.trace link.return.rate link.return.delay link.return",
        LINK,
        ('link.w.return={rate="2 Mbit/s",delay="80 ms"}',),
    ),
    Row(
        "link.return.framing",
        LINK,
        ('link.w.return={rate="40 kbit/s",delay="80 ms",framing="atm"}',),
        "carries acknowledgments for",
    ),
    Row(
        "link.return.queue",
        LINK,
        ('link.w.return={rate="2 Mbit/s",delay="80 ms",queue={kind="shaper",rate="20 kbit/s"}}',),
        "carries acknowledgments for",
    ),
    Row(
        "link.return.error",
        LINK,
        ('link.w.return={rate="2 Mbit/s",delay="80 ms",error={kind="packet",probability=0.01}}',),
    ),
    Row(
        "link.return.quick_start link.quick_start flow.transport.tcp.quick_start",
        LINK,
        ("link.w.quick_start=0.5", "flow.f.transport.quick_start=1 Mbit/s"),
        "quick_start",
    ),
    # Errors: response functions hold within a factor, so a note names the losses.
    Row("link.jitter link.jitter.none link.return.jitter", LINK, ("link.w.jitter=none",)),
    *(
        Row(
            f"link.jitter.{kind} " + " ".join(f"link.jitter.{kind}.{key}" for key in keys.split()),
            LINK,
            (f'link.w.jitter={{kind="{kind}",{values}}}',),
            "jitter",
        )
        for kind, keys, values in (
            ("uniform", "most", 'most="5 ms"'),
            ("normal", "mean deviation", 'mean="5 ms",deviation="1 ms"'),
            ("exponential", "mean", 'mean="5 ms"'),
            ("quantiles", "values", 'values=["0 s","5 ms"]'),
            ("late", "probability extra", 'probability=0.1,extra="50 ms"'),
            ("levels", "every offset of", 'every="3 s",offset="1 s",of={kind="uniform",most="5 ms"}'),
            (
                "series",
                "samples samples.file repeat",
                'samples="time,extra\\n0,0.01\\n",repeat="5 s"',
            ),
            ("sum", "parts", 'parts=[{kind="exponential",mean="5 ms"}]'),
        )
    ),
    Row(
        "link.reorder link.return.reorder",
        LINK,
        ('link.w.jitter={kind="uniform",most="5 ms"}', "link.w.reorder=true"),
        "reorders",
    ),
)
