//! Self-delimiting numeric values (SDNV, RFC 6256): big-endian groups of seven bits, one per byte.
//! The highest bit is set in every byte except the last.

/// Length in bytes of the longest value, which has 64 bits.
pub const LONGEST: usize = 10;

/// Appends an encoded value.
pub fn write(value: u64, out: &mut Vec<u8>) {
    let groups = length(value);
    for group in (0..groups).rev() {
        let more = if group > 0 { 0x80 } else { 0 };
        out.push(((value >> (7 * group)) & 0x7f) as u8 | more);
    }
}

/// Returns the encoded length of a value in bytes.
pub const fn length(value: u64) -> usize {
    let bits = 64 - value.leading_zeros() as usize;
    if bits == 0 {
        1
    } else {
        bits.div_ceil(7)
    }
}

/// Reads a value from the beginning of `bytes` and removes it. Returns `None` if the value is
/// incomplete, longer than [`LONGEST`] bytes, or exceeds 64 bits.
pub fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut value: u64 = 0;
    for (index, byte) in bytes.iter().take(LONGEST).enumerate() {
        if value >> 57 != 0 {
            return None;
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_match_the_examples_of_rfc_6256() {
        let table = include_str!("../../../tests/authorities/dtn/sdnv.csv");
        for row in table.lines().skip(1) {
            let mut cells = row.split(',');
            let value: u64 = cells.next().unwrap().parse().unwrap();
            let hex = cells.next().unwrap();
            let mut written = Vec::new();
            write(value, &mut written);
            let shown: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(shown, hex);
            assert_eq!(written.len(), length(value));
            let mut rest = &written[..];
            assert_eq!((read(&mut rest), rest.len()), (Some(value), 0));
            assert_eq!(read(&mut &written[..written.len() - 1]), None, "{value} cut off");
        }
        // A value of 65 bits.
        assert_eq!(read(&mut &[0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f][..]), None);
        assert_eq!(read(&mut &[0x80; 11][..]), None);
    }
}
