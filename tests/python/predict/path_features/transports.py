"""Transports: TCP, key by key, TFRC, NORM and QUIC."""

from __future__ import annotations

from typing import Any, Final

from .base import LINK, Row
from .handovers import MULTILINK


def _tcp(keys: str, values: str, word: str | None = None, base: dict[str, Any] = LINK) -> Row:
    own = " ".join(f"flow.transport.tcp.{key}" for key in keys.split())
    return Row(own, base, tuple(f"flow.f.transport.{value}" for value in values.split(";")), word)


ROWS: Final[tuple[Row, ...]] = (
    Row(
        "flow.transport.tfrc flow.transport.tfrc.damped flow.transport.tfrc.quick_start "
        "flow.transport.tfrc.segment_size flow.transport.tfrc.small_packets",
        LINK,
        ('flow.f.transport={kind="tfrc"}',),
        "this flow uses tfrc",
    ),
    Row(
        "flow.transport.norm flow.transport.norm.backoff flow.transport.norm.block flow.transport.norm.group_size "
        "flow.transport.norm.grtt flow.transport.norm.rate flow.transport.norm.robust "
        "flow.transport.norm.segment_size flow.multicast",
        LINK,
        ('flow.f.transport={kind="norm",rate="1 Mbit/s"}', "flow.f.multicast=all"),
        "this flow uses norm",
    ),
    Row(
        "flow.transport.quic flow.transport.quic.ack_every flow.transport.quic.ack_frequency "
        "flow.transport.quic.ack_frequency.max_ack_delay flow.transport.quic.ack_frequency.reordering_threshold "
        "flow.transport.quic.ack_frequency.threshold flow.transport.quic.careful_resume "
        "flow.transport.quic.careful_resume.cwnd flow.transport.quic.careful_resume.earlier "
        "flow.transport.quic.careful_resume.rtt "
        "flow.transport.quic.certificate flow.transport.quic.congestion flow.transport.quic.connection_window "
        "flow.transport.quic.ecn flow.transport.quic.idle_timeout flow.transport.quic.initial_window "
        "flow.transport.quic.max_ack_delay flow.transport.quic.max_connection_window "
        "flow.transport.quic.max_datagram_frame_size "
        "flow.transport.quic.max_stream_window flow.transport.quic.max_udp_payload_size flow.transport.quic.migration "
        "flow.transport.quic.mtu_discovery flow.transport.quic.pacing flow.transport.quic.pacing_gain "
        "flow.transport.quic.packet_threshold flow.transport.quic.parameters flow.transport.quic.resumption "
        "flow.transport.quic.stream_window",
        LINK,
        ('flow.f.transport={kind="quic"}',),
        "this flow uses quic",
    ),
    # TCP: keys that affect the steady state.
    _tcp("congestion", "congestion=vegas", "no equation for vegas"),
    _tcp("congestion", "congestion=cubic"),
    _tcp("parameters", "congestion=vegas;parameters={alpha=1}", "parameters"),
    _tcp("segment_size", "segment_size=536"),
    _tcp("timestamps", "timestamps=false"),
    _tcp("receive_window", "receive_window=20 kB"),
    _tcp("receive_window_start", "receive_window=100 kB;receive_window_start=30 kB"),
    _tcp("send_buffer", "send_buffer=20 kB"),
    _tcp("send_memory", "send_memory=30 kB", "send_memory as the limit"),
    _tcp("window_scaling", "window_scaling=false"),
    _tcp("segmentation_offload", "segmentation_offload=true", "segmentation_offload"),
    _tcp(
        "freeze freeze.at freeze.until freeze_warning",
        'freeze=[{at="2 s",until="15 s"}];freeze_warning=1 s',
        "freeze",
    ),
    _tcp(
        "adapt adapt.at adapt.rate adapt.round_trip",
        'adapt=[{at="2 s",rate="1 Mbit/s",round_trip="50 ms"}]',
        "adapt",
    ),
    Row(
        "flow.transport.tcp.on_handover flow.transport.tcp.on_handover.freeze flow.transport.tcp.on_handover.adapt",
        MULTILINK,
        (
            'handover=[{at="2 s",to="v",interruption="1 s"}]',
            'flow.f.transport.on_handover=["freeze","adapt"]',
        ),
        "on_handover",
    ),
    # TCP: keys without an effect on the steady state, as the simulation shows.
    *(
        _tcp(value.split("=")[0], value)
        for value in (
            "bursts=false",
            "initial_window=1",
            "initial_ssthresh=60",
            "delayed_ack=false",
            "delayed_ack_min=10 ms",
            "delayed_ack_timeout=100 ms",
            "dsack=false",
            "ecn=true",
            "ecn=accurate",
            "frto=false",
            "syn_undo=false",
            "initial_sequence=7",
            "nagle=true",
            "minshall=false",
            "pacing=true",
            "quick_acks=0",
            "ack_pushed=false",
            "quick_window=64 kB",
            "restart_after_idle=false",
            "retries=5",
            "retries_as_time=true",
            "rto_initial=3 s",
            "rto_max=60 s",
            "rto_min=1 s",
            "rto_variance_min=100 ms",
            "syn_linear_timeouts=0",
            "syn_retries=3",
            "tail_loss_probe=false",
            "undo=false",
            "window_validation=false",
            "proportional_reduction=false",
            "rate_halving=true",
            "byte_counting=false",
        )
    ),
    _tcp(
        "careful_resume",
        'careful_resume={cwnd=40,rtt="100 ms"}',
    ),
    _tcp("ack_compression", "ack_compression=500 us"),
    _tcp("ack_every", "ack_every=4"),
    _tcp("jiffy", "jiffy=10 ms"),
    _tcp("pacing_ca_ratio pacing_ss_ratio", "pacing=true;pacing_ca_ratio=150;pacing_ss_ratio=250"),
    _tcp("profile profile.linux", "profile=linux"),
    _tcp("profile.linux-6.12", "profile=linux-6.12"),
    _tcp("profile.linux-6.1", "profile=linux-6.1"),
    _tcp("profile.linux-2.6.32", "profile=linux-2.6.32"),
    _tcp("profile.nineties", "profile=nineties;receive_window=65000 B;send_buffer=65000 B"),
    _tcp("profile.classic recovery recovery.sack", "profile=classic;recovery=sack"),
    _tcp("profile.freebsd", "profile=freebsd"),
    _tcp("profile.scps recovery.snack", "profile=scps;recovery=snack"),
    _tcp("recovery.tahoe", "profile=classic;recovery=tahoe"),
    _tcp("recovery.reno", "profile=classic;recovery=reno"),
    _tcp("recovery.newreno sack", "profile=classic;recovery=newreno;sack=false"),
    _tcp("recovery.rack", "recovery=rack"),
    _tcp(
        "rto_estimator rto_estimator.rfc6298 timer_tick",
        "profile=classic;rto_estimator=rfc6298;timer_tick=100 ms",
    ),
    _tcp("rto_estimator.linux", "rto_estimator=linux"),
)
