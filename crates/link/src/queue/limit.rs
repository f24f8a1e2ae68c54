//! The limit of a queue in packets, in bytes or in both, which drop tail and drop front share.

use bentpipe_core::{Count, Problems, Size};

/// The most packets that wait where a scenario names no limit.
pub const DEFAULT_PACKETS: u64 = 1000;

/// The number of packets that a scenario writes for a limit.
pub type Packets = Count<1, 1_000_000_000>;

/// Returns the most packets that wait, or `None` if only bytes limit the queue.
pub fn most_packets(packets: Option<Packets>, bytes: Option<Size>) -> Option<u64> {
    match (packets, bytes) {
        (None, None) => Some(DEFAULT_PACKETS),
        (packets, _) => packets.map(Count::value),
    }
}

/// Returns the limits in packets and in bytes, where `u64::MAX` stands for none.
pub fn limits(packets: Option<Packets>, bytes: Option<Size>) -> (u64, u64) {
    (most_packets(packets, bytes).unwrap_or(u64::MAX), bytes.map_or(u64::MAX, Size::bytes))
}

/// Refuses a limit in bytes that no packet of 1500 B fits.
pub fn check(bytes: Option<Size>, problems: &mut Problems) {
    if bytes.is_some_and(|bytes| bytes.bytes() < 1500) {
        problems.add("bytes", "a queue must hold at least one packet of 1500 B; allowed: 1500 B or more");
    }
}
