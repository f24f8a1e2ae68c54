//! The receiver of a stream. It measures lost packets, late packets, the delay from mouth to ear,
//! and quality.
//!
//! Packets are lost if their sequence numbers are missing, and late if they arrive after their
//! playout time in the de-jitter buffer. Interarrival jitter is computed by RFC 3550. A new source
//! (SSRC) begins a new stream: buffer, sequence numbers and jitter restart, but the counters
//! continue.
//!
//! The quality is rated by the E-model (G.107). Ppl and BurstR include lost and late packets,
//! because both are missing after the de-jitter buffer. T = Ta is the mean delay of the played
//! packets from mouth to ear: the duration of a packet, the codec's look-ahead, the network and the
//! buffer. Tr = 2 T. All other parameters have their defaults.

use crate::bursts::{Bursts, Clusters};
use crate::codec::Codec;
use crate::emodel::{mos, Parameters};
use crate::jitter::Jitter;
use crate::playout::{self, Buffer};
use crate::rtp::{unwrapped_sequence, unwrapped_timestamp, Rtp};
use bentpipe_core::{Span, Time};
use std::collections::VecDeque;

/// The skew of the clocks at both ends. A skew of 1e-6 means that the clock runs one part per
/// million too fast.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Clocks {
    /// Skew of the receiver's clock.
    pub own: f64,
    /// Skew of the sender's clock.
    pub peer: f64,
}

/// The origin of a stream's time stamps: the sample with time stamp `timestamp` was spoken at `at`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Time stamp of a sample.
    pub timestamp: u32,
    /// Time at which that sample was spoken.
    pub at: Time,
}

/// The fate of an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketFate {
    /// The packet is in time and is played.
    Played {
        /// Playout time of its first sample.
        at: Time,
    },
    /// The packet arrived after its playout time.
    Late,
    /// The packet is a duplicate.
    Duplicate,
    /// The packet's payload type belongs neither to the codec nor to its comfort noise.
    Foreign,
}

/// Counters of the packets of a stream, or of a window of the stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Number of packets sent, from their sequence numbers.
    pub expected: u64,
    /// Number of packets that did not arrive. Negative in a window if packets arrive that were
    /// counted as lost in an earlier window.
    pub lost: i64,
    /// Number of packets that arrived after their playout time.
    pub late: u64,
    /// Number of duplicate packets.
    pub duplicates: u64,
    /// Number of packets that were played.
    pub played: u64,
    /// Number of changes of the source (SSRC).
    pub resets: u64,
    /// Sum of the delays from mouth to ear of all played packets, in seconds.
    pub delays: f64,
    /// Maximum delay from mouth to ear, in seconds.
    pub longest: f64,
    /// Sum of the times of all played packets in the de-jitter buffer, in seconds.
    pub held: f64,
    /// Sum of the jitter after each arriving packet, in seconds.
    pub jitters: f64,
    /// Maximum jitter, in seconds.
    pub jitter_max: f64,
    /// Number of packets that arrived, without duplicates.
    pub arrived: u64,
    /// Bursts and gaps of the lost and late packets.
    pub bursts: Bursts,
}

/// The quality of a call by the E-model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quality {
    /// Rating R without the advantage factor.
    pub r: f64,
    /// Mean opinion score of R, at least 1.
    pub mos: f64,
    /// Rating R with the advantage factor.
    pub r_advantage: f64,
    /// Mean opinion score of the rating with the advantage factor, at least 1.
    pub mos_advantage: f64,
    /// Effective equipment impairment factor Ie-eff.
    pub ie_eff: f64,
}

impl Totals {
    /// Returns the fraction of packets that did not arrive.
    pub fn loss(&self) -> f64 {
        self.lost.max(0) as f64 / self.expected as f64
    }

    /// Returns the fraction of packets that arrived too late.
    pub fn late_fraction(&self) -> f64 {
        self.late as f64 / self.expected as f64
    }

    /// Returns the mean delay from mouth to ear in seconds; NaN if no packet was played.
    pub fn delay(&self) -> f64 {
        self.delays / self.played as f64
    }

    /// Returns the mean time in the de-jitter buffer in seconds; NaN if no packet was played.
    pub fn buffering(&self) -> f64 {
        self.held / self.played as f64
    }

    /// Returns the mean interarrival jitter over all arrived packets, in seconds; NaN if no packet
    /// arrived.
    pub fn jitter(&self) -> f64 {
        self.jitters / self.arrived as f64
    }

