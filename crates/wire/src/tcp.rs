//! Fields of TCP segments in real packets (RFC 9293, section 3.1).

use crate::{checksum, read, Headers, TCP};
use etherparse::{TcpOptionElement, TcpSlice};
use std::ops::Range;

/// The fields of a TCP segment in a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpSegment {
    /// Source port and destination port.
    pub ports: (u16, u16),
    /// Sequence number of the first byte of payload, or of the SYN.
    pub sequence: u32,
    /// Acknowledgment number, also without the ACK flag.
    pub acknowledgment: u32,
    /// The control flags of octet 13, from CWR to FIN.
    pub flags: u8,
    /// Window field, without scaling.
    pub window: u16,
    /// Number of bytes of payload.
    pub payload: u16,
    /// Blocks of selective acknowledgments (RFC 2018), each `[left, right)`, in the order of the
    /// option.
    pub sack: Vec<(u32, u32)>,
}

/// The position of the acknowledgment number in the TCP header.
const ACKNOWLEDGMENT: Range<usize> = 8..12;
/// The position of the checksum in the TCP header.
const CHECKSUM: usize = 16;

/// Returns the TCP segment in a packet. Returns `None` for other protocols, fragments, malformed
/// headers and a wrong checksum.
pub fn tcp(packet: &[u8]) -> Option<TcpSegment> {
    let headers = read(packet).filter(|headers| headers.protocol == TCP && !headers.fragment)?;
    let message = packet.get(headers.begin..headers.end)?;
    let segment = TcpSlice::from_slice(message).ok()?;
    if checksum::with_addresses(headers.source, headers.destination, TCP, message) != 0 {
        return None;
    }
    let mut sack = Vec::new();
    for option in segment.options_iterator() {
        if let Ok(TcpOptionElement::SelectiveAcknowledgement(first, others)) = option {
            sack.push(first);
            sack.extend(others.into_iter().flatten());
        }
    }
    Some(TcpSegment {
        ports: (segment.source_port(), segment.destination_port()),
        sequence: segment.sequence_number(),
        acknowledgment: segment.acknowledgment_number(),
        flags: message[13],
        window: segment.window_size(),
        payload: u16::try_from(segment.payload().len()).ok()?,
        sack,
    })
}

/// Sets the acknowledgment number of the TCP segment in a packet, and updates its checksum. Does
/// nothing to a packet that [`tcp`] does not accept.
pub fn set_acknowledgment(packet: &mut [u8], acknowledgment: u32) {
    let Some(Headers { begin, .. }) = tcp(packet).and_then(|_| read(packet)) else { return };
    let at = begin + ACKNOWLEDGMENT.start;
    for (word, new) in acknowledgment.to_be_bytes().chunks(2).enumerate() {
        let (at, check) = (at + 2 * word, begin + CHECKSUM);
        let number = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        let sum = checksum::updated(number(check), number(at), u16::from_be_bytes([new[0], new[1]]));
        packet[at..at + 2].copy_from_slice(new);
        packet[check..check + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    /// Returns an acknowledgment with one SACK block and three bytes of payload.
    fn packet() -> Vec<u8> {
        let sack = TcpOptionElement::SelectiveAcknowledgement((700, 900), [None; 3]);
        let step = PacketBuilder::ipv4([198, 18, 0, 1], [198, 18, 0, 2], 64).tcp(5000, 80, 17, 300);
        let step = step.ack(500).options(&[sack]).expect("the option fits");
        let mut packet = Vec::new();
        step.write_to_vec(&mut packet, &[1, 2, 3]).expect("the packet fits");
        packet
    }

    #[test]
    fn the_fields_of_a_segment_are_read() {
        let expected = TcpSegment {
            ports: (5000, 80),
            sequence: 17,
            acknowledgment: 500,
            flags: 0x10,
            window: 300,
            payload: 3,
            sack: vec![(700, 900)],
        };
        assert_eq!(tcp(&packet()), Some(expected));
    }

    #[test]
    fn a_damaged_segment_is_no_segment() {
        for byte in 20..packet().len() {
            let mut damaged = packet();
            damaged[byte] ^= 0x10;
            assert_eq!(tcp(&damaged), None, "byte {byte}");
        }
    }

    #[test]
    fn a_new_acknowledgment_number_has_a_valid_checksum() {
        for number in [0, 1, 500, 0x0001_0000, 0xffff_ffff, 0x8000_7fff] {
            let mut changed = packet();
            set_acknowledgment(&mut changed, number);
            let expected = TcpSegment { acknowledgment: number, ..tcp(&packet()).unwrap() };
            assert_eq!(tcp(&changed), Some(expected));
        }
    }
}
