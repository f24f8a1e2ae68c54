//! Bursts: segments that leave together. Linux prepares packets of several segments for
//! segmentation offload, even if the interface cannot divide them (commit "tcp: switch to GSO being
//! always on", 2018).
//!
//! - A burst contains the data that the pacing rate carries in 1/1024 s, at least two segments
//!   (sysctl tcp_min_tso_segs) and at most 64 KB. A congestion control that sets the rate itself,
//!   such as BBR, sends single segments below 1.2 Mbit/s. For round-trip times up to a few
//!   milliseconds a burst is larger, by 64 KB halved for each 512 us of the smallest round-trip
//!   time (sysctl tcp_tso_rtt_log, 9). A burst is at most half of the window. Without pacing, the
//!   rate is the one at which the window of the last acknowledgment would be paced
//!   ([`crate::sending::pacing`]).
//! - A burst of a scalable congestion control contains the data that the pacing rate carries in 250
//!   us, at least one segment (MAX_BURST_DELAY in draft-briscoe-iccrg-prague-congestion-control-04,
//!   section 2.5).
//! - An incomplete burst waits for the next acknowledgment (commits "tcp: tso: restore IW10 after
//!   TSO autosizing" and "tcp: tso: remove tp->tso_deferred", 2015, and their successors; sysctl
//!   tcp_tso_win_divisor, 3). It does not wait during a recovery, after a millisecond in which
//!   nothing was sent or held back by pacing, while a third of the window is free, or if the next
//!   acknowledgment is far off. The next acknowledgment is expected a smoothed round-trip time
//!   after the first outstanding segment was sent. It is far off if it is expected in more than 1
//!   ms or half the round-trip time, whichever is shorter (commit "tcp: fix tcp_tso_should_defer()
//!   vs large RTT", 2025; also in maintained older series).
//! - Unsent data is in packets ([`super::packet_ends`]), and a burst belongs to one packet. If the
//!   packet is too short for the permitted burst, the rest comes from the next packet (commit "tcp:
//!   try to send bigger TSO packets", 2024). The last segment of a packet, and a remainder that the
//!   window permits completely, do not wait, because nothing would be added to them. The remainder
//!   of the buffer's last packet waits, because the program may write more, unless the connection
//!   is closed after it. Nothing waits while the program writes data that leaves at once.
//! - Retransmitted segments form a burst if they were sent as one burst or a part of one, unless a
//!   window limit or a probe has divided it since.
//! - A burst that is limited by the receive window ends with the rest of the window, even if the
//!   rest is less than a segment, provided that the burst begins with a full segment.
//!
//! Source: the commits' messages, Documentation/networking/ip-sysctl.rst, and segments of Linux
//! observed in virtual time (docs/measured-linux.md).

use crate::sending::in_flight;
use crate::sending::pacing::Pacing;
use bentpipe_congestion::interface::{State, CA_RECOVERY};
use bentpipe_core::{Span, Time};

/// Divisor of the window: a third of the window leaves without waiting for more.
const WINDOW_DIVISOR: u64 = 3;

/// Maximum payload of a burst, and of a packet of the send buffer: 64 KiB minus the space that
/// Linux reserves for headers. Linux 6.18 sends 65160 bytes over a veth device: 45 segments with
/// timestamps.
pub(super) const MAX_PAYLOAD: u64 = 65_215;

/// Time without sent or held back segments after which an incomplete burst leaves.
const PAUSE: Span = Span::from_millis(1);

/// Maximum time for which an incomplete burst waits for an expected acknowledgment.
const WORTH_WAITING: Span = Span::from_millis(1);

/// Binary logarithm of the bursts per second: a burst is the data that the pacing rate carries in
/// 2^-10 s.
const PACING_SHIFT: u32 = 10;

/// Binary logarithm of the microseconds by which the smallest round-trip time halves the additional
/// 64 KiB of a burst.
const RTT_LOG: u32 = 9;

/// Rate in bytes per second below which bursts are single segments, if the congestion control sets
/// the rate, as BBR does.
const SINGLE_SEGMENT_RATE: u64 = 1_200_000 / 8;

/// Bursts per second of a scalable congestion control, the reciprocal of 250 us.
const SCALABLE_BURSTS: u64 = 4000;