    /// Returns the quality for this codec and the advantage factor A. All values are NaN if no
    /// packet was sent. The quality is the worst one if no packet was played.
    pub fn quality(&self, codec: &Codec, advantage: f64) -> Quality {
        if self.expected == 0 {
            return Quality {
                r: f64::NAN,
                mos: f64::NAN,
                r_advantage: f64::NAN,
                mos_advantage: f64::NAN,
                ie_eff: f64::NAN,
            };
        }
        let delay = if self.played > 0 { self.delay() * 1e3 } else { 0.0 };
        let call = Parameters {
            ie: codec.ie,
            bpl: codec.bpl,
            ppl: 100.0 * (self.loss() + self.late_fraction()).min(1.0),
            burst_r: self.bursts.ratio().max(1e-9),
            ..Parameters::with_delay(delay.max(0.0))
        };
        let rating = call.rate();
        let r = if self.played > 0 { rating.r } else { 0.0 };
        let r_advantage = if self.played > 0 { rating.r + advantage } else { 0.0 };
        // The curve of annex B falls below 1, the worst opinion, for R less than 6.5.
        let score = |r: f64| mos(r).max(1.0);
        Quality { r, mos: score(r), r_advantage, mos_advantage: score(r_advantage), ie_eff: rating.ie_eff }
    }

    fn add(&mut self, other: &Totals) {
        self.expected += other.expected;
        self.lost += other.lost;
        self.late += other.late;
        self.duplicates += other.duplicates;
        self.played += other.played;
        self.resets += other.resets;
        self.delays += other.delays;
        self.longest = self.longest.max(other.longest);
        self.held += other.held;
        self.jitters += other.jitters;
        self.jitter_max = self.jitter_max.max(other.jitter_max);
        self.arrived += other.arrived;
    }
}

/// Number of subsequent packets after which a missing packet counts as lost.
const AWAITED: i64 = 64;
/// Jump of sequence numbers above which a stream restarts (RFC 3550, appendix A.1: MAX_DROPOUT and
/// MAX_MISORDER).
const DROPOUT: i64 = 3000;

/// The state of a source of packets (SSRC).
struct Source {
    ssrc: u32,
    /// The highest sequence number that has arrived, unwrapped.
    highest: i64,
    /// Bits of the last [`AWAITED`] packets: 1 if the packet was played. The lowest bit belongs to
    /// the packet with the highest sequence number.
    played: u64,
    /// Bits of the same packets: 1 if the packet has arrived.
    arrived: u64,
    /// Number of expected packets of this source so far. All packets except the last [`AWAITED`]
    /// have been added to `bursts`.
    known: i64,
    /// Sequence numbers, in order, of missing packets before the last [`AWAITED`]. Numbers older
    /// than [`DROPOUT`] are removed.
    given_up: VecDeque<i64>,
    /// Time stamp of the last packet, unwrapped.
    timestamp: i64,
    /// Time stamp of the origin, unwrapped.
    zero: i64,
    /// Time at which the sample of the origin was spoken, by the receiver's clock, in nanoseconds.
    spoken: i64,
    jitter: Jitter,
    buffer: Box<dyn Buffer>,
    /// Playout delay of the current talk spurt, in nanoseconds.
    delay: i64,
    /// A sequence number, and the time stamp with which a packet of this number continues the talk
    /// spurt.
    spurt: (i64, i64),
    /// Latest playout, by sequence number, of a buffer that plays on arrival.
    last_played: i64,
}

/// The receiver of one stream of speech.
pub struct Receiver {
    codec: &'static Codec,
    /// Duration of a packet in units of the time stamp.
    units: i64,
    playout: playout::Config,
    clocks: Clocks,
    origin: Option<Origin>,
    source: Option<Source>,
    /// Counters of all completed windows, without `bursts`.
    before: Totals,
    /// Counters of the current window.
    window: Totals,
    bursts: Bursts,
}

impl Receiver {
    /// Creates a receiver for packets with `frames` codec frames each.
    pub fn new(
        codec: &'static Codec,
        frames: u32,
        playout: &playout::Config,
        clocks: Clocks,
        origin: Option<Origin>,
    ) -> Receiver {
        Receiver {
            codec,
            units: i64::from(frames * codec.frame_units()),
            playout: playout.clone(),
            clocks,
            origin,
            source: None,
            before: Totals::default(),
            window: Totals::default(),
            bursts: Bursts::default(),
        }
    }

