//! Reports about streams: RTCP (RFC 3550, section 6) with the VoIP metrics block of extended
//! reports (RTCP XR, RFC 3611, section 4.7).
//!
//! A compound packet begins with a sender or receiver report. It contains the canonical name of its
//! source (CNAME), and optionally an extended report and a farewell (BYE). The parser skips all
//! other parts.

use super::bursts::{Clusters, GMIN};
use super::rtp::VERSION;
use super::stream::{Quality, Totals};
use bentpipe_core::Time;

/// Packet type of sender reports (RFC 3550, section 12.1).
const SENDER_REPORT: u8 = 200;

/// Packet type of receiver reports (RFC 3550, section 12.1).
const RECEIVER_REPORT: u8 = 201;

/// Packet type of source descriptions (RFC 3550, section 12.1).
const SOURCE_DESCRIPTION: u8 = 202;

/// Packet type of farewells, BYE (RFC 3550, section 12.1).
const FAREWELL: u8 = 203;

/// Packet type of extended reports (RFC 3611, section 2).
const EXTENDED_REPORT: u8 = 207;
/// Item type of the canonical name in a source description (section 6.5.1).
const CNAME: u8 = 1;
/// Block type of the VoIP metrics in an extended report (RFC 3611, section 4.7).
const VOIP_METRICS: u8 = 7;
/// Length of the VoIP metrics block without its header, in words of 32 bits.
const VOIP_WORDS: u16 = 8;
/// The value for unavailable levels, ratings and scores.
const UNAVAILABLE: u8 = 127;

/// A compound packet of RTCP (RFC 3550, section 6.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compound {
    /// SSRC of the reporting end.
    pub ssrc: u32,
    /// Information about the stream of the reporting end, if it sends.
    pub sender: Option<SenderInfo>,
    /// Reports about the sources that the end receives.
    pub blocks: Vec<Block>,
    /// Canonical name (CNAME); empty if missing.
    pub cname: String,
    /// Voice metrics of the received stream.
    pub voip: Option<VoipMetrics>,
    /// True if the end leaves the session (BYE).
    pub bye: bool,
}

/// Sender information of a sender report (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderInfo {
    /// NTP time at which the report is sent, in units of 2^-32 s.
    pub ntp: u64,
    /// RTP time stamp of the same point in time.
    pub rtp: u32,
    /// Number of RTP packets sent so far.
    pub packets: u32,
    /// Number of bytes of RTP payload sent so far.
    pub bytes: u32,
}

/// Report block about a source that is received (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// SSRC of the source that the block describes.
    pub ssrc: u32,
    /// Fraction of packets lost since the previous report, in units of 1/256.
    pub fraction: u8,
    /// Cumulative number of packets lost; negative if duplicates outnumber the losses.
    pub lost: i32,
    /// Highest sequence number received, with the number of its cycles.
    pub highest: u32,
    /// Interarrival jitter, in units of the time stamp.
    pub jitter: u32,
    /// Middle 32 bits of the time in the last sender report.
    pub last: u32,
    /// Time since the arrival of the last sender report, in units of 2^-16 s.
    pub since: u32,
}

/// Metrics for voice (RFC 3611, section 4.7). Fractions and densities are in units of 1/256,
/// durations in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoipMetrics {
    /// SSRC of the source that the block describes.
    pub ssrc: u32,
    /// Fraction of packets that were lost.
    pub loss: u8,
    /// Fraction of packets discarded because they arrived too late.
    pub discard: u8,
    /// Fraction of packets lost or discarded within bursts.
    pub burst_density: u8,
    /// Fraction of packets lost or discarded within gaps.
    pub gap_density: u8,
    /// Mean duration of a burst.
    pub burst: u16,
    /// Mean duration of a gap.
    pub gap: u16,
    /// Round-trip time between the two ends, by RTCP.
    pub round_trip: u16,
    /// Delay in the end system: packetisation and de-jitter buffer.
    pub end_system: u16,
    /// Transmission rating R of the E-model (G.107).
    pub r: u8,
    /// Mean opinion score for listening, times 10.
    pub mos_lq: u8,
    /// Mean opinion score for conversation, times 10.
    pub mos_cq: u8,
    /// Current playout delay of the de-jitter buffer.
    pub buffer: u16,
}

/// Converts a time of the run to the NTP time of its hosts, in units of 2^-32 s.
pub fn ntp(now: Time) -> u64 {
    ((u128::from(now.as_nanos()) << 32) / 1_000_000_000) as u64
}

/// Converts an NTP time of this run to a time.
pub fn moment(ntp: u64) -> Time {
    Time::from_nanos(((u128::from(ntp) * 1_000_000_000 + (1 << 31)) >> 32) as u64)
}

/// Returns the middle 32 bits of an NTP time, in units of 2^-16 s.
pub fn middle(ntp: u64) -> u32 {
    (ntp >> 16) as u32
}

