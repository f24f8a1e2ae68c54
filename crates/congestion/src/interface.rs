//! The interface between a TCP endpoint and its congestion control. Its operations are those of
//! Linux's `tcp_congestion_ops` (include/net/tcp.h), called at the same points as in Linux. They
//! act on [`State`], the part of the connection's state that Linux exposes to a congestion control.
//!
//! The variants are C files (`crates/congestion/variants`), compiled from one source for this
//! engine and, as BPF struct_ops, for the kernel. C shares the layout of [`State`], so its fields
//! have the names and units of Linux.

/// The congestion control's view of a connection. The endpoint stores its own values here, so a
/// call copies nothing. Names and units are those of Linux's `struct tcp_sock` and
/// `inet_connection_sock`.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Congestion window in segments.
    pub snd_cwnd: u32,
    /// Counter for linear increase, segments.
    pub snd_cwnd_cnt: u32,
    /// Upper bound of the congestion window, segments.
    pub snd_cwnd_clamp: u32,
    /// Slow-start threshold, segments; [`INFINITE_SSTHRESH`] before it is set.
    pub snd_ssthresh: u32,
    /// Congestion window before the last reduction, segments.
    pub prior_cwnd: u32,
    /// Slow-start threshold before the last reduction, segments.
    pub prior_ssthresh: u32,
    /// Sequence number of the first unacknowledged byte.
    pub snd_una: u32,
    /// Sequence number of the next byte to be sent.
    pub snd_nxt: u32,
    /// Bytes of payload in a full segment.
    pub mss_cache: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// The part of `packets_out` that was acknowledged selectively (without SACK: the number of
    /// duplicate ACKs).
    pub sacked_out: u32,
    /// The part of `packets_out` that is considered lost.
    pub lost_out: u32,
    /// The part of `packets_out` that was retransmitted and is not yet acknowledged.
    pub retrans_out: u32,
    /// Maximum number of segments in flight in the last window, used to determine if cwnd limits
    /// sending.
    pub max_packets_out: u32,
    /// Segments delivered to the receiver so far, the SYN included.
    pub delivered: u32,
    /// The part of `delivered` that arrived with the mark "congestion experienced" (ECN).
    pub delivered_ce: u32,
    /// Segments marked lost so far; a segment counts each time it is marked.
    pub lost: u32,
    /// Smoothed round-trip time, eighths of a microsecond (`srtt_us >> 3` is in microseconds); 0
    /// before the first sample.
    pub srtt_us: u32,
    /// Mean deviation of the round-trip time, quarters of a microsecond.
    pub mdev_us: u32,
    /// Smallest round-trip time in the filter's window, microseconds; `u32::MAX` before the first
    /// sample.
    pub rtt_min_us: u32,
    /// State of loss recovery, one of the `CA_` constants.
    pub ca_state: u32,
    /// 1 if the congestion window limited sending in the last window (Linux's flag of the same
    /// name, maintained by `tcp_cwnd_validate`). The variants' header adds the rule of slow start
    /// (`tcp_is_cwnd_limited`: also while cwnd is below twice `max_packets_out`).
    pub is_cwnd_limited: u32,
    /// The value of `delivered` at which the application no longer limits the connection; 0 if the
    /// application does not limit it.
    pub app_limited: u32,
    /// The other end's timestamp in the last segment (TSval, RFC 7323), milliseconds of the other
    /// end's clock; 0 if none.
    pub rcv_tsval: u32,
    /// Our timestamp, echoed by the other end (TSecr), milliseconds of our clock; 0 if none.
    pub rcv_tsecr: u32,
    /// Period of the host's jiffies, microseconds; 0 if the host has none.
    pub jiffy_us: u32,
    /// Present time, microseconds.
    pub tcp_mstamp: u64,
    /// Present time, nanoseconds.
    pub tcp_clock_cache: u64,
    /// Time at which pacing permits the next segment, nanoseconds; in the past if it may leave now.
    /// Unused without pacing.
    pub tcp_wstamp_ns: u64,
    /// Time of the last transmission of data, microseconds (jiffies in Linux).
    pub lsndtime: u64,
    /// Pacing rate, bytes per second; `u64::MAX` for none.
    pub sk_pacing_rate: u64,
    /// Upper bound of the pacing rate, bytes per second.
    pub sk_max_pacing_rate: u64,
    /// State of pacing, one of the `PACING_` constants.
    pub sk_pacing_status: u32,
    /// Random bits for algorithms that need them, refreshed by the endpoint before each call of
    /// `cong_control`.
    pub random: u32,
    /// 1 if `delivered_ce` counts every marked segment (AccECN, RFC 9768); 0 if the other end
    /// reports a mark once per round trip.
    pub accurate_ecn: u32,
    /// The variant's own state, as in Linux: 104 bytes, cleared when the variant is set. The
    /// endpoint does not use it.
    pub icsk_ca_priv: [u64; 13],
    /// The variant's parameters in the order of declaration, written when the variant is set. In
    /// the kernel they are constants of the loaded object. The endpoint does not use them.
    pub parameters: [u32; MAX_PARAMETERS],
}

/// Maximum number of parameters of a variant.
pub const MAX_PARAMETERS: usize = 32;