    /// Handles a packet that arrives at `now`.
    pub fn receive(&mut self, now: Time, rtp: &Rtp) -> PacketFate {
        if !self.codec.understands(rtp.payload_type) {
            return PacketFate::Foreign;
        }
        let local = self.local(now);
        let known = self.source.as_ref().filter(|source| source.ssrc == rtp.ssrc);
        let jump = known.map(|source| unwrapped_sequence(source.highest, rtp.sequence) - source.highest);
        if jump.is_none_or(|jump| jump.abs() > DROPOUT) {
            self.begin(local, rtp);
        }
        let Receiver { codec, units, source, window, bursts, clocks, .. } = self;
        let Some(source) = source else { return PacketFate::Foreign };
        let sequence = unwrapped_sequence(source.highest, rtp.sequence);
        let age = source.highest - sequence;
        if age >= AWAITED {
            // The packet was counted as lost, has arrived before, or was sent before the first
            // packet of the source and never counted.
            if let Ok(place) = source.given_up.binary_search(&sequence) {
                source.given_up.remove(place);
                window.late += 1;
                window.lost -= 1;
            }
            return PacketFate::Late;
        }
        if age >= 0 && source.arrived >> age & 1 == 1 {
            window.duplicates += 1;
            return PacketFate::Duplicate;
        }
        if age < 0 {
            advance(source, -age, window, bursts);
        }
        let age = age.max(0);
        if age >= source.known {
            // The first arriving packet had overtaken this packet. So this packet and the packets
            // between both are expected, too.
            let earlier = age + 1 - source.known;
            window.expected += earlier as u64;
            window.lost += earlier;
            source.known += earlier;
        }
        source.arrived |= 1 << age;
        // The packet was counted as lost when a later packet arrived.
        window.lost -= 1;
        window.arrived += 1;

        source.timestamp = unwrapped_timestamp(source.timestamp, rtp.timestamp);
        let clock = f64::from(codec.rtp.clock);
        source.jitter.add(rtp.timestamp, local as f64 * clock / 1e9);
        let jitter = source.jitter.real() / clock;
        window.jitters += jitter;
        window.jitter_max = window.jitter_max.max(jitter);

        let since = source.timestamp - source.zero;
        let generated = nanos(since, codec);
        let transit = local - source.spoken - generated;
        // In a packet that continues a talk spurt, the time stamp has advanced in proportion to the
        // sequence number. This does not hold after comfort noise.
        let continues = source.spurt.1 + (sequence - source.spurt.0) * *units;
        let noise = rtp.payload_type != codec.rtp.payload_type;
        let first = rtp.marker || source.known == 1 || (source.timestamp != continues && !noise);
        if sequence >= source.spurt.0 {
            source.spurt = (sequence, source.timestamp);
        }
        source.buffer.observe(transit, first);
        if first || !source.buffer.holds() {
            source.delay = source.buffer.delay();
        }
        let overtaken = !source.buffer.holds() && sequence < source.last_played;
        if transit > source.delay || overtaken {
            window.late += 1;
            return PacketFate::Late;
        }
        source.played |= 1 << age;
        source.last_played = source.last_played.max(sequence);
        window.played += 1;
        let wait = truth(source.delay - transit, clocks.own);
        window.held += wait;
        // The sample was spoken, by the true clock, when the sender's clock had advanced by this
        // amount.
        let delay = match self.origin {
            Some(origin) => {
                now.as_secs_f64() - origin.at.as_secs_f64() - since as f64 / clock / (1.0 + clocks.peer)
                    + wait
            }
            None => source.delay as f64 / 1e9,
        };
        window.delays += delay;
        window.longest = window.longest.max(delay);
        PacketFate::Played { at: now + Span::from_secs_f64(wait) }
    }