impl VoipMetrics {
    /// Creates the metrics of a receiver. `packet` is the duration of a packet and `round_trip` the
    /// round-trip time, both in seconds.
    pub fn of(
        ssrc: u32,
        totals: &Totals,
        clusters: &Clusters,
        quality: &Quality,
        packet: f64,
        round_trip: f64,
    ) -> VoipMetrics {
        let part = |fraction: f64| (fraction * 256.0).clamp(0.0, 255.0) as u8;
        let ms = |seconds: f64| (seconds * 1e3).clamp(0.0, 65_535.0) as u16;
        let score = |mos: f64| if mos.is_nan() { UNAVAILABLE } else { (mos * 10.0).round() as u8 };
        VoipMetrics {
            ssrc,
            loss: part(totals.loss()),
            discard: part(totals.late_fraction()),
            burst_density: part(clusters.burst_density),
            gap_density: part(clusters.gap_density),
            burst: ms(clusters.burst_packets * packet),
            gap: ms(clusters.gap_packets * packet),
            round_trip: ms(round_trip),
            end_system: ms(packet + totals.buffering()),
            r: if quality.r.is_nan() { UNAVAILABLE } else { quality.r.clamp(0.0, 100.0).round() as u8 },
            mos_lq: UNAVAILABLE,
            mos_cq: score(quality.mos),
            buffer: ms(totals.buffering()),
        }
    }
}

impl Compound {
    /// Returns the bytes of the compound packet.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(160);
        let kind = if self.sender.is_some() { SENDER_REPORT } else { RECEIVER_REPORT };
        part(&mut out, self.blocks.len() as u8, kind, |out| {
            put(out, self.ssrc);
            if let Some(sender) = &self.sender {
                out.extend(sender.ntp.to_be_bytes());
                [sender.rtp, sender.packets, sender.bytes].into_iter().for_each(|word| put(out, word));
            }
            for block in &self.blocks {
                put(out, block.ssrc);
                put(
                    out,
                    u32::from(block.fraction) << 24
                        | block.lost.clamp(-0x80_0000, 0x7f_ffff) as u32 & 0xff_ffff,
                );
                [block.highest, block.jitter, block.last, block.since]
                    .into_iter()
                    .for_each(|word| put(out, word));
            }
        });
        if !self.cname.is_empty() {
            part(&mut out, 1, SOURCE_DESCRIPTION, |out| {
                put(out, self.ssrc);
                let name = &self.cname.as_bytes()[..self.cname.len().min(255)];
                out.extend([CNAME, name.len() as u8]);
                out.extend(name);
                // The list of items ends with a zero. The chunk is padded to a multiple of 32 bits.
                out.push(0);
                out.resize(out.len().next_multiple_of(4), 0);
            });
        }
        if let Some(voip) = &self.voip {
            part(&mut out, 0, EXTENDED_REPORT, |out| {
                put(out, self.ssrc);
                put(out, u32::from(VOIP_METRICS) << 24 | u32::from(VOIP_WORDS));
                put(out, voip.ssrc);
                out.extend([voip.loss, voip.discard, voip.burst_density, voip.gap_density]);
                for half in [voip.burst, voip.gap, voip.round_trip, voip.end_system] {
                    out.extend(half.to_be_bytes());
                }
                // The levels of signal, noise and echo are unknown.
                out.extend([UNAVAILABLE, UNAVAILABLE, UNAVAILABLE, GMIN as u8]);
                out.extend([voip.r, UNAVAILABLE, voip.mos_lq, voip.mos_cq]);
                // The concealment and the kind of buffer are not specified.
                out.extend([0, 0]);
                for half in [voip.buffer, voip.buffer, u16::MAX] {
                    out.extend(half.to_be_bytes());
                }
            });
        }
        if self.bye {
            part(&mut out, 1, FAREWELL, |out| put(out, self.ssrc));
        }
        out
    }

    /// Parses a compound packet. Returns `None` if it does not begin with a report, or if a part is
    /// truncated.
    pub fn read(mut bytes: &[u8]) -> Option<Compound> {
        let mut compound = Compound::default();
        let mut first = true;
        while !bytes.is_empty() {
            let header = bytes.first_chunk::<4>()?;
            let length = 4 + 4 * usize::from(u16::from_be_bytes([header[2], header[3]]));
            let (part, rest) = bytes.split_at_checked(length)?;
            let (count, kind) = (header[0] & 0x1f, header[1]);
            if header[0] >> 6 != VERSION || first && !matches!(kind, SENDER_REPORT | RECEIVER_REPORT) {
                return None;
            }
            compound.part(kind, count, &part[4..], first)?;
            (bytes, first) = (rest, false);
        }
        (!first).then_some(compound)
    }

    fn part(&mut self, kind: u8, count: u8, body: &[u8], first: bool) -> Option<()> {
        match kind {
            SENDER_REPORT | RECEIVER_REPORT if first => {
                self.ssrc = word(body, 0)?;
                let mut at = 4;
                if kind == SENDER_REPORT {
                    let ntp = u64::from(word(body, 4)?) << 32 | u64::from(word(body, 8)?);
                    let [rtp, packets, bytes] = [word(body, 12)?, word(body, 16)?, word(body, 20)?];
                    self.sender = Some(SenderInfo { ntp, rtp, packets, bytes });
                    at = 24;
                }
                for _ in 0..count {
                    let losses = word(body, at + 4)?;
                    self.blocks.push(Block {
                        ssrc: word(body, at)?,
                        fraction: (losses >> 24) as u8,
                        lost: (losses << 8).cast_signed() >> 8,
                        highest: word(body, at + 8)?,
                        jitter: word(body, at + 12)?,
                        last: word(body, at + 16)?,
                        since: word(body, at + 20)?,
                    });
                    at += 24;
                }
            }
            SOURCE_DESCRIPTION if count > 0 && body.get(4) == Some(&CNAME) => {
                let name = body.get(6..6 + usize::from(*body.get(5)?))?;
                self.cname = String::from_utf8_lossy(name).into_owned();
            }
            EXTENDED_REPORT => self.extended(body.get(4..)?)?,
            FAREWELL => self.bye = true,
            _ => {}
        }
        Some(())
    }

    fn extended(&mut self, mut blocks: &[u8]) -> Option<()> {
        while !blocks.is_empty() {
            let head = word(blocks, 0)?;
            let (block, rest) = blocks.split_at_checked(4 + 4 * (head & 0xffff) as usize)?;
            if (head >> 24) as u8 == VOIP_METRICS && (head & 0xffff) as u16 >= VOIP_WORDS {
                let half = |at: usize| u16::from_be_bytes([block[at], block[at + 1]]);
                self.voip = Some(VoipMetrics {
                    ssrc: word(block, 4)?,
                    loss: block[8],
                    discard: block[9],
                    burst_density: block[10],
                    gap_density: block[11],
                    burst: half(12),
                    gap: half(14),
                    round_trip: half(16),
                    end_system: half(18),
                    r: block[24],
                    mos_lq: block[26],
                    mos_cq: block[27],
                    buffer: half(30),
                });
            }
            blocks = rest;
        }
        Some(())
    }
}

