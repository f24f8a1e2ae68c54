//! Parts of a sender that depend on no transport: round-trip times, delivery rate, pacing, the
//! reduction of the window, Careful Resume and its saved paths, clocks of timers, and ranges of
//! positions. They work on the state that the congestion control sees
//! ([`bentpipe_congestion::interface::State`]).

pub mod careful_resume;
pub mod clock;
pub mod pacing;
pub mod prr;
pub(crate) mod ranges;
pub mod rate;
pub mod rtt;
pub mod saved_path;

use bentpipe_congestion::interface::{Congestion, State, CA_CWR, CA_RECOVERY};
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

/// Requests the new slow-start threshold from the congestion control.
pub fn reduce(state: &mut State, congestion: &mut dyn Congestion) {
    // Linux's tcp_current_ssthresh: the value that an undo restores.
    state.prior_ssthresh = current_ssthresh(state);
    state.prior_cwnd = state.snd_cwnd;
    state.snd_ssthresh = congestion.ssthresh(state);
}

/// Returns the threshold that corresponds to the present window (Linux's `tcp_current_ssthresh`).
pub fn current_ssthresh(state: &State) -> u32 {
    match state.ca_state {
        CA_CWR | CA_RECOVERY => state.snd_ssthresh,
        _ => state.snd_ssthresh.max((state.snd_cwnd >> 1) + (state.snd_cwnd >> 2)),
    }
}

/// Advances a generator and returns its random bits for a congestion control: SplitMix64 (Steele,
/// Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
#[inline]
pub fn random_bits(generator: &mut u64) -> u32 {
    *generator = generator.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = *generator;
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((value ^ (value >> 31)) >> 32) as u32
}