    /// Sets the origin of the stream's time stamps. From now on, delays are measured from this
    /// origin.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = Some(origin);
        let spoken = self.local(origin.at);
        if let Some(source) = &mut self.source {
            let zero = unwrapped_timestamp(source.timestamp, origin.timestamp);
            let before = std::mem::replace(&mut source.spoken, spoken);
            let shift = zero - std::mem::replace(&mut source.zero, zero);
            // The current talk spurt keeps its schedule. Network delays increase by the part that
            // was unknown.
            source.delay += before - spoken + nanos(shift, self.codec);
            source.buffer = self.playout.build();
        }
    }

    /// Returns the counters of the current window without ending it; see [`Receiver::window`].
    pub fn window_so_far(&self) -> Option<Totals> {
        let totals = Totals { bursts: self.pending(self.bursts), ..self.window };
        (totals.expected > 0 || totals.duplicates > 0).then_some(totals)
    }

    /// Ends the current window and returns its counters, for results over time. Returns `None` if
    /// no packet was expected or arrived. The clustering of losses is that of the complete call so
    /// far.
    pub fn window(&mut self) -> Option<Totals> {
        let totals = self.window_so_far();
        self.before.add(&self.window);
        self.window = Totals::default();
        totals
    }

    /// Returns the counters of the complete stream so far.
    pub fn totals(&self) -> Totals {
        let mut totals = self.before;
        totals.add(&self.window);
        Totals { bursts: self.pending(self.bursts), ..totals }
    }

    /// Returns the bursts and gaps so far (RFC 3611).
    pub fn clusters(&self) -> Clusters {
        self.pending(self.bursts).clusters()
    }

    /// Returns values of the current source for RTCP reports: its SSRC, the jitter in integers, and
    /// the highest sequence number with its cycles.
    pub fn status(&self) -> Option<(u32, u32, u32)> {
        let source = self.source.as_ref()?;
        Some((source.ssrc, source.jitter.integer(), source.highest as u32))
    }

    /// Returns the time at which the first sample of an arrived packet was spoken, in seconds, by
    /// the speaker's clock; `None` if the origin is unknown.
    pub fn spoken(&self, rtp: &Rtp) -> Option<f64> {
        let (source, origin) = (self.source.as_ref()?, self.origin?);
        let since = unwrapped_timestamp(source.timestamp, rtp.timestamp) - source.zero;
        Some(origin.at.as_secs_f64() + since as f64 / f64::from(self.codec.rtp.clock))
    }

    /// Returns `bursts` with the losses among the last [`AWAITED`] packets added.
    fn pending(&self, mut bursts: Bursts) -> Bursts {
        if let Some(source) = &self.source {
            for age in (0..source.known.min(AWAITED)).rev() {
                bursts.add(source.played >> age & 1 == 1);
            }
        }
        bursts
    }

    fn local(&self, now: Time) -> i64 {
        let nanos = now.as_nanos() as i64;
        nanos + (nanos as f64 * self.clocks.own) as i64
    }

    fn begin(&mut self, local: i64, rtp: &Rtp) {
        if self.source.is_some() {
            self.bursts = self.pending(self.bursts);
            self.window.resets += 1;
        }
        let timestamp = i64::from(rtp.timestamp);
        // The origin applies only to the first source. The origins of other sources are unknown.
        let origin = self.origin.filter(|_| self.source.is_none());
        if self.source.is_some() {
            self.origin = None;
        }
        let (zero, spoken) = match origin {
            Some(origin) => (unwrapped_timestamp(timestamp, origin.timestamp), self.local(origin.at)),
            None => (timestamp, local),
        };
        let sequence = i64::from(rtp.sequence);
        self.source = Some(Source {
            ssrc: rtp.ssrc,
            highest: sequence - 1,
            played: 0,
            arrived: 0,
            known: 0,
            given_up: VecDeque::new(),
            timestamp,
            zero,
            spoken,
            jitter: Jitter::default(),
            buffer: self.playout.build(),
            delay: 0,
            spurt: (sequence, timestamp),
            last_played: sequence - 1,
        });
    }
}

/// Advances the highest sequence number by `steps`. Packets that no longer belong to the last
/// [`AWAITED`] are added to `bursts`.
fn advance(source: &mut Source, steps: i64, window: &mut Totals, bursts: &mut Bursts) {
    window.expected += steps as u64;
    window.lost += steps;
    for _ in 0..steps {
        if source.known >= AWAITED {
            bursts.add(source.played >> (AWAITED - 1) & 1 == 1);
            if source.arrived >> (AWAITED - 1) & 1 == 0 {
                source.given_up.push_back(source.highest + 1 - AWAITED);
            }
        }
        source.known += 1;
        source.played <<= 1;
        source.arrived <<= 1;
        source.highest += 1;
    }
    while source.given_up.front().is_some_and(|sequence| source.highest - sequence > DROPOUT) {
        source.given_up.pop_front();
    }
}

/// Converts a number of units of the time stamp to nanoseconds.
fn nanos(units: i64, codec: &Codec) -> i64 {
    (i128::from(units) * 1_000_000_000 / i128::from(codec.rtp.clock)) as i64
}

/// Returns the true time in seconds at which a clock with this skew shows `local` nanoseconds.
fn truth(local: i64, skew: f64) -> f64 {
    local as f64 / 1e9 / (1.0 + skew)
}