/// Returns true if a datagram that shares a port with RTP is RTCP (RFC 5761, section 4).
pub fn is_control(datagram: &[u8]) -> bool {
    matches!(datagram, [first, kind, ..] if first >> 6 == VERSION && (192..224).contains(kind))
}

fn put(out: &mut Vec<u8>, word: u32) {
    out.extend(word.to_be_bytes());
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// Appends one packet to a compound packet.
fn part(out: &mut Vec<u8>, count: u8, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend([VERSION << 6 | count, kind, 0, 0]);
    body(out);
    let words = ((out.len() - begin) / 4 - 1) as u16;
    out[begin + 2..begin + 4].copy_from_slice(&words.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compound() -> Compound {
        let block = Block { ssrc: 9, fraction: 12, lost: -3, highest: 70_000, jitter: 40, last: 5, since: 6 };
        let voip = VoipMetrics {
            ssrc: 9,
            loss: 1,
            burst: 300,
            r: 71,
            mos_cq: 37,
            mos_lq: 127,
            buffer: 60,
            ..VoipMetrics::default()
        };
        Compound {
            ssrc: 7,
            sender: Some(SenderInfo { ntp: 1 << 40, rtp: 160, packets: 3, bytes: 480 }),
            blocks: vec![block],
            cname: "00000007@bentpipe".to_owned(),
            voip: Some(voip),
            bye: true,
        }
    }

    #[test]
    fn written_reports_read_back_with_the_sizes_of_the_standards() {
        let all = compound();
        let bytes = all.write();
        // The sender report has 28 bytes and a block of 24. The source description has 4 + 4 + 2 +
        // 17 bytes and a zero. The extended report has 8 bytes and a block of 36. The farewell has
        // 8 bytes.
        assert_eq!(bytes.len(), 28 + 24 + 28 + 44 + 8);
        assert_eq!(Compound::read(&bytes), Some(all.clone()));
        assert!(is_control(&bytes));
        let bare = Compound { sender: None, blocks: Vec::new(), voip: None, bye: false, ..all };
        assert_eq!(bare.write().len(), 8 + 28);
        assert_eq!(Compound::read(&bare.write()), Some(bare));
        assert_eq!(Compound::read(&[]), None);
        assert_eq!(Compound::read(&[0x80, 203, 0, 1, 0, 0, 0, 1]), None);
        for cut in 1..bytes.len() {
            // The parser must not panic. A packet that is truncated within a part is refused.
            let _ = Compound::read(&bytes[..cut]);
        }
        assert_eq!(Compound::read(&bytes[..bytes.len() - 1]), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_parsed_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 200u8..208) {
            let _ = Compound::read(&bytes);
            if bytes.len() >= 4 {
                bytes[..3].copy_from_slice(&[0x81, kind, 0]);
                let _ = Compound::read(&bytes);
            }
        }
    }

    #[test]
    fn times_pass_through_ntp() {
        let now = Time::from_nanos(1_234_567_890_123);
        assert!(moment(ntp(now)).as_nanos().abs_diff(now.as_nanos()) <= 1);
    }
}