/// The limits of the receive window, the send buffer and the application for the next burst.
#[derive(Clone, Copy, Debug)]
pub struct SendLimits {
    /// Position of the next byte.
    pub start: u64,
    /// Number of bytes that the application has handed over.
    pub available: u64,
    /// The part of `available` in the packet that is sent next.
    pub packet: u64,
    /// True if the program may write more into that packet: it is the last one, and the connection
    /// is not closed.
    pub grows: bool,
    /// True if the program has just filled up that packet and continues to write.
    pub writes: bool,
    /// Capacity of the send buffer in bytes.
    pub buffered: u64,
    /// Number of bytes within the receive window.
    pub usable: u64,
    /// The receive window that the other end offers, in bytes.
    pub window: u64,
    /// Time at which the first outstanding segment was last sent.
    pub first_sent: Option<Time>,
}

/// The decision about the segments that may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// The segments leave together, as one burst.
    Leaves,
    /// The segments wait until the congestion window permits more, by the next acknowledgment.
    WaitsForCongestionWindow,
    /// The segments wait until the receive window permits more, by the next acknowledgment.
    WaitsForReceiveWindow,
    /// The segments wait for more data: the windows permit all written data.
    WaitsForData,
}

/// The bursts of one connection.
#[derive(Clone, Debug)]
pub struct Bursts {
    enabled: bool,
    single_packets: bool,
    /// True if the congestion control sets the pacing rate itself.
    sets_rate: bool,
    /// True if the congestion control is scalable.
    is_scalable: bool,
    /// True if the present burst contains new data, false for retransmissions.
    fresh: bool,
    /// Position of the next byte of the present burst, and the number of its bytes that have not
    /// left.
    next: u64,
    left: u64,
    /// True if a part of the burst has left.
    begun: bool,
    /// Time at which the last segment left.
    last: Time,
}

impl Bursts {
    /// Creates the state before anything is sent. With `enabled`, segments leave in bursts; with
    /// `single_packets`, each burst is one packet; with `sets_rate`, the congestion control sets
    /// the pacing rate itself; with `is_scalable`, it is scalable.
    pub fn new(enabled: bool, single_packets: bool, sets_rate: bool, is_scalable: bool) -> Bursts {
        Bursts {
            enabled: enabled || single_packets,
            single_packets,
            sets_rate,
            is_scalable,
            fresh: false,
            next: 0,
            left: 0,
            begun: false,
            last: Time::ZERO,
        }
    }

    /// Returns true if segments leave in bursts.
    #[inline]
    pub fn are_enabled(&self) -> bool {
        self.enabled
    }

    /// Returns true if the segments of a burst are one packet.
    #[inline]
    pub fn are_single_packets(&self) -> bool {
        self.single_packets
    }

    /// Returns the number of bytes of the present burst that have not left, if its next byte is at
    /// `start`.
    #[inline]
    pub fn left(&self, start: u64, fresh: bool) -> u64 {
        if self.next == start && self.fresh == fresh {
            self.left
        } else {
            0
        }
    }

    /// Returns true if a segment from `start` would continue a burst.
    #[inline]
    pub fn continues(&self, start: u64, fresh: bool) -> bool {
        self.enabled && self.begun && self.left(start, fresh) > 0
    }

    /// Records that a segment leaves. Returns true if it continues a burst.
    #[inline]
    pub fn sent(&mut self, now: Time, start: u64, payload: u32, fresh: bool) -> bool {
        if !self.enabled {
            return false;
        }
        let continues = self.continues(start, fresh);
        self.begun = true;
        self.last = now;
        self.left = self.left.saturating_sub(u64::from(payload));
        self.next = start + u64::from(payload);
        continues
    }

    /// Ends a burst that cannot continue.
    #[inline]
    pub fn end(&mut self) {
        self.left = 0;
    }

    /// Returns the maximum number of segments of a burst of retransmissions.
    pub fn max_retransmission(&self, pacing: &Pacing, state: &State) -> u32 {
        let free = state.snd_cwnd.saturating_sub(in_flight(state)).max(1);
        self.segments(pacing, state).min(free)
    }

    /// Plans a burst of `bytes` retransmitted from `start`.
    pub fn plan_retransmission(&mut self, start: u64, bytes: u64) {
        (self.fresh, self.next, self.begun, self.left) = (false, start, false, bytes);
    }

