//! Recognition of RTP streams of arbitrary programs among the datagrams of a network, and
//! measurement of their loss, jitter and quality.
//!
//! A datagram is a candidate if its RTP header has version 2 and a payload type that RFC 3551
//! assigns (0 to 34) or declares dynamic (96 to 127). At least [`MIN_PACKETS`] datagrams between
//! the same sockets with the same source (SSRC) form a stream if the sequence number increases by 1
//! to [`MAX_GAP`], modulo 2^16, in nine of ten datagrams.
//!
//! Loss is computed from missing sequence numbers (RFC 3550, appendix A.3), and jitter as in
//! section 6.4.1. The E-model rates the quality for the codec of a static payload type, with the
//! mean delay through the network and the duration of a packet. The receiver's de-jitter buffer and
//! late packets cannot be observed and are not rated. Streams with a dynamic payload type are not
//! rated, because their codec is unknown. The clock rate is 8 kHz unless the payload type has
//! another one.

use super::bursts::Bursts;
use super::codec::{Codec, CODECS};
use super::emodel::{mos, Parameters};
use super::jitter::Jitter;
use super::rtp::{unwrapped_sequence, Rtp};
use bentpipe_core::{Column, Report, Span, Table, Tables, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Minimum number of packets of a stream.
pub const MIN_PACKETS: u64 = 16;
/// Maximum step of the sequence number between consecutive packets.
pub const MAX_GAP: u16 = 100;
/// Maximum number of candidates. Datagrams of further candidates are ignored.
const MAX_CANDIDATES: usize = 16_384;

/// The RTP streams that passed an emulated network.
pub static STREAMS: Table = Table {
    name: "rtp",
    entity: "stream",
    about: "at the end of an emulation, for each RTP stream of any program that came out of the network \
            (SOURCE:PORT-DESTINATION:PORT-SSRC)",
    columns: &[
        Column::whole("payload_type", "1", "payload type of its last packet"),
        Column::real("begin", "s", "when its first packet came out"),
        Column::real("end", "s", "when its last packet came out"),
        Column::whole("packets", "packets", "packets that came out"),
        Column::whole("expected", "packets", "packets that its sequence numbers name"),
        Column::real("loss", "%", "packets that did not come out"),
        Column::real(
            "burst_ratio",
            "1",
            "BurstR of the E-model: mean run of losses over that of random losses",
        ),
        Column::real("jitter", "s", "interarrival jitter (RFC 3550), mean over the packets"),
        Column::real("jitter_max", "s", "largest interarrival jitter (RFC 3550)"),
        Column::real("delay", "s", "mean delay through the network"),
        Column::real(
            "r",
            "1",
            "rating R by loss, delay and codec, without a de-jitter buffer; null if the codec is not known",
        ),
        Column::real(
            "mos",
            "1",
            "mean opinion score of that rating, at least 1; null if the codec is not known",
        ),
    ],
};

/// Source address, destination address and SSRC of a stream.
type Key = (SocketAddr, SocketAddr, u32);

/// A stream, or a candidate for one.
struct Stream {
    payload_type: u8,
    clock: u32,
    first: i64,
    highest: i64,
    last: u16,
    /// Number of packets whose sequence number follows that of the previous packet.
    following: u64,
    packets: u64,
    begin: Time,
    end: Time,
    jitter: Jitter,
    jitters: f64,
    jitter_max: f64,
    delays: f64,
    bursts: Bursts,
    /// Minimum difference between the time stamps of consecutive packets: the duration of a packet.
    units: u32,
    timestamp: u32,
}

/// Recognises RTP streams among all datagrams of a network.
#[derive(Default)]
pub struct Recogniser {
    streams: BTreeMap<Key, Stream>,
}

impl Tables for Recogniser {
    const REPORTS: &'static [&'static Table] = &[&STREAMS];
}

/// Returns true if the first two bytes of a datagram can begin an RTP header.
#[inline]
pub fn may_be(datagram: &[u8]) -> bool {
    matches!(datagram, [first, second, ..] if first >> 6 == 2 && matches!(second & 0x7f, 0..=34 | 96..=127))
}

/// Returns the codec of a static payload type, if known.
fn codec(payload_type: u8) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| codec.rtp.payload_type == payload_type && payload_type < 96)
}

/// Returns the clock rate of a payload type in Hz (RFC 3551, tables 4 and 5).
fn clock(payload_type: u8) -> u32 {
    match payload_type {
        6 => 16_000,
        10 | 11 => 44_100,
        16 => 11_025,
        17 => 22_050,
        14 | 25..=34 => 90_000,
        _ => 8000,
    }
}

impl Recogniser {
    /// Adds a datagram that entered the network at `birth` and left the network at `now`.
    pub fn pass(
        &mut self,
        now: Time,
        birth: Time,
        source: SocketAddr,
        destination: SocketAddr,
        datagram: &[u8],
    ) {
        if !may_be(datagram) {
            return;
        }
        let Ok((rtp, ..)) = Rtp::read(datagram, datagram.len()) else { return };
        let key = (source, destination, rtp.ssrc);
        let full = self.streams.len() >= MAX_CANDIDATES;
        let stream = match self.streams.get_mut(&key) {
            Some(stream) => stream,
            None if full => return,
            None => self.streams.entry(key).or_insert_with(|| Stream::new(now, &rtp)),
        };
        stream.add(now, now.since(birth), &rtp);
    }

