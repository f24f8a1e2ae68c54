//! What a TCP endpoint asks of its congestion control: the operations of Linux' `tcp_congestion_ops`
//! (include/net/tcp.h), called when Linux calls them, on the part of the connection's state that Linux lets a
//! congestion control see.
//!
//! The variants themselves are C files (`congestion/`, one source with two homes: this engine and, as BPF
//! struct_ops, the kernel). They are written to [`State`], whose layout is shared with C; so its fields carry
//! Linux' names and units.

/// The congestion control's view of a connection. The endpoint keeps its live values here, so nothing is copied
/// for a call. Names and units are those of Linux' `struct tcp_sock` and `inet_connection_sock`.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Congestion window, segments.
    pub snd_cwnd: u32,
    /// Counter for linear increase, segments.
    pub snd_cwnd_cnt: u32,
    /// Upper bound of the congestion window, segments.
    pub snd_cwnd_clamp: u32,
    /// Slow-start threshold, segments; [`INFINITE_SSTHRESH`] when not yet set.
    pub snd_ssthresh: u32,
    /// Congestion window before the last reduction, segments.
    pub prior_cwnd: u32,
    /// Slow-start threshold before the last reduction, segments.
    pub prior_ssthresh: u32,
    /// First unacknowledged byte.
    pub snd_una: u32,
    /// Next byte to be sent.
    pub snd_nxt: u32,
    /// Bytes of payload in a full segment.
    pub mss_cache: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Of these, selectively acknowledged (or, without SACK, counted by duplicate ACKs).
    pub sacked_out: u32,
    /// Of these, taken for lost.
    pub lost_out: u32,
    /// Of these, retransmitted and not yet acknowledged.
    pub retrans_out: u32,
    /// Largest number of segments in flight in the last window, for the test whether cwnd is what limits.
    pub max_packets_out: u32,
    /// Segments delivered to the receiver so far.
    pub delivered: u32,
    /// Of these, with congestion experienced (ECN).
    pub delivered_ce: u32,
    /// Segments taken for lost so far, each time that they were.
    pub lost: u32,
    /// Smoothed round-trip time, eighths of a microsecond (`srtt_us >> 3` is in microseconds); 0 before the first.
    pub srtt_us: u32,
    /// Mean deviation of the round-trip time, quarters of a microsecond.
    pub mdev_us: u32,
    /// Smallest round-trip time seen in the filter's window, microseconds; `u32::MAX` before the first.
    pub rtt_min_us: u32,
    /// One of the `CA_` constants.
    pub ca_state: u32,
    /// 1 when the congestion window is what limited sending in the last window (Linux' flag of that name, kept by
    /// `tcp_cwnd_validate`). What Linux adds to it in slow start (`tcp_is_cwnd_limited`: also while cwnd is below
    /// twice `max_packets_out`), the variants' header adds.
    pub is_cwnd_limited: u32,
    /// Non-zero while the connection is limited by its application (`delivered` at which that ends).
    pub app_limited: u32,
    /// Timestamp of the other end in the latest segment (RFC 7323's TSval), milliseconds of its clock; 0 without.
    pub rcv_tsval: u32,
    /// Our timestamp that it echoes (TSecr), milliseconds of our clock; 0 without.
    pub rcv_tsecr: u32,
    /// The present moment, microseconds.
    pub tcp_mstamp: u64,
    /// Pacing rate, bytes per second; `u64::MAX` for none.
    pub sk_pacing_rate: u64,
    /// Upper bound of the pacing rate, bytes per second.
    pub sk_max_pacing_rate: u64,
    /// One of the `PACING_` constants.
    pub sk_pacing_status: u32,
    /// Random bits for algorithms that draw, refreshed by the endpoint before each call of `cong_control`.
    pub random: u32,
    /// The variant's own state, as in Linux: 104 bytes, cleared when the variant is set. Not for the endpoint.
    pub icsk_ca_priv: [u64; 13],
    /// The variant's parameters in the order in which it declares them, written when the variant is set. (In the
    /// kernel they are constants of the loaded object.) Not for the endpoint.
    pub parameters: [u32; MAX_PARAMETERS],
}

/// Most parameters that a variant can have.
pub const MAX_PARAMETERS: usize = 32;