    /// Plans the next burst of new data.
    #[inline]
    pub fn plan(&mut self, now: Time, limits: &SendLimits, pacing: &Pacing, state: &State) -> Plan {
        let size = u64::from(state.mss_cache);
        let segments_free = state.snd_cwnd - in_flight(state);
        let free = u64::from(segments_free) * size;
        let max = self.segments(pacing, state);
        let limit = limits.usable.min(free);
        let quota = max.min(segments_free).min((state.snd_cwnd / 2).max(1));
        let bytes = u64::from(quota) * size;
        let packet = limits.packet.max(bytes).min(limits.available);
        let less = limit < u64::from(max) * size && (limit < packet || limits.grows);
        if less && !limits.writes && packet > size && self.waits(now, limit, limits, pacing, state) {
            return if limit > packet {
                Plan::WaitsForData
            } else if free < limits.usable {
                Plan::WaitsForCongestionWindow
            } else {
                Plan::WaitsForReceiveWindow
            };
        }
        let mut bytes = bytes.min(packet);
        if bytes > limits.buffered {
            bytes = limits.buffered / size * size;
        }
        (self.fresh, self.next, self.begun) = (true, limits.start, false);
        self.left = bytes.min(limits.usable);
        Plan::Leaves
    }

    /// Returns true if an incomplete burst waits.
    fn waits(&self, now: Time, limit: u64, limits: &SendLimits, pacing: &Pacing, state: &State) -> bool {
        let window = limits.window.min(u64::from(state.snd_cwnd) * u64::from(state.mss_cache));
        let srtt = Span::from_nanos(1_000 / 8 * u64::from(state.srtt_us));
        let soon = Span::from_nanos(srtt.as_nanos() / 2).min(WORTH_WAITING);
        state.ca_state < CA_RECOVERY
            && now <= self.last.max(pacing.next()) + PAUSE
            && limit < window / WINDOW_DIVISOR
            && limits.first_sent.is_some_and(|sent| now.since(sent) + soon >= srtt)
    }

    /// Returns the number of segments of a full burst.
    #[inline]
    fn segments(&self, pacing: &Pacing, state: &State) -> u32 {
        if self.is_scalable {
            let bytes = (pacing.rate(state) / SCALABLE_BURSTS).min(MAX_PAYLOAD);
            return ((bytes / u64::from(state.mss_cache.max(1))) as u32).max(1);
        }
        let slow = self.sets_rate && state.sk_pacing_rate < SINGLE_SEGMENT_RATE;
        let min = if slow { 1 } else { 2 };
        // The usual case, without a division.
        if state.rtt_min_us >= 32 << RTT_LOG && pacing.carries_less(min + 1, state) {
            return min;
        }
        autosized(min, pacing, state)
    }
}

