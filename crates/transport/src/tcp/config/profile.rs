//! The profiles of TCP: named sets of values for all keys.

use super::{Config, Ecn, Recovery, RtoEstimator};
use bentpipe_core::{Count, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A named set of values for all keys of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Linux as of version 6.18, whose receive buffer grows to 32 MiB and whose send buffer to 4
    /// MiB (tcp_rmem and tcp_wmem of a machine with 4 GiB of memory or more).
    #[default]
    Linux,
    /// Like `linux`, but with the receive buffer of version 6.12: 6 MiB of memory, which gave a
    /// window of 3.98 MB for packets of 1512 bytes in a TUN device. The fraction depends on the
    /// memory that a device uses per packet.
    #[serde(rename = "linux-6.12")]
    Linux612,
    /// Like `linux`, but with the receive buffer of versions before 6.6 (6 MiB of memory, half of
    /// which is window) and without the linear time-outs of SYNs.
    #[serde(rename = "linux-6.1")]
    Linux61,
    /// Linux 2.6.32 of 2009, used by the distributions of 2010 to 2012, for reproducing
    /// measurements of that time (docs/notes/linux-2.6.32.md gives the source of each value). It
    /// detects losses only by selective acknowledgments, halves the rate in recovery, and grows by
    /// acknowledgments. The initial window is 3 segments, the initial time-out 3 s, the buffers 4
    /// MiB. It has no bursts and no probes for tail losses. Later versions have an initial window
    /// of 10 (from 2.6.39) and an initial time-out of 1 s (from 3.1). Not modelled: segmentation
    /// offload of that time, the adaptation to reordering, and FACK.
    #[serde(rename = "linux-2.6.32")]
    Linux2632,
    /// A stack of the early 2000s, as simulated in most published studies.
    Classic,
    /// Like `classic`, but with the initial window of FreeBSD at that time: one segment.
    Freebsd,
    /// SCPS-TP (CCSDS 714.0-B-2) as used by the interoperable PEP of DVB-RCS (I-PEP, ETSI TS 102
    /// 463): selective negative acknowledgments, Vegas, timestamps, few acknowledgments, no header
    /// compression. With `congestion = "fixed_rate"` and its parameter `rate` it has pure rate
    /// control.
    Scps,
    /// A stack of the late 1990s with the socket buffers of 4.4BSD, 8192 bytes in each direction:
    /// Reno without selective acknowledgments, a clock of 500 ms, Nagle's algorithm, neither window
    /// scaling nor timestamps (W. R. Stevens, TCP/IP Illustrated, volume 1, 1994, sections 19.3,
    /// 19.4, 20.4 and 21.3; volume 2, 1995, chapter 25).
    Nineties,
}

impl Profile {
    /// Returns true for the profiles of Linux.
    pub fn is_linux(self) -> bool {
        matches!(self, Profile::Linux | Profile::Linux612 | Profile::Linux61 | Profile::Linux2632)
    }

