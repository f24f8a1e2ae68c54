"""Error processes of links."""

from __future__ import annotations

from typing import Final

from .base import LINK, Row

#: Losses by states of a signal, and by its signal-to-noise ratio.
STATES: Final = (
    'kind="snr-states",step="5 ms",rates=["1 Mbit/s","11 Mbit/s"],rate="1 Mbit/s",'
    "loss=[[0,0.1],[0.1,1]],transitions=[[0.99,0.01],[0.5,0.5]]"
)

FADING: Final = (
    'kind="snr",snr_db=20,fading={kind="rice",k_factor=2},shadowing={deviation_db=3,distance="2 m"},'
    'speed="2 m/s",wavelength="0.12 m",mode="ofdm-12"'
)

ROWS: Final[tuple[Row, ...]] = (
    Row("link.error link.error.none", LINK, ("link.w.error=none",)),
    Row(
        "link.error.packet link.error.packet.probability",
        LINK,
        ('link.w.error={kind="packet",probability=0.01}',),
        "loss",
    ),
    Row(
        "link.error.packet.effect link.error.packet.effect.drop link.error.packet.effect.stale-checksum",
        LINK,
        ('link.w.error={kind="packet",probability=0.01,effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.packet.effect.valid-checksum",
        LINK,
        ('link.w.error={kind="packet",probability=0.01,effect="valid-checksum"}',),
        "effect",
    ),
    Row("link.error.bit link.error.bit.rate", LINK, ('link.w.error={kind="bit",rate=1e-6}',), "loss"),
    Row(
        "link.error.bit.effect",
        LINK,
        ('link.w.error={kind="bit",rate=1e-6,effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.gilbert link.error.gilbert.burst link.error.gilbert.probability",
        LINK,
        ('link.w.error={kind="gilbert",probability=0.01,burst=8.0}',),
        "gilbert",
    ),
    Row(
        "link.error.gilbert.effect",
        LINK,
        ('link.w.error={kind="gilbert",probability=0.01,burst=8.0,effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.list link.error.list.packets",
        LINK,
        ('link.w.error={kind="list",packets=[100,200]}',),
        "list",
    ),
    Row(
        "link.error.list.effect",
        LINK,
        ('link.w.error={kind="list",packets=[100],effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.load link.error.load.idle link.error.load.loaded link.error.load.rate "
        "link.error.load.window",
        LINK,
        ('link.w.error={kind="load",idle=0.001,loaded=0.01,rate="1 Mbit/s",window="1 s"}',),
        "load",
    ),
    Row(
        "link.error.load.effect",
        LINK,
        ('link.w.error={kind="load",idle=0.001,loaded=0.01,rate="1 Mbit/s",effect="stale-checksum"}',),
        "effect",
    ),
    Row(
        "link.error.gilbert-elliott link.error.gilbert-elliott.good_to_bad "
        "link.error.gilbert-elliott.bad_to_good link.error.gilbert-elliott.loss_good "
        "link.error.gilbert-elliott.loss_bad",
        LINK,
        (
            'link.w.error={kind="gilbert-elliott",good_to_bad=0.01,bad_to_good=0.1,loss_good=0.001,loss_bad=0.3}',
        ),
        "gilbert-elliott",
    ),
    Row(
        "link.error.gilbert-elliott.effect",
        LINK,
        (
            'link.w.error={kind="gilbert-elliott",good_to_bad=0.01,bad_to_good=0.1,loss_good=0.001,loss_bad=0.3,effect="stale-checksum"}',
        ),
        "effect",
    ),
    Row(
        "link.error.markov link.error.markov.loss link.error.markov.transitions",
        LINK,
        ('link.w.error={kind="markov",loss=[0,1],transitions=[[0.99,0.01],[0.5,0.5]]}',),
        "markov",
    ),
    Row(
        "link.error.markov.effect",
        LINK,
        (
            'link.w.error={kind="markov",loss=[0,1],transitions=[[0.99,0.01],[0.5,0.5]],effect="stale-checksum"}',
        ),
        "effect",
    ),
    Row(
        "link.error.snr-states link.error.snr-states.loss link.error.snr-states.rates "
        "link.error.snr-states.rate link.error.snr-states.transitions link.error.snr-states.step",
        LINK,
        (f"link.w.error={{{STATES}}}",),
        "snr-states",
    ),
    Row(
        "link.error.snr-states.effect",
        LINK,
        (f'link.w.error={{{STATES},effect="stale-checksum"}}',),
        "effect",
    ),
    Row(
        "link.error.snr link.error.snr.snr_db link.error.snr.fading link.error.snr.fading.none "
        "link.error.snr.fading.rayleigh link.error.snr.fading.rice link.error.snr.fading.rice.k_factor "
        "link.error.snr.shadowing link.error.snr.shadowing.deviation_db "
        "link.error.snr.shadowing.distance link.error.snr.speed link.error.snr.wavelength "
        "link.error.snr.mode link.error.snr.mode.dsss-1 link.error.snr.mode.dsss-2 "
        "link.error.snr.mode.cck-5.5 link.error.snr.mode.cck-11 link.error.snr.mode.ofdm-6 "
        "link.error.snr.mode.ofdm-9 link.error.snr.mode.ofdm-12 link.error.snr.mode.ofdm-18 "
        "link.error.snr.mode.ofdm-24 link.error.snr.mode.ofdm-36 link.error.snr.mode.ofdm-48 "
        "link.error.snr.mode.ofdm-54",
        LINK,
        (f"link.w.error={{{FADING}}}",),
        "snr",
    ),
    Row(
        "link.error.snr.effect",
        LINK,
        (f'link.w.error={{{FADING},effect="stale-checksum"}}',),
        "effect",
    ),
    Row(
        "link.error.trace link.error.trace.outcomes link.error.trace.start link.error.trace.interval",
        LINK,
        ('link.w.error={kind="trace",outcomes="lost,frames\\n0,100\\n1,1\\n",start=3,interval="5 ms"}',),
        "trace",
    ),
    Row(
        "link.error.trace.effect",
        LINK,
        (
            'link.w.error={kind="trace",outcomes="lost,frames\\n0,100\\n1,1\\n",start=3,effect="stale-checksum"}',
        ),
        "effect",
    ),
)