#[inline(never)]
fn autosized(min: u32, pacing: &Pacing, state: &State) -> u32 {
    let halvings = state.rtt_min_us >> RTT_LOG;
    let near = if halvings < 32 { (64 << 10) >> halvings } else { 0 };
    let bytes = (pacing.rate(state) >> PACING_SHIFT).saturating_add(near).min(MAX_PAYLOAD);
    ((bytes / u64::from(state.mss_cache.max(1))) as u32).max(min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_congestion::interface::{INFINITE_SSTHRESH, PACING_NEEDED};

    const SIZE: u64 = 1448;

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_micros(microseconds)
    }

    /// Returns a connection with a window of `cwnd` segments, `free` of them free, and a round-trip
    /// time of 100 ms. The first outstanding segment left at 0.
    fn sending(cwnd: u32, free: u32) -> (Bursts, Pacing, State, SendLimits) {
        let state = State {
            mss_cache: SIZE as u32,
            snd_cwnd: cwnd,
            packets_out: cwnd - free,
            snd_ssthresh: cwnd,
            srtt_us: 100_000 * 8,
            rtt_min_us: 100_000,
            sk_max_pacing_rate: u64::MAX,
            ..State::default()
        };
        let max = 1 << 30;
        let limits = SendLimits {
            start: 1,
            available: max,
            packet: max,
            grows: false,
            writes: false,
            buffered: max,
            usable: max,
            window: max,
            first_sent: Some(at(0)),
        };
        (Bursts::new(true, false, false, false), Pacing::new(200, 120), state, limits)
    }

    #[test]
    fn a_burst_is_the_data_that_the_pacing_rate_carries_in_1_1024_s() {
        let (mut bursts, pacing, mut state, _) = sending(30, 2);
        state.sk_pacing_status = PACING_NEEDED;
        bursts.sets_rate = true;
        for (rate, rtt, expected) in [
            (100_000, 100_000, 1),
            (200_000, 100_000, 2),
            (12_500_000, 100_000, 8),
            (u64::MAX, 100_000, 45),
            // 64 KiB halved six times add 1 KiB.
            (12_500_000, 6 * 512, 9),
            (100_000, 100, 45),
        ] {
            (state.sk_pacing_rate, state.rtt_min_us) = (rate, rtt);
            assert_eq!(bursts.segments(&pacing, &state), expected, "{rate} {rtt}");
        }
        // Only BBR sends single segments; other paced bursts have at least two.
        (state.sk_pacing_rate, state.rtt_min_us, bursts.sets_rate) = (100_000, 100_000, false);
        assert_eq!(bursts.segments(&pacing, &state), 2);
    }

    /// draft-briscoe-iccrg-prague-congestion-control-04, section 2.5: max_burst is the data that
    /// the rate carries in 250 us.
    #[test]
    fn bursts_of_a_scalable_control_cause_at_most_250_us_of_delay() {
        let (mut bursts, pacing, mut state, _) = sending(30, 2);
        state.sk_pacing_status = PACING_NEEDED;
        (bursts.sets_rate, bursts.is_scalable) = (true, true);
        for (rate, expected) in [(100_000, 1), (11_583_999, 1), (11_584_000, 2), (125_000_000, 21)] {
            state.sk_pacing_rate = rate;
            assert_eq!(bursts.segments(&pacing, &state), expected, "{rate}");
        }
    }

    #[test]
    fn without_pacing_the_rate_follows_from_the_window_of_the_last_acknowledgment() {
        let (bursts, mut pacing, mut state, _) = sending(30, 2);
        // 1.2 windows in 100 ms, of which 1/1024 s carries three segments from a window of 256
        // segments on.
        for (cwnd, expected) in [(30, 2), (255, 2), (256, 3), (10_000, 45)] {
            (state.snd_cwnd, state.snd_ssthresh) = (cwnd, cwnd);
            pacing.follow_window(&mut state);
            state.snd_cwnd = 10;
            assert_eq!(bursts.segments(&pacing, &state), expected, "{cwnd}");
        }
    }

    #[test]
    fn an_incomplete_burst_waits_for_the_next_acknowledgment() {
        let now = at(100_000);
        let waits = |change: &dyn Fn(&mut Bursts, &mut State, &mut SendLimits)| {
            let (mut bursts, mut pacing, mut state, mut limits) = sending(30, 1);
            bursts.last = now;
            change(&mut bursts, &mut state, &mut limits);
            pacing.follow_window(&mut state);
            bursts.plan(now, &limits, &pacing, &state) == Plan::WaitsForCongestionWindow
        };
        assert!(waits(&|_, _, _| ()));
        assert!(!waits(&|_, state, _| state.packets_out -= 1), "a full burst");
        assert!(!waits(&|_, state, _| state.ca_state = CA_RECOVERY), "in recovery");
        assert!(waits(&|bursts, _, _| bursts.last = at(99_000)));
        assert!(!waits(&|bursts, _, _| bursts.last = at(98_999)), "the last left long ago");
        assert!(waits(&|_, state, _| (state.snd_cwnd, state.packets_out) = (4, 3)));
        assert!(!waits(&|_, state, _| (state.snd_cwnd, state.packets_out) = (3, 2)), "a third of the window");
        assert!(waits(&|_, _, limits| limits.first_sent = Some(at(1_000))));
        assert!(
            !waits(&|_, _, limits| limits.first_sent = Some(at(1_001))),
            "the next acknowledgment is distant"
        );
        assert!(waits(&|_, state, limits| (state.srtt_us, limits.first_sent) = (8_000, Some(at(99_500)))));
        assert!(!waits(&|_, state, limits| (state.srtt_us, limits.first_sent) = (8_000, Some(at(99_501)))));
        assert!(!waits(&|_, _, limits| limits.first_sent = None), "no segment in flight");
        assert!(!waits(&|_, _, limits| limits.available = SIZE), "no data beyond this segment");
        assert!(!waits(&|_, _, limits| limits.packet = SIZE), "the last segment of its packet");
        assert!(waits(&|_, _, limits| limits.packet = 2 * SIZE));
    }

    /// From captures of Linux 6.12: two segments at the end of a full send buffer leave with the
    /// next acknowledgment.
    #[test]
    fn the_rest_of_the_last_packet_waits_even_if_the_window_permits_it() {
        let (mut bursts, mut pacing, mut state, mut limits) = sending(600, 3);
        pacing.follow_window(&mut state);
        assert!(bursts.segments(&pacing, &state) > 3);
        let now = at(100_000);
        bursts.last = now;
        limits.packet = 2 * SIZE;
        assert_eq!(bursts.plan(now, &limits, &pacing, &state), Plan::Leaves, "another packet is behind it");
        limits.available = limits.packet;
        limits.grows = true;
        assert_eq!(bursts.plan(now, &limits, &pacing, &state), Plan::WaitsForData);
        state.packets_out += 1;
        assert_eq!(bursts.plan(now, &limits, &pacing, &state), Plan::WaitsForCongestionWindow);
        limits.writes = true;
        assert_eq!(bursts.plan(now, &limits, &pacing, &state), Plan::Leaves, "the program writes");
        limits.writes = false;
        (limits.available, limits.packet) = (SIZE, SIZE);
        assert_eq!(bursts.plan(now, &limits, &pacing, &state), Plan::Leaves, "a single segment");
    }

    #[test]
    fn a_burst_ends_with_the_rest_of_the_receive_window() {
        let (mut bursts, pacing, state, mut limits) = sending(30, 8);
        limits.usable = SIZE + 100;
        limits.window = 3 * limits.usable;
        assert_eq!(bursts.plan(at(100_000), &limits, &pacing, &state), Plan::Leaves);
        assert_eq!(bursts.left(1, true), SIZE + 100);
        assert!(!bursts.sent(at(100_000), 1, SIZE as u32, true), "it begins the burst");
        assert_eq!(bursts.left(1 + SIZE, true), 100);
        assert_eq!(bursts.left(1 + SIZE, false), 0, "a retransmission does not continue it");
        assert!(bursts.sent(at(100_000), 1 + SIZE, 100, true));
        assert_eq!(bursts.left(1 + SIZE + 100, true), 0);
        limits.window = 100 * SIZE;
        assert_eq!(bursts.plan(at(100_000), &limits, &pacing, &state), Plan::WaitsForReceiveWindow);
    }

    #[test]
    fn a_pause_counts_from_the_departure_that_pacing_permits() {
        let (mut bursts, mut pacing, mut state, limits) = sending(30, 1);
        (state.sk_pacing_status, state.sk_pacing_rate) = (PACING_NEEDED, SIZE * 1000);
        pacing.without_unpaced_start(at(90_000));
        // Nine segments take 9 ms.
        for number in 0..9 {
            pacing.sent(at(90_000), SIZE as u32, number > 0, &mut state);
        }
        bursts.last = at(90_000);
        assert_eq!(bursts.plan(at(100_000), &limits, &pacing, &state), Plan::WaitsForCongestionWindow);
        assert_eq!(bursts.plan(at(100_001), &limits, &pacing, &state), Plan::Leaves);
    }

    #[test]
    fn a_short_packet_is_completed_to_a_burst_from_the_next_packet() {
        let (mut bursts, mut pacing, mut state, mut limits) = sending(600, 100);
        state.srtt_us = 8 * 50_000;
        pacing.follow_window(&mut state);
        for (packet, free, expected) in [(45, 100, 14), (5, 100, 14), (5, 7, 7), (1, 1, 1)] {
            state.packets_out = state.snd_cwnd - free;
            limits.packet = packet * SIZE;
            bursts.last = at(0);
            assert_eq!(bursts.plan(at(100_000), &limits, &pacing, &state), Plan::Leaves);
            assert_eq!(bursts.left(1, true), expected * SIZE, "{packet} {free}");
        }
    }

    #[test]
    fn a_burst_is_at_most_half_of_the_window() {
        let (mut bursts, pacing, mut state, limits) = sending(10, 10);
        state.srtt_us = 0;
        assert_eq!(bursts.plan(at(0), &limits, &pacing, &state), Plan::Leaves);
        assert_eq!(bursts.left(1, true), 5 * SIZE);
        state = State { snd_ssthresh: INFINITE_SSTHRESH, snd_cwnd: 1, ..state };
        assert_eq!(bursts.plan(at(0), &limits, &pacing, &state), Plan::Leaves);
        assert_eq!(bursts.left(1, true), SIZE);
    }
}
