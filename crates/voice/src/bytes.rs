//! Sizes of voice packets at the network layer, by encapsulation.
//!
//! | encapsulation | bytes before the payload |
//! | --- | --- |
//! | RTP over UDP and IPv4 | 12 + 8 + 20 (RFC 3550, RFC 768, RFC 791) |
//! | RTP with compressed headers on a link | 2, or 4 with UDP checksums (RFC 2508) |
//! | IAX2 mini frame over UDP and IPv4 | 4 + 8 + 20 (RFC 5456, section 8.1.2) |
//! | IAX2 full frame over UDP and IPv4 | 12 + 8 + 20 (RFC 5456, section 8.1.1) |
//!
//! An IAX2 trunk carries the frames of all calls between two exchanges in one datagram: 8 bytes of
//! meta header, plus 4 bytes for each call, or 6 with time stamps (RFC 5456, section 8.1.3.2).

/// Size of the IPv4 and UDP headers together, in bytes.
const DATAGRAM: u32 = 28;
/// Size of the meta header of a trunk frame, in bytes.
const TRUNK: u32 = 8;

/// The protocols below a packet of speech.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encapsulation {
    /// RTP over UDP and IPv4.
    Rtp,
    /// RTP over UDP and IPv4 with compressed headers (cRTP).
    CompressedRtp {
        /// True if UDP checksums are sent, which takes 2 bytes.
        checksums: bool,
    },
    /// An IAX2 mini frame over UDP and IPv4.
    Iax2Mini,
    /// An IAX2 full frame over UDP and IPv4. The first frame of a call is a full frame, as is one
    /// frame whenever the short time stamps of mini frames overflow.
    Iax2Full,
}

impl Encapsulation {
    /// Returns the size of a packet with `payload` bytes of payload.
    pub const fn packet(self, payload: u32) -> u32 {
        payload
            + match self {
                Encapsulation::Rtp => DATAGRAM + 12,
                Encapsulation::CompressedRtp { checksums: false } => 2,
                Encapsulation::CompressedRtp { checksums: true } => 4,
                Encapsulation::Iax2Mini => DATAGRAM + 4,
                Encapsulation::Iax2Full => DATAGRAM + 12,
            }
    }
}

/// Returns the size in bytes of an IAX2 trunk packet with the speech of `calls` calls, each with
/// `payload` bytes. `timestamps` is true if each call has a time stamp.
pub const fn trunk(calls: u32, payload: u32, timestamps: bool) -> u32 {
    DATAGRAM + TRUNK + calls * (payload + if timestamps { 6 } else { 4 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::find;

    #[test]
    fn packet_rates_match_the_reference() {
        let mut compared = 0;
        for row in include_str!("../../../tests/authorities/voip/codec_bandwidth.csv").lines().skip(1) {
            let row = row.replace(", ", " ");
            let cells: Vec<&str> = row.split(',').collect();
            let number = |at: usize| cells[at].parse::<f64>().unwrap();
            let (payload, packets) = (number(3) as u32, 1e3 / number(2));
            for (encapsulation, at) in [(Encapsulation::Rtp, 5), (Encapsulation::Iax2Mini, 6)] {
                let rate = f64::from(encapsulation.packet(payload)) * 8.0 * packets / 1e3;
                assert!((rate - number(at)).abs() < 5.1e-4, "{row}: {rate} kbit/s");
            }
            compared += 1;
        }
        assert_eq!(compared, 12);
    }

    #[test]
    fn trunk_sizes_match_the_reference() {
        for row in include_str!("../../../tests/authorities/voip/iax2_trunk_bytes.csv").lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            let codec = match cells[0] {
                "G.711" => "G.711u",
                "iLBC 20 ms" => "iLBC-20",
                "iLBC 30 ms" => "iLBC-30",
                other => other,
            };
            let codec = find(codec).unwrap();
            let payload = codec.payload(codec.usual_frames());
            let calls: u32 = cells[1].parse().unwrap();
            let found = [
                calls * Encapsulation::Rtp.packet(payload),
                calls * Encapsulation::Iax2Mini.packet(payload),
                trunk(calls, payload, false),
                trunk(calls, payload, true),
            ];
            let expected: Vec<u32> = cells[2..6].iter().map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(found[..], expected[..], "{row}");
        }
    }
}
