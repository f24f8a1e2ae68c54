//! Random early detection (Floyd and Jacobson 1993): drops or marks packets by the average queue,
//! before the queue is full.
//!
//! [`super::early`] computes the average and the probabilities. Packets of ECN-capable transports
//! are marked instead of dropped while the average is below `max` (RFC 3168, section 7).
//!
//! ```toml
//! queue = { kind = "red", packets = 100, min = 30, max = 90, probability = 0.1 }
//! ```
//!
//! Deviation: thresholds count packets, not bytes.

use super::early::{self, Average, Curve, Packets, Spread};
use super::{Admission, Backlog, Discipline, Queue, Verdict};
use bentpipe_core::{Fraction, Problems, Rate, Size, Stream, Time};
use bentpipe_stage::Packet;

/// Declares `Config` with the keys of RED, with or without a gentle slope.
macro_rules! config {
    ($(#[$about:meta])+ gentle = $gentle:literal) => {
        $(#[$about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Config {
            /// Maximum number of waiting packets. Default 100. Packets that arrive at a full queue
            /// are dropped.
            pub packets: Packets,
            /// Average queue in packets above which packets are dropped or marked at random
            /// (min_th). Default 5.
            pub min: Packets,
            /// Average queue in packets at which the linear slope of the drop probability ends
            /// (max_th), greater than `min`. Default 15.
            pub max: Packets,
            /// Drop probability just below `max` (max_p), 0 to 1. Default 0.1.
            pub probability: Fraction,
            /// Weight of an arrival in the moving average of the queue (w_q), 0 to 1. Default
            /// 0.002.
            pub weight: Fraction,
            /// Size of a typical packet, 1 B to 65535 B. During idle time the average decays as if
            /// such packets were sent. Default 500 B.
            pub typical: Size,
            /// True if packets of ECN-capable transports are marked instead of dropped (RFC 3168).
            /// Default true.
            pub ecn: bool,
        }

        /// The recommendation of Floyd and Jacobson: min_th 5, max_th three times min_th, max_p
        /// 1/10, w_q 0.002.
        impl Default for Config {
            fn default() -> Config {
                Config {
                    packets: Packets::new(100),
                    min: Packets::new(5),
                    max: Packets::new(15),
                    probability: early::probability(),
                    weight: early::weight(),
                    typical: early::typical(),
                    ecn: true,
                }
            }
        }

        impl bentpipe_core::Sample for Config {
            const SAMPLE: &'static str = "packets = 60, min = 10, max = 30";
        }

        impl Discipline for Config {
            fn build(&self, rate: Rate) -> Queue {
                let (min, max) = (self.min.value() as f64, self.max.value() as f64);
                let curve = Curve { min, max, max_probability: self.probability.value(), gentle: $gentle };
                let average = Average::new(self.weight, self.typical, rate);
                Queue::Arrival(Box::new(Red::new(self.packets, curve, average, self.typical, self.ecn)))
            }

            fn facts(&self, _rate: Rate, _dscp: bentpipe_core::Dscp) -> bentpipe_stage::facts::Queue {
                let kind = if $gentle { "gentle-red" } else { "red" };
                bentpipe_stage::facts::Queue::early(kind, self.packets.value())
            }

            fn check(&self, problems: &mut Problems) {
                early::check_thresholds(self.min, self.max, problems);
                early::check_typical(self.typical, problems);
            }
        }
    };
}
pub(super) use config;

config! {
    /// Random early detection (Floyd and Jacobson 1993): drops or marks packets with a probability
    /// that grows with the average queue, before the queue is full.
    gentle = false
}

/// The discipline RED, with or without a gentle slope.
pub struct Red {
    packets: u64,
    curve: Curve,
    average: Average,
    spread: Spread,
    typical: Size,
    ecn: bool,
}

impl Red {
    /// Creates the discipline with the average of an empty queue.
    pub fn new(packets: Packets, curve: Curve, average: Average, typical: Size, ecn: bool) -> Red {
        Red { packets: packets.value(), curve, average, spread: Spread::default(), typical, ecn }
    }
}

impl Admission for Red {
    fn admit(&mut self, now: Time, packet: &mut Packet, backlog: Backlog, stream: &mut Stream) -> Verdict {
        let average = self.average.update(now, backlog.packets, backlog);
        let fate = self.spread.decide(&self.curve, average, stream);
        early::verdict(fate, backlog.packets < self.packets, self.ecn, packet)
    }

    fn set_rate(&mut self, rate: Rate) {
        self.average.set_rate(self.typical, rate);
    }
}
