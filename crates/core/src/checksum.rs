//! The Internet checksum (RFC 1071).

/// The sum of big-endian 16-bit words, with an odd last byte as the upper half of one; not yet folded to 16
/// bits. For up to 64 KB.
pub fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |byte| u32::from(*byte) << 8);
    words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u32>() + last
}

/// The checksum after one 16-bit word that it covers has changed (RFC 1624, equation 3): HC' = ~(~HC + ~m +
/// m').
pub fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1624() {
        // Section 4: a word goes from 0x5555 to 0x3285 under the checksum 0xdd2f.
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    }
}
