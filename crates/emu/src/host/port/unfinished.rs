//! Checksums that a sender has left to its interface. Linux passes packets between the namespaces
//! of a machine without computing their checksums: the checksum field contains the sum over the
//! pseudo-header, from which the interface would continue (CHECKSUM_PARTIAL). Packets that leave a
//! tunnel over a veth pair are still in this state.

use bentpipe_wire::{checksum, Headers, TCP, UDP};

/// Computes the checksum of a TCP or UDP packet if the sender has left it to the interface.
/// Fragments are complete, since the checksum was computed before fragmentation.
#[inline]
pub fn finish(packet: &mut [u8], headers: &Headers) {
    let protocol = headers.protocol;
    let Some(at) = headers.checksum_at().filter(|_| protocol == TCP || protocol == UDP) else { return };
    let (source, destination) = (headers.source, headers.destination);
    let left = checksum::left_to_interface(source, destination, protocol, headers.end - headers.begin);
    if u16::from_be_bytes([packet[at], packet[at + 1]]) != left {
        return;
    }
    let message = &packet[headers.begin..headers.end];
    // One in 65536 complete packets looks the same.
    if checksum::with_addresses(source, destination, protocol, message) == 0 {
        return;
    }
    // The checksum field contains the sum over the pseudo-header.
    let sum = checksum::sent(checksum::of(message), protocol);
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_wire::read;

    /// Returns a packet without a computed checksum, and the same packet with it.
    fn packets(version: u8, protocol: u8, payload: &[u8]) -> [Vec<u8>; 2] {
        let mut upper = vec![9; if protocol == TCP { 20 } else { 8 }];
        upper.extend_from_slice(payload);
        let length = upper.len() as u16;
        let mut packet = vec![0; if version == 4 { 20 } else { 48 }];
        if version == 4 {
            packet[..4].copy_from_slice(&[&[0x45, 0][..], &(20 + length).to_be_bytes()].concat());
            packet[9] = protocol;
            packet[12..20].fill(3);
        } else {
            // Destination options before the transport.
            packet[..6].copy_from_slice(&[&[0x60, 0, 0, 0][..], &(8 + length).to_be_bytes()].concat());
            packet[6] = 60;
            packet[8..40].fill(3);
            packet[40..].copy_from_slice(&[protocol, 0, 1, 4, 0, 0, 0, 0]);
        }
        packet.extend(upper);
        let headers = read(&packet).unwrap();
        let (source, destination, at) = (headers.source, headers.destination, headers.checksum_at().unwrap());
        packet[at..at + 2].fill(0);
        let whole = checksum::with_addresses(source, destination, protocol, &packet[headers.begin..]);
        let mut finished = packet.clone();
        // The one's complement sum of the pseudo-header's words, by hand.
        let addresses = 0x0303 * if version == 4 { 4 } else { 16 };
        let sum: u32 = addresses + u32::from(protocol) + u32::from(length);
        let folded = ((sum & 0xffff) + (sum >> 16)) as u16;
        packet[at..at + 2].copy_from_slice(&folded.to_be_bytes());
        finished[at..at + 2].copy_from_slice(&checksum::sent(whole, protocol).to_be_bytes());
        [packet, finished]
    }

    fn finish(packet: &mut [u8]) {
        let headers = read(packet).unwrap();
        super::finish(packet, &headers);
    }

    #[test]
    fn only_missing_checksums_are_computed() {
        for (version, protocol) in [(4, TCP), (4, UDP), (6, TCP), (6, UDP)] {
            for length in [0, 1, 2, 1001, 1400] {
                let payload: Vec<u8> = (0..length).map(|byte| (byte * 7) as u8).collect();
                let [unfinished, finished] = packets(version, protocol, &payload);
                for packet in [&unfinished, &finished] {
                    // Padding of an Ethernet frame is not part of the packet.
                    for padding in [&[][..], &[5; 3]] {
                        let mut after = [packet, padding].concat();
                        finish(&mut after);
                        assert_eq!(after, [&finished, padding].concat(), "{version} {protocol} {length}");
                    }
                }
                // A wrong checksum remains wrong.
                let mut wrong = finished.clone();
                *wrong.last_mut().unwrap() ^= 4;
                let before = wrong.clone();
                finish(&mut wrong);
                assert_eq!(wrong, before);
            }
        }
        let [mut fragment, _] = packets(4, UDP, &[1; 40]);
        fragment[6] = 0x20;
        let before = fragment.clone();
        finish(&mut fragment);
        assert_eq!(fragment, before);
    }
}
