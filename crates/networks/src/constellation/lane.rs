//! The state of a hop over an idle link, in one cache line. With thousands of links, few of them
//! are in a near cache.
//!
//! If the transmitter is idle and its queue decides by size alone, a packet is sent at once. This
//! needs only the time at which the transmitter becomes free. The lane keeps this time and counts
//! such packets. Any other use of the transmitter first *flushes* the lane, which adds its counts
//! to those of the transmitter, and afterwards *resumes* the lane.

use super::ranging::Ranging;
use bentpipe_core::{Span, Time};
use bentpipe_link::transmitter::{SentWhileIdle, Transmitter};

/// Number of packet sizes for which a lane records that the queue admits them: one for data and one
/// for acknowledgments.
const SIZES: usize = 2;

/// One direction of a link while it is idle.
#[repr(C, align(64))]
pub struct Lane {
    /// Latest time of arrival of the packets sent so far. Later packets do not arrive earlier.
    last: Time,
    /// Time at which all packets will have been sent. It is [`Time::MAX`] if the lane is closed, so
    /// that the transmitter decides.
    free_at: Time,
    ranging: Ranging,
    /// Sizes of packets that an idle transmitter admits.
    sizes: [u16; SIZES],
    /// Number of packets of each of these sizes since the lane was flushed.
    counts: [u16; SIZES],
}

impl Default for Lane {
    fn default() -> Lane {
        Lane {
            last: Time::ZERO,
            free_at: Time::MAX,
            ranging: Ranging::default(),
            sizes: [0; SIZES],
            counts: [0; SIZES],
        }
    }
}

impl Lane {
    /// Sends a packet that takes `sending` if the link is idle and the queue is known to admit the
    /// packet. Returns the time at which its last bit will have been sent, or `None` if the
    /// transmitter has to decide.
    #[inline]
    pub fn send(&mut self, now: Time, size: u32, sending: Span) -> Option<Time> {
        if self.free_at > now {
            return None;
        }
        let at = if size == u32::from(self.sizes[0]) {
            0
        } else if size == u32::from(self.sizes[1]) {
            1
        } else {
            return None;
        };
        self.counts[at] = self.counts[at].checked_add(1)?;
        self.free_at = now + sending;
        Some(self.free_at)
    }

    /// Returns the time of arrival of a packet whose last bit is sent at `sent`. `metres` returns
    /// the length of the path `t` seconds after the start of the run. `ends` is the number of the
    /// pair of ends.
    #[inline]
    pub fn launch(&mut self, sent: Time, ends: u32, metres: impl Fn(f64) -> f64) -> Time {
        self.last = self.last.max(sent + self.ranging.light_time(sent, ends, metres));
        self.last
    }

    /// Returns the latest time of arrival of the packets sent so far, or [`Time::ZERO`] before the
    /// first.
    #[inline]
    pub fn last(&self) -> Time {
        self.last
    }

    /// Returns the packets that the transmitter has not counted.
    pub fn uncounted(&self, transmitter: &Transmitter) -> SentWhileIdle {
        let mut meanwhile = SentWhileIdle::nothing(transmitter);
        for (size, count) in self.sizes.into_iter().zip(self.counts).filter(|(_, count)| *count > 0) {
            meanwhile.add(u32::from(size), u64::from(count), transmitter.rate());
            meanwhile.free_at = self.free_at;
        }
        meanwhile
    }

    /// Adds the uncounted packets to the counts of the transmitter.
    #[inline]
    pub fn flush(&mut self, transmitter: &mut Transmitter) {
        if self.counts != [0; SIZES] {
            transmitter.catch_up(self.uncounted(transmitter));
            self.counts = [0; SIZES];
        }
    }

    /// Reads the state of the flushed transmitter after a packet of this size.
    #[inline]
    pub fn resume(&mut self, transmitter: &Transmitter, size: u32) {
        let known = u16::try_from(size).ok().filter(|_| transmitter.admits_when_idle(size));
        let Some(size) = known else {
            self.free_at = Time::MAX;
            return;
        };
        if size != self.sizes[0] {
            self.sizes = [size, self.sizes[0]];
        }
        self.free_at = transmitter.free_at();
    }

