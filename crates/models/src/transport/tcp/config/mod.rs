//! What a scenario says of a TCP flow: a [`Profile`], and what shall be different. Both ends take the same
//! values.

mod check;

use super::handover::{Adapt, Freeze, OnHandover};
use bentpipe_core::{Count, Rate, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Declares [`Config`], which holds a value for each key, and [`Draft`], what a scenario says of them.
macro_rules! keys {
    ($(
        $(#[doc = $doc:expr])+
        $(#[serde($serde:meta)])?
        $key:ident: $type:ty
    ),+ $(,)?) => {
        /// A TCP flow.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(from = "Draft")]
        pub struct Config {
            /// The named set of values.
            pub profile: Profile,
            $(
                $(#[doc = $doc])+
                $(#[serde($serde)])?
                pub $key: $type,
            )+
        }

        /// A TCP flow: a profile, and what differs from it. What is not given is the profile's.
        ///
        /// ```toml
        /// transport = { kind = "tcp", congestion = "vegas", parameters = { alpha = 2, beta = 4 }, profile = "classic" }
        /// ```
        #[derive(Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        #[schemars(rename = "Config")]
        struct Draft {
            /// The named set of values that the other keys change.
            profile: Profile,
            $(
                $(#[doc = $doc])+
                $key: Option<$type>,
            )+
        }

        impl From<Draft> for Config {
            fn from(draft: Draft) -> Config {
                let said = Said::of(&draft);
                let profile = draft.profile.config();
                let all = Config { profile: draft.profile, $($key: draft.$key.unwrap_or(profile.$key)),+ };
                all.without_ground(&said)
            }
        }

    };
}

keys! {
    /// Name of the congestion control, one of bentpipe's C files; for real endpoints also `linux-NAME`, the
    /// kernel's own of that name.
    congestion: String,
    /// Parameters of the congestion control, by the names that it declares.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, i64>,
    /// Payload bytes of a full segment, 1460 when not given. Packets are 40 bytes longer (IPv4 and TCP headers), 52
    /// with timestamps.
    segment_size: Count<1, 65_000>,
    /// Congestion window at the start, in segments: 10 by RFC 6928 (linux), 2 to 4 by RFC 3390 (classic: 3), 1 by
    /// RFC 2001 (freebsd).
    initial_window: Count<1, 1_000_000>,
    /// Slow-start threshold at the start, in segments; infinite when not given (RFC 5681, section 3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_ssthresh: Option<Count<2, 1_000_000_000>>,
    /// Acknowledge every second segment, or after `delayed_ack_timeout` (RFC 1122, section 4.2.3.2; on in all
    /// profiles); otherwise every segment at once.
    delayed_ack: bool,
    /// Full segments that one delayed acknowledgment is for: 2 (RFC 1122); 4 of scps, whose standard reduces the frequency of
    /// acknowledgments and leaves the number open.
    ack_every: Count<2, 1000>,
    /// Longest delay of an acknowledgment; less than 0.5 s by RFC 1122. 200 ms in all profiles.
    delayed_ack_timeout: Span,
    /// Least delay of an acknowledgment, from which it follows the time between segments: 40 ms in Linux (linux).
    /// The delay is always `delayed_ack_timeout` when both are the same (classic).
    delayed_ack_min: Span,
    /// Segments that a receiver acknowledges one by one at the start, after idle time and when it sees
    /// retransmissions: 16 in Linux (linux), 0 for none (classic).
    quick_acks: Count<0, 65_535>,
    /// Receive window up to which it grows from 64 KiB on, by two segments for each that arrives, which is then acknowledged
    /// at once: 16 MiB, half the buffer that emulated hosts get (linux); 0 B for the whole window from the start (classic).
    quick_window: Size,
    /// How long acknowledgments of a hole are gathered after the first three, where SACK is in use: at most 1 ms, and
    /// a twentieth of the round-trip time (linux); 0 s for not at all (classic).
    ack_compression: Span,
    /// How losses are found and repaired: rack (linux), sack (classic).
    recovery: Recovery,
    /// Selective acknowledgments (RFC 2018). When not given: on for a recovery that needs them.
    #[serde(skip_serializing_if = "Option::is_none")]
    sack: Option<bool>,
    /// Duplicate selective acknowledgments (RFC 2883): on (linux), off (classic).
    dsack: bool,
    /// Probe for a loss at the tail of a flight before the time-out comes (RFC 8985, section 7), where losses are
    /// found by rack: on (linux), off (classic).
    tail_loss_probe: bool,
    /// Reduce the window in proportion to what arrives (PRR, RFC 9937): on (linux); otherwise at once (classic).
    proportional_reduction: bool,
    /// Take back reductions that timestamps (RFC 3522) or duplicate SACKs (RFC 3708) show to have been spurious: on
    /// (linux), off (classic).
    undo: bool,
    /// Find out whether a time-out was spurious before all is sent again (F-RTO, RFC 5682), where SACK is in use: on
    /// (linux), off (classic).
    frto: bool,
    /// Start again with the initial window after idle time (RFC 5681, section 4.1), halved for each time-out that has
    /// passed as in Linux (linux); otherwise the window stays (classic).
    restart_after_idle: bool,
    /// Let the window decay that the application does not use (RFC 7661 as Linux has it): on (linux), off (classic).
    window_validation: bool,
    /// Explicit congestion notification (RFC 3168), when both ends want it: off in all profiles, as Linux only answers
    /// those who ask for it.
    ecn: bool,
    /// Hold back small segments while something is unacknowledged (Nagle's algorithm, RFC 9293, section 3.7.4): off
    /// in all profiles.
    nagle: bool,
    /// The receiver's buffer, which it advertises as its window; never limiting (1 GiB) when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_window: Option<Size>,
    /// The window at the start, which grows by what arrives up to `receive_window` (dynamic right-sizing, as Linux'
    /// auto-tuning does it); as large as `receive_window` from the start when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_window_start: Option<Size>,
    /// The sender's buffer: most bytes that may be unacknowledged; never limiting when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    send_buffer: Option<Size>,
    /// Window scaling (RFC 7323, section 2), on in all profiles; without it the window is at most 65535 bytes.
    window_scaling: bool,
    /// Timestamps (RFC 7323, section 3), 12 bytes in every segment: on (linux), off (classic).
    timestamps: bool,
    /// How the variation of the round-trip time is smoothed: linux (linux), rfc6298 (classic).
    rto_estimator: RtoEstimator,
    /// Least retransmission time-out: 1 s by RFC 6298 (2.4) (classic), 200 ms in Linux (linux).
    rto_min: Span,
    /// Retransmission time-out before the first round-trip time sample (RFC 6298, 2.1): 1 s.
    rto_initial: Span,
    /// Greatest retransmission time-out, also with back-off: at least 60 s by RFC 6298 (2.5), 120 s in Linux and in
    /// all profiles.
    rto_max: Span,
    /// Least value of the term 4 RTTVAR: the clock granularity G of RFC 6298 (2.3), 200 ms in Linux and in all
    /// profiles.
    rto_variance_min: Span,
    /// Period of the clock that times segments and on whose ticks time-outs fall: 500 ms in BSD's stacks of the
    /// nineties (RFC 6298, section 4); 0 s for an exact one (all profiles).
    timer_tick: Span,
    /// Retransmissions of a SYN or SYN-ACK, with a time-out that doubles, after which the connection fails: 6.
    syn_retries: Count<0, 255>,
    /// Retransmissions of a SYN before those, without doubling: 4 in Linux since 6.5 (linux), 0 (classic).
    syn_linear_timeouts: Count<0, 127>,
    /// Retransmissions of the same data, or unanswered window probes, after which the connection fails: 15.
    retries: Count<0, 255>,
    /// Give data up not after so many retransmissions but at the first one after the time that they would take if the
    /// time-out had begun with `rto_min`, 924.6 s by default (Linux' tcp_retries2): on (linux), off (classic).
    retries_as_time: bool,
    /// Pace segments whatever the congestion control asks for, as behind Linux' fq queue discipline; otherwise
    /// only those of a congestion control that asks for it, such as bbr.
    pacing: bool,
    /// Pacing rate while cwnd < ssthresh / 2, percent of cwnd / SRTT (Linux' tcp_pacing_ss_ratio): 200.
    pacing_ss_ratio: Count<1, 1000>,
    /// Pacing rate above that, percent of cwnd / SRTT (Linux' tcp_pacing_ca_ratio): 120.
    pacing_ca_ratio: Count<1, 1000>,
    /// Receivers close their window before a disconnection and open it afterwards (Freeze-TCP): `{ at, until }` for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    freeze: Vec<Freeze>,
    /// Senders set window and time-out for a new link at once (fast adaptation): `{ at, rate, round_trip }` for each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    adapt: Vec<Adapt>,
    /// What the ends do at the scenario's `[[handover]]`s on their way: `freeze` (Freeze-TCP) at those that interrupt or lose, `adapt`
    /// (fast adaptation) at those to another link.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    on_handover: Vec<OnHandover>,
    /// How long before such a handover the ends are warned of it; the round-trip time of a full segment over the path without queues
    /// when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    freeze_warning: Option<Span>,
    /// Ask the path to begin at this rate (Quick-Start, RFC 4782), 80 kbit/s to 1.31072 Gbit/s; not when not given. Links and
    /// networks that know of it have the key `quick_start` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    quick_start: Option<Rate>,
    /// Segments that leave together travel as one packet, as TSO and GSO make of them where no interface divides it:
    /// a millisecond of the pacing rate, at least two segments, at most 64 KB. Such a packet is queued, lost and
    /// acknowledged as one. Off in all profiles; real hosts' packets are divided before the models see them.
    segmentation_offload: bool,
    /// Initial sequence number of both ends; random when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_sequence: Option<Count<0, 4_294_967_295>>,
}

/// Named sets of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Linux as it is today, 6.18.
    #[default]
    Linux,
    /// A stack of the early 2000s, as most published studies simulate it.
    Classic,
    /// The same with FreeBSD's start of those years: one segment.
    Freebsd,
    /// SCPS-TP (CCSDS 714.0-B-2) as the interoperable PEP of DVB-RCS uses it (I-PEP, ETSI TS 102 463): selective negative
    /// acknowledgments, Vegas, timestamps, few acknowledgments, no header compression. With `congestion = "fixed_rate"` and
    /// its `rate` it has pure rate control.
    Scps,
}

/// Which of the keys that another one can make pointless a scenario gives.
struct Said {
    ack_every: bool,
    delayed_ack_min: bool,
    quick_window: bool,
    dsack: bool,
    tail_loss_probe: bool,
    proportional_reduction: bool,
    undo: bool,
    frto: bool,
}

impl Said {
    fn of(draft: &Draft) -> Said {
        Said {
            ack_every: draft.ack_every.is_some(),
            delayed_ack_min: draft.delayed_ack_min.is_some(),
            quick_window: draft.quick_window.is_some(),
            dsack: draft.dsack.is_some(),
            tail_loss_probe: draft.tail_loss_probe.is_some(),
            proportional_reduction: draft.proportional_reduction.is_some(),
            undo: draft.undo.is_some(),
            frto: draft.frto.is_some(),
        }
    }
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast retransmit and fast recovery of one loss; others of the same window wait for the time-out or for
    /// duplicate acknowledgments of their own (RFC 5681, section 3.2).
    Reno,
    /// Fast recovery of one loss per round trip by partial acknowledgments (RFC 6582).
    Newreno,
    /// With selective acknowledgments (RFC 2018), the conservative recovery of RFC 6675.
    Sack,
    /// With selective negative acknowledgments of what is missing, which is sent again at once (SCPS-TP, CCSDS 714.0-B-2);
    /// newreno where the other end has none.
    Snack,
    /// With selective acknowledgments, by the time of sending (RACK, RFC 8985); newreno where the other end has none.
    #[default]
    Rack,
}

impl Recovery {
    /// Whether it needs selective acknowledgments.
    pub fn needs_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack | Recovery::Snack)
    }
}

/// How the variation of the round-trip time is smoothed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtoEstimator {
    /// RFC 6298, section 2.
    Rfc6298,
    /// The greatest deviation of each round trip counts, at once where it rises, and a falling time hardly raises it.
    #[default]
    Linux,
}

impl Profile {
    /// All values of the profile.
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
            quick_window: Size::from_bytes(16 << 20),
            ack_compression: Span::from_millis(1),
            recovery: Recovery::Rack,
            sack: None,
            dsack: true,
            tail_loss_probe: true,
            proportional_reduction: true,
            undo: true,
            frto: true,
            restart_after_idle: true,
            window_validation: true,
            ecn: false,
            nagle: false,
            receive_window: None,
            receive_window_start: None,
            send_buffer: None,
            window_scaling: true,
            timestamps: true,
            rto_estimator: RtoEstimator::Linux,
            rto_min: Span::from_millis(200),
            rto_initial: Span::from_secs(1),
            rto_max: Span::from_secs(120),
            rto_variance_min: Span::from_millis(200),
            timer_tick: Span::ZERO,
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
            segmentation_offload: false,
            initial_sequence: None,
        };
        let classic = Config {
            initial_window: Count::new(3),
            delayed_ack_min: linux.delayed_ack_timeout,
            quick_acks: Count::new(0),
            quick_window: Size::from_bytes(0),
            ack_compression: Span::ZERO,
            recovery: Recovery::Sack,
            dsack: false,
            tail_loss_probe: false,
            proportional_reduction: false,
            undo: false,
            frto: false,
            restart_after_idle: false,
            window_validation: false,
            timestamps: false,
            rto_estimator: RtoEstimator::Rfc6298,
            syn_linear_timeouts: Count::new(0),
            retries_as_time: false,
            rto_min: Span::from_secs(1),
            ..linux.clone()
        };
        match self {
            Profile::Linux => linux,
            Profile::Classic => classic,
            Profile::Freebsd => Config { initial_window: Count::new(1), ..classic },
            Profile::Scps => Config {
                congestion: "vegas".to_owned(),
                recovery: Recovery::Snack,
                timestamps: true,
                ack_every: Count::new(4),
                ..classic
            },
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Profile::default().config()
    }
}

/// Largest window that a 16-bit field and the largest shift count of RFC 7323 (section 2.3) can say.
pub(in crate::transport::tcp) const LARGEST_WINDOW: u64 = 65_535 << 14;

/// Largest window without scaling.
pub(in crate::transport::tcp) const UNSCALED_WINDOW: u64 = 65_535;

impl Config {
    /// Whether selective acknowledgments are offered to the other end.
    pub fn offers_sack(&self) -> bool {
        self.sack.unwrap_or(self.recovery.needs_sack()) && self.recovery != Recovery::Snack
    }

    /// What only the profile asks for rests where other keys take its ground away, or follows them, so that what a resolved
    /// scenario shows is what happens.
    fn without_ground(mut self, said: &Said) -> Config {
        let sack = self.offers_sack();
        self.dsack &= said.dsack || sack;
        self.frto &= said.frto || sack;
        self.tail_loss_probe &= said.tail_loss_probe || self.recovery == Recovery::Rack;
        self.proportional_reduction &= said.proportional_reduction || self.recovery != Recovery::Tahoe;
        self.undo &= said.undo || self.timestamps || self.dsack;
        if !said.ack_every && !self.delayed_ack {
            self.ack_every = Count::new(2);
        }
        let profile = self.profile.config();
        if !said.delayed_ack_min && profile.delayed_ack_min == profile.delayed_ack_timeout {
            self.delayed_ack_min = self.delayed_ack_timeout;
        }
        if !said.quick_window && (!self.window_scaling || self.receive_window_start.is_some()) {
            self.quick_window = Size::from_bytes(0);
        }
        self
    }

    /// How long data is sent again, if it is time that counts (Documentation/networking/ip-sysctl.rst, tcp_retries2).
    pub(super) fn patience(&self) -> Option<Span> {
        let doubled = |step: u64| (self.rto_min * (1 << step.min(32))).min(self.rto_max);
        self.retries_as_time
            .then(|| (0..=self.retries.value()).map(doubled).fold(Span::ZERO, |sum, span| sum + span))
    }

    /// The receive window to advertise, at most.
    pub(super) fn window(&self) -> u64 {
        let largest = if self.window_scaling { LARGEST_WINDOW } else { UNSCALED_WINDOW };
        self.receive_window.map_or(largest, |window| window.bytes().min(largest))
    }

    /// The least shift count with which the window fits into 16 bits.
    pub(super) fn window_scale(&self) -> u8 {
        (0..14).find(|shift| self.window() >> shift <= UNSCALED_WINDOW).unwrap_or(14)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_gives_what_is_not_said() {
        let classic: Config =
            serde_json::from_str(r#"{"profile": "classic", "delayed_ack": false}"#).unwrap();
        assert_eq!(classic, Config { delayed_ack: false, ..Profile::Classic.config() });
        let whole: Config = serde_json::from_str(&serde_json::to_string(&classic).unwrap()).unwrap();
        assert_eq!(whole, classic);
    }

    /// ip-sysctl.rst, tcp_retries2: "The default value of 15 yields a hypothetical timeout of 924.6 seconds".
    #[test]
    fn linux_gives_up_after_the_time_that_its_documentation_says() {
        assert_eq!(Config::default().patience(), Some(Span::from_millis(924_600)));
        assert_eq!(Profile::Classic.config().patience(), None);
    }

    #[test]
    fn the_window_scale_is_the_least_that_fits() {
        let scale = |bytes| {
            Config { receive_window: Some(Size::from_bytes(bytes)), ..Config::default() }.window_scale()
        };
        assert_eq!([65_535, 65_536, 131_071, 131_072, 1 << 30].map(scale), [0, 1, 1, 2, 14]);
    }
}
