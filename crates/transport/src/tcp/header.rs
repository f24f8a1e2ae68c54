//! Fields of the TCP header: 32-bit sequence numbers from 64-bit positions, timestamps, and the
//! size of options.

use bentpipe_core::{Span, Time};
use bentpipe_stage::packet::segment::{Segment, SegmentOptions};

/// Size of the IPv4 and TCP headers without options, in bytes.
pub const HEADER: u32 = 40;

/// Size of the timestamp option with its padding, in bytes.
pub const TIMESTAMP_BYTES: u32 = 12;

/// Size of a Quick-Start request in the IP header, or of the answer in the TCP header (RFC 4782,
/// sections 3.1 and 4.2), in bytes.
const QUICK_START_BYTES: u32 = 8;

/// Length of a tick of the timestamp clock in nanoseconds: a millisecond, as in Linux (TCP_TS_HZ).
const TIMESTAMP_TICK: u64 = 1_000_000;

/// Sequence numbers of one direction, which count from the initial one and wrap around (RFC 9293,
/// section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Numbering {
    initial: u32,
}

impl Numbering {
    /// Creates a numbering that starts at `initial`.
    pub const fn new(initial: u32) -> Numbering {
        Numbering { initial }
    }

    /// Returns the sequence number of `position`.
    #[inline]
    pub const fn number(self, position: u64) -> u32 {
        self.initial.wrapping_add(position as u32)
    }

    /// Returns the position with this number that is nearest to `near`; `None` if it would lie
    /// before the SYN.
    #[inline]
    pub const fn position(self, number: u32, near: u64) -> Option<u64> {
        let difference = number.wrapping_sub(self.number(near)) as i32;
        near.checked_add_signed(difference as i64)
    }
}

/// Returns the size of the options in bytes, padded to whole words as laid out by Linux
/// (`tcp_options_write`): timestamps share their words with SACK-permitted on a SYN and are
/// preceded by two no-operations elsewhere.
#[inline]
pub fn option_bytes(segment: &Segment) -> u32 {
    options_size(segment.timestamps.is_some(), segment.options.as_deref())
}

/// Returns the size of `options` in bytes, with timestamps or without, laid out as by
/// [`option_bytes`].
#[inline]
pub fn options_size(timestamps: bool, options: Option<&SegmentOptions>) -> u32 {
    let timestamps = if timestamps { TIMESTAMP_BYTES } else { 0 };
    let Some(options) = options else { return timestamps };
    let permitted = if options.sack_permitted && timestamps == 0 { 4 } else { 0 };
    let mss = if options.mss.is_some() { 4 } else { 0 };
    let scale = if options.window_scale.is_some() { 4 } else { 0 };
    let blocks = options.sack.as_slice().len() as u32;
    let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
    let asks = if options.quick_start.is_some() { QUICK_START_BYTES } else { 0 };
    let grants = if options.granted.is_some() { QUICK_START_BYTES } else { 0 };
    let scps = if options.snack_permitted { 4 } else { 0 };
    let snack = options.snack.map_or(0, |snack| snack.bytes().next_multiple_of(4));
    let ecn = options.ecn_bytes.map_or(0, |counters| counters.bytes().next_multiple_of(4));
    timestamps + permitted + mss + scale + sack + asks + grants + scps + snack + ecn
}

/// Returns the size of the segment at the network layer in bytes. A payload above `segment_size`
/// counts as several segments.
#[inline]
pub fn size(segment: &Segment, segment_size: u32) -> u32 {
    let payload = u32::from(segment.payload);
    let headers = if payload > segment_size { payload.div_ceil(segment_size) } else { 1 };
    headers * (HEADER + option_bytes(segment)) + payload
}

/// Returns the timestamp of a segment that leaves at `now`.
#[inline]
pub const fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / TIMESTAMP_TICK) as u32
}

/// Returns a time rounded down to the resolution of timestamps.
#[inline]
pub const fn floor_to_tick(at: Time) -> Time {
    Time::from_nanos(at.as_nanos() / TIMESTAMP_TICK * TIMESTAMP_TICK)
}

/// Returns the time at which an echoed timestamp was sent; `None` if it lies in the future.
#[inline]
pub fn echoed(now: Time, echo: u32) -> Option<Time> {
    let ticks = now.as_nanos() / TIMESTAMP_TICK;
    let age = (ticks as u32).wrapping_sub(echo);
    let valid = age as i32 >= 0 && u64::from(age) <= ticks;
    valid.then(|| Time::from_nanos((ticks - u64::from(age)) * TIMESTAMP_TICK))
}

/// Returns the time between the timestamps of `sent` and `now`, in whole ticks, at least one.
#[inline]
pub fn age(now: Time, sent: Time) -> Span {
    floor_to_tick(now).since(sent).max(Span::from_nanos(TIMESTAMP_TICK))
}

/// Maximum number of SACK blocks that fit into 40 bytes of options (RFC 2018, section 3).
pub const fn max_sack_blocks(timestamps: bool) -> usize {
    if timestamps {
        3
    } else {
        4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_stage::packet::segment::{SackBlocks, Timestamps};

    #[test]
    fn positions_survive_the_wrap() {
        let numbering = Numbering::new(u32::MAX - 9);
        assert_eq!(numbering.number(0), u32::MAX - 9);
        assert_eq!(numbering.number(10), 0);
        assert_eq!(numbering.position(0, 0), Some(10));
        assert_eq!(numbering.position(u32::MAX - 10, 0), None);
        let far = (5u64 << 32) + 3;
        assert_eq!(numbering.position(numbering.number(far), far + 1_000_000), Some(far));
        assert_eq!(numbering.position(numbering.number(far), far - 1_000_000), Some(far));
    }

    #[test]
    fn options_never_exceed_forty_bytes() {
        let mut sack = SackBlocks::default();
        let mut segment = Segment { timestamps: Some(Timestamps::new(1, 2)), ..Segment::default() };
        assert_eq!(option_bytes(&segment), 12);
        for _ in 0..max_sack_blocks(true) {
            sack.push(1, 2);
        }
        segment.options = Some(Box::new(SegmentOptions { sack, ..SegmentOptions::default() }));
        assert_eq!(option_bytes(&segment), 40);
        let syn = SegmentOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            ..Default::default()
        };
        segment.options = Some(Box::new(syn));
        assert_eq!(option_bytes(&segment), 20);
        segment.timestamps = None;
        assert_eq!(option_bytes(&segment), 12);
    }
}