/// `snd_ssthresh` before any loss (Linux's TCP_INFINITE_SSTHRESH).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// State of normal operation, without losses (Linux's TCP_CA_Open).
pub const CA_OPEN: u32 = 0;
/// State after duplicate acknowledgments or SACKs (Linux's TCP_CA_Disorder).
pub const CA_DISORDER: u32 = 1;
/// State of a window reduction for ECN or local congestion (Linux's TCP_CA_CWR).
pub const CA_CWR: u32 = 2;
/// State of fast recovery (Linux's TCP_CA_Recovery).
pub const CA_RECOVERY: u32 = 3;
/// State after a retransmission time-out (Linux's TCP_CA_Loss).
pub const CA_LOSS: u32 = 4;

/// Segments are not paced (Linux's SK_PACING_NONE).
pub const PACING_NONE: u32 = 0;
/// Pacing requested by the congestion control (Linux's SK_PACING_NEEDED).
pub const PACING_NEEDED: u32 = 1;
/// Pacing independent of the congestion control (Linux's SK_PACING_FQ).
pub const PACING_PACED: u32 = 2;

/// Events of `cwnd_event` (Linux's enum tcp_ca_event).
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// First transmission with nothing in flight.
    TxStart = 0,
    /// Restart of the congestion window after an idle time.
    CwndRestart = 1,
    /// End of a window reduction.
    CompleteCwr = 2,
    /// Expiry of the retransmission timer.
    Loss = 3,
}

/// The contents of an acknowledgment (Linux's struct ack_sample).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Segments newly acknowledged, cumulatively or selectively.
    pub pkts_acked: u32,
    /// Round-trip time of the most recently sent of these segments, microseconds; -1 if unknown
    /// (Karn).
    pub rtt_us: i32,
    /// Segments in flight before this acknowledgment.
    pub in_flight: u32,
}

/// A delivery-rate sample (Linux's struct rate_sample), taken by the sender.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Start of the acknowledged segment's window, microseconds.
    pub prior_mstamp: u64,
    /// Value of `delivered` at that time.
    pub prior_delivered: u32,
    /// Segments delivered during the interval; -1 if the sample is invalid.
    pub delivered: i32,
    /// Length of the interval, microseconds; -1 if the sample is invalid.
    pub interval_us: i64,
    /// Round-trip time of the last acknowledged segment that was not retransmitted, microseconds;
    /// -1 for none.
    pub rtt_us: i64,
    /// Segments newly marked lost by this acknowledgment.
    pub losses: i32,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked_sacked: u32,
    /// Segments in flight before this acknowledgment.
    pub prior_in_flight: u32,
    /// 1 if the sample was limited by the application.
    pub is_app_limited: u32,
    /// 1 if the acknowledged segment was a retransmission.
    pub is_retrans: u32,
    /// 1 if the receiver probably delayed this acknowledgment.
    pub is_ack_delayed: u32,
}

/// A congestion control of one connection. Each operation is called as in Linux:
///
/// - `init` when the connection is established (`tcp_init_congestion_control`). It clears the
///   variant's own state and sets its parameters, so it precedes all other operations, also after a
///   change of the variant;
/// - `ssthresh` on entering recovery, CWR or loss (`tcp_init_cwnd_reduction`, `tcp_enter_loss`):
///   returns the new slow-start threshold in segments;
/// - `cong_avoid` for an acknowledgment of new data, if
///   [`has_cong_control`](Self::has_cong_control) is false and cwnd may rise in the present state
///   (`tcp_cong_control`, `tcp_may_raise_cwnd`): `ack` is the acknowledged sequence number, `acked`
///   the number of newly acknowledged segments;
/// - `cong_control` instead, for every acknowledgment, if the variant implements it;
/// - `set_state` before `ca_state` changes;
/// - `cwnd_event` at the events of [`Event`];
/// - `pkts_acked` for acknowledgments that acknowledge segments (`tcp_clean_rtx_queue`);
/// - `undo_cwnd` when a reduction proves spurious: returns the window to restore.
pub trait Congestion: Send {
    /// Returns the name of the variant, for results.
    fn name(&self) -> &str;
    /// Initialises `state` for this variant.
    fn init(&mut self, state: &mut State);
    /// Returns the new slow-start threshold in segments.
    fn ssthresh(&mut self, state: &mut State) -> u32;
    /// Increases the window for `acked` newly acknowledged segments.
    fn cong_avoid(&mut self, state: &mut State, ack: u32, acked: u32);
    /// Returns true if the variant implements `cong_control`.
    fn has_cong_control(&self) -> bool;
    /// Sets window and pacing rate from a rate sample.
    fn cong_control(&mut self, state: &mut State, sample: &RateSample);
    /// Informs the variant that `ca_state` is about to change.
    fn set_state(&mut self, state: &mut State, new_state: u32);
    /// Informs the variant of an event.
    fn cwnd_event(&mut self, state: &mut State, event: Event);
    /// Returns true if the variant implements `pkts_acked`. If not, the endpoint prepares no
    /// sample.
    fn has_pkts_acked(&self) -> bool;
    /// Informs the variant of newly acknowledged segments.
    fn pkts_acked(&mut self, state: &mut State, sample: &AckSample);
    /// Returns the window to restore after a spurious reduction.
    fn undo_cwnd(&mut self, state: &mut State) -> u32;
    /// Returns true for a scalable congestion control (RFC 9331, section 4.3), whose data has the
    /// code point ECT(1) if the number of marks is fed back.
    fn is_scalable(&self) -> bool {
        false
    }
}