/// `snd_ssthresh` before any loss (Linux' TCP_INFINITE_SSTHRESH).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Nothing unusual.
pub const CA_OPEN: u32 = 0;
/// Duplicate acknowledgments or SACKs have come.
pub const CA_DISORDER: u32 = 1;
/// The window is being reduced for ECN or local congestion.
pub const CA_CWR: u32 = 2;
/// Fast recovery.
pub const CA_RECOVERY: u32 = 3;
/// Recovery after a retransmission time-out.
pub const CA_LOSS: u32 = 4;

/// No pacing.
pub const PACING_NONE: u32 = 0;
/// The congestion control asked for pacing.
pub const PACING_NEEDED: u32 = 1;
/// Paced whatever the congestion control asks for (Linux' SK_PACING_FQ).
pub const PACING_PACED: u32 = 2;

/// Events of `cwnd_event` (Linux' enum tcp_ca_event).
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// First transmission when nothing was in flight.
    TxStart = 0,
    /// Congestion window restart after idle.
    CwndRestart = 1,
    /// End of window reduction.
    CompleteCwr = 2,
    /// Loss time-out.
    Loss = 3,
}

/// What an acknowledgment told (Linux' struct ack_sample).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Segments newly acknowledged, cumulatively or selectively.
    pub pkts_acked: u32,
    /// Round-trip time of the most recently sent of them, microseconds; -1 when there is none (Karn).
    pub rtt_us: i32,
    /// Segments in flight before this acknowledgment.
    pub in_flight: u32,
}

/// A delivery-rate sample (Linux' struct rate_sample); [`super::rate`] makes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// When the acknowledged segment's window began, microseconds.
    pub prior_mstamp: u64,
    /// `delivered` at that moment.
    pub prior_delivered: u32,
    /// Segments delivered over the interval; -1 when the sample is not valid.
    pub delivered: i32,
    /// Length of the interval, microseconds; -1 when the sample is not valid.
    pub interval_us: i64,
    /// Round-trip time of the last acknowledged segment that was not retransmitted, microseconds; -1 for none.
    pub rtt_us: i64,
    /// Segments newly marked lost by this acknowledgment.
    pub losses: i32,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked_sacked: u32,
    /// Segments in flight before this acknowledgment.
    pub prior_in_flight: u32,
    /// 1 when the sample was limited by the application.
    pub is_app_limited: u32,
    /// 1 when the acknowledged segment was a retransmission.
    pub is_retrans: u32,
    /// 1 when the receiver is likely to have delayed this acknowledgment.
    pub is_ack_delayed: u32,
}

/// A congestion control of one connection. When each operation is called, in Linux:
///
/// - `init` when the connection is established (`tcp_init_congestion_control`). It clears the variant's own state
///   and sets its parameters, so it comes before all others, also after a change of variant;
/// - `ssthresh` on entering recovery, CWR or loss (`tcp_init_cwnd_reduction`, `tcp_enter_loss`): returns the new
///   slow-start threshold in segments;
/// - `cong_avoid` for an acknowledgment that advanced, when [`has_cong_control`](Self::has_cong_control) is false
///   and the state is one in which cwnd may rise (`tcp_cong_control`, `tcp_may_raise_cwnd`): `ack` is the
///   acknowledged sequence number, `acked` the segments newly acknowledged;
/// - `cong_control` instead of it, for every acknowledgment, when there is one;
/// - `set_state` before `ca_state` changes;
/// - `cwnd_event` at the events named;
/// - `pkts_acked` for acknowledgments that acknowledged something (`tcp_clean_rtx_queue`);
/// - `undo_cwnd` when a reduction turns out to have been spurious: returns the window to go back to.
pub trait Congestion: Send {
    /// The variant's name.
    fn name(&self) -> &str;
    /// See the trait.
    fn init(&mut self, state: &mut State);
    /// See the trait.
    fn ssthresh(&mut self, state: &mut State) -> u32;
    /// See the trait.
    fn cong_avoid(&mut self, state: &mut State, ack: u32, acked: u32);
    /// Whether the variant has `cong_control`.
    fn has_cong_control(&self) -> bool;
    /// See the trait.
    fn cong_control(&mut self, state: &mut State, sample: &RateSample);
    /// See the trait.
    fn set_state(&mut self, state: &mut State, new_state: u32);
    /// See the trait.
    fn cwnd_event(&mut self, state: &mut State, event: Event);
    /// Whether the variant has `pkts_acked`, so that no sample is made for nothing.
    fn has_pkts_acked(&self) -> bool;
    /// See the trait.
    fn pkts_acked(&mut self, state: &mut State, sample: &AckSample);
    /// See the trait.
    fn undo_cwnd(&mut self, state: &mut State) -> u32;
}
