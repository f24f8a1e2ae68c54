//! The treatment of corrupted packets: they are lost, or delivered with a bit error.
//!
//! - `"drop"`: the packet is lost, as after a link layer with its own checksum.
//! - `"stale-checksum"`: the packet is delivered with a bit error after its network header and
//!   unchanged checksums. The receiver detects the error and drops the packet.
//! - `"valid-checksum"`: the packet is delivered with a bit error in its payload and a valid
//!   checksum. Only the application can detect the error, from the data.
//!
//! The second case models a link without a checksum. The third models errors in the memory of
//! routers and hosts, and middleboxes that recompute checksums (J. Stone and C. Partridge, "When
//! the CRC and TCP Checksum Disagree", SIGCOMM 2000).
//!
//! Every eligible bit is wrong with the same probability. A packet is always lost if it has no such
//! bit (with valid checksums: a packet without payload, a fragment, any protocol except TCP, UDP
//! and ICMP) or if it is signalling, which has its own checksums. In a real packet the bit is
//! flipped. A simulated packet, which has no bytes, is marked as its layer determines
//! ([`Payload::damage`](bentpipe_stage::Payload::damage)). Its endpoint drops it as ["wrong
//! checksum"](WRONG_CHECKSUM) or accepts it as if it were intact, and counts it in both cases
//! ([`REPORT`]).
//!
//! Deviations: a corrupted packet has a single bit error, even if the process is one of bit errors.
//! A wrong checksum is always detected. Network headers have no errors, for which routers drop
//! packets (RFC 1812, section 5.2.2).

use super::{Config, Frame, Process};
use bentpipe_core::{Column, Report, Stream, Table, Time};
use bentpipe_stage::{Body, Corrupted, Damage, DropReason, Outbox, Packet, IPV4_HEADER, UDP};
use bentpipe_wire::checksum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drop reason: the channel corrupted the packet.
pub const CORRUPTED: DropReason = DropReason::new("channel error");

/// Drop reason: the packet arrived with a bit error that its checksum revealed.
pub const WRONG_CHECKSUM: DropReason = DropReason::new("wrong checksum");

/// Report of the corrupted packets that arrived at an end of a flow, if any.
pub static REPORT: Table = Table {
    name: "corrupted",
    entity: "flow direction",
    about: "at the end of the run, by its destination (NAME, NAME.reverse), if corrupted packets arrived at a simulated end",
    columns: &[
        Column::whole("wrong_checksum", "packets", "corrupted packets dropped for their checksum"),
        Column::whole("wrong_bytes", "packets", "corrupted packets accepted because their checksum was valid"),
    ],
};

/// The treatment of packets that the channel has corrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The packet is lost, as after a link layer with its own checksum.
    #[default]
    Drop,
    /// The packet is delivered with a bit error after its network header, and the receiver's
    /// checksum drops it.
    StaleChecksum,
    /// The packet is delivered with a bit error in its payload and a valid checksum. Only the
    /// application can detect it.
    ValidChecksum,
}

/// The fate of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is intact.
    Intact,
    /// The packet is corrupted and delivered.
    Altered,
    /// The packet must be dropped, as [`CORRUPTED`].
    Lost,
}

/// An error process and its effect.
pub struct Errors {
    process: Box<dyn Process>,
    effect: Effect,
}

impl Config {
    /// Returns the error process of a channel; `None` for a channel without errors.
    pub fn errors(&self) -> Option<Errors> {
        Some(Errors { process: self.build()?, effect: self.effect() })
    }
}

impl Errors {
    /// Decides the fate of a packet whose last bit arrives at `now`. Called once per packet, in
    /// order.
    #[inline]
    pub fn meet(&mut self, now: Time, packet: &mut Packet, stream: &mut Stream) -> Fate {
        if self.process.corrupts(now, packet.size, stream) {
            corrupt(packet, self.effect, stream)
        } else {
            Fate::Intact
        }
    }

    /// Decides if a unit of a packet's frame is lost. Called once per unit, in order.
    #[inline]
    pub fn loses_unit(&mut self, now: Time, bytes: u32, stream: &mut Stream) -> bool {
        self.process.corrupts(now, bytes, stream)
    }

    /// Decides if a radio frame is lost. Called once per frame on the air, in order.
    #[inline]
    pub fn loses_frame(&mut self, now: Time, frame: Frame, stream: &mut Stream) -> bool {
        self.process.corrupts_frame(now, frame, stream)
    }

