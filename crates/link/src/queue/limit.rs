//! The limit of a queue in packets, in bytes or in both, shared by drop tail and drop front.

use bentpipe_core::{Count, Problems, Size};

/// Maximum number of waiting packets if a scenario gives no limit.
pub const DEFAULT_PACKETS: u64 = 1000;

/// A limit in packets, as a scenario gives it.
pub type Packets = Count<1, 1_000_000_000>;

/// Returns the maximum number of waiting packets; `None` if only bytes limit the queue.
pub fn max_packets(packets: Option<Packets>, bytes: Option<Size>) -> Option<u64> {
    match (packets, bytes) {
        (None, None) => Some(DEFAULT_PACKETS),
        (packets, _) => packets.map(Count::value),
    }
}

/// Returns the limits in packets and in bytes; `u64::MAX` means no limit.
pub fn limits(packets: Option<Packets>, bytes: Option<Size>) -> (u64, u64) {
    (max_packets(packets, bytes).unwrap_or(u64::MAX), bytes.map_or(u64::MAX, Size::bytes))
}

/// Adds a problem for a limit in bytes too small for a packet of 1500 B.
pub fn check(bytes: Option<Size>, problems: &mut Problems) {
    if bytes.is_some_and(|bytes| bytes.bytes() < 1500) {
        problems.add("bytes", "a queue must hold at least one packet of 1500 B; allowed: 1500 B or more");
    }
}