    /// Writes a row for each stream.
    pub fn report(&self, report: &mut Report) {
        for ((source, destination, ssrc), stream) in &self.streams {
            if stream.packets >= MIN_PACKETS && stream.following * 10 >= (stream.packets - 1) * 9 {
                report.row(&STREAMS, &format!("{source}-{destination}-{ssrc:08x}"), &stream.row());
            }
        }
    }
}

impl Stream {
    fn new(now: Time, rtp: &Rtp) -> Stream {
        let first = i64::from(rtp.sequence);
        Stream {
            payload_type: rtp.payload_type,
            clock: clock(rtp.payload_type),
            first,
            highest: first - 1,
            last: rtp.sequence,
            following: 0,
            packets: 0,
            begin: now,
            end: now,
            jitter: Jitter::default(),
            jitters: 0.0,
            jitter_max: 0.0,
            delays: 0.0,
            bursts: Bursts::default(),
            units: u32::MAX,
            timestamp: rtp.timestamp,
        }
    }

    fn add(&mut self, now: Time, delay: Span, rtp: &Rtp) {
        let step = rtp.sequence.wrapping_sub(self.last);
        self.following += u64::from((1..=MAX_GAP).contains(&step));
        if step == 1 {
            self.units = self.units.min(rtp.timestamp.wrapping_sub(self.timestamp));
        }
        (self.last, self.timestamp) = (rtp.sequence, rtp.timestamp);
        let sequence = unwrapped_sequence(self.highest, rtp.sequence);
        if sequence > self.highest {
            (self.highest + 1..sequence).take(3000).for_each(|_| self.bursts.add(false));
            self.bursts.add(true);
            self.highest = sequence;
        } else {
            self.first = self.first.min(sequence);
        }
        self.packets += 1;
        self.end = now;
        if rtp.payload_type != super::rtp::COMFORT_NOISE {
            self.payload_type = rtp.payload_type;
            self.clock = clock(rtp.payload_type);
        }
        let clock = f64::from(self.clock);
        self.jitter.add(rtp.timestamp, now.as_nanos() as f64 * clock / 1e9);
        let jitter = self.jitter.real() / clock;
        self.jitters += jitter;
        self.jitter_max = self.jitter_max.max(jitter);
        self.delays += delay.as_secs_f64();
    }

    fn row(&self) -> [f64; 12] {
        let expected = (self.highest - self.first + 1) as f64;
        let packets = self.packets as f64;
        let loss = 100.0 * (1.0 - packets / expected).max(0.0);
        let delay = self.delays / packets;
        let (r, score) = match codec(self.payload_type) {
            None => (f64::NAN, f64::NAN),
            Some(codec) => {
                let packet =
                    if self.units < self.clock { f64::from(self.units) / f64::from(self.clock) } else { 0.0 };
                let call = Parameters {
                    ie: codec.ie,
                    bpl: codec.bpl,
                    ppl: loss,
                    burst_r: self.bursts.ratio().max(1e-9),
                    ..Parameters::with_delay((delay + packet) * 1e3)
                };
                let r = call.rate().r;
                (r, mos(r).max(1.0))
            }
        };
        [
            f64::from(self.payload_type),
            self.begin.as_secs_f64(),
            self.end.as_secs_f64(),
            packets,
            expected,
            loss,
            self.bursts.ratio(),
            self.jitters / packets,
            self.jitter_max,
            delay,
            r,
            score,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn ends() -> (SocketAddr, SocketAddr) {
        ("198.18.0.1:5004".parse().unwrap(), "198.18.0.2:5006".parse().unwrap())
    }

    #[test]
    fn a_stream_is_recognised_with_its_losses_and_rated() {
        let mut recogniser = Recogniser::default();
        let (source, destination) = ends();
        for number in (0..200u16).filter(|number| number % 50 != 10) {
            let sequence = 65_500_u16.wrapping_add(number);
            let rtp =
                Rtp { payload_type: 0, sequence, timestamp: 160 * u32::from(number), ssrc: 5, marker: false };
            let datagram = [&rtp.write()[..], &[0; 160]].concat();
            let sent = at(20 * u64::from(number));
            recogniser.pass(sent + Span::from_millis(300), sent, source, destination, &datagram);
        }
        // Adds DNS and other datagrams, and bytes that only look like RTP.
        for number in 0..100u8 {
            recogniser.pass(at(1), at(0), source, destination, &[number; 40]);
            recogniser.pass(
                at(1),
                at(0),
                destination,
                source,
                &[[0x80, 0, number.wrapping_mul(91), 7].as_slice(), &[number; 40]].concat(),
            );
        }
        let mut report = Report::default();
        recogniser.report(&mut report);
        assert_eq!(report.rows().len(), 1);
        let value = |column| report.value("rtp", "198.18.0.1:5004-198.18.0.2:5006-00000005", column).unwrap();
        assert_eq!(
            (value("packets"), value("expected"), value("loss").round(), value("jitter")),
            (196.0, 200.0, 2.0, 0.0)
        );
        assert!((value("delay") - 0.3).abs() < 1e-12);
        let expected = Parameters { ppl: 2.0, burst_r: 0.98, ..Parameters::with_delay(320.0) }.rate();
        assert!((value("r") - expected.r).abs() < 1e-9 && (value("mos") - expected.mos).abs() < 1e-9);
    }
}
