//! Rate adaptation: the choice of the rate at which a sender transmits its next frame to a
//! receiver.
//!
//! Each sender has one adapter per receiver. The sender requests a rate from the adapter before
//! every transmission, including retransmissions, and reports the outcome to the adapter. A rate is
//! given by its position in the list of the network's rates, the slowest first.

pub mod aarf;
pub mod arf;
pub mod cara;
pub mod fixed;
pub mod ld_arf;
pub mod minstrel;
pub mod minstrel_ht;
pub mod onoe;

use bentpipe_core::{kinds, Problems, Rate, Span, Stream, Time};

kinds! {
    /// The rate adaptation, which chooses the rate at which a sender transmits its next frame to a
    /// receiver.
    #[schemars(rename = "RateAdaptation")]
    pub enum Config: Adaptation {
        "fixed" => Fixed(fixed::Config),
        "arf" => Arf(arf::Config),
        "aarf" => Aarf(aarf::Config),
        "ld-arf" => LdArf(ld_arf::Config),
        "onoe" => Onoe(onoe::Config),
        "cara" => Cara(cara::Config),
        "minstrel" => Minstrel(minstrel::Config),
        "minstrel-ht" => MinstrelHt(minstrel_ht::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Minstrel(minstrel::Config::default())
    }
}

/// The factory of a rate adaptation, implemented by its `Config`.
pub trait Adaptation {
    /// Builds the adapter of one sender for one receiver.
    ///
    /// # Panics
    /// If the configuration has not passed [`check`](Adaptation::check).
    fn build(&self, rates: &[Speed]) -> Box<dyn Adapter>;

    /// Returns true if a receiver answers a frame that the channel has corrupted with a NAK.
    fn nak(&self) -> bool {
        false
    }

    /// Returns the position of the only rate that the sender uses; `None` if the rate adapts.
    fn constant(&self, _rates: &[Speed]) -> Option<usize> {
        None
    }

    /// Checks the configuration for a network with these rates and adds its problems to `problems`.
    fn check(&self, _rates: &[Speed], _problems: &mut Problems) {}
}

/// A rate that an adapter can choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Speed {
    /// Transmission rate of data.
    pub rate: Rate,
    /// Index of the rate in the standard; for HT, the MCS.
    pub index: usize,
    /// Airtime of a frame of 1200 bytes.
    pub airtime: Span,
    /// Airtime that one further frame of 1200 bytes adds to an aggregate.
    pub further: Span,
    /// Time from the end of a frame to the end of its acknowledgment at the lowest rate.
    pub answer: Span,
}

/// The settings of a sender's next transmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Position of the rate in the list of the network's rates, the slowest first.
    pub rate: usize,
    /// True if an RTS precedes the frame, whatever its size.
    pub rts: bool,
}

/// The outcome of a transmission, as far as its sender knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// An acknowledgment arrived for some of the frames.
    Acknowledged {
        /// Number of frames that were sent; 1 without aggregation.
        sent: u32,
        /// Number of frames that were acknowledged.
        acknowledged: u32,
    },
    /// No acknowledgment of the transmission arrived.
    Unanswered {
        /// Number of frames that were sent.
        sent: u32,
    },
    /// No acknowledgment arrived, and the sender knows that the channel is the reason: a NAK
    /// arrived, or a CTS before the data.
    Corrupted {
        /// Number of frames that were sent.
        sent: u32,
    },
    /// The RTS was not answered, so no data was sent.
    Blocked,
}

impl Outcome {
    /// Returns true if at least half of the frames were acknowledged; `None` if no data was sent.
    pub fn success(self) -> Option<bool> {
        match self {
            Outcome::Acknowledged { sent, acknowledged } => Some(2 * acknowledged >= sent),
            Outcome::Unanswered { .. } | Outcome::Corrupted { .. } => Some(false),
            Outcome::Blocked => None,
        }
    }

    /// Returns the number of frames that were sent, and the number of frames that were
    /// acknowledged.
    pub fn frames(self) -> (u32, u32) {
        match self {
            Outcome::Acknowledged { sent, acknowledged } => (sent, acknowledged),
            Outcome::Unanswered { sent } | Outcome::Corrupted { sent } => (sent, 0),
            Outcome::Blocked => (0, 0),
        }
    }
}

/// Chooses the rates of one sender for one receiver.
pub trait Adapter: Send {
    /// Returns the settings of the transmission that begins at `now`. `attempt` is the number of
    /// earlier transmissions of the frame.
    fn choose(&mut self, now: Time, attempt: u32, stream: &mut Stream) -> Choice;

    /// Records the outcome of a transmission at the rate with position `rate`. The frame had been
    /// sent `attempt` times before this transmission.
    fn record_outcome(&mut self, now: Time, rate: usize, attempt: u32, outcome: Outcome);
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use bentpipe_core::Streams;

    /// Returns the four rates of 802.11b.
    pub(crate) fn rates() -> Vec<Speed> {
        let rate = |index, kbit_s: u64| {
            let rate = Rate::from_bits_per_second(kbit_s * 1000);
            let further = rate.span_of(1200);
            let airtime = Span::from_micros(192) + further;
            Speed { rate, index, airtime, further, answer: Span::from_micros(314) }
        };
        vec![rate(0, 1000), rate(1, 2000), rate(2, 5500), rate(3, 11_000)]
    }

    /// Returns the rates that an adapter chooses for a series of transmissions. `outcomes` has one
    /// letter per transmission: `s` for silence, `a` for an acknowledgment, `n` for a NAK, `b` for
    /// an unanswered RTS.
    pub(crate) fn trajectory(config: &dyn Adaptation, outcomes: &str) -> String {
        let mut adapter = config.build(&rates());
        let mut stream = Streams::new(1, 0).stream("adaptation");
        let (mut text, mut attempt) = (String::new(), 0);
        for (number, letter) in outcomes.chars().enumerate() {
            let now = Time::from_nanos(number as u64 * 1_000_000);
            let choice = adapter.choose(now, attempt, &mut stream);
            text.push(char::from(b"0123"[choice.rate]));
            let outcome = match letter {
                'a' => Outcome::Acknowledged { sent: 1, acknowledged: 1 },
                's' => Outcome::Unanswered { sent: 1 },
                'n' => Outcome::Corrupted { sent: 1 },
                'b' => Outcome::Blocked,
                other => panic!("{other}"),
            };
            adapter.record_outcome(now, choice.rate, attempt, outcome);
            attempt = if letter == 'a' { 0 } else { attempt + 1 };
        }
        text
    }
}
