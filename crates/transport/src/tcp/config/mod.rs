//! The configuration of a TCP flow: a [`Profile`], and values that differ from it. Both ends use
//! the same values.

mod check;
mod ecn;
mod profile;
mod side;

pub use ecn::Ecn;
pub use profile::Profile;
pub use side::Side;

use super::handover::{Adapt, Freeze, OnHandover};
use crate::sending::clock::Clock;
use crate::sending::rtt::Rules;
use crate::sending::saved_path::Parameters;
use bentpipe_core::{Count, Rate, Sample, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Declares [`Config`], with a value for each key, and [`Draft`], the keys that a scenario gives.
macro_rules! keys {
    ($(
        $(#[doc = $doc:expr])+
        $(#[serde($serde:meta)])?
        $key:ident: $type:ty
    ),+ $(,)?) => {
        /// TCP with the values of a profile, and values that differ from it.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(from = "Draft")]
        #[schemars(rename = "Tcp")]
        pub struct Config {
            /// Profile: the named set of values that applies to all unset keys. Default `linux`.
            pub profile: Profile,
            $(
                $(#[doc = $doc])+
                $(#[serde($serde)])?
                pub $key: $type,
            )+
        }

        /// TCP with the values of a profile, and values that differ from it. Unset keys have the
        /// profile's value.
        ///
        /// ```toml
        /// transport = { kind = "tcp", profile = "classic", congestion = "vegas", ecn = true }
        /// ```
        #[derive(Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        #[schemars(rename = "Tcp")]
        struct Draft {
            /// Profile: the named set of values that applies to all unset keys. Default `linux`.
            profile: Profile,
            $(
                $(#[doc = $doc])+
                $key: Option<$type>,
            )+
        }

        impl From<Draft> for Config {
            fn from(draft: Draft) -> Config {
                let given = GivenKeys::of(&draft);
                let profile = draft.profile.config();
                let ecn = draft.ecn;
                let mut all = Config { profile: draft.profile, $($key: draft.$key.unwrap_or(profile.$key)),+ };
                if ecn.is_none() && bentpipe_congestion::is_scalable(&all.congestion) {
                    all.ecn = Ecn::Accurate;
                }
                all.without_meaningless_keys(&given)
            }
        }

    };
}

keys! {
    /// Name of the congestion control: one of bentpipe's C files, or, for real endpoints,
    /// `linux-NAME` for the kernel's own; or `{ file = "./mine.c" }`, C source that is compiled if
    /// `bentpipe --allow-code` permits it (docs/congestion-recipe.md). Default: reno; vegas in
    /// profile scps.
    congestion: String,
    /// Parameters of the congestion control, by their names in its source.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, i64>,
    /// Payload of a full segment in bytes. Packets are 40 bytes longer (IPv4 and TCP headers), or
    /// 52 with timestamps. Default 1460.
    segment_size: Count<1, 65_000>,
    /// Congestion window at the start, in segments. Default: 10 (RFC 6928) in the profiles of Linux
    /// except linux-2.6.32, 3 (2 to 4 by RFC 3390) in linux-2.6.32, classic and scps, 1 (RFC 2001)
    /// in freebsd and nineties.
    initial_window: Count<1, 1_000_000>,
    /// Slow-start threshold at the start, in segments (RFC 5681, section 3.1). If unset, it is
    /// infinite.
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_ssthresh: Option<Count<2, 1_000_000_000>>,
    /// True for delayed acknowledgments: every second segment is acknowledged, or the first after
    /// `delayed_ack_timeout` (RFC 1122, section 4.2.3.2). False: every segment is acknowledged at
    /// once. Default: true in all profiles.
    delayed_ack: bool,
    /// Number of full segments per delayed acknowledgment. Default: 2 (RFC 1122), 4 in profile
    /// scps, whose standard reduces the frequency of acknowledgments and leaves the number open.
    ack_every: Count<2, 1000>,
    /// Maximum delay of an acknowledgment, less than 500 ms (RFC 1122). Default 200 ms in all
    /// profiles.
    delayed_ack_timeout: Span,
    /// Minimum delay of an acknowledgment, from which the delay adapts to the time between
    /// segments. Default: 40 ms in the profiles of Linux. If it equals `delayed_ack_timeout`, as in
    /// the other profiles, the delay is constant.
    delayed_ack_min: Span,
    /// Quick acknowledgments: number of segments that a receiver acknowledges one by one at the
    /// start, after idle time and when it sees retransmissions. Default: 16 in the profiles of
    /// Linux, 0 in the others.
    quick_acks: Count<0, 65_535>,
    /// True if a segment with PSH is acknowledged at once, as in Linux since 6.7. Linux sets PSH at
    /// the end of the data that an application has written and of each burst of several segments,
    /// so its acknowledgments follow the sender's bursts. A segment shorter than the full ones
    /// counts as one with PSH. Default: true in the profiles linux and linux-6.12, false in the
    /// others.
    ack_pushed: bool,
    /// Growth of the receive window at the start, plus 64 KiB. The window starts at its full size
    /// minus this value plus 64 KiB, but at least at 64 KiB. It grows to its full size by two
    /// segments for each arriving segment, which is acknowledged at once. Default: 4416 KiB in
    /// profile linux and 880 KiB in linux-6.12, whose windows grow by 4352 and 816 KiB: from half
    /// the memory of emulated hosts to the fraction that holds payload. 16 MiB in linux-6.1 and
    /// linux-2.6.32, so the whole window grows. 0 B in the others: the full window from the start.
    quick_window: Size,
    /// Maximum time for which acknowledgments of a hole are compressed into one, after the first
    /// three, if SACK is in use; also limited to a twentieth of the round-trip time. Default: 1 ms
    /// in the profiles of Linux except linux-2.6.32, 0 s (no compression) in the others.
    ack_compression: Span,
    /// Method of loss detection and recovery. Default: rack in the profiles of Linux except
    /// linux-2.6.32, snack in scps, reno in nineties, sack in the others.
    recovery: Recovery,
    /// True for selective acknowledgments (RFC 2018). If unset, they are used if `recovery` needs
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    sack: Option<bool>,
    /// True for duplicate selective acknowledgments (RFC 2883). Default: true in the profiles of
    /// Linux, false in the others.
    dsack: bool,
    /// True if a probe is sent for a loss at the tail of a flight before the time-out (RFC 8985,
    /// section 7); needs `recovery = "rack"`. Default: on in the profiles of Linux except
    /// linux-2.6.32, off in the others.
    tail_loss_probe: bool,
    /// True if the window is reduced in proportion to the delivered data (PRR, RFC 9937) instead of
    /// at once. Default: true in the profiles of Linux except linux-2.6.32, false in the others.
    proportional_reduction: bool,
    /// True if the window is reduced by one segment for every second acknowledgment, down to one
    /// segment above the data in flight, as in Linux before 3.2 (rate halving), instead of at once.
    /// After heavy losses it ends far below the slow-start threshold. A time-out that `frto` finds
    /// spurious also halves it. Not with `proportional_reduction`. Default: true in profile
    /// linux-2.6.32, false in the others.
    rate_halving: bool,
    /// True if the window grows by the number of acknowledged segments (appropriate byte counting,
    /// RFC 3465, without its limit). False: it grows once per acknowledgment (RFC 5681, section
    /// 3.1), which is slower with delayed acknowledgments. Default: false in profile linux-2.6.32
    /// (tcp_abc is 0), true in the others.
    byte_counting: bool,
    /// True if reductions are undone when timestamps (RFC 3522) or duplicate SACKs (RFC 3708) show
    /// that they were spurious. Default: true in the profiles of Linux, false in the others.
    undo: bool,
    /// True if the initial window is kept when timestamps show that all retransmissions of the SYN
    /// or SYN-ACK were spurious (RFC 3522). False: after more than one retransmission, the window
    /// starts at one segment. Default: true in profiles linux, linux-6.12 and linux-6.1, as in
    /// Linux since 5.3; false in the others.
    syn_undo: bool,
    /// True if spurious time-outs are detected before everything is retransmitted (F-RTO, RFC
    /// 5682); needs SACK. Default: true in the profiles of Linux, false in the others.
    frto: bool,
    /// True if sending restarts with the initial window after idle time (RFC 5681, section 4.1). As
    /// in Linux, the window is halved for each elapsed time-out, down to the initial window.
    /// Default: true in the profiles of Linux, false in the others.
    restart_after_idle: bool,
    /// True if a window that the application does not use decays (RFC 7661 as implemented in
    /// Linux). Default: true in the profiles of Linux, false in the others.
    window_validation: bool,
    /// Explicit congestion notification that both ends request: true for the classic kind (RFC
    /// 3168), which feeds back one mark per round trip; `"accurate"` for the kind that counts all
    /// marks (AccECN, RFC 9768). Default: `"accurate"` with a scalable congestion control (prague),
    /// otherwise false in all profiles. Linux also uses it only on request.
    ecn: Ecn,
    /// True if small segments are held back while data is unacknowledged (Nagle's algorithm, RFC
    /// 9293, section 3.7.4). Default: true in profile nineties, false in the others.
    nagle: bool,
    /// True if `nagle` holds back a small segment only while another small segment is
    /// unacknowledged (draft-minshall-nagle-01), as in Linux, instead of while any data is. No
    /// effect without `nagle`. Default: true in the profiles of Linux, false in the others.
    minshall: bool,
    /// Receive buffer in bytes of payload, advertised as the window. Default: in the profiles of
    /// Linux the maximum of Linux, which is the payload part of tcp_rmem's memory (16 MiB in linux,
    /// 3.98 MB in linux-6.12, 3 MiB in linux-6.1 and linux-2.6.32); 8192 B in nineties; 1 GiB in
    /// the others, which is practically unlimited. A larger value raises the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_window: Option<Size>,
    /// Receive window at the start, which grows with the arriving data up to `receive_window`
    /// (dynamic right-sizing). In the profiles of Linux it grows like Linux's auto-tuning, which
    /// starts with 64 KiB on hosts with Linux's own tcp_rmem, and segments by which it grows are
    /// acknowledged at once. If unset, the window is `receive_window` from the start, and
    /// `quick_window` determines the segments that are acknowledged at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_window_start: Option<Size>,
    /// Send buffer: maximum number of unacknowledged bytes. Default: 8192 B in nineties, unlimited
    /// in the others. In the profiles of Linux it replaces `send_memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    send_buffer: Option<Size>,
    /// Memory of the send buffer as Linux counts it: payload plus 960 bytes per packet, which is
    /// one burst once it has been sent. A program that has filled the buffer writes again when a
    /// third of it is free. Minimum: two segments, each in its own packet. Default: 4 MiB in the
    /// profiles of Linux (the maximum of tcp_wmem), unless `send_buffer` is given; unlimited in the
    /// others. A larger value raises the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    send_memory: Option<Size>,
    /// True for window scaling (RFC 7323, section 2); without it the window is at most 65535 bytes.
    /// Default: false in profile nineties, true in the others.
    window_scaling: bool,
    /// True for timestamps (RFC 7323, section 3), which take 12 bytes of every segment. Default:
    /// true in the profiles of Linux and in scps, false in the others.
    timestamps: bool,
    /// Estimator of the round-trip time's variation. Default: linux in the profiles of Linux,
    /// rfc6298 in the others.
    rto_estimator: RtoEstimator,
    /// Minimum retransmission time-out. Default: 200 ms in the profiles of Linux; 1 s (RFC 6298,
    /// 2.4) in the others.
    rto_min: Span,
    /// Retransmission time-out before the first round-trip time sample. Default: 3 s (RFC 1122,
    /// 4.2.3.1) in profiles nineties and linux-2.6.32, 1 s (RFC 6298, 2.1) in the others.
    rto_initial: Span,
    /// Maximum retransmission time-out, also with back-off. Default: 64 s in profile nineties, 120
    /// s, as in Linux, in the others; RFC 6298 (2.5) requires at least 60 s.
    rto_max: Span,
    /// Minimum of the term 4 RTTVAR in the retransmission time-out: the clock granularity G of RFC
    /// 6298 (2.3). Default 200 ms, as in Linux.
    rto_variance_min: Span,
    /// Period of the clock that times segments and on whose ticks time-outs occur, at most 1 s.
    /// Default: 500 ms in profile nineties, as in BSD's stacks (RFC 6298, section 4); 0 s, an exact
    /// clock, in the others.
    timer_tick: Span,
    /// Length of a jiffy, the period of Linux's clock (1 / CONFIG_HZ), at most 10 ms. Time-outs,
    /// probes and delayed acknowledgments are counted in jiffies and expire on steps of the timer
    /// wheel: up to one jiffy late below 63 jiffies, up to eight below 504. They are counted from
    /// 10 s before the run, as in guests of the clock `kernel`. For time-outs, `timer_tick` takes
    /// precedence. Default: 4 ms, as in Debian's kernels, in profiles linux, linux-6.12 and
    /// linux-6.1; 0 s, an exact clock, in the others.
    jiffy: Span,
    /// Number of retransmissions of a SYN or SYN-ACK, with a time-out that doubles, after which the
    /// connection fails. Default: 5 in profile linux-2.6.32, 6 in the others.
    syn_retries: Count<0, 255>,
    /// Number of earlier retransmissions of a SYN whose time-out does not double. Default: 4 in
    /// profiles linux and linux-6.12, as in Linux since 6.5; 0 in the others.
    syn_linear_timeouts: Count<0, 127>,
    /// Number of retransmissions of the same data, or of unanswered window probes, after which the
    /// connection fails. Default: 12 in profile nineties, 15 in the others.
    retries: Count<0, 255>,
    /// True if `retries` represents a time: data is given up at the first retransmission after the
    /// time that this many retries would take if the time-out had started at `rto_min`, 924.6 s by
    /// default (Linux's tcp_retries2). Default: true in the profiles of Linux, false in the others.
    retries_as_time: bool,
    /// True if segments are always paced, as with Linux's fq queue discipline. False: they are
    /// paced only if the congestion control requests it, as bbr does. Default false.
    pacing: bool,
    /// Pacing rate while cwnd < ssthresh / 2, in percent of cwnd / SRTT. Default 200 (Linux'
    /// tcp_pacing_ss_ratio).
    pacing_ss_ratio: Count<1, 1000>,
    /// Pacing rate otherwise, in percent of cwnd / SRTT. Default 120 (Linux's tcp_pacing_ca_ratio).
    pacing_ca_ratio: Count<1, 1000>,
    /// Freeze-TCP: disconnections before which receivers close their window, and after which they
    /// open it; a list of `{ at, until }`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    freeze: Vec<Freeze>,
    /// Fast adaptation: times at which senders set window and time-out for a new link at once; a
    /// list of `{ at, rate, round_trip }`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    adapt: Vec<Adapt>,
    /// Reactions of the ends to the scenario's `[[handover]]`s on their path: `freeze` (Freeze-TCP)
    /// at handovers that interrupt the path or lose packets, `adapt` (fast adaptation) at handovers
    /// to another link. Default none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    on_handover: Vec<OnHandover>,
    /// Time before a handover at which the ends are warned, for `on_handover`. If unset, the
    /// round-trip time of a full segment over the path without queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    freeze_warning: Option<Span>,
    /// Rate that is requested from the path for the start (Quick-Start, RFC 4782), 80 kbit/s to
    /// 1.31072 Gbit/s. Links and networks grant it if they have the key `quick_start`. If unset, no
    /// request.
    #[serde(skip_serializing_if = "Option::is_none")]
    quick_start: Option<Rate>,
    /// Window and round-trip time of an earlier connection over this path, from which the source
    /// and the destination resume (Careful Resume, RFC 9959), for a congestion control that sets no
    /// rate: `{ cwnd = 300, rtt = "600 ms" }`, or `"earlier"` for the values that an earlier
    /// connection of the run has observed. If unset, connections begin with slow start.
    #[serde(skip_serializing_if = "Option::is_none")]
    careful_resume: Option<Parameters>,
    /// True if segments leave in bursts, as Linux prepares packets for segmentation offload (TSO,
    /// GSO): the data that the pacing rate carries in 1/1024 s, at least two segments and at most
    /// 64 KB. An incomplete burst usually waits for the next acknowledgment. Default: true in the
    /// profiles of Linux except linux-2.6.32, false in the others.
    bursts: bool,
    /// True if a burst travels as one packet, as with TSO and GSO where no interface splits it.
    /// Such a packet is queued, lost and acknowledged as one. Implies `bursts`. Packets of real
    /// hosts are split before the models see them. Default: false in all profiles.
    segmentation_offload: bool,
    /// Initial sequence number of both ends. If unset, it is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_sequence: Option<Count<0, 4_294_967_295>>,
}

/// Flags for keys that other keys can make meaningless: true if the scenario gives the key.
struct GivenKeys {
    ack_every: bool,
    delayed_ack_min: bool,
    quick_window: bool,
    dsack: bool,
    tail_loss_probe: bool,
    proportional_reduction: bool,
    rate_halving: bool,
    undo: bool,
    frto: bool,
    receive_window: bool,
    send_memory: bool,
}

impl GivenKeys {
    fn of(draft: &Draft) -> GivenKeys {
        GivenKeys {
            ack_every: draft.ack_every.is_some(),
            delayed_ack_min: draft.delayed_ack_min.is_some(),
            quick_window: draft.quick_window.is_some(),
            dsack: draft.dsack.is_some(),
            tail_loss_probe: draft.tail_loss_probe.is_some(),
            proportional_reduction: draft.proportional_reduction.is_some(),
            rate_halving: draft.rate_halving.is_some(),
            undo: draft.undo.is_some(),
            frto: draft.frto.is_some(),
            receive_window: draft.receive_window.is_some(),
            send_memory: draft.send_memory.is_some(),
        }
    }
}

/// Loss detection and recovery of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Fast retransmit, followed by slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast retransmit and fast recovery of a single loss; further losses of the same window wait
    /// for the time-out or for duplicate acknowledgments of their own (RFC 5681, section 3.2).
    Reno,
    /// Fast recovery of one loss per round trip by partial acknowledgments (RFC 6582).
    Newreno,
    /// Conservative loss recovery based on selective acknowledgments (RFC 6675, RFC 2018).
    Sack,
    /// Selective negative acknowledgments, which name missing data that is then retransmitted at
    /// once (SCPS-TP, CCSDS 714.0-B-2); newreno if the other end does not support them.
    Snack,
    /// Loss detection by transmission times, with selective acknowledgments (RACK, RFC 8985);
    /// newreno if the other end does not support them.
    #[default]
    Rack,
}

impl Recovery {
    /// Returns true if this recovery needs selective acknowledgments.
    pub fn needs_sack(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack | Recovery::Snack)
    }
}

/// The estimator of the round-trip time's variation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtoEstimator {
    /// The estimator of RFC 6298, section 2.
    Rfc6298,
    /// The estimator of Linux: the maximum deviation of each round trip. It follows a rise at once,
    /// and a falling round-trip time hardly increases it.
    #[default]
    Linux,
}

impl Sample for Config {
    const SAMPLE: &'static str = r#"profile = "classic", congestion = "reno", recovery = "newreno""#;
}

impl Default for Config {
    fn default() -> Config {
        Profile::default().config()
    }
}

/// Maximum window, with a 16-bit field and the largest shift count of RFC 7323 (section 2.3).
pub(in crate::tcp) const LARGEST_WINDOW: u64 = 65_535 << 14;

/// Maximum window without scaling.
pub(in crate::tcp) const UNSCALED_WINDOW: u64 = 65_535;

impl Config {
    /// Returns true if selective acknowledgments are offered to the other end.
    pub fn offers_sack(&self) -> bool {
        self.sack.unwrap_or(self.recovery.needs_sack()) && self.recovery != Recovery::Snack
    }

    /// Switches off or adapts keys that only the profile sets and that other keys make meaningless.
    /// A resolved scenario then shows the actual behaviour.
    fn without_meaningless_keys(mut self, given: &GivenKeys) -> Config {
        let sack = self.offers_sack();
        self.dsack &= given.dsack || sack;
        self.frto &= given.frto || sack;
        self.tail_loss_probe &= given.tail_loss_probe || self.recovery == Recovery::Rack;
        self.rate_halving &=
            given.rate_halving || (self.recovery != Recovery::Tahoe && !given.proportional_reduction);
        self.proportional_reduction &=
            given.proportional_reduction || (self.recovery != Recovery::Tahoe && !self.rate_halving);
        self.undo &= given.undo || self.timestamps || self.dsack;
        if !given.ack_every && !self.delayed_ack {
            self.ack_every = Count::new(2);
        }
        let profile = self.profile.config();
        if !given.delayed_ack_min && profile.delayed_ack_min == profile.delayed_ack_timeout {
            self.delayed_ack_min = self.delayed_ack_timeout;
        }
        if !given.receive_window && !self.window_scaling {
            self.receive_window = self.receive_window.filter(|window| window.bytes() <= UNSCALED_WINDOW);
        }
        if !given.send_memory && self.send_buffer.is_some() {
            self.send_memory = None;
        }
        if !given.quick_window && (!self.window_scaling || self.receive_window_start.is_some()) {
            self.quick_window = Size::from_bytes(0);
        }
        self
    }

    /// Returns true if the receive window is that of the profile. Emulated hosts have this window
    /// without a setting.
    pub fn has_own_window(&self) -> bool {
        self.profile != Profile::Nineties && self.receive_window == self.profile.config().receive_window
    }

    /// Returns the time for which data is retransmitted, if `retries` represents a time
    /// (Documentation/networking/ip-sysctl.rst, tcp_retries2).
    pub(super) fn retry_time(&self) -> Option<Span> {
        let doubled = |step: u64| (self.rto_min * (1 << step.min(32))).min(self.rto_max);
        self.retries_as_time
            .then(|| (0..=self.retries.value()).map(doubled).fold(Span::ZERO, |sum, span| sum + span))
    }

    /// Returns the maximum receive window to advertise.
    pub(super) fn window(&self) -> u64 {
        let largest = if self.window_scaling { LARGEST_WINDOW } else { UNSCALED_WINDOW };
        self.receive_window.map_or(largest, |window| window.bytes().min(largest))
    }

    /// Returns the smallest shift count with which the window fits into 16 bits; for Linux's own
    /// buffer, the one with which the buffer's memory fits.
    pub(super) fn window_scale(&self) -> u8 {
        let space = if self.has_own_window() { 2 * self.window() } else { self.window() };
        (0..14).find(|shift| space >> shift <= UNSCALED_WINDOW).unwrap_or(14)
    }
}

impl Config {
    /// Returns the clock of time-outs.
    pub(in crate::tcp) fn time_out_clock(&self) -> Clock {
        Clock::of_ticks(self.timer_tick, self.clock())
    }

    /// Returns the clock of all waits except time-outs: jiffies if configured, otherwise exact.
    /// BSD's ticks do not apply to these waits.
    pub(in crate::tcp) fn clock(&self) -> Clock {
        Clock::of_jiffies(self.jiffy)
    }
}

impl From<&Config> for Rules {
    fn from(config: &Config) -> Rules {
        Rules {
            is_linux: config.rto_estimator == RtoEstimator::Linux,
            tick: config.timer_tick,
            clock: config.clock(),
            initial: config.rto_initial,
            min: config.rto_min,
            max: config.rto_max,
            variance_min: config.rto_variance_min,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_sets_unset_keys() {
        let classic: Config =
            serde_json::from_str(r#"{"profile": "classic", "delayed_ack": false}"#).unwrap();
        assert_eq!(classic, Config { delayed_ack: false, ..Profile::Classic.config() });
        let whole: Config = serde_json::from_str(&serde_json::to_string(&classic).unwrap()).unwrap();
        assert_eq!(whole, classic);
    }

    /// ip-sysctl.rst, tcp_retries2: "The default value of 15 yields a hypothetical timeout of 924.6
    /// seconds".
    #[test]
    fn linux_gives_up_after_the_documented_time() {
        assert_eq!(Config::default().retry_time(), Some(Span::from_millis(924_600)));
        assert_eq!(Profile::Classic.config().retry_time(), None);
    }

    #[test]
    fn the_window_scale_is_the_smallest_that_fits() {
        let scale = |bytes| {
            Config { receive_window: Some(Size::from_bytes(bytes)), ..Config::default() }.window_scale()
        };
        assert_eq!([65_535, 65_536, 131_071, 131_072, 1 << 30].map(scale), [0, 1, 1, 2, 14]);
        // The shift counts of Linux for 32 and for 6 MiB of tcp_rmem, and without a limit.
        let own = [Profile::Linux, Profile::Linux612, Profile::Linux61, Profile::Linux2632, Profile::Classic];
        assert_eq!(own.map(|profile| profile.config().window_scale()), [10, 7, 7, 7, 14]);
    }
}