    /// Applies the effect to a packet with a corrupted unit.
    pub fn corrupt(&mut self, packet: &mut Packet, stream: &mut Stream) -> Fate {
        corrupt(packet, self.effect, stream)
    }
}

#[cold]
fn corrupt(packet: &mut Packet, effect: Effect, stream: &mut Stream) -> Fate {
    let valid = match effect {
        Effect::Drop => return Fate::Lost,
        Effect::StaleChecksum => false,
        Effect::ValidChecksum => true,
    };
    if let Body::Frame(buffer) = &mut packet.body {
        let flipped = flip(&mut buffer[..packet.size as usize], valid, stream);
        return flipped.map_or(Fate::Lost, |()| Fate::Altered);
    }
    let bytes = f64::from(packet.size.saturating_sub(IPV4_HEADER));
    let mut byte = || IPV4_HEADER + (stream.uniform() * bytes) as u32;
    let damage = packet.body.payload().map(|payload| payload.damage(packet, valid, &mut byte));
    let valid = match damage {
        None | Some(Damage::Lost) => return Fate::Lost,
        Some(Damage::Noticed) => false,
        Some(Damage::Unnoticed) => true,
    };
    match &mut packet.body {
        Body::Corrupted(before) => before.valid &= valid,
        body => *body = Body::Corrupted(Box::new(Corrupted { body: std::mem::take(body), valid })),
    }
    Fate::Altered
}

/// Flips a bit of a real packet; `None` if the packet has no eligible bit.
fn flip(packet: &mut [u8], valid: bool, stream: &mut Stream) -> Option<()> {
    let headers = bentpipe_wire::read(packet)?;
    let range = if valid { headers.payload(packet)? } else { headers.begin..headers.end };
    let bits = Some(range.len()).filter(|bytes| *bytes > 0)? * 8;
    let bit = (stream.uniform() * bits as f64) as usize;
    let byte = range.start + bit / 8;
    let word = byte - (byte - headers.begin) % 2;
    // An odd last byte is the upper half of a word.
    let end = if valid { range.end } else { headers.end };
    let read = |packet: &[u8], at: usize| {
        let low = if at + 1 < end { packet[at + 1] } else { 0 };
        u16::from_be_bytes([packet[at], low])
    };
    let old = read(packet, word);
    packet[byte] ^= 0x80 >> (bit % 8);
    if let Some(at) = headers.checksum_at().filter(|_| valid) {
        let before = u16::from_be_bytes([packet[at], packet[at + 1]]);
        // UDP over IPv4 may have no checksum (RFC 768), which is written as zero.
        if headers.protocol != UDP || before != 0 {
            let after = checksum::sent(checksum::updated(before, old, read(packet, word)), headers.protocol);
            packet[at..at + 2].copy_from_slice(&after.to_be_bytes());
        }
    }
    Some(())
}

/// The handling of unexpected and corrupted packets at an end of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    refused: u64,
    delivered: u64,
}

impl Received {
    /// Returns the packet inside a corrupted one, if its checksum is valid. Drops all other
    /// packets; an uncorrupted one for the reason `other`.
    #[cold]
    pub fn open(&mut self, mut packet: Packet, other: DropReason, out: &mut Outbox) -> Option<Packet> {
        match std::mem::take(&mut packet.body) {
            Body::Corrupted(corrupted) if corrupted.valid => {
                self.delivered += 1;
                Some(Packet { body: corrupted.body, ..packet })
            }
            Body::Corrupted(_) => {
                self.refused += 1;
                out.drop(packet, WRONG_CHECKSUM);
                None
            }
            body => {
                out.drop(Packet { body, ..packet }, other);
                None
            }
        }
    }

