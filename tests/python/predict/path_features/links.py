"""Links, their changes, and jitter."""

from __future__ import annotations

from typing import Final

from .base import LINK, Row


def _budget(keys: str) -> str:
    return " ".join(("link.acm.budget", *(f"link.acm.budget.{key}" for key in keys.split())))


#: The keys of the slots of a link.
SLOTS: Final = "every offset hole hole_deviation level wander correlation noise step"

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
        " ".join(("link.slots", "link.return.slots", *(f"link.return.slots.{key}" for key in SLOTS.split()))),
        LINK,
        (
            'link.w.slots={every="5 s",offset="1 s",hole="80 ms",hole_deviation="5 ms",level=0.1,'
            'wander=0.1,correlation="1 s",noise=0.05,step="50 ms"}',
        ),
        "slots",
    ),
    Row(
        "link.return.trace.repeat",
        LINK,
        ('link.w.trace={samples="time,rate\\n0,1000000\\n5,3000000",repeat="10 s"}',),
        "trace varies the rate",
    ),
    Row(
        "link.return.rate link.return.delay link.return",
        LINK,
        ('link.w.return={rate="2 Mbit/s",delay="80 ms"}',),
    ),
    Row(
        "link.return.trace",
        LINK,
        ('link.w.return={rate="2 Mbit/s",delay="80 ms",trace={samples="time,rate\\n0,1000000"}}',),
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
            (
                "spikes",
                "every offset peak lasts recovery",
                'every="3 s",offset="1 s",peak="50 ms",lasts="500 ms",recovery="1 s"',
            ),
            ("bursts", "least most", 'least="2 ms",most="8 ms"'),
            (
                "wander",
                "mean deviation correlation",
                'mean="5 ms",deviation="2 ms",correlation="50 ms"',
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
    Row(
        "link.acm link.acm.esn0_db link.acm.margin_db link.acm.hysteresis_db link.acm.delay link.acm.feeder_esn0_db",
        LINK,
        (
            "link.w.rate=1 Mbit/s",
            'link.w.acm={esn0_db=12.0,margin_db=1.0,hysteresis_db=2.0,delay="2 s",feeder_esn0_db=15.0}',
        ),
    ),
    Row("link.acm", LINK, ("link.w.rate=1 Mbit/s", "link.w.framing=gse", "link.w.acm={esn0_db=9.0}")),
    Row(
        "link.acm.modcods link.acm.modcods.dvb-s2",
        LINK,
        ("link.w.rate=1 Mbit/s", 'link.w.acm={esn0_db=9.0,modcods="dvb-s2"}'),
    ),
    Row(
        "link.acm.modcods.dvb-s2x",
        LINK,
        ("link.w.rate=1 Mbit/s", 'link.w.acm={esn0_db=9.0,modcods="dvb-s2x"}'),
    ),
    Row(
        "link.acm.fade link.acm.fade.samples link.acm.fade.samples.file link.acm.fade.quantity "
        "link.acm.fade.quantity.attenuation link.acm.fade.quantity.esn0 link.acm.fade.repeat",
        LINK,
        (
            "link.w.rate=1 Mbit/s",
            'link.w.acm={esn0_db=12.0,fade={samples="time,b\\n0,12\\n20,6\\n",quantity="esn0",repeat="60 s"}}',
        ),
        "fade",
    ),
    Row(
        _budget(
            "symbol_rate down interference_db implementation_db down.frequency down.distance down.eirp_dbw "
            "down.noise_k "
            "down.losses_db down.receive down.receive.diameter down.receive.efficiency down.receive.pointing_error"
        ),
        LINK,
        (
            "link.w.rate=1 Mbit/s",
            'link.w.acm={budget={symbol_rate="1 MBd",implementation_db=1.0,down={frequency="19.7 GHz",'
            'distance="37500 km",eirp_dbw=38.0,noise_k=150.0,receive={diameter="0.75 m",efficiency=0.6,'
            'pointing_error="0.1 deg"},losses_db={atmosphere=0.5}},interference_db={adjacent=25.0}}}',
        ),
    ),
    Row(
        _budget("up required_esn0_db down.gt_db_k down.power_dbw down.transmit down.receive.gain_dbi"),
        LINK,
        (
            "link.w.rate=1 Mbit/s",
            'link.w.acm={budget={symbol_rate="1 MBd",required_esn0_db=2.0,'
            'up={frequency="29.5 GHz",distance="37500 km",power_dbw=3.0,transmit={gain_dbi=45.0},gt_db_k=12.0},'
            'down={frequency="19.7 GHz",distance="37500 km",eirp_dbw=38.0,noise_k=150.0,receive={gain_dbi=41.0}}}}',
        ),
    ),
    Row(
        "link.return.acm",
        LINK,
        ('link.w.return={rate="1 Mbit/s",delay="50 ms",acm={esn0_db=9.0}}',),
    ),
)
