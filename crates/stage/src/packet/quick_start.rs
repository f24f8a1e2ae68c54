//! Quick-Start for TCP and IP (RFC 4782): a sender requests a rate for its start from the path, and
//! every router grants that rate or less.
//!
//! The request is an IP option with a rate of 40 kbit/s x 2^N (section 3.1, N = 1 to 15, 0 for
//! none). A router without Quick-Start forwards the option unchanged, which voids the request: the
//! sender detects it by comparing two times-to-live (section 4.6), here by [`QuickStart::missed`].
//! A router grants at most a share of its capacity minus the traffic that has recently passed and
//! the rates that it has recently granted (section 3.3 and appendix E: the target algorithm).
//! "Recently" means within [`WINDOW`].
//!
//! Deviations: no nonce and no report of the approved rate, because all nodes follow the protocol
//! here.

use crate::Packet;
use bentpipe_core::{Rate, Span, Time};

/// A Quick-Start request (RFC 4782, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuickStart {
    /// Exponent N of the rate, 40 kbit/s x 2^N; 0 once nothing is granted.
    pub rate: u8,
    /// True if the request has passed a router without Quick-Start.
    pub missed: bool,
}

impl QuickStart {
    /// Creates a request for at least this rate: the smallest sufficient rate of the option, or
    /// else its maximum.
    pub fn asking(bits_per_second: f64) -> QuickStart {
        let rate = (1..15).find(|rate| f64::from(40_000u32 << rate) >= bits_per_second).unwrap_or(15);
        QuickStart { rate, missed: false }
    }

    /// Returns the rate in bit/s; 0 when nothing is granted.
    pub fn bits_per_second(self) -> u64 {
        match self.rate {
            0 => 0,
            rate => 40_000 << rate,
        }
    }

    /// Limits the granted rate, as a router does.
    pub fn reduce_to(&mut self, bits_per_second: f64) {
        while self.rate > 0 && self.bits_per_second() as f64 > bits_per_second {
            self.rate -= 1;
        }
    }
}

/// Period over which passed and granted traffic is counted: longer than most round trips, as
/// section 3.3 requires.
pub const WINDOW: Span = Span::from_secs(1);

/// A router's state for granting requests.
#[derive(Clone, Debug)]
pub struct Grants {
    /// Fraction of the capacity that the router grants.
    share: f64,
    /// Start of the current window, and the traffic passed and granted in the current and in the
    /// previous window.
    start: Time,
    bytes: [u64; 2],
    granted: [f64; 2],
}

impl Grants {
    /// Creates the state of a router that grants up to `share` of its capacity.
    pub fn new(share: f64) -> Grants {
        Grants { share, start: Time::ZERO, bytes: [0; 2], granted: [0.0; 2] }
    }

    /// Counts `bytes` that pass at `now`.
    #[inline]
    pub fn pass(&mut self, now: Time, bytes: u32) {
        self.turn(now);
        self.bytes[0] += u64::from(bytes);
    }

    /// Grants a request at a router of this `capacity`, in full or in part.
    pub fn judge(&mut self, now: Time, capacity: Rate, request: &mut QuickStart) {
        self.turn(now);
        let capacity = capacity.bits_per_second() as f64;
        // The previous window counts with the fraction of it that lies within the last window
        // length.
        let fresh = 1.0 - now.since(self.start).as_secs_f64() / WINDOW.as_secs_f64();
        let recent = |two: [f64; 2]| two[0] + two[1] * fresh;
        let flows = recent(self.bytes.map(|bytes| bytes as f64 * 8.0)) / WINDOW.as_secs_f64();
        let left = self.share * capacity - flows - recent(self.granted);
        request.reduce_to(left.max(0.0));
        self.granted[0] += request.bits_per_second() as f64;
    }

    fn turn(&mut self, now: Time) {
        let age = now.since(self.start);
        if age >= WINDOW {
            let one_only = age < WINDOW * 2;
            self.bytes = [0, if one_only { self.bytes[0] } else { 0 }];
            self.granted = [0.0, if one_only { self.granted[0] } else { 0.0 }];
            self.start = match one_only {
                true => self.start + WINDOW,
                false => now,
            };
        }
    }
}

/// Handles a packet, with or without a request, at a router that may support Quick-Start.
#[inline]
pub fn pass(grants: &mut Option<Grants>, now: Time, capacity: Rate, packet: &mut Packet) {
    let size = packet.size;
    match (grants, packet.quick_start()) {
        (None, None) => {}
        (None, Some(request)) => packet.set_quick_start(QuickStart { missed: true, ..request }),
        (Some(grants), request) => {
            if let Some(mut request) = request {
                grants.judge(now, capacity, &mut request);
                packet.set_quick_start(request);
            }
            grants.pass(now, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn rates_equal_those_of_the_option() {
        // RFC 4782, section 3.1: N = 1 is 80 kbit/s, N = 15 is 1.31 Gbit/s.
        let rates = [1.0, 80e3, 100e3, 160e3, 1e6, 1.31072e9, 9e9].map(|rate| QuickStart::asking(rate).rate);
        assert_eq!(rates, [1, 1, 2, 2, 5, 15, 15]);
        assert_eq!(QuickStart::asking(1e6).bits_per_second(), 1_280_000);
        let mut request = QuickStart::asking(1e6);
        request.reduce_to(700e3);
        assert_eq!(request.bits_per_second(), 640_000);
        request.reduce_to(79e3);
        assert_eq!(request.bits_per_second(), 0);
        request.reduce_to(1e9);
        assert_eq!(request.bits_per_second(), 0, "nobody raises what another has denied");
    }

    #[test]
    fn used_and_granted_rates_are_not_granted_again() {
        let capacity = Rate::from_bits_per_second(2_000_000);
        let mut grants = Grants::new(1.0);
        let ask = |grants: &mut Grants, now| {
            let mut request = QuickStart::asking(1e6);
            grants.judge(now, capacity, &mut request);
            request.bits_per_second()
        };
        assert_eq!(ask(&mut grants, at(5000)), 1_280_000);
        assert_eq!(ask(&mut grants, at(5100)), 640_000);
        assert_eq!(ask(&mut grants, at(5200)), 80_000);
        // After two windows the granted traffic is counted itself, so the grant no longer counts.
        assert_eq!(ask(&mut grants, at(8000)), 1_280_000);
        for ms in 0..1000 {
            grants.pass(at(10_000 + ms), 225); // 1.8 Mbit/s
        }
        assert_eq!(ask(&mut grants, at(11_000)), 160_000);
    }
}