    /// Returns all values of the profile.
    pub fn config(self) -> Config {
        let linux = Config {
            profile: self,
            congestion: "reno".to_owned(),
            parameters: BTreeMap::new(),
            segment_size: Count::new(1460),
            initial_window: Count::new(10),
            initial_ssthresh: None,
            delayed_ack: true,
            ack_every: Count::new(2),
            delayed_ack_timeout: Span::from_millis(200),
            delayed_ack_min: Span::from_millis(40),
            quick_acks: Count::new(16),
            ack_pushed: true,
            quick_window: Size::from_bytes(4416 << 10),
            ack_compression: Span::from_millis(1),
            recovery: Recovery::Rack,
            sack: None,
            dsack: true,
            tail_loss_probe: true,
            proportional_reduction: true,
            rate_halving: false,
            byte_counting: true,
            undo: true,
            syn_undo: true,
            frto: true,
            restart_after_idle: true,
            window_validation: true,
            ecn: Ecn::Off,
            nagle: false,
            minshall: true,
            receive_window: Some(Size::from_bytes(16 << 20)),
            receive_window_start: None,
            send_buffer: None,
            send_memory: Some(Size::from_bytes(4 << 20)),
            window_scaling: true,
            timestamps: true,
            rto_estimator: RtoEstimator::Linux,
            rto_min: Span::from_millis(200),
            rto_initial: Span::from_secs(1),
            rto_max: Span::from_secs(120),
            rto_variance_min: Span::from_millis(200),
            timer_tick: Span::ZERO,
            jiffy: Span::from_millis(4),
            syn_retries: Count::new(6),
            syn_linear_timeouts: Count::new(4),
            retries: Count::new(15),
            retries_as_time: true,
            pacing: false,
            pacing_ss_ratio: Count::new(200),
            pacing_ca_ratio: Count::new(120),
            freeze: Vec::new(),
            adapt: Vec::new(),
            on_handover: Vec::new(),
            freeze_warning: None,
            quick_start: None,
            careful_resume: None,
            bursts: true,
            segmentation_offload: false,
            initial_sequence: None,
        };
        let classic = Config {
            initial_window: Count::new(3),
            delayed_ack_min: linux.delayed_ack_timeout,
            quick_acks: Count::new(0),
            ack_pushed: false,
            quick_window: Size::from_bytes(0),
            receive_window: None,
            send_memory: None,
            ack_compression: Span::ZERO,
            recovery: Recovery::Sack,
            dsack: false,
            tail_loss_probe: false,
            proportional_reduction: false,
            undo: false,
            syn_undo: false,
            frto: false,
            restart_after_idle: false,
            window_validation: false,
            minshall: false,
            timestamps: false,
            bursts: false,
            rto_estimator: RtoEstimator::Rfc6298,
            syn_linear_timeouts: Count::new(0),
            retries_as_time: false,
            rto_min: Span::from_secs(1),
            jiffy: Span::ZERO,
            ..linux.clone()
        };
        match self {
            Profile::Linux => linux,
            Profile::Linux612 => Config {
                receive_window: Some(Size::from_bytes(3_980_000)),
                quick_window: Size::from_bytes(880 << 10),
                ..linux
            },
            Profile::Linux61 => Config {
                receive_window: Some(Size::from_bytes(3 << 20)),
                ack_pushed: false,
                quick_window: Size::from_bytes(16 << 20),
                syn_linear_timeouts: Count::new(0),
                ..linux
            },
            Profile::Linux2632 => Config {
                ack_pushed: false,
                initial_window: Count::new(3),
                quick_window: Size::from_bytes(16 << 20),
                receive_window: Some(Size::from_bytes(3 << 20)),
                ack_compression: Span::ZERO,
                recovery: Recovery::Sack,
                tail_loss_probe: false,
                proportional_reduction: false,
                rate_halving: true,
                byte_counting: false,
                bursts: false,
                rto_initial: Span::from_secs(3),
                syn_undo: false,
                syn_retries: Count::new(5),
                syn_linear_timeouts: Count::new(0),
                jiffy: Span::ZERO,
                ..linux
            },
            Profile::Classic => classic,
            Profile::Freebsd => Config { initial_window: Count::new(1), ..classic },
            Profile::Scps => Config {
                congestion: "vegas".to_owned(),
                recovery: Recovery::Snack,
                timestamps: true,
                ack_every: Count::new(4),
                ..classic
            },
            Profile::Nineties => {
                let buffer = Some(Size::from_bytes(8192));
                Config {
                    initial_window: Count::new(1),
                    recovery: Recovery::Reno,
                    nagle: true,
                    receive_window: buffer,
                    send_buffer: buffer,
                    window_scaling: false,
                    rto_initial: Span::from_secs(3),
                    rto_max: Span::from_secs(64),
                    timer_tick: Span::from_millis(500),
                    retries: Count::new(12),
                    ..classic
                }
            }
        }
    }
}