    /// Writes the row, if there is anything to report.
    pub fn report(&self, entity: &str, report: &mut Report) {
        if self.refused + self.delivered > 0 {
            report.row(&REPORT, entity, &[self.refused as f64, self.delivered as f64]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;
    use bentpipe_wire::{read, ICMP, ICMPV6, TCP};
    use proptest::prelude::*;

    fn holds(packet: &[u8]) -> bool {
        let headers = read(packet).unwrap();
        let upper = &packet[headers.begin..headers.end];
        checksum::with_addresses(headers.source, headers.destination, headers.protocol, upper) == 0
    }

    /// Returns a valid IPv4 packet with options, or an IPv6 packet with hop-by-hop options.
    fn packet(version: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
        // TCP with twelve bytes of options.
        let header = if protocol == TCP { 32 } else { 8 };
        let mut upper = vec![7; header];
        if protocol == TCP {
            upper[12] = 8 << 4;
        } else if protocol == UDP {
            upper[4..6].copy_from_slice(&(8 + payload.len() as u16).to_be_bytes());
        }
        upper.extend(payload);
        let mut packet = if version == 4 {
            [vec![0x46, 0, 0, 24 + upper.len() as u8, 0, 0, 0, 0, 64, protocol, 0, 0], vec![1; 12]].concat()
        } else {
            let mut packet = vec![0x60, 0, 0, 0, 0, 8 + upper.len() as u8, 0, 64];
            packet.resize(40, 1);
            [packet, vec![protocol, 0, 1, 4, 0, 0, 0, 0]].concat()
        };
        packet.extend(upper);
        let headers = read(&packet).unwrap();
        let at = headers.checksum_at().unwrap();
        packet[at..at + 2].fill(0);
        let upper = &packet[headers.begin..];
        let sum = checksum::with_addresses(headers.source, headers.destination, protocol, upper);
        packet[at..at + 2].copy_from_slice(&checksum::sent(sum, protocol).to_be_bytes());
        packet
    }

    fn kinds() -> impl Strategy<Value = (u8, u8)> {
        prop_oneof![
            Just((4, TCP)),
            Just((4, UDP)),
            Just((4, ICMP)),
            Just((6, TCP)),
            Just((6, UDP)),
            Just((6, ICMPV6))
        ]
    }

    proptest! {
        #[test]
        fn exactly_one_bit_is_wrong_and_the_checksum_is_valid_if_requested(
            (version, protocol) in kinds(), payload in prop::collection::vec(any::<u8>(), 0..70), seed: u64, valid: bool,
        ) {
            let good = packet(version, protocol, &payload);
            let mut corrupted = good.clone();
            let mut stream = Streams::new(seed, 0).stream("channel");
            let outcome = flip(&mut corrupted, valid, &mut stream);
            prop_assert_eq!(outcome.is_some(), !valid || !payload.is_empty());
            if outcome.is_none() {
                prop_assert_eq!(corrupted, good);
                return Ok(());
            }
            let headers = read(&good).unwrap();
            let first = if valid { good.len() - payload.len() } else { headers.begin };
            let field = headers.checksum_at().unwrap();
            let mut bits = 0;
            for (at, (before, after)) in good.iter().zip(&corrupted).enumerate() {
                if before != after && !(valid && (field..field + 2).contains(&at)) {
                    prop_assert!(at >= first, "byte {} of {}", at, good.len());
                    bits += (before ^ after).count_ones();
                }
            }
            prop_assert_eq!(bits, 1);
            prop_assert_eq!(holds(&corrupted), valid);
            prop_assert!(protocol != UDP || !valid || corrupted[field..field + 2] != [0, 0]);
        }
    }

    #[test]
    fn every_bit_is_equally_likely_to_be_wrong() {
        let mut stream = Streams::new(5, 0).stream("channel");
        let good = packet(4, UDP, &[0; 3]);
        let mut counts = [0u32; 24];
        for _ in 0..24_000 {
            let mut corrupted = good.clone();
            flip(&mut corrupted, true, &mut stream).unwrap();
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += u32::from(corrupted[32 + bit / 8] >> (7 - bit % 8) & 1);
            }
        }
        // Each count is binomial with mean 1000 and standard deviation 31.
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn checksums_are_neither_added_to_datagrams_nor_fixed_in_fragments() {
        let mut stream = Streams::new(5, 0).stream("channel");
        let mut bare = packet(4, UDP, &[9; 40]);
        bare[30..32].fill(0);
        flip(&mut bare, true, &mut stream).unwrap();
        assert_eq!(bare[30..32], [0, 0]);
        let mut fragment = packet(4, UDP, &[9; 40]);
        fragment[6] = 0x20;
        assert_eq!(flip(&mut fragment.clone(), true, &mut stream), None);
        assert_eq!(flip(&mut fragment, false, &mut stream), Some(()));
        assert_eq!(flip(&mut [0x45; 19], false, &mut stream), None);
        assert_eq!(flip(&mut [], true, &mut stream), None);
    }
}
