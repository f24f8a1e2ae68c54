//! The Internet checksum (RFC 1071).

use crate::{ICMP, UDP};
use etherparse::checksum::Sum16BitWords;
use std::net::IpAddr;

/// Returns the checksum of `bytes`. The result is 0 if the bytes include their own valid checksum.
pub fn of(bytes: &[u8]) -> u16 {
    finished(&Sum16BitWords::new().add_slice(bytes))
}

/// Returns the checksum HC' after one 16-bit word of the covered data has changed from m (`old`) to
/// m' (`new`). HC is the checksum before the change: HC' = ~(~HC + ~m + m') (RFC 1624, equation 3).
pub fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

/// Returns the checksum of an upper-layer message with its pseudo-header for IPv4 (RFC 9293,
/// section 3.1) or IPv6 (RFC 8200, section 8.1). The result is 0 if the message includes its own
/// valid checksum. ICMP for IPv4 has no pseudo-header.
pub fn with_addresses(source: IpAddr, destination: IpAddr, protocol: u8, message: &[u8]) -> u16 {
    let sum = match protocol {
        ICMP => Sum16BitWords::new(),
        _ => pseudo_header(source, destination, protocol, message.len()),
    };
    finished(&sum.add_slice(message))
}

/// Returns the checksum of a message of `length` bytes that consists of `header` and zeros.
pub fn with_zeros(source: IpAddr, destination: IpAddr, protocol: u8, header: &[u8], length: usize) -> u16 {
    finished(&pseudo_header(source, destination, protocol, length).add_slice(header))
}

/// Returns the checksum field of a packet whose sender leaves the computation to the network
/// interface: the sum over the pseudo-header of a message of `length` bytes, without the
/// complement.
pub fn left_to_interface(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> u16 {
    !finished(&pseudo_header(source, destination, protocol, length))
}

/// Returns the checksum field for a computed checksum. In UDP, 0 means that there is no checksum,
/// so 0xffff is sent instead of 0 (RFC 768).
pub fn sent(checksum: u16, protocol: u8) -> u16 {
    if checksum == 0 && protocol == UDP {
        0xffff
    } else {
        checksum
    }
}

fn finished(sum: &Sum16BitWords) -> u16 {
    sum.ones_complement().to_be()
}

fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, length: usize) -> Sum16BitWords {
    let sum =
        [source, destination].into_iter().fold(Sum16BitWords::new(), |mut sum, address| match address {
            IpAddr::V4(address) => sum.add_4bytes(address.octets()),
            IpAddr::V6(address) => sum.add_16bytes(address.octets()),
        });
    let mut sum = sum.add_2bytes([0, protocol]);
    sum.add_4bytes((length as u32).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn checksums_match_the_examples_of_the_rfcs() {
        // RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
        assert_eq!(of(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        // RFC 1624, section 4: a word changes from 0x5555 to 0x3285; the checksum was 0xdd2f.
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
        assert_eq!((sent(0, UDP), sent(0, crate::TCP), sent(7, UDP)), (0xffff, 0, 7));
    }

    proptest! {
        #[test]
        fn an_updated_checksum_equals_the_checksum_of_the_changed_words(
            mut bytes in prop::collection::vec(any::<u8>(), 2..200), at: usize, new: u16,
        ) {
            let at = at % (bytes.len() / 2) * 2;
            let (before, old) = (of(&bytes), u16::from_be_bytes([bytes[at], bytes[at + 1]]));
            bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
            // Both zeros of one's complement arithmetic represent the same sum.
            let zero = |checksum| if checksum == 0xffff { 0 } else { checksum };
            prop_assert_eq!(zero(updated(before, old, new)), zero(of(&bytes)));
        }
    }
}
