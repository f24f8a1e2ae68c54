//! The header of RTP (RFC 3550, section 5.1): a parser and a writer.

/// Version of RTP and RTCP.
pub const VERSION: u8 = 2;
/// Size of a header without contributing sources and extension, in bytes.
pub const HEADER: usize = 12;
/// Payload type of comfort noise (RFC 3389).
pub const COMFORT_NOISE: u8 = 13;

/// The header of an RTP packet (RFC 3550, section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rtp {
    /// Marker bit; for voice, true for the first packet after silence that was not sent (RFC 3551,
    /// section 4.1).
    pub marker: bool,
    /// Payload type, 0 to 127.
    pub payload_type: u8,
    /// Sequence number of the packet in its stream, modulo 2^16.
    pub sequence: u16,
    /// Sampling time of the first sample of the payload, in units of the payload type's clock.
    pub timestamp: u32,
    /// Identifier of the source of the stream.
    pub ssrc: u32,
}

/// The reason why bytes are not an RTP packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// The bytes are shorter than the header, its contributing sources, its extension or the
    /// padding.
    Short,
    /// The version is not 2 (RFC 3550).
    Version,
    /// The payload type collides with the packet types of RTCP (RFC 5761, section 4), so the packet
    /// is RTCP.
    Control,
}

impl Rtp {
    /// Returns the bytes of the header.
    pub fn write(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = VERSION << 6;
        bytes[1] = u8::from(self.marker) << 7 | self.payload_type & 0x7f;
        bytes[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.timestamp.to_be_bytes());
        bytes[8..].copy_from_slice(&self.ssrc.to_be_bytes());
        bytes
    }

    /// Parses a datagram of `length` bytes that begins with `bytes`. Returns the header, the offset
    /// of the payload and the length of the payload. Padding is subtracted only if `bytes` contains
    /// the last byte of the datagram.
    pub fn read(bytes: &[u8], length: usize) -> Result<(Rtp, usize, usize), Malformed> {
        let header = bytes.first_chunk::<HEADER>().ok_or(Malformed::Short)?;
        if header[0] >> 6 != VERSION {
            return Err(Malformed::Version);
        }
        if (64..96).contains(&(header[1] & 0x7f)) {
            return Err(Malformed::Control);
        }
        let mut begin = HEADER + 4 * usize::from(header[0] & 0x0f);
        if header[0] & 0x10 != 0 {
            let words = bytes.get(begin + 2..begin + 4).ok_or(Malformed::Short)?;
            begin += 4 + 4 * usize::from(u16::from_be_bytes([words[0], words[1]]));
        }
        let padding = match (header[0] & 0x20 != 0, length.checked_sub(1).and_then(|last| bytes.get(last))) {
            (true, Some(count)) => usize::from(*count).max(1),
            _ => 0,
        };
        let payload = length.checked_sub(begin + padding).ok_or(Malformed::Short)?;
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let rtp = Rtp {
            marker: header[1] >> 7 == 1,
            payload_type: header[1] & 0x7f,
            sequence: half(2),
            timestamp: word(4),
            ssrc: word(8),
        };
        Ok((rtp, begin, payload))
    }
}

/// Unwraps a sequence number: returns the number with these low 16 bits that is nearest to `near`.
pub fn unwrapped_sequence(near: i64, sequence: u16) -> i64 {
    near + i64::from(sequence.wrapping_sub(near as u16).cast_signed())
}

/// Unwraps a time stamp: returns the number with these low 32 bits that is nearest to `near`.
pub fn unwrapped_timestamp(near: i64, timestamp: u32) -> i64 {
    near + i64::from(timestamp.wrapping_sub(near as u32).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_written_header_is_parsed_unchanged(
            marker: bool, payload_type in (0u8..96).prop_map(|kind| if kind < 64 { kind } else { kind + 32 }),
            sequence: u16, timestamp: u32, ssrc: u32, payload in 0usize..2000,
        ) {
            let rtp = Rtp { marker, payload_type, sequence, timestamp, ssrc };
            prop_assert_eq!(Rtp::read(&rtp.write(), HEADER + payload), Ok((rtp, HEADER, payload)));
        }

        #[test]
        fn arbitrary_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok((_, begin, payload)) = Rtp::read(&bytes, bytes.len()) {
                prop_assert!(begin + payload <= bytes.len());
            }
        }
    }

    #[test]
    fn sources_extension_and_padding_do_not_belong_to_the_payload() {
        // The packet has two contributing sources, an extension of one word, and three bytes of
        // padding.
        let mut bytes = vec![0xb2, 0x80, 0, 7, 0, 0, 0, 160, 0, 0, 0, 9];
        bytes.extend([1; 8]);
        bytes.extend([0xbe, 0xde, 0, 1, 5, 5, 5, 5]);
        bytes.extend([42; 20]);
        bytes.extend([0, 0, 3]);
        let (rtp, begin, payload) = Rtp::read(&bytes, bytes.len()).unwrap();
        assert_eq!(
            (rtp.marker, rtp.payload_type, rtp.sequence, rtp.timestamp, rtp.ssrc),
            (true, 0, 7, 160, 9)
        );
        assert_eq!((begin, payload), (28, 20));
        assert_eq!(Rtp::read(&bytes[..24], 24), Err(Malformed::Short));
        assert_eq!(Rtp::read(&[0x40; 12], 12), Err(Malformed::Version));
        assert_eq!(Rtp::read(&[0x80, 200, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0], 12), Err(Malformed::Control));
    }

    #[test]
    fn wrapped_numbers_are_unwrapped() {
        assert_eq!(unwrapped_sequence(65_535, 2), 65_538);
        assert_eq!(unwrapped_sequence(65_538, 65_534), 65_534);
        assert_eq!(unwrapped_timestamp(1 << 32, u32::MAX), (1 << 32) - 1);
    }
}
