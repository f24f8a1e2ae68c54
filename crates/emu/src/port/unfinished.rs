//! Checksums that a sender has left to its interface. Linux hands packets from one namespace of a machine to another as they
//! are: in the checksum's place then stands the sum over the pseudo-header, which the interface was to start from
//! (CHECKSUM_PARTIAL), and in the packets of a tunnel over a veth pair it still does when they come out of it.

use bentpipe_core::checksum::sum;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Finishes the checksum of a TCP or UDP packet where that was left to be done.
#[inline]
pub fn finish(packet: &mut [u8]) {
    let (transport, protocol, addresses) = match packet.first().map(|first| first >> 4) {
        // Fragments are of what was finished before it was cut.
        Some(4) if packet.len() >= 20 && packet[6] & 0x3f == 0 && packet[7] == 0 => {
            (usize::from(packet[0] & 15) * 4, packet[9], 12..20)
        }
        Some(6) if packet.len() >= 40 => (40, packet[6], 8..40),
        _ => return,
    };
    let field = match protocol {
        TCP => transport + 16,
        UDP => transport + 6,
        _ => return,
    };
    if packet.len() < field + 2 {
        return;
    }
    let length = (packet.len() - transport) as u32;
    let pseudo = fold(sum(&packet[addresses]) + u32::from(protocol) + length);
    if u16::from_be_bytes([packet[field], packet[field + 1]]) != pseudo {
        return;
    }
    let all = fold(sum(&packet[transport..]));
    // One in 65536 that are finished looks like that too.
    if fold(u32::from(pseudo) + u32::from(all)) == 0xffff {
        return;
    }
    let checksum = if all == 0xffff && protocol == UDP { 0xffff } else { !all };
    packet[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet whose checksum is not finished, and one that differs from it only in that it is.
    fn packets(version: u8, protocol: u8, payload: &[u8]) -> [Vec<u8>; 2] {
        let (header, addresses) = if version == 4 { (20, 12..20) } else { (40, 8..40) };
        let (length, at) = if protocol == TCP { (20, 16) } else { (8, 6) };
        let mut packet = vec![version << 4 | 5];
        packet.resize(header, 3);
        packet[if version == 4 { 9 } else { 6 }] = protocol;
        if version == 4 {
            packet[6..8].fill(0);
        }
        packet.resize(header + length, 9);
        packet.extend_from_slice(payload);
        packet[header + at..header + at + 2].fill(0);
        let pseudo = fold(sum(&packet[addresses]) + u32::from(protocol) + (packet.len() - header) as u32);
        let whole = fold(u32::from(pseudo) + sum(&packet[header..]));
        let mut finished = packet.clone();
        packet[header + at..header + at + 2].copy_from_slice(&pseudo.to_be_bytes());
        finished[header + at..header + at + 2].copy_from_slice(&(!whole).to_be_bytes());
        [packet, finished]
    }

    #[test]
    fn what_is_not_finished_is_and_nothing_else_is_touched() {
        for (version, protocol) in [(4, TCP), (4, UDP), (6, TCP), (6, UDP)] {
            for length in [0, 1, 2, 1001, 1400] {
                let payload: Vec<u8> = (0..length).map(|byte| (byte * 7) as u8).collect();
                let [unfinished, finished] = packets(version, protocol, &payload);
                for packet in [&unfinished, &finished] {
                    let mut after = packet.clone();
                    finish(&mut after);
                    assert_eq!(after, finished, "{version} {protocol} {length}");
                }
                // A wrong checksum stays wrong.
                let mut wrong = finished.clone();
                *wrong.last_mut().unwrap() ^= 4;
                let before = wrong.clone();
                finish(&mut wrong);
                assert_eq!(wrong, before);
            }
        }
        for mut short in [vec![], vec![0x45; 19], vec![0x45; 30], vec![0x60; 39], vec![0x10; 60]] {
            let before = short.clone();
            finish(&mut short);
            assert_eq!(short, before);
        }
    }
}
