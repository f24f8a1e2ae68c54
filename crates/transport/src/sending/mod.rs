//! Parts of a sender that depend on no transport: round-trip times, delivery rate, pacing, the
//! reduction of the window, Careful Resume, clocks of timers, and ranges of positions. They work on
//! the state that the congestion control sees ([`bentpipe_congestion::interface::State`]).

pub mod careful_resume;
pub mod clock;
pub mod pacing;
pub mod prr;
pub(crate) mod ranges;
pub mod rate;
pub mod rtt;

use bentpipe_congestion::interface::State;
use bentpipe_core::Time;

/// The delivered segment that was sent last, for estimates of rate and order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Newest {
    /// Number of the segment in the queue.
    pub number: u64,
    /// Time of its last transmission.
    pub sent: Time,
    /// True if it had been sent before.
    pub resent: bool,
    /// Position after its last byte.
    pub end: u64,
}

/// Returns the number of segments in flight (Linux's `tcp_packets_in_flight`, RFC 6675's pipe in
/// segments).
#[inline]
pub fn in_flight(state: &State) -> u32 {
    state.packets_out + state.retrans_out - state.sacked_out - state.lost_out
}