    /// Ends the link. Until the lane is resumed, the transmitter decides, and the next packet may
    /// arrive at any time.
    pub fn close(&mut self) {
        (self.last, self.free_at) = (Time::ZERO, Time::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::{Count, Rate, Report, Size, Streams};
    use bentpipe_link::queue::{drop_tail, Config};
    use bentpipe_stage::Held;
    use proptest::prelude::*;

    fn sizes() -> impl Strategy<Value = u32> {
        prop_oneof![4 => Just(1500u32), 4 => Just(40u32), 1 => 40u32..9000, 1 => 60_000u32..70_000]
    }

    proptest! {
        /// A transmitter with a lane sends, drops and reports the same packets as one without.
        #[test]
        fn lane_gives_the_results_of_its_transmitter(
            packets in prop::option::of(1u64..6), bytes in prop::option::of(1500u64..9000),
            mut arrivals in prop::collection::vec((0u64..3_000_000, sizes(), 0u32..50), 1..200),
        ) {
            let config = Config::DropTail(drop_tail::Config {
                packets: packets.map(Count::new),
                bytes: bytes.map(Size::from_bytes),
            });
            let rate = Rate::from_bits_per_second(12_000_000);
            let transmitter = || Transmitter::new(rate, config.build(rate), None, Streams::new(1, 0).stream("l"), None);
            let (mut plain, mut inner, mut lane) = (transmitter(), transmitter(), Lane::default());
            let (mut now, mut sent_at_once) = (Time::ZERO, 0);
            // The last two packets find the link idle.
            arrivals.extend([(900_000_000, 1500, 1); 2]);
            for (wait, size, event) in arrivals {
                now += Span::from_nanos(wait);
                if event == 0 {
                    // The link is cut and returns the packets that have not been sent; here there
                    // are none.
                    now = now.max(plain.free_at());
                    lane.flush(&mut inner);
                    lane.close();
                    plain.withdraw(now, &[], now + Span::from_nanos(1_000_000));
                    inner.withdraw(now, &[], now + Span::from_nanos(1_000_000));
                }
                let expected = plain.offer_size(now, size);
                let at_once = lane.send(now, size, rate.span_of(u64::from(size)));
                sent_at_once += u32::from(at_once.is_some());
                let sent = at_once.or_else(|| {
                    lane.flush(&mut inner);
                    let sent = inner.offer_size(now, size);
                    lane.resume(&inner, size);
                    sent
                });
                prop_assert_eq!(sent, expected);
                prop_assert_eq!(lane.uncounted(&inner).free_at, plain.free_at());
            }
            prop_assert!(sent_at_once > 0);
            let pending = Held { packets: 1, bytes: 1500 };
            let mut reports = [Report::default(), Report::default()];
            plain.report("l", now, pending, 0, &mut reports[0]);
            inner.report_with(lane.uncounted(&inner), "l", now, pending, 0, &mut reports[1]);
            prop_assert_eq!(format!("{:?}", reports[0].rows()), format!("{:?}", reports[1].rows()));
        }
    }

    #[test]
    fn full_counters_are_flushed() {
        let rate = Rate::from_bits_per_second(12_000_000_000);
        let queue = Config::DropTail(drop_tail::Config { packets: Some(Count::new(5)), bytes: None });
        let mut transmitter =
            Transmitter::new(rate, queue.build(rate), None, Streams::new(1, 0).stream("l"), None);
        let (mut lane, mut transmitter_uses) = (Lane::default(), 0);
        for number in 0..200_000u64 {
            let now = Time::from_nanos(number * 10_000);
            if lane.send(now, 1500, rate.span_of(1500)).is_none() {
                lane.flush(&mut transmitter);
                transmitter.offer_size(now, 1500).expect("the link is idle");
                lane.resume(&transmitter, 1500);
                transmitter_uses += 1;
            }
        }
        // The transmitter is used for the first packet, and after every 65 535 packets of the lane.
        assert_eq!(transmitter_uses, 4);
        lane.flush(&mut transmitter);
        let mut report = Report::default();
        transmitter.report("l", Time::from_nanos(2_000_000_000), Held::default(), 0, &mut report);
        assert_eq!(report.value("link", "l", "packets"), Some(200_000.0));
        assert_eq!(report.value("link", "l", "bytes"), Some(300_000_000.0));
        // Each takes 1 us of 2 s.
        assert_eq!(report.value("link", "l", "utilisation"), Some(0.1));
    }
}
